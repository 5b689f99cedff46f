"""How far explanations agree, of two methods, layers or models; and a model's scores with people's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.evaluate.measure import Case, Measure, Row, means
from whyalike.methods.cache import ContributionCache
from whyalike.results.comparison import shared_values
from whyalike.results.explanation import Explanation
from whyalike.statistics import correlation, none_if_nan, rank_correlation

NEAR = 0.5  # the mean score above which the Siamese paper's Figure 4 looks
NUMBERS = ("spearman", "pearson", "top_3", "top_10")


def compared(one: Explanation, other: Explanation) -> Row:
    """Rank correlation, correlation, and the Jaccard overlap of the top pairs, over the texts' own words that both speak of.

    Differs from the paper: it compares tokens, with special ones; words can be compared between models of different tokens.
    """
    first, second = shared_values([one.by_word(), other.by_word()])
    return {
        "spearman": none_if_nan(rank_correlation(first, second)),
        "pearson": none_if_nan(correlation(first, second)),
        "top_3": _jaccard(first, second, 3),
        "top_10": _jaccard(first, second, 10),
    }


def _jaccard(one: np.ndarray, other: np.ndarray, count: int) -> float | None:
    """Overlap of the largest nonzero cells. None if there are none."""
    if len(one) <= count:
        return None
    tops = [{int(n) for n in np.argsort(-each, kind="stable")[:count] if each[n] != 0} for each in (one, other)]
    return len(tops[0] & tops[1]) / len(tops[0] | tops[1]) if tops[0] | tops[1] else None


@dataclass(frozen=True, slots=True)
class Agreement(Measure):
    """Every two subjects against each other (Siamese paper, Figures 3 and 4)."""

    name: ClassVar[str] = "agreement"
    headline: ClassVar[str] = "spearman"
    higher_is_better: ClassVar[bool | None] = None
    joint: ClassVar[bool] = True

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        return [
            {"subject": f"{one} ~ {other}", "mean_score": (found[one].score + found[other].score) / 2}
            | compared(found[one], found[other])
            for one, other in combinations(found, 2)
        ]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        table = means(rows, (*NUMBERS, "mean_score"))
        for line in table:
            own = [row for row in rows if row["subject"] == line["subject"] and row["mean_score"] > NEAR]
            for name in NUMBERS:
                known = [row[name] for row in own if row[name] is not None]
                line[f"{name}_above_{NEAR}"] = float(np.mean(known)) if known else None
        return table


@dataclass(frozen=True, slots=True)
class Sts(Measure):
    """The model itself: rank and linear correlation of its similarity with human scores (BiLRP paper, Table 1)."""

    name: ClassVar[str] = "sts"
    explains: ClassVar[bool] = False
    headline: ClassVar[str] = "spearman"
    higher_is_better: ClassVar[bool | None] = True

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        if case.score is None:
            raise BadInput(
                "The sts measure needs scored pairs. Give a file with a score, or a data set such as stsb-en-test."
            )
        left, right = encoder.embed([case.left, case.right])
        return [{"subject": "similarity", "predicted": encoder.record.score(left, right), "human": case.score}]

    def table(self, rows: Sequence[Row]) -> list[Row]:
        table = []
        for name in dict.fromkeys(row["subject"] for row in rows):
            pairs = np.array([(row["predicted"], row["human"]) for row in rows if row["subject"] == name], dtype=float)
            table.append(
                {
                    "subject": name,
                    "pairs": len(pairs),
                    "spearman": none_if_nan(rank_correlation(*pairs.T)),
                    "pearson": none_if_nan(correlation(*pairs.T)),
                }
            )
        return table
