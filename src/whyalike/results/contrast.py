"""Why is one text closer to a query than another? The difference of two explanations, over words of all three texts."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from whyalike.errors import BadInput
from whyalike.results.explanation import Explanation
from whyalike.results.frames import make_frame
from whyalike.results.one_sided import OneSided
from whyalike.results.sides import Side, Unit

FORMAT, VERSION = "whyalike contrast", 1


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """Two explanations with one query on the left. The difference of their scores falls apart in two ways::

        s_a − s_b = Σ over the query's units of (what each adds to s_a − what it adds to s_b) + the difference of the rests
                  = Σ over a's units + a's rest − (Σ over b's units + b's rest)

    What a unit adds is its row (or column) of the matrix plus its term; a rest is what no unit of that text owns.
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
                f"The method {self.a.method.name!r} makes no claim to add up, so a difference of scores does not fall apart "
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
    def query_rest(self) -> float:
        """The same for what no unit of the query owns."""
        return self.a.one_sided().rest - self.b.one_sided().rest

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
        return self.difference - float(self.query_values.sum()) - self.query_rest

    @property
    def adds_up(self) -> bool:
        return abs(self.residual) <= 1e-5 * max(1.0, abs(self.a.score), abs(self.b.score))

    def by(self, unit: Unit) -> Contrast:
        return replace(self, a=self.a.by(unit), b=self.b.by(unit))

    def swapped(self) -> Contrast:
        """Why b rather than a."""
        return Contrast(self.b, self.a)

    def top(self, count: int = 10) -> list[tuple[str, float]]:
        """The units of the query that speak most for a, largest first; those for b come last."""
        order = np.argsort(-self.query_values, kind="stable")[:count]
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

    def to_frame(self) -> Any:
        """A polars (or pandas) data frame of `to_columns`."""
        return make_frame(self.to_columns())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the contrast in the format of the file's ending: .json, .csv, .parquet or .html."""
        from whyalike.results.files import save

        return save(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: what ``whyalike contrast --json`` prints."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "difference": self.difference,
            "query": self.query.to_dict(),
            "query_values": self.query_values.tolist(),
            "query_rest": self.query_rest,
            "residual": self.residual,
            "a": {"values": self.a_side.values.tolist(), "rest": self.a_side.rest, "explanation": self.a.to_dict()},
            "b": {"values": self.b_side.values.tolist(), "rest": self.b_side.rest, "explanation": self.b.to_dict()},
        }

    def _repr_html_(self) -> str:
        from whyalike.render.contrast import fragment

        return fragment(self)
