"""Why is one text closer to a query than another? The difference of two explanations, over words of all three texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from whyalike.errors import BadInput
from whyalike.results.explanation import Explanation
from whyalike.results.finding import Piece
from whyalike.results.numbers import plain, signed
from whyalike.results.one_sided import OneSided
from whyalike.results.result import Result
from whyalike.results.sides import Side, Unit

FORMAT, VERSION = "whyalike contrast", 1


@dataclass(frozen=True, slots=True, eq=False)
class Contrast(Result):
    """Two explanations with one query on the left. The score difference is a sum over words, in two ways::

        s_a − s_b = Σ over the query's units of (what each adds to s_a − what it adds to s_b) + difference of backgrounds
                  = Σ over a's units + a's background − (Σ over b's units + b's background)

    What a unit adds is its row (or column) of the matrix plus its term.
    """

    a: Explanation
    b: Explanation

    def __post_init__(self) -> None:
        if self.a.left.text != self.b.left.text or self.a.left.tokens != self.b.left.tokens:
            raise BadInput("A contrast needs two explanations with the same query on the left; these have two.")
        for what in ("model", "method"):
            if getattr(self.a, what) != getattr(self.b, what):
                raise BadInput(f"A contrast needs two explanations by one {what}; these are by two.")
        if not self.a.method.adds_up:
            raise BadInput(
                f"The method {self.a.method.name!r} does not add up to the score, so a score difference cannot be split "
                "into words. Use bilrp."
            )

    @property
    def difference(self) -> float:
        return self.a.score - self.b.score

    @property
    def query(self) -> Side:
        return self.a.left

    @property
    def query_values(self) -> Float[np.ndarray, "query"]:
        """How much more each unit of the query adds to the score of a than to that of b."""
        return self.a.one_sided().values - self.b.one_sided().values

    @property
    def query_background(self) -> float:
        """The same for the background: the part of the difference that no unit of the query accounts for."""
        return self.a.one_sided().background - self.b.one_sided().background

    @property
    def a_side(self) -> OneSided:
        """What each unit of a adds to its score."""
        return self.a.swapped().one_sided()

    @property
    def b_side(self) -> OneSided:
        return self.b.swapped().one_sided()

    @property
    def residual(self) -> float:
        """What the query's parts leave of the difference. Derived, so it cannot drift from them."""
        return self.difference - float(self.query_values.sum()) - self.query_background

    @property
    def adds_up(self) -> bool:
        return abs(self.residual) <= 1e-5 * max(1.0, abs(self.a.score), abs(self.b.score))

    def pieces(self) -> Iterator[Piece]:
        """The finding in words, in pieces: which text scores higher, because of which words of the query.

        Words that carry at least a tenth of what speaks for their side are named, at most three for each.
        """
        worded = self.by("word") if self.query.unit == "token" else self
        values, higher = worded.query_values, 1 if self.difference >= 0 else -1
        names = ("A", "B") if higher > 0 else ("B", "A")
        scores = sorted((self.a.score, self.b.score), reverse=True)
        against = f"({plain(scores[0])} against {plain(scores[1])})"
        yield Piece(f"{names[0]} scores higher by {plain(abs(self.difference))} {against}")
        for sign, before in ((higher, ": mostly because of "), (-higher, f"; for {names[1]} speaks ")):
            named = _largest(values * sign, worded.query)
            if named:
                yield Piece(before)
            for number, index in enumerate(named):
                if number:
                    yield Piece(" and " if number == len(named) - 1 else ", ")
                yield Piece(worded.query.labels[index], emphasised=True)
                yield Piece(f" ({signed(abs(float(values[index])))})")
        yield Piece(".")

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return "".join(piece.text for piece in self.pieces())

    def by(self, unit: Unit) -> Contrast:
        return replace(self, a=self.a.by(unit), b=self.b.by(unit))

    def swapped(self) -> Contrast:
        """Why b rather than a."""
        return Contrast(self.b, self.a)

    def top(self, count: int = 10, *, special_tokens: bool = False) -> list[tuple[str, float]]:
        """The units of the query that speak most for a, largest first; those for b come last.

        Args:
            count: How many.
            special_tokens: Also special tokens and the prompt.
        """
        order = self.query.strongest(self.query_values, count, special_tokens)
        return [(self.query.labels[index], float(self.query_values[index])) for index in order]

    def __repr__(self) -> str:
        top = ", ".join(f"{text:.30} {value:+.3f}" for text, value in self.by("word").top(3))
        return f"Contrast({self.a.score:.3f} − {self.b.score:.3f} = {self.difference:+.3f}: {top})"

    def to_columns(self) -> dict[str, list[Any]]:
        """One row per unit of the query: what it adds to each score, and the difference."""
        return {
            "text": list(self.query.labels),
            "kind": list(self.query.kinds),
            "start": self.query.offsets[:, 0].tolist(),
            "end": self.query.offsets[:, 1].tolist(),
            "a": self.a.one_sided().values.tolist(),
            "b": self.b.one_sided().values.tolist(),
            "difference": self.query_values.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: what ``whyalike contrast --json`` prints."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "difference": self.difference,
            "query": self.query.to_dict(),
            "query_values": self.query_values.tolist(),
            "query_background": self.query_background,
            "residual": self.residual,
            "a": {
                "values": self.a_side.values.tolist(),
                "background": self.a_side.background,
                "explanation": self.a.to_dict(),
            },
            "b": {
                "values": self.b_side.values.tolist(),
                "background": self.b_side.background,
                "explanation": self.b.to_dict(),
            },
        }

    def _repr_html_(self) -> str:
        from whyalike.render.contrast import fragment

        return fragment(self)


def _largest(values: Float[np.ndarray, "query"], query: Side) -> list[int]:
    """Up to three units with at least a tenth of all that is positive, largest first."""
    whole = float(values[query.own].clip(min=0).sum())
    return [index for index in query.strongest(values, 3, False) if values[index] > 0 and values[index] >= 0.1 * whole]
