"""What the parts of explanations sum to: conservation (BiLRP paper, Figure 6), balance (Siamese paper, Figure 5), truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.evaluate.measure import Case, Measure, Row, correlation, means
from whyalike.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Conservation(Measure):
    """The four parts of the score, and how far the matrix alone, and all parts together, are from it."""

    name: ClassVar[str] = "conservation"
    summary: ClassVar[str] = "what the matrix, the terms and the constant sum to, against the score"
    headline: ClassVar[str] = "all_parts_off"
    higher_is_better: ClassVar[bool | None] = False

    def rows(self, case: Case, found: Mapping[str, Explanation], encoder: Encoder) -> list[Row]:
        return [
            {
                "subject": name,
                "score": e.score,
                "matrix": float(e.matrix.sum()),
                "left_terms": float(e.left_terms.sum()),
                "right_terms": float(e.right_terms.sum()),
                "constant": e.constant,
                "matrix_off": abs(float(e.matrix.sum()) - e.score),
                "all_parts_off": abs(e.residual),
            }
            for name, e in found.items()
        ]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        names = ("score", "matrix", "left_terms", "right_terms", "constant", "matrix_off", "all_parts_off")
        table = means(rows, names)
        for line in table:
            own = [(row["matrix"], row["score"]) for row in rows if row["subject"] == line["subject"]]
            line["correlation"] = correlation(*np.array(own, dtype=float).T)  # of the matrix's sum with the score
        return table


@dataclass(frozen=True, slots=True)
class Balance(Measure):
    """Sums of positive and of negative attributions."""

    name: ClassVar[str] = "balance"
    summary: ClassVar[str] = "sums of positive and of negative attributions"
    headline: ClassVar[str] = "positive"
    higher_is_better: ClassVar[bool | None] = None

    def rows(self, case: Case, found: Mapping[str, Explanation], encoder: Encoder) -> list[Row]:
        return [
            {
                "subject": name,
                "score": e.score,
                "positive": float(np.clip(e.matrix, 0, None).sum()),
                "negative": float(np.clip(e.matrix, None, 0).sum()),
                "positive_above_2": float(np.clip(e.matrix, 0, None).sum() > 2),
            }
            for name, e in found.items()
        ]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        return means(rows, ("score", "positive", "negative", "positive_above_2"))


@dataclass(frozen=True, slots=True)
class GroundTruth(Measure):
    """Cosine of the matrix with a known truth, as the BiLRP paper's ACS. Pairs whose truth is empty are left out."""

    name: ClassVar[str] = "ground_truth"
    summary: ClassVar[str] = "cosine with a known truth, such as the noun matches of a model trained to count them"
    needs: ClassVar[str] = "truth"
    headline: ClassVar[str] = "cosine"
    higher_is_better: ClassVar[bool | None] = True

    def rows(self, case: Case, found: Mapping[str, Explanation], encoder: Encoder) -> list[Row]:
        if case.truth is None:
            raise BadInput(
                "The ground_truth measure needs a truth. Give a truth-*.jsonl that `whyalike train nouns` wrote."
            )
        if not case.truth.score:
            return []
        return [
            {"subject": name, "cosine": _cosine(case.truth.matrix(e.left, e.right), e.matrix)}
            for name, e in found.items()
        ]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        return means(rows, ("cosine",))


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    """0 where one of them is all zeros: nothing has no direction."""
    scale = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float((one * other).sum()) / scale if scale else 0.0
