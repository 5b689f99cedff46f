"""What a first-order method found on its way: salient words on both sides, matched into pairs, the pairs in clusters."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from whyalike.storage.reading import Fields


class Match(NamedTuple):
    """Two words that are each other's most similar, seen from at least one side. Indices are those of the word units."""

    left: str
    right: str
    left_index: int
    right_index: int
    similarity: float  # cosine of the two words' vectors
    score: float  # similarity × saliency of the left word × saliency of the right word
    cluster: int  # 0 is the one with the highest scores
    found_from: Literal["left", "right", "both"]


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """Every value between two texts and a first-order explanation. Saliency is 0 for units that are no words of the text."""

    left_saliency: Float[np.ndarray, "left"]
    right_saliency: Float[np.ndarray, "right"]
    matches: tuple[Match, ...]  # all of them, highest score first
    centroids: tuple[float, ...]  # of the clusters of scores, highest first
    kept: int  # how many clusters make the explanation
    similarity: float  # of the two feature vectors whose gradient was taken

    def __repr__(self) -> str:
        top = ", ".join(f"{match.left:.30} ↔ {match.right:.30} {match.score:.3f}" for match in self.top[:3])
        return f"Matching({len(self.matches)} matches, {self.kept} of {len(self.centroids)} clusters kept: {top})"

    @property
    def top(self) -> tuple[Match, ...]:
        """The matches in the clusters that make the explanation; one that scores nothing is none."""
        return tuple(match for match in self.matches if match.cluster < self.kept and match.score)

    def swapped(self) -> Matching:
        other = {"left": "right", "right": "left", "both": "both"}
        return replace(
            self,
            left_saliency=self.right_saliency,
            right_saliency=self.left_saliency,
            matches=tuple(
                match._replace(
                    left=match.right,
                    right=match.left,
                    left_index=match.right_index,
                    right_index=match.left_index,
                    found_from=other[match.found_from],  # type: ignore[arg-type]
                )
                for match in self.matches
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        saliency = {"left_saliency": self.left_saliency.tolist(), "right_saliency": self.right_saliency.tolist()}
        matches = [match._asdict() for match in self.matches]
        return {**asdict(self), **saliency, "centroids": list(self.centroids), "matches": matches}

    @classmethod
    def from_dict(cls, given: Fields) -> Matching:
        """The inverse of `to_dict`. Raises ValueError for anything that is not a matching."""
        left, right = (given.numbers(name, len(given.list(name))) for name in ("left_saliency", "right_saliency"))
        found = cls(
            left_saliency=left,
            right_saliency=right,
            matches=tuple(_match(Fields(each, f"match {n}")) for n, each in enumerate(given.list("matches"), 1)),
            centroids=tuple(given.numbers("centroids", len(given.list("centroids"))).tolist()),
            kept=given.whole("kept"),
            similarity=given.number("similarity"),
        )
        if any(match.left_index >= len(left) or match.right_index >= len(right) for match in found.matches):
            raise ValueError(f"a match lies outside the {len(left)} and {len(right)} words with a saliency")
        return found


def _match(given: Fields) -> Match:
    return Match(
        left=given.text("left"),
        right=given.text("right"),
        left_index=given.whole("left_index"),
        right_index=given.whole("right_index"),
        similarity=given.number("similarity"),
        score=given.number("score"),
        cluster=given.whole("cluster"),
        found_from=given.choice("found_from", ("left", "right", "both")),
    )
