"""What an analysis finds: sentences, tables, charts, explanations to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from whyalike.colours import MODELS
from whyalike.results.explanation import Explanation

Row = dict[str, Any]
Charts = Callable[[Any], Mapping[str, Any]]  # given altair, charts by name
Form = Literal["text", "count", "share", "number", "signed", "times"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column as people read it: what its numbers are called, how they are written, what they mean."""

    name: str  # in the rows
    heading: str
    form: Form = "text"
    meaning: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One table over all models: rows are matched by ``keys``, and every other column stands once per model."""

    title: str
    keys: tuple[Column, ...]
    values: tuple[Column, ...]
    rows: Mapping[str, Sequence[Row]]  # by model
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """``says`` are its findings in sentences, the first the one to remember. Charts are drawn only when they are looked at.

    ``tables`` are its numbers, for files. ``views`` are how a page shows them; without any, a page shows ``tables``.
    ``explained`` tells a reader who does not know the method what was measured.
    """

    name: str
    title: str
    says: tuple[str, ...]
    tables: Mapping[str, Sequence[Row]]
    charts: Charts = lambda altair: {}
    pictures: Mapping[str, Explanation] = field(default_factory=dict)  # explanations to draw, by their headings
    explained: str = ""
    views: tuple[View, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.says or self.pictures or any(self.tables.values()))

    def __repr__(self) -> str:
        return f"Section({self.title}: {' '.join(self.says):.120})"

    def to_dict(self) -> dict[str, Any]:
        tables = {name: [dict(row) for row in rows] for name, rows in self.tables.items()}
        return {"analysis": self.name, "title": self.title, "says": list(self.says), "tables": tables}


def model_colour(altair: Any, names: Sequence[str]) -> Any:
    """The channel that gives each model its own colour, the same in every chart of a page."""
    colours = [MODELS[number % len(MODELS)] for number in range(len(names))]
    legend = altair.Legend(orient="top", labelLimit=400) if len(names) > 1 else None
    return altair.Color("model:N", title=None, scale=altair.Scale(domain=list(names), range=colours), legend=legend)
