"""What the parts of explanations sum to: conservation (BiLRP paper, Figure 6), balance (Siamese paper, Figure 5), truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.evaluate.measure import Case, Measure, Row, correlation, means
from whyalike.evaluate.randomization import without_biases
from whyalike.evaluate.subjects import Subject
from whyalike.explanation import Contributions, Explanation
from whyalike.methods.second_order import SecondOrder


@dataclass(frozen=True, slots=True)
class Conservation(Measure):
    """The four parts of the score, and how far the matrix alone, and all parts together, are from it.

    Where a method speaks in the embedding's own space, also the paper's own question, text by text: ``relevance``, the sum of
    all tokens' contributions, against ``activation``, the sum of the embedding. All once more on a copy of the model with its
    biases at zero, where bilrp leaves nothing that no token owns: a control, not a subject to be judged.
    """

    name: ClassVar[str] = "conservation"
    summary: ClassVar[str] = (
        "what the matrix, the terms and the constant sum to, against the score; with and without biases"
    )
    headline: ClassVar[str] = "matrix_off"
    higher_is_better: ClassVar[bool | None] = False
    without_biases: bool = True
    _judged: tuple[Subject, ...] = ()
    _bare: dict[Encoder, Encoder] = field(default_factory=dict, repr=False, compare=False)

    def prepare(self, subjects: Sequence[Subject], cases: Sequence[Case]) -> Conservation:
        return replace(self, _judged=tuple(subjects), _bare={})

    def rows(self, case: Case, found: Mapping[str, Explanation], encoder: Encoder) -> list[Row]:
        rows = [
            _parts(judged.name, found[judged.name], _contributions(judged, case, encoder)) for judged in self._judged
        ]
        if not self.without_biases:
            return rows
        if encoder not in self._bare:
            self._bare[encoder] = without_biases(encoder)
        bare = self._bare[encoder]
        for judged in self._judged:
            judged = judged.at_layer_of(found[judged.name])
            (source,) = judged.sources([(case.left, case.right)], bare)
            texts = () if judged.method is None or judged.view or isinstance(source, Explanation) else source
            rows.append({**_parts(f"{judged.name}, biases zero", judged.seen(source), texts), "control": True})
        return rows

    def table(self, rows: Sequence[Row]) -> list[Row]:
        names = ("score", "matrix", "left_terms", "right_terms", "constant", "matrix_off", "all_parts_off")
        table = means(rows, names)
        for line in table:
            own = [row for row in rows if row["subject"] == line["subject"]]
            line["correlation"] = correlation(*np.array([(row["matrix"], row["score"]) for row in own], dtype=float).T)
            texts = [pair for row in own for pair in zip(row["activation"], row["relevance"], strict=True)]
            line["correlation_of_texts"] = correlation(*np.array(texts, dtype=float).T) if texts else None
        return table


def _contributions(judged: Subject, case: Case, encoder: Encoder) -> list[Contributions]:
    """Of both texts; none where the subject has none, or looks at them in another way."""
    if not isinstance(judged.method, SecondOrder) or judged.view:
        return []
    return judged.method.contributions(encoder, [case.left, case.right], truncate=True, progress=False)


def _parts(name: str, e: Explanation, texts: Sequence[Contributions]) -> Row:
    """The parts of a pair; and of each text the sum of its embedding and of its tokens' contributions, where of one space."""
    own = [text for text in texts if text.tokens.shape[1] == len(text.embedding)]
    return {
        "subject": name,
        "score": e.score,
        "matrix": float(e.matrix.sum()),
        "left_terms": float(e.left_terms.sum()),
        "right_terms": float(e.right_terms.sum()),
        "constant": e.constant,
        "matrix_off": abs(float(e.matrix.sum()) - e.score),
        "all_parts_off": abs(e.residual),
        "activation": [float(text.embedding.sum()) for text in own],
        "relevance": [float(text.tokens.sum()) for text in own],
    }


ABOVE = (1, 2)  # the sums of positive attributions that the Siamese paper looks for, of exact and of other models


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
