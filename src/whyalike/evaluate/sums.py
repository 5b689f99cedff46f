"""What the parts of explanations sum to: conservation (BiLRP paper, Figure 6), balance (Siamese paper, Figure 5), truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.evaluate.measure import Case, Measure, Row, means
from whyalike.evaluate.randomization import without_biases
from whyalike.evaluate.subjects import Subject
from whyalike.methods.cache import ContributionCache, TextKey
from whyalike.methods.method import PairMethod
from whyalike.methods.tangents import GIBIBYTE
from whyalike.results.explanation import Explanation
from whyalike.statistics import correlation, none_if_nan


@dataclass(frozen=True, slots=True)
class Conservation(Measure):
    """The four parts of the score, and how far the matrix alone, and all parts together, are from it.

    Where a method speaks in the embedding's own space, also the paper's own question, text by text: ``relevance``, the sum of
    all tokens' contributions, against ``activation``, the sum of the embedding. All once more on a copy of the model with its
    biases at zero, where bilrp has no background: a control, not something to be compared.
    """

    name: ClassVar[str] = "conservation"
    headline: ClassVar[str] = "matrix_off"
    higher_is_better: ClassVar[bool | None] = False
    without_biases: bool = True
    _subjects: tuple[Subject, ...] = ()
    _bare: dict[Encoder, Encoder] = field(default_factory=dict, repr=False, compare=False)

    def prepare(self, subjects: Sequence[Subject], cases: Sequence[Case]) -> Conservation:
        return replace(self, _subjects=tuple(subjects), _bare={})

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        cache = ContributionCache(GIBIBYTE) if cache is None else cache
        rows = [
            self._row(subject, subject.name, found[subject.name], case, encoder, cache) for subject in self._subjects
        ]
        if not self.without_biases:
            return rows
        if encoder not in self._bare:
            self._bare[encoder] = without_biases(encoder.transformer)
        bare = self._bare[encoder]
        for subject in self._subjects:
            subject = subject.at_layer_of(found[subject.name])
            alone = ContributionCache(GIBIBYTE)  # by itself, so that a resumed run computes the same digits
            (e,) = subject.explanations([(case.left, case.right)], bare, alone)
            row = self._row(subject, f"{subject.name}, biases zero", e, case, bare, alone)
            rows.append({**row, "control": True})
        return rows

    def _row(
        self, subject: Subject, name: str, e: Explanation, case: Case, encoder: Encoder, cache: ContributionCache
    ) -> Row:
        """The parts of a pair; and, where the method has contributions in the embedding's space, of each text the sum of its
        embedding and of its contributions.
        """
        keys = [TextKey(text, None) for text in (case.left, case.right)]
        if not isinstance(subject.method, PairMethod) and cache.get(encoder, subject.method, keys[0]) is None:
            subject.explanations([(case.left, case.right)], encoder, cache)
        parts = [] if subject.view else [cache.get(encoder, subject.method, key) for key in keys]
        own = [part for part in parts if part is not None and part.tokens.shape[1] == len(part.embedding)]
        return {
            "subject": name,
            "score": e.score,
            "matrix": float(e.matrix.sum()),
            "left_terms": float(e.left_terms.sum()),
            "right_terms": float(e.right_terms.sum()),
            "constant": e.constant,
            "matrix_off": abs(float(e.matrix.sum()) - e.score),
            "all_parts_off": abs(e.residual),
            "activation": [float(part.embedding.sum()) for part in own],
            "relevance": [float(part.tokens.sum()) for part in own],
        }

    def table(self, rows: Sequence[Row]) -> list[Row]:
        names = ("score", "matrix", "left_terms", "right_terms", "constant", "matrix_off", "all_parts_off")
        table = means(rows, names)
        for line in table:
            own = [row for row in rows if row["subject"] == line["subject"]]
            sums = np.array([(row["matrix"], row["score"]) for row in own], dtype=float)
            line["correlation"] = none_if_nan(correlation(*sums.T))
            texts = [pair for row in own for pair in zip(row["activation"], row["relevance"], strict=True)]
            line["correlation_of_texts"] = none_if_nan(correlation(*np.array(texts, dtype=float).T)) if texts else None
        return table


ABOVE = (1, 2)  # the sums of positive attributions that the Siamese paper looks for, of exact and of other models


@dataclass(frozen=True, slots=True)
class Balance(Measure):
    """Sums of positive and of negative attributions."""

    name: ClassVar[str] = "balance"
    headline: ClassVar[str] = "positive"
    higher_is_better: ClassVar[bool | None] = None

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        return [
            {
                "subject": name,
                "unit": e.left.unit,
                "score": e.score,
                "positive": float(np.clip(e.matrix, 0, None).sum()),
                "negative": float(np.clip(e.matrix, None, 0).sum()),
                **{f"positive_above_{each}": float(np.clip(e.matrix, 0, None).sum() > each) for each in ABOVE},
            }
            for name, e in found.items()
        ]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        table = means(rows, ("positive", "negative", "score", *(f"positive_above_{each}" for each in ABOVE)))
        units = {row["subject"]: row["unit"] for row in rows}
        return [{**line, "unit": units[line["subject"]]} for line in table]


@dataclass(frozen=True, slots=True)
class GroundTruth(Measure):
    """Cosine of the matrix with a known truth, as the BiLRP paper's ACS. Pairs whose truth is empty are left out."""

    name: ClassVar[str] = "ground_truth"
    headline: ClassVar[str] = "cosine"
    higher_is_better: ClassVar[bool | None] = True

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        if case.truth is None:
            raise BadInput(
                "The ground_truth measure needs a truth. Give a truth-*.jsonl that `whyalike train nouns` wrote."
            )
        if not case.truth.score:
            return []
        # Differs from the paper: words, not tokens, since some methods speak in words only.
        worded = {name: e.by_word() for name, e in found.items()}
        return [
            {"subject": name, "cosine": _cosine(case.truth.matrix(e.left, e.right), e.matrix)}
            for name, e in worded.items()
        ]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        return means(rows, ("cosine",))


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    """0 where one of them is all zeros: nothing has no direction."""
    scale = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float((one * other).sum()) / scale if scale else 0.0
