"""What a measure is: it looks at one pair of texts at a time and gives rows of numbers; tables are made of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from whyalike.data.alignments import Aligned
from whyalike.data.truth import Truth
from whyalike.encoders.encoder import Encoder
from whyalike.methods.cache import ContributionCache
from whyalike.results.explanation import Explanation

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
    headline: ClassVar[str]  # the number that decides
    higher_is_better: ClassVar[bool | None]
    explains: ClassVar[bool] = True  # whether it needs explanations, or looks at the model's scores alone
    joint: ClassVar[bool] = False  # whether it looks at all models' explanations together

    def prepare(self, subjects: Sequence[Any], cases: Sequence[Case]) -> Measure:
        """The measure as it is for these subjects and cases: most are as they were."""
        return self

    def notes(self, encoder: Encoder) -> tuple[str, ...]:
        """What a reader of the result should know of how it was measured."""
        return ()

    @abstractmethod
    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        """The rows of one pair: mostly one per subject."""

    @abstractmethod
    def table(self, rows: Sequence[Row]) -> list[Row]:
        """One line per subject, of all rows."""


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
