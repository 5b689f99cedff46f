"""What an analysis finds: sentences, tables, charts, explanations to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whyalike.results.explanation import Explanation

Row = dict[str, Any]
Charts = Callable[[Any], Mapping[str, Any]]  # given altair, charts by name


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """``says`` are its findings in sentences, the first the one to remember. Charts are drawn only when they are looked at."""

    name: str
    title: str
    says: tuple[str, ...]
    tables: Mapping[str, Sequence[Row]]
    charts: Charts = lambda altair: {}
    pictures: Mapping[str, Explanation] = field(default_factory=dict)  # explanations to draw, by their headings

    def __repr__(self) -> str:
        return f"Section({self.title}: {' '.join(self.says):.120})"

    def to_dict(self) -> dict[str, Any]:
        tables = {name: [dict(row) for row in rows] for name, rows in self.tables.items()}
        return {"analysis": self.name, "title": self.title, "says": list(self.says), "tables": tables}
