"""What a first-order method found on its way: salient words on both sides, matched into pairs, the pairs in clusters."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float


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
        return {**asdict(self), **saliency, "matches": [match._asdict() for match in self.matches]}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Matching:
        found = cls(
            left_saliency=np.asarray(fields["left_saliency"], dtype=np.float64),
            right_saliency=np.asarray(fields["right_saliency"], dtype=np.float64),
            matches=tuple(Match(**match) for match in fields["matches"]),
            centroids=tuple(map(float, fields["centroids"])),
            kept=int(fields["kept"]),
            similarity=float(fields["similarity"]),
        )
        sizes = len(found.left_saliency), len(found.right_saliency)
        if any(not 0 <= at < size for m in found.matches for at, size in zip(m[2:4], sizes, strict=True)):
            raise ValueError(f"a match lies outside the {sizes[0]} and {sizes[1]} words with a saliency")
        return found
