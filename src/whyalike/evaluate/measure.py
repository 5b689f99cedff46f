"""What a measure is: it looks at one pair of texts at a time and gives rows of numbers; tables are made of the rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from whyalike import comparison
from whyalike.encoders.encoder import Encoder
from whyalike.evaluate.alignments import Aligned
from whyalike.explanation import Explanation
from whyalike.truth import Truth

Row = dict[str, Any]  # "subject", and numbers; JSON values only


@dataclass(frozen=True, slots=True)
class Case:
    """A pair of texts, and what is known of it."""

    number: int
    left: str
    right: str
    score: float | None = None
    aligned: Aligned | None = None
    truth: Truth | None = None


class Measure(ABC):
    """A frozen value: parameters are fields."""

    name: ClassVar[str]
    summary: ClassVar[str]
    needs: ClassVar[str] = "pairs"  # pairs, scored pairs, alignments or truth
    headline: ClassVar[str]  # the number to judge by
    higher_is_better: ClassVar[bool | None]
    joint: ClassVar[bool] = False  # whether it looks at all models' explanations together

    def prepare(self, subjects: Sequence[Any], cases: Sequence[Case]) -> Measure:
        """The measure as it is for these subjects and cases: most are as they were."""
        return self

    def notes(self, encoder: Encoder) -> tuple[str, ...]:
        """What a reader of the result should know of how it was measured."""
        return ()

    @abstractmethod
    def rows(self, case: Case, found: Mapping[str, Explanation], encoder: Encoder) -> list[Row]:
        """The rows of one pair: mostly one per subject."""

    @abstractmethod
    def table(self, rows: Sequence[Row]) -> list[Row]:
        """One line per subject, of all rows."""


def correlation(one: np.ndarray, other: np.ndarray) -> float | None:
    """None, which is JSON, where there is none."""
    return _known(comparison.correlation(one, other))


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float | None:
    return _known(comparison.rank_correlation(one, other))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def means(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Each subject's mean of each number, its standard deviation, and how many pairs have the first. None does not count."""
    table = []
    for subject in dict.fromkeys(row["subject"] for row in rows):
        line: Row = {"subject": subject}
        own = [row for row in rows if row["subject"] == subject]
        line["pairs"] = sum(row.get(names[0]) is not None for row in own)
        for name in names:
            values = np.array([row[name] for row in own if row.get(name) is not None], dtype=float)
            line[name] = float(values.mean()) if len(values) else None
            line[f"{name}_deviation"] = float(values.std(ddof=1)) if len(values) > 1 else None
        table.append(line)
    return table
