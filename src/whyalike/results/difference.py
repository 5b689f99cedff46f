"""What one explanation of a pair sees and another does not.

Explanations by different methods are on different scales, so they are compared by *shares*: a pair's value divided by the
sum of all sizes, ``Σ|values|``, over the words that all of them speak of. Equal words of one text count as one. The sentence is
made by these rules:

- A method *sees* a pair that has at least `SEEN` of the share of its strongest pair.
- *All see* a pair that each of them sees, or that one sees and has at least `HALF` of its share for each of the others.
- *Only one sees* a pair that it sees and no other does, where every other has less than `HALF` of its share.
- A pair that raises the score for one and lowers it for another, seen by both, is named as what they disagree on.
- At most `MOST` pairs of each kind are named: first those that are largest beside the strongest pair of each method.
- What two share in all is ``1 − ½ Σ|difference of shares|``: 1 where all shares are equal, 0 where nothing is common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from whyalike.results.finding import Names, Piece
from whyalike.results.numbers import plain
from whyalike.results.sides import Side, sum_rows

SEEN, HALF, MOST = 0.25, 0.5, 3
SMALL = 0.01  # a share that is written with one more digit

Shares = Float[np.ndarray, "left right"]


class PairDifference(NamedTuple):
    """A pair of words with its share in either explanation."""

    left: str
    right: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        return self.first - self.second


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Two explanations of one pair: the shares of the first minus those of the second."""

    names: tuple[str, str]
    left: Side  # the words that both speak of
    right: Side
    first: Shares
    second: Shares

    @property
    def matrix(self) -> Shares:
        return self.first - self.second

    @property
    def overlap(self) -> float:
        """How much of what they say is the same, from 0 to 1."""
        return 1 - float(np.abs(self.matrix).sum()) / 2

    def top(self, count: int = 10) -> list[PairDifference]:
        """The pairs that differ most, in either direction; equal words of a text are one."""
        left, right, (first, second) = name_words(self.left, self.right, (self.first, self.second))
        difference = first - second
        order = np.argsort(-np.abs(difference), axis=None, kind="stable")[:count]
        places = [tuple(map(int, np.unravel_index(flat, difference.shape))) for flat in order]
        return [
            PairDifference(left.labels[i], right.labels[j], float(first[i, j]), float(second[i, j]))
            for i, j in places
            if difference[i, j]
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "names": list(self.names),
            "overlap": self.overlap,
            "left": list(self.left.labels),
            "right": list(self.right.labels),
            "matrix": self.matrix.tolist(),
            "top": [{**pair._asdict(), "difference": pair.difference} for pair in self.top()],
        }


def shares_of(values: Shares) -> Shares:
    """Values as shares of the sum of their sizes; nothing where all are zero."""
    size = float(np.abs(values).sum())
    return values / size if size else np.zeros_like(values)


def name_words(left: Side, right: Side, tables: Sequence[Shares]) -> tuple[Names, Names, list[Shares]]:
    """Tables over the different words of two texts."""
    rows, columns = Names.of(left), Names.of(right)
    summed = [
        sum_rows(sum_rows(table, rows.numbers, len(rows.labels)).T, columns.numbers, len(columns.labels)).T
        for table in tables
    ]
    return rows, columns, summed


def say_differences(names: Sequence[str], left: Side, right: Side, tables: Sequence[Shares]) -> Iterator[Piece]:
    """What all see, what only one sees, and what they disagree on; the sentence in pieces."""
    rows, columns, merged = name_words(left, right, tables)
    shares = _AllShares(rows, columns, np.stack(merged))
    two = len(names) == 2
    common, both = shares.common, range(len(names))
    if common.any():
        yield Piece("Both see " if two else f"All {len(names)} see ")
        yield from shares.name_pairs(common, shares.scaled.min(0), both)
    else:
        yield Piece("They see no pair in common" if two else f"There is no pair that all {len(names)} see")
    for number, name in enumerate(names):
        alone = shares.alone(number)
        if alone.any():
            yield Piece(f"; only {name} sees ")
            yield from shares.name_pairs(alone, shares.scaled[number], [number])
    disagreed = shares.disagreed
    if disagreed.any():
        yield Piece("; they disagree on whether the score is raised by ")
        yield from shares.name_pairs(disagreed, np.ptp(shares.scaled, axis=0), both)
    if two:
        overlap = 1 - float(np.abs(tables[0] - tables[1]).sum()) / 2
        yield Piece(f"; in all, {percent(overlap)} of what they say is the same")
    yield Piece(".")


@dataclass(frozen=True, slots=True, eq=False)
class _AllShares:
    """The shares of every explanation, over the different words of the two texts."""

    rows: Names
    columns: Names
    values: Float[np.ndarray, "methods left right"]

    @property
    def scaled(self) -> Float[np.ndarray, "methods left right"]:
        """Beside the strongest pair of each explanation."""
        strongest = np.abs(self.values).max((1, 2), initial=0.0)
        return self.values / np.where(strongest, strongest, 1.0)[:, None, None]

    @property
    def seen(self) -> Bool[np.ndarray, "methods left right"]:
        return self.scaled >= SEEN

    @property
    def common(self) -> Bool[np.ndarray, "left right"]:
        close = (self.values >= HALF * self.values.max(0)).all(0)
        return np.asarray(self.seen.all(0) | (self.seen.any(0) & close))

    def alone(self, number: int) -> Bool[np.ndarray, "left right"]:
        others = np.delete(self.values, number, 0)
        by_others = np.delete(self.seen, number, 0).any(0)
        return np.asarray(self.seen[number] & ~by_others & (others < HALF * self.values[number]).all(0))

    @property
    def disagreed(self) -> Bool[np.ndarray, "left right"]:
        return np.asarray(self.seen.any(0) & (self.scaled <= -SEEN).any(0))

    def name_pairs(self, chosen: Bool[np.ndarray, "left right"], by: Shares, of: Sequence[int]) -> Iterator[Piece]:
        """The first pairs by a value, each with its shares in some of the explanations."""
        order = np.argsort(-np.where(chosen, by, -np.inf), axis=None, kind="stable")[: min(MOST, int(chosen.sum()))]
        for number, flat in enumerate(order):
            i, j = map(int, np.unravel_index(flat, by.shape))
            if number:
                yield Piece(" and " if number == len(order) - 1 else ", ")
            yield Piece(f"{self.rows.labels[i]} ↔ {self.columns.labels[j]}", emphasised=True)
            yield Piece(f" ({_several([float(self.values[each, i, j]) for each in of])})")


def _several(shares: Sequence[float]) -> str:
    """``21 %``; ``21 % and 40 %``; of more than two the smallest and the largest: ``8 % to 63 %``."""
    if len(shares) > 2:
        return f"{percent(min(shares))} to {percent(max(shares))}"
    return " and ".join(map(percent, shares))


def percent(value: float) -> str:
    """``34 %``, ``0.4 %``"""
    return f"{plain(100 * float(value), 0 if abs(value) >= SMALL or abs(value) < SMALL / 20 else 1)} %"
