"""Exact match: which words of the two texts are the same, whatever the model. A baseline for word alignments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.tokens import Reading
from whyalike.methods.function_method import explain_matrix
from whyalike.methods.method import PairMethod
from whyalike.results.explanation import Explanation
from whyalike.results.records import Cells
from whyalike.results.sides import group


@dataclass(frozen=True, slots=True)
class ExactMatch(PairMethod):
    """1 between words that are the same but for upper and lower case, 0 elsewhere."""

    name: ClassVar[str] = "exact_match"
    title: ClassVar[str] = "same words"
    summary: ClassVar[str] = "1 where two words are the same, 0 elsewhere; uses no model"
    paper: ClassVar[str] = "baseline"
    cells: ClassVar[Cells] = "same words"
    layer: int | None = field(default=None, init=False)

    def explain(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> Explanation:
        words = [[word.casefold() for word in group(reading.side, "word")[0].words] for reading in (left, right)]
        matrix = np.array([[float(one == other) for other in words[1]] for one in words[0]])
        return explain_matrix(self, encoder, left, right, matrix.reshape(len(words[0]), len(words[1])))

    def check(self, encoder: Encoder) -> None:
        """Every encoder will do."""
