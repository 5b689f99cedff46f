"""The result of an evaluation: the rows of every pair, the table made of them, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from whyalike.results.result import Result
from whyalike.statistics import holm, signed_rank_test

FORMAT, VERSION = "whyalike evaluation", 1
SAME = 1e-7  # a difference that is rounding
Row = dict[str, Any]  # "subject", and numbers; JSON values only


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Result):
    """What a measure found: ``table`` has a line per subject, ``rows`` what it was made of, one per pair and subject."""

    measure: str
    request: Mapping[str, Any]
    rows: tuple[Row, ...]
    table: tuple[Row, ...]
    headline: str  # the number that decides
    higher_is_better: bool | None
    notes: tuple[str, ...] = ()  # what a reader should know of how it was measured

    def significance(self) -> list[Row]:
        """Wilcoxon's signed-rank test, two-sided, on pairs that both subjects have, for every two subjects (of one stage).

        ``p_adjusted`` is Holm's: so many comparisons would find something by chance.
        """
        values: dict[str, dict[int, float]] = {}
        stages = {row["subject"]: row.get("stage") for row in self.rows}
        for row in self.rows:
            if row.get(self.headline) is not None and not row.get("control"):
                values.setdefault(row["subject"], {})[row["case"]] = row[self.headline]
        names = list(values)
        found: list[Row] = []
        for index, one in enumerate(names):
            for other in (each for each in names[index + 1 :] if stages[each] == stages[one]):
                shared = sorted(values[one].keys() & values[other].keys())
                gaps = np.array([values[one][case] - values[other][case] for case in shared])
                gaps[np.abs(gaps) < SAME] = 0
                p = signed_rank_test(gaps)
                mean = float(gaps.mean()) if len(gaps) else None
                found.append({"one": one, "other": other, "pairs": len(gaps), "mean_difference": mean, "p": p})
        for line, adjusted in zip(found, holm([line["p"] for line in found]), strict=True):
            line["p_adjusted"] = adjusted
        return found

    def __repr__(self) -> str:
        top = ", ".join(f"{line['subject']} {_plain(line.get(self.headline))}" for line in self.table[:3])
        return f"Evaluation({self.measure} on {self.request.get('model')}, {self.headline}: {top})"

    def to_columns(self) -> dict[str, list[Any]]:
        """One row per pair and subject. What a measure keeps for its table only (lists of lists) is left out."""
        nested = {name for row in self.rows for name, value in row.items() if _is_nested(value)}
        names = dict.fromkeys(name for row in self.rows for name in row if name not in nested)
        return {name: [row.get(name) for row in self.rows] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: what ``whyalike evaluate --json`` prints. A file has the ``rows`` too."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "measure": self.measure,
            "request": dict(self.request),
            "headline": self.headline,
            "higher_is_better": self.higher_is_better,
            "notes": list(self.notes),
            "table": list(self.table),
            "significance": self.significance(),
        }


def _plain(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _is_nested(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, list | dict) for each in value))
