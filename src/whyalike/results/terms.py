"""The middle of a sparse model's explanation: word → vocabulary term → word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from whyalike.results.sides import Side, sum_rows
from whyalike.storage.reading import Fields


class Term(NamedTuple):
    """A vocabulary term that both texts have: what it adds to the score, and the word on each side that gives most of it."""

    term: str
    value: float  # its weight in the left text times its weight in the right one, over the scale of the score
    share: float  # of the score
    left: str
    right: str
    left_index: int
    right_index: int
    left_share: float  # how much of the term's weight in the left text that word gives
    right_share: float


@dataclass(frozen=True, slots=True, eq=False)
class SharedTerms:
    """What each unit gives to each term that both texts have: ``matrix == left @ right.T``."""

    names: tuple[str, ...]
    left: Float[np.ndarray, "left terms"]
    right: Float[np.ndarray, "right terms"]

    def strongest(self, left: Side, right: Side, score: float) -> list[Term]:
        """All terms, the one that adds most first."""
        totals = [each.sum(0) for each in (self.left, self.right)]
        values = totals[0] * totals[1]
        best = [_best(side, own) for side, own in ((left, self.left), (right, self.right))]
        labels = left.labels, right.labels
        found = []
        for number in np.argsort(-values, kind="stable").tolist():
            one, other = (int(each[number]) for each in best)
            shares = [
                float(own[index, number] / total[number]) if total[number] else 0.0
                for own, index, total in zip((self.left, self.right), (one, other), totals, strict=True)
            ]
            value = float(values[number])
            words = labels[0][one], labels[1][other]
            found.append(Term(self.names[number], value, value / score if score else 0.0, *words, one, other, *shares))
        return found

    def merged(
        self, rows: Int[np.ndarray, "left"], columns: Int[np.ndarray, "right"], counts: tuple[int, int]
    ) -> SharedTerms:
        """Units of one label summed."""
        return replace(self, left=sum_rows(self.left, rows, counts[0]), right=sum_rows(self.right, columns, counts[1]))

    def swapped(self) -> SharedTerms:
        return replace(self, left=self.right, right=self.left)

    def to_dict(self) -> dict[str, Any]:
        return {"names": [*self.names], "left": self.left.tolist(), "right": self.right.tolist()}

    @classmethod
    def from_dict(cls, given: Fields, left: int, right: int) -> SharedTerms:
        """The inverse of `to_dict`. Raises ValueError for anything that does not fit so many units."""
        names = given.texts("names")
        return cls(
            names=tuple(names),
            left=given.numbers("left", left, len(names)),
            right=given.numbers("right", right, len(names)),
        )


def _best(side: Side, own: Float[np.ndarray, "units terms"]) -> Int[np.ndarray, "terms"]:
    """The word of the text that gives most to each term; where none gives any, the special token that does."""
    words = np.array(side.own or range(len(side)))
    best = words[own[words].argmax(0)]
    columns = np.arange(own.shape[1])
    return np.where(own[best, columns] > 0, best, own.argmax(0))
