"""Several explanations of one pair, and how far they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from whyalike.errors import BadInput
from whyalike.results.difference import Difference, say_differences, shares_of
from whyalike.results.explanation import Explanation
from whyalike.results.finding import Piece
from whyalike.results.records import MethodRecord, ModelRecord
from whyalike.results.result import Result
from whyalike.results.sides import Side
from whyalike.results.words import printable
from whyalike.statistics import rank_correlation

FORMAT, VERSION = "whyalike comparison", 1
Table = Float[np.ndarray, "entries entries"]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One explanation of the pair, what to call it, and how long it took."""

    name: str
    explanation: Explanation
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Result):
    """Explanations of one pair. Agreement is over pairs of the texts' own words (or sentences) that all of them speak of."""

    entries: tuple[Entry, ...]

    def __post_init__(self) -> None:
        explanations = [entry.explanation for entry in self.entries]
        if len({(e.left.text, e.right.text) for e in explanations}) != 1:
            raise BadInput("A comparison needs explanations of one pair of texts, at least one; these are of several.")
        units = {side.unit for e in explanations for side in (e.left, e.right)}
        if len(units) != 1 or "token" in units:
            raise BadInput(
                f"Explanations are compared in words or in sentences, all alike; got {sorted(units)}. Use by_word()."
            )

    @property
    def pairs(self) -> int:
        """How many pairs the agreement is over. Where one of several models reads less of a text, fewer than it has."""
        return len(self._values()[0])

    @property
    def spearman(self) -> Table:
        """Rank correlation of the pairs' values. NaN where one side ranks nothing: all its values are equal."""
        values = self._values()
        return self._table(lambda i, j: rank_correlation(values[i], values[j]))

    def overlap(self, count: int = 10) -> Table:
        """How much of the top pairs is shared: |A ∩ B| / min(|A|, |B|), where A are the ``count`` largest positive ones."""
        tops = [_top(values, count) for values in self._values()]
        return self._table(lambda i, j: _shared(tops[i], tops[j]))

    def difference(self, first: int = 0, second: int = 1) -> Difference:
        """What one explanation sees and another does not: shares of ``Σ|values|``, first minus second.

        Args:
            first: The number of an entry, from 0.
            second: The number of another.
        """
        for number in (first, second):
            if not 0 <= number < len(self.entries):
                raise BadInput(f"There is no entry {number}: this comparison has {len(self.entries)}, counted from 0.")
        left, right, values = self._shared()
        names = self.entries[first].name, self.entries[second].name
        return Difference(names, left, right, shares_of(values[first]), shares_of(values[second]))

    def pieces(self) -> Iterator[Piece]:
        """The finding in words, in pieces, by the rules of `results/difference.py`."""
        if len(self.entries) == 1:
            yield from self.entries[0].explanation.finding.pieces()
            return
        left, right, values = self._shared()
        names = [printable(entry.name) for entry in self.entries]
        yield from say_differences(names, left, right, [shares_of(each) for each in values])

    @property
    def sentence(self) -> str:
        """What all explanations see, and what only one of them sees.

        Example:
            >>> compare("A man plays guitar.", "Someone makes music.", methods=["bilrp", "bti"]).sentence  # doctest: +SKIP
            'Both see guitar ↔ music (30 % and 71 %); …'
        """
        return "".join(piece.text for piece in self.pieces())

    def __repr__(self) -> str:
        e = self.entries[0].explanation
        return (
            f"Comparison({e.left.text[:30]!r} ↔ {e.right.text[:30]!r}: {', '.join(each.name for each in self.entries)})"
        )

    def to_columns(self) -> dict[str, list[Any]]:
        """One row per explanation and pair of units: its name, and the columns of `Explanation.to_columns`."""
        tables = [(entry.name, entry.explanation.to_columns()) for entry in self.entries]
        names = [name for name, table in tables for _ in table["value"]]
        return {"explanation": names} | {
            column: [value for _, table in tables for value in table[column]] for column in tables[0][1]
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: what ``whyalike compare --json`` prints. What cannot be said (NaN) is null."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "entries": [
                {
                    "name": entry.name,
                    "seconds": entry.seconds,
                    "adds_up": entry.explanation.adds_up,
                    "residual": entry.explanation.residual,
                    "top_pairs": [pair._asdict() for pair in entry.explanation.top_pairs(10)],
                    "explanation": entry.explanation.to_dict(),
                }
                for entry in self.entries
            ],
            "sentence": self.sentence,
            "pairs_compared": self.pairs,
            "spearman": _plain(self.spearman),
            "top_10_overlap": _plain(self.overlap()),
        }

    def _repr_html_(self) -> str:
        from whyalike.render.comparison import fragment

        return fragment(self)

    def _shared(self) -> tuple[Side, Side, list[Float[np.ndarray, "left right"]]]:
        """The words that all explanations speak of, and each one's values."""
        explanations = [entry.explanation for entry in self.entries]
        values = shared_tables(explanations)
        e, (rows, columns) = explanations[0], _common(explanations)
        sides = [
            side.only([_units(side)[unit] for unit in units]) for side, units in ((e.left, rows), (e.right, columns))
        ]
        return sides[0], sides[1], values

    def _values(self) -> list[Float[np.ndarray, "pairs"]]:
        return shared_values([entry.explanation for entry in self.entries])

    def _table(self, value: Callable[[int, int], float]) -> Table:
        numbers = range(len(self.entries))
        return np.array([[value(i, j) for j in numbers] for i in numbers], dtype=np.float64)


