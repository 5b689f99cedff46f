"""Do explanations put words together as people do? Against human word alignments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, isnan
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.metrics import average_precision_score

from whyalike.data.alignments import Aligned, in_words
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.evaluate.measure import Case, Measure, Row, means
from whyalike.methods.cache import ContributionCache
from whyalike.results.explanation import Explanation
from whyalike.statistics import none_if_nan, rank_correlation

THRESHOLDS = tuple(round(0.02 * step, 2) for step in range(1, 50))  # shares of a pair's largest value
NUMBERS = ("average_precision", "precision_at_links", "first_partner", "reciprocal_rank")
Matrix = Float[np.ndarray, "left right"]


@dataclass(frozen=True, slots=True)
class Human(Measure):
    """Ranks all word pairs by their value, and asks how far up the links of people stand.

    ``average_precision`` and ``precision_at_links`` (as many pairs as there are links) look at the whole matrix.
    ``first_partner`` and ``reciprocal_rank`` look at each word that has a link, in its row or column: is a partner of its
    first? An attribution also says how much a word matters, and people align every article: the second kind does not
    punish that. ``f1`` takes pairs above a share of the pair's largest value, the share tuned on every other pair.
    """

    name: ClassVar[str] = "human"
    headline: ClassVar[str] = "average_precision"
    higher_is_better: ClassVar[bool | None] = True
    possible: bool = True  # whether links that people call possible count

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        if case.aligned is None:
            raise BadInput("The human measure needs alignments. Give a set of them, such as multimwa-mtref-dev.")
        gold = case.aligned.gold(possible=self.possible)
        if not gold.any():
            return []  # nothing to find
        return [{"subject": name, **_numbers(in_words(e, case.aligned), gold, case)} for name, e in found.items()]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        table = means(rows, NUMBERS)
        for line in table:
            own = [row for row in rows if row["subject"] == line["subject"]]
            line["f1"], line["f1_share"] = _tuned_f1(own)
            line |= _by_kind([chunk for row in own for chunk in row.get("chunks", ())])
        return table


def _numbers(values: Matrix, gold: Matrix, case: Case) -> Row:
    links = int(gold.sum())
    words = [
        (line, true)
        for matrix, truth in ((values, gold), (values.T, gold.T))
        for line, true in zip(matrix, truth, strict=True)
    ]
    ranks = [_ranks(line, true) for line, true in words if true.any()]
    row: Row = {
        "average_precision": float(average_precision_score(gold.ravel(), values.ravel())),
        "precision_at_links": _precision(values.ravel(), gold.ravel(), links),
        "first_partner": float(np.mean([chances.get(1, 0.0) for chances in ranks])),
        "reciprocal_rank": float(np.mean([sum(chance / rank for rank, chance in each.items()) for each in ranks])),
        "even": case.number % 2 == 0,
        "counts": _counts(values, gold),
    }
    if case.aligned is not None and case.aligned.chunks:
        row["chunks"] = _chunks(values, case.aligned)
    return row


def _precision(values: Float[np.ndarray, "cells"], gold: Float[np.ndarray, "cells"], count: int) -> float:
    """The share of links among the ``count`` largest values; of cells tied at the last place, as many as chance takes."""
    last = np.sort(values)[-count]
    above, tied = values > last, values == last
    taken = float(gold[above].sum()) + float(gold[tied].mean()) * (count - int(above.sum()))
    return taken / count


def _ranks(values: Float[np.ndarray, "words"], true: Float[np.ndarray, "words"]) -> dict[int, float]:
    """The ranks that the best true partner may have, with their chances: words tied with it come in any order."""
    best = values[true > 0].max()
    above, tied = int((values > best).sum()), values == best
    words, partners = int(tied.sum()), int(true[tied].sum())
    return {
        above + place: comb(words - place, partners - 1) / comb(words, partners)
        for place in range(1, words - partners + 2)
    }


def _counts(values: Matrix, gold: Matrix) -> list[list[int]]:
    """At each threshold: how many pairs are taken, and how many of them are links; and how many links there are."""
    most = float(values.max())
    taken = [values >= share * most if most > 0 else np.zeros_like(values, dtype=bool) for share in THRESHOLDS]
    return [[int(each.sum()), int(gold[each].sum()), int(gold.sum())] for each in taken]


def _tuned_f1(rows: Sequence[Row]) -> tuple[float | None, float | None]:
    """F1 over the links of the odd pairs, at the threshold that is best on the even ones."""
    halves = [np.array([row["counts"] for row in rows if row["even"] == even], dtype=float) for even in (True, False)]
    if not all(len(half) for half in halves):
        return None, None
    scores = []
    for half in halves:
        taken, right, links = half.sum(0).T
        scores.append(2 * right / np.maximum(taken + links, 1))
    best = int(scores[0].argmax())
    return float(scores[1][best]), THRESHOLDS[best]


def _chunks(values: Matrix, aligned: Aligned) -> list[list[Any]]:
    """Of each pair of chunks: kind, human score, and its mean value in deviations from the mean of all cells."""
    spread = float(values.std()) or 1.0
    return [
        [
            chunk.kind,
            None if isnan(chunk.score) else chunk.score,
            float((values[np.ix_(chunk.left, chunk.right)].mean() - values.mean()) / spread),
        ]
        for chunk in aligned.chunks
    ]


def _by_kind(chunks: Sequence[Sequence[Any]]) -> Row:
    """The mean value of each kind of alignment, how often an EQUI pair stands above one of another kind, and how far values
    rise with the scores people gave.
    """
    by_kind: dict[str, list[float]] = {}
    for kind, _, value in chunks:
        by_kind.setdefault(kind, []).append(value)
    row: Row = {f"mean_{kind}": float(np.mean(values)) for kind, values in sorted(by_kind.items())}
    same = np.array(by_kind.get("EQUI", ()))
    for kind, values in sorted(by_kind.items()):
        if kind != "EQUI" and len(same):
            gap = same[:, None] - np.array(values)[None]
            row[f"EQUI_above_{kind}"] = float(((gap > 0) + 0.5 * (gap == 0)).mean())
    scored = np.array([(score, value) for _, score, value in chunks if score is not None], dtype=float)
    if len(scored):
        row["chunks_by_human_score"] = none_if_nan(rank_correlation(*scored.T))
    return row
