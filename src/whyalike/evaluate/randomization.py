"""Do explanations need the trained weights? A model beside copies of it whose weights were drawn anew, or lack biases."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.modules import refill
from whyalike.encoders.transformer import TransformerEncoder
from whyalike.encoders.twin import find_blocks
from whyalike.evaluate.agreement import NUMBERS, compared
from whyalike.evaluate.measure import Case, Measure, Row, means
from whyalike.evaluate.subjects import Subject
from whyalike.methods.cache import ContributionCache
from whyalike.results.explanation import Explanation

ALL = "all weights"
Model = Any  # a SentenceTransformer


@dataclass(frozen=True, slots=True)
class Randomization(Measure):
    """Do explanations need the trained weights (Adebayo et al. 2018)? Blocks are drawn anew from the top, one more each time.

    An explanation that stays the same explains the texts, not the model: with all weights drawn anew its rank correlation
    with the original should be far from 1.
    """

    name: ClassVar[str] = "randomization"
    headline: ClassVar[str] = "spearman"
    higher_is_better: ClassVar[bool | None] = False
    seed: int = 0
    FAILS_ABOVE: ClassVar[float] = 0.95
    _subjects: tuple[Subject, ...] = ()
    _drawn: dict[Encoder, list[tuple[str, Encoder]]] = field(default_factory=dict, repr=False, compare=False)

    def prepare(self, subjects: Sequence[Subject], cases: Sequence[Case]) -> Randomization:
        return replace(self, _subjects=tuple(subjects), _drawn={})

    def notes(self, encoder: Encoder) -> tuple[str, ...]:
        return (f"A method passes if its rank correlation is below {self.FAILS_ABOVE:g} with all weights randomized.",)

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        if encoder not in self._drawn:
            self._drawn[encoder] = drawn_anew(encoder.transformer, self.seed)
        rows: list[Row] = []
        for stage, strange in self._drawn[encoder]:
            for subject in self._subjects:
                (again,) = subject.at_layer_of(found[subject.name]).explanations([(case.left, case.right)], strange)
                numbers = compared(found[subject.name], again)
                if numbers["spearman"] is None and _same(found[subject.name], again):
                    numbers["spearman"] = 1.0  # it says the same of all words, and went on to
                rows.append({"subject": f"{subject.name}, {stage}", "stage": stage} | numbers)
        return rows

    def table(self, rows: Sequence[Row]) -> list[Row]:
        table = means(rows, NUMBERS)
        last = {row["subject"] for row in rows if row["stage"] == ALL}
        for line in table:
            if line["subject"] in last:
                line["reacts"] = None if line["spearman"] is None else line["spearman"] < self.FAILS_ABOVE
        return table


def _same(one: Explanation, other: Explanation) -> bool:
    return np.array_equal(one.by_word().matrix, other.by_word().matrix)


def drawn_anew(encoder: TransformerEncoder, seed: int) -> list[tuple[str, Encoder]]:
    """Copies of an encoder: its last block drawn anew, its last two, …, all of its weights. What is not drawn is shared."""
    (batch,) = encoder.batches(encoder.read(["A short text."]), 100)

    def run() -> None:
        encoder.model(dict(batch.features))

    blocks = find_blocks(nn.ModuleList(list(encoder.model)), run, encoder.layers)
    names = [next(name for name, module in encoder.model.named_modules() if module is block) for block in blocks]
    model, found = encoder.model, []
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for count, name in enumerate(reversed(names), 1):
            model = _copy(model, model.get_submodule(name))
            _draw(model, model.get_submodule(name))
            found.append((f"last {count}", _encoder(model, encoder)))
        model = _copy(model, model)
        _draw(model, model[0].auto_model)
        for module in list(model)[1:]:
            for part in module.modules():
                if hasattr(part, "reset_parameters"):
                    part.reset_parameters()
        found.append((ALL, _encoder(model, encoder)))
    return found


def without_biases(encoder: TransformerEncoder) -> Encoder:
    """A copy of an encoder with every bias at zero."""
    model = _copy(encoder.model, encoder.model)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
    return _encoder(model, encoder)


def _copy(model: Model, changing: nn.Module) -> Model:
    """A copy that shares every parameter but those that will change."""
    own = {id(parameter) for parameter in changing.parameters()}
    return copy.deepcopy(model, {id(each): each for each in model.parameters() if id(each) not in own})


def _draw(model: Model, part: nn.Module) -> None:
    """As before pretraining: each weight from the model's own initialisation, biases zero, norms one."""
    for module in part.modules():
        for parameter in module.parameters(recurse=False):
            if hasattr(parameter, "_is_hf_initialized"):
                del parameter._is_hf_initialized
        if hasattr(module, "_is_hf_initialized"):
            del module._is_hf_initialized
        if list(module.parameters(recurse=False)):
            model[0].auto_model._init_weights(module)


def _encoder(model: Model, original: TransformerEncoder) -> Encoder:
    refill(model)
    record = original.record
    return TransformerEncoder(
        model.eval(), record.name, similarity=record.similarity, pooling_assumed=record.pooling_assumed
    )
