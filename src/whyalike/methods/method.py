"""What a method is: a frozen, printable value that explains pairs of texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from tqdm import tqdm

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.tokens import Reading
from whyalike.errors import BadInput
from whyalike.methods.cache import ContributionCache
from whyalike.methods.tangents import GIBIBYTE
from whyalike.results.contributions import Contributions
from whyalike.results.explanation import Explanation
from whyalike.results.one_sided import OneSided
from whyalike.results.records import Cells, MethodRecord, ModelKind
from whyalike.results.sides import Unit

_WHY_NOT = {  # what to use instead, by the kind of model
    "multi-vector": ", which gives a vector per token and no single embedding. Use bilrp, or maxsim_map",
    "sparse": ", whose embedding is weights of vocabulary terms. Use bilrp",
    "function": ", which gives embeddings alone: no tokens, layers or hidden states. Use shapley or leave_one_out",
}
TextPairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Options:
    """How pairs are to be explained, whatever the method."""

    unit: Unit = "token"
    prompts: tuple[str | None, str | None] = (None, None)  # names of the model's prompts, per side
    truncate: bool = False
    aligned: bool = False
    budget: int = GIBIBYTE  # bytes of intermediate results
    progress: bool = False
    total: int | None = None  # number of pairs, for the progress bar
    cache: ContributionCache | None = None  # contributions that several calls share


class Method(ABC):
    """Parameters are fields. Data comes in the call. A call changes nothing."""

    name: ClassVar[str]
    title: ClassVar[str]  # a name that people understand, with the paper's in brackets
    summary: ClassVar[str]
    paper: ClassVar[str]
    adds_up: ClassVar[bool]
    unit: ClassVar[Unit] = "token"  # the finest unit it can give
    needs_more: ClassVar[bool] = False  # whether its defaults do not suffice: a layer, or a corpus, has to be given
    cells: ClassVar[Cells] = "sums"  # how cells of tokens become cells of words
    kinds: ClassVar[frozenset[ModelKind]] = frozenset({"dense", "function"})  # of models it can be used with

    @final
    def check_kind(self, encoder: Encoder) -> None:
        """Raises, before any work is done, if the method makes no sense for this kind of model."""
        if encoder.record.kind not in self.kinds:
            raise BadInput(
                f"{self.name} explains {', '.join(sorted(self.kinds))} models; {encoder.record.name!r} is a "
                f"{encoder.record.kind} model{_WHY_NOT.get(encoder.record.kind, '')}."
            )

    @final
    def record(self, encoder: Encoder) -> MethodRecord:
        """The method as it is written into results for this encoder."""
        self.check_kind(encoder)
        self.check(encoder)
        parameters = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]
        return MethodRecord(self.name, parameters | self.choices(encoder), self.adds_up, self.cells)

    def choices(self, encoder: Encoder) -> dict[str, Any]:
        """Parameters that the method chose itself for this encoder, and why."""
        return {}

    @abstractmethod
    def check(self, encoder: Encoder) -> None:
        """Raises, before any work is done, if the method cannot be used with this encoder."""

    @abstractmethod
    def explain_pairs(self, encoder: Encoder, pairs: TextPairs, options: Options) -> Iterator[Explanation]:
        """One explanation per pair, in order.

        Where the options have a cache, contributions are taken from it and put into it, in the method's finest unit.
        """

    @abstractmethod
    def contributions(self, encoder: Encoder, texts: Sequence[str], options: Options) -> list[Contributions]:
        """What each unit of each text adds to its embedding, read with the first of the options' prompts.

        Raises `BadInput` for methods that only explain pairs.
        """

    @abstractmethod
    def explain_against(self, encoder: Encoder, text: str, other: str, options: Options) -> OneSided:
        """What each unit of one text adds to its score against another. Raises `BadInput` for methods that do not add up."""


class PairMethod(Method):
    """A method that explains a pair directly. A text alone has no contributions."""

    adds_up: ClassVar[bool] = False
    unit: ClassVar[Unit] = "word"

    @abstractmethod
    def explain(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> Explanation:
        """The explanation of one pair, in the method's finest unit."""

    @final
    def explain_pairs(self, encoder: Encoder, pairs: TextPairs, options: Options) -> Iterator[Explanation]:
        if options.aligned:
            raise BadInput(
                f"{self.name} matches words by itself, so there is nothing to align. Leave out aligned=True."
            )
        return self._each(encoder, pairs, options)

    def _each(self, encoder: Encoder, pairs: TextPairs, options: Options) -> Iterator[Explanation]:
        disable = None if options.progress else True
        for pair in tqdm(pairs, total=options.total, unit="pair", delay=2, disable=disable, leave=False):
            left, right = (
                encoder.read([text], prompt=prompt, truncate=options.truncate)[0]
                for text, prompt in zip(pair, options.prompts, strict=True)
            )
            yield self.explain(encoder, left, right, options.budget).by(options.unit)

    @final
    def contributions(self, encoder: Encoder, texts: Sequence[str], options: Options) -> list[Contributions]:
        raise BadInput(f"The method {self.name!r} explains pairs: a text alone has no contributions. Use bilrp.")

    @final
    def explain_against(self, encoder: Encoder, text: str, other: str, options: Options) -> OneSided:
        raise does_not_add_up(self)


def does_not_add_up(method: Method) -> BadInput:
    return BadInput(
        f"The method {method.name!r} does not add up to the score, so it cannot explain one text alone. Use bilrp."
    )


def _plain(value: Any) -> Any:
    """A parameter as it is written into results: JSON values as they are, functions by name, others as text."""
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def to_numpy(x: Tensor) -> Float[np.ndarray, "..."]:
    """Results are numpy, in float32 at least."""
    x = x.detach().cpu()
    return (x.float() if x.dtype in (torch.float16, torch.bfloat16) else x).numpy()
