"""How far explanations agree: of two methods, layers or models; of a model and one drawn anew; scores with people's."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar

import numpy as np
import torch
from scipy.stats import rankdata
from torch import nn

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.modules import refill
from whyalike.encoders.twin import find_blocks
from whyalike.errors import BadInput
from whyalike.evaluate.measure import Case, Measure, Row, correlation, means
from whyalike.evaluate.subjects import Subject, subject
from whyalike.explanation import Explanation

NUMBERS = ("spearman", "pearson", "top_3", "top_10")


def compared(one: Explanation, other: Explanation) -> Row:
    """Rank correlation, correlation, and the Jaccard overlap of the top pairs, over the texts' own words."""
    values = [_text_cells(each.by_word()) for each in (one, other)]
    if values[0].shape != values[1].shape:
        raise BadInput("The two explanations speak of different words of the pair. Compare models that read all of it.")
    flat = [each.ravel() for each in values]
    return {
        "spearman": correlation(*(rankdata(each) for each in flat)),
        "pearson": correlation(*flat),
        "top_3": _jaccard(flat[0], flat[1], 3),
        "top_10": _jaccard(flat[0], flat[1], 10),
    }


def _text_cells(e: Explanation) -> np.ndarray:
    return e.matrix[np.ix_(e.left.own, e.right.own)]


def _jaccard(one: np.ndarray, other: np.ndarray, count: int) -> float | None:
    """Of the largest cells that are not zero: cells no method speaks of are not what two agree on."""
    tops = [{int(n) for n in np.argsort(-each, kind="stable")[:count] if each[n] != 0} for each in (one, other)]
    return len(tops[0] & tops[1]) / len(tops[0] | tops[1]) if tops[0] | tops[1] else None


@dataclass(frozen=True, slots=True)
class Agreement(Measure):
    """Every two subjects against each other (Siamese paper, Figures 3 and 4)."""

    name: ClassVar[str] = "agreement"
    summary: ClassVar[str] = "how far two methods, layers or models agree on the same pairs"
    headline: ClassVar[str] = "spearman"
    higher_is_better: ClassVar[bool | None] = None
    joint: ClassVar[bool] = True

    def rows(self, case: Case, found: Mapping[str, Explanation], encoder: Encoder) -> list[Row]:
        return [
            {"subject": f"{one} ~ {other}", "mean_score": (found[one].score + found[other].score) / 2}
            | compared(found[one], found[other])
            for one, other in combinations(found, 2)
        ]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        table = means(rows, (*NUMBERS, "mean_score"))
        for line in table:
            own = [row for row in rows if row["subject"] == line["subject"] and row["spearman"] is not None]
            near = [row["spearman"] for row in own if row["mean_score"] > 0.75]
            line["spearman_where_score_above_0.75"] = float(np.mean(near)) if near else None
        return table


@dataclass(frozen=True, slots=True)
class Randomization(Measure):
    """Do explanations need the trained weights (Adebayo et al. 2018)? Blocks are drawn anew from the top, one more each time.

    An explanation that stays the same explains the texts, not the model: with all weights drawn anew its rank correlation
    with the original should be far from 1.
    """

    name: ClassVar[str] = "randomization"
    summary: ClassVar[str] = "does the explanation change when the weights are drawn anew, from the top down?"
    headline: ClassVar[str] = "spearman"
    higher_is_better: ClassVar[bool | None] = False
    seed: int = 0
    FAILS_ABOVE: ClassVar[float] = 0.95
    _kept: dict[int, list[tuple[str, Encoder]]] = field(default_factory=dict, repr=False, compare=False)
    _judged: dict[str, Subject] = field(default_factory=dict, repr=False, compare=False)

    def prepare(self, subjects: Sequence[Subject]) -> None:
        self._judged.update({judged.name: judged for judged in subjects})

    def rows(self, case: Case, found: Mapping[str, Explanation], encoder: Encoder) -> list[Row]:
        if id(encoder) not in self._kept:
            self._kept[id(encoder)] = list(drawn_anew(encoder, self.seed))
        rows: list[Row] = []
        for stage, strange in self._kept[id(encoder)]:
            for name, e in found.items():
                judged = self._judged.get(name) or subject(name)
                (again,) = judged.explanations([(case.left, case.right)], strange)
                rows.append({"subject": f"{name}, {stage}"} | compared(e, again))
        return rows

    def table(self, rows: Sequence[Row]) -> list[Row]:
        table = means(rows, NUMBERS)
        for line in table:
            if line["subject"].endswith(ALL):
                line["reacts"] = None if line["spearman"] is None else line["spearman"] < self.FAILS_ABOVE
        return table


ALL = "all weights"


def drawn_anew(encoder: Encoder, seed: int) -> list[tuple[str, Encoder]]:
    """Copies of an encoder: its last block drawn anew, its last two, …, all of its weights."""
    model = copy.deepcopy(encoder.model)
    transformer = model[0].auto_model
    (batch,) = encoder.batches(encoder.read(["A short text."]), 100)

    def run() -> None:
        model(dict(batch.features))

    blocks = find_blocks(nn.ModuleList(list(model)), run, encoder.layers)
    found = []
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for count in range(1, len(blocks) + 1):
            _draw(transformer, blocks[-count])
            refill(model)
            found.append((f"last {count}", _copy(model, encoder)))
        _draw(transformer, transformer)
        for module in list(model)[1:]:
            for part in module.modules():
                if hasattr(part, "reset_parameters"):
                    part.reset_parameters()
        refill(model)
        found.append((ALL, _copy(model, encoder)))
    return found


def _draw(transformer: nn.Module, part: nn.Module) -> None:
    """As before pretraining: each weight from the model's own initialisation, biases zero, norms one."""
    for module in part.modules():
        for parameter in module.parameters(recurse=False):
            if hasattr(parameter, "_is_hf_initialized"):
                del parameter._is_hf_initialized
        if hasattr(module, "_is_hf_initialized"):
            del module._is_hf_initialized
        if list(module.parameters(recurse=False)):
            transformer._init_weights(module)  # type: ignore[operator]


def _copy(model: nn.Module, encoder: Encoder) -> Encoder:
    record = encoder.record
    return Encoder(copy.deepcopy(model).eval(), record.name, similarity=record.similarity, pooling=record.pooling)


@dataclass(frozen=True, slots=True)
class Sts(Measure):
    """The model itself: rank and linear correlation of its similarity with human scores (BiLRP paper, Table 1)."""

    name: ClassVar[str] = "sts"
    summary: ClassVar[str] = "correlation of the model's own similarity with human scores"
    needs: ClassVar[str] = "scored pairs"
    headline: ClassVar[str] = "spearman"
    higher_is_better: ClassVar[bool | None] = True

    def rows(self, case: Case, found: Mapping[str, Explanation], encoder: Encoder) -> list[Row]:
        if case.score is None:
            raise BadInput(
                "The sts measure needs scored pairs. Give a file with a score, or a data set such as stsb-en-test."
            )
        left, right = encoder.embed([case.left, case.right])
        return [{"subject": encoder.record.name, "predicted": encoder.record.score(left, right), "human": case.score}]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        table = []
        for name in dict.fromkeys(row["subject"] for row in rows):
            pairs = np.array([(row["predicted"], row["human"]) for row in rows if row["subject"] == name], dtype=float)
            ranks = [rankdata(values) for values in pairs.T]
            table.append(
                {
                    "subject": name,
                    "pairs": len(pairs),
                    "spearman": correlation(*ranks),
                    "pearson": correlation(*pairs.T),
                }
            )
        return table