def name_entries(
    methods: Sequence[MethodRecord], models: Sequence[ModelRecord], views: Sequence[str | None]
) -> list[str]:
    """What to call explanations: the method, and the parameters, the view and the model as far as they differ."""
    called = list({model.fingerprint: model.name for model in models}.values())
    names = []
    for method, model, view in zip(methods, models, views, strict=True):
        alike = [other.parameters for other in methods if other.name == method.name]
        differing = [
            f"{key} {value}" for key, value in method.parameters.items() if any(o.get(key) != value for o in alike)
        ]
        # Two models of one name are told apart by their fingerprints.
        name = f"{model.name} {model.fingerprint[:6]}" if called.count(model.name) > 1 else model.name
        names.append(
            " · ".join([method.name, *differing, *([view] if view else []), *([name] if len(called) > 1 else [])])
        )
    return [name if names.count(name) == 1 else f"{name} ({number + 1})" for number, name in enumerate(names)]


def shared_values(explanations: Sequence[Explanation]) -> list[Float[np.ndarray, "pairs"]]:
    """Each explanation's values of the pairs of words (or sentences) that all of them speak of, in one order."""
    return [table.ravel() for table in shared_tables(explanations)]


def shared_tables(explanations: Sequence[Explanation]) -> list[Float[np.ndarray, "left right"]]:
    """The same as tables: a row for each word of the left text, a column for each of the right."""
    rows, columns = _common(explanations)
    return [
        e.matrix[np.ix_(*([units[unit] for unit in each] for units, each in zip(sides, (rows, columns), strict=True)))]
        for e in explanations
        for sides in [(_units(e.left), _units(e.right))]
    ]


def _common(explanations: Sequence[Explanation]) -> tuple[list[int], list[int]]:
    """The words of either text that all speak of, by their number in it."""
    lefts, rights = ([_units(getattr(e, name)) for e in explanations] for name in ("left", "right"))
    rows, columns = (sorted(set.intersection(*map(set, each))) for each in (lefts, rights))
    return rows, columns


def _units(side: Side) -> dict[int, int]:
    """The text's own words (or sentences), by their number in the text, and where they stand."""
    parents = side.word_of if side.unit == "word" else side.sentence_of
    return {int(parents[index]): index for index in side.own}


def _top(values: Float[np.ndarray, "pairs"], count: int) -> set[int]:
    order = np.argsort(-values, kind="stable")[:count]
    return {int(index) for index in order if values[index] > 0}


def _shared(one: set[int], other: set[int]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else math.nan


def _plain(table: Table) -> list[list[float | None]]:
    return [[None if math.isnan(value) else float(value) for value in row] for row in table]
