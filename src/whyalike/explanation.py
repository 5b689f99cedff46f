"""The values everything else makes or reads: Contributions of one text, the Explanation of a pair. Numpy, frozen."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from whyalike.errors import BadInput, unknown
from whyalike.matching import Matching
from whyalike.sides import Kind, Side, Unit, group

ROUNDING = 4e-6  # relative to an embedding: what is smaller is the rounding of float32, not a part
FORMAT, VERSION = "whyalike explanation", 1  # of to_dict; read back by files.py
Measured = dict[str, Any]  # what a method found out on the way: steps taken, error reached


@dataclass(frozen=True, slots=True)
class MethodRecord:
    """Which method made a result, with which parameters, and whether it claims to add up."""

    name: str
    parameters: dict[str, Any]
    adds_up: bool


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Which model made a result, and how it compares embeddings."""

    name: str
    similarity: Literal["cosine", "dot"]
    pooling: str
    layers: int
    dim: int
    max_tokens: int | None
    fingerprint: str  # of the weights, so that two models of one name do not pass for one

    def scale(self, left: Float[np.ndarray, "dim"], right: Float[np.ndarray, "dim"]) -> float:
        """``Z``: the product of the norms for cosine, one for dot. As in sentence-transformers a zero norm counts as 1e-12."""
        if self.similarity == "dot":
            return 1.0
        norms = [max(float(np.linalg.norm(each.astype(np.float64))), 1e-12) for each in (left, right)]
        return norms[0] * norms[1]

    def score(self, left: Float[np.ndarray, "dim"], right: Float[np.ndarray, "dim"]) -> float:
        """The model's own similarity of two embeddings."""
        return float(left.astype(np.float64) @ right.astype(np.float64)) / self.scale(left, right)


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """What each unit of one text adds to its embedding: ``embedding == tokens.sum(0) + remainder``.

    Where the method does not claim to add up, the remainder is zero and the equation does not hold.
    """

    side: Side
    tokens: Float[np.ndarray, "tokens space"]
    remainder: Float[np.ndarray, "space"]  # biases, or the reference: what no token can be given
    embedding: Float[np.ndarray, "dim"]
    states: Float[
        np.ndarray, "tokens hidden"
    ]  # of the units in the middle of the model: what `align` finds partners by
    method: MethodRecord
    model: ModelRecord
    measured: Measured = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return self.tokens.nbytes + self.states.nbytes

    def by(self, unit: Unit) -> Contributions:
        """The same contributions summed over words or sentences. Sums keep adding up; means would not."""
        side, labels = group(self.side, unit)
        tokens, states = (_sum_rows(rows, labels, len(side)) for rows in (self.tokens, self.states))
        return replace(self, side=side, tokens=tokens, states=states)


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The products of one text's contributions with some vectors, found without the contributions themselves."""

    side: Side
    values: Float[np.ndarray, "vectors tokens"]
    embedding: Float[np.ndarray, "dim"]
    states: Float[np.ndarray, "tokens hidden"]
    method: MethodRecord
    model: ModelRecord


class Pair(NamedTuple):
    """One cell of the matrix with its two labels."""

    left: str
    right: str
    value: float
    left_index: int
    right_index: int
    kinds: tuple[Kind, Kind]


@dataclass(frozen=True, slots=True, eq=False)
class OneSided:
    """How much each unit of one text adds to its score against a fixed other: ``score == values.sum() + rest``.

    ``values[i] = ⟨c_i, e'⟩ / Z``: the row sum of the pair's matrix plus its left term.
    """

    side: Side
    values: Float[np.ndarray, "tokens"]
    rest: float  # ⟨ρ, e'⟩ / Z: what no token of this text owns
    score: float
    other: Side
    method: MethodRecord
    model: ModelRecord
    measured: Measured = field(default_factory=dict)

    @property
    def residual(self) -> float:
        return self.score - float(self.values.sum()) - self.rest

    def by(self, unit: Unit) -> OneSided:
        side, labels = group(self.side, unit)
        return replace(self, side=side, values=_sum_rows(self.values, labels, len(side)))

    def top(self, count: int = 10) -> list[tuple[str, float]]:
        """The units that add most, largest first."""
        order = np.argsort(-self.values, kind="stable")[:count]
        labels = self.side.labels
        return [(labels[index], float(self.values[index])) for index in order]


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why an encoder scored two texts as it did. ``score`` is the sum of all parts plus ``residual``."""

    left: Side
    right: Side
    matrix: Float[np.ndarray, "left right"]
    left_terms: Float[np.ndarray, "left"]
    right_terms: Float[np.ndarray, "right"]
    constant: float
    score: float
    method: MethodRecord
    model: ModelRecord
    measured: dict[str, Measured] = field(default_factory=dict)  # under "left" and "right"
    matching: Matching | None = None  # how a first-order method came to it, in words

    @property
    def residual(self) -> float:
        """What the parts leave unexplained. Derived, so it cannot drift from them."""
        return self.score - float(self.matrix.sum() + self.left_terms.sum() + self.right_terms.sum()) - self.constant

    @property
    def background(self) -> float:
        """What no pair of words can be given: everything with a remainder in it. 0 where nothing is left over."""
        return float(self.left_terms.sum() + self.right_terms.sum()) + self.constant

    @property
    def has_background(self) -> bool:
        return bool(self.left_terms.any() or self.right_terms.any() or self.constant)

    @property
    def adds_up(self) -> bool:
        """Whether the parts reach the score to 1e-5, relative to the score where that is above 1."""
        return abs(self.residual) <= 1e-5 * max(1.0, abs(self.score))

    def by(self, unit: Unit) -> Explanation:
        """The same explanation in larger units; every total is kept."""
        (left, rows), (right, columns) = group(self.left, unit), group(self.right, unit)
        matrix = _sum_rows(_sum_rows(self.matrix, rows, len(left)).T, columns, len(right)).T
        return replace(
            self,
            left=left,
            right=right,
            matrix=np.ascontiguousarray(matrix),  # so that sums come out the same after a file was read back
            left_terms=_sum_rows(self.left_terms, rows, len(left)),
            right_terms=_sum_rows(self.right_terms, columns, len(right)),
        )

    def by_word(self) -> Explanation:
        return self.by("word")

    def by_sentence(self) -> Explanation:
        return self.by("sentence")

    def top_pairs(self, count: int = 10, *, text_only: bool = False) -> list[Pair]:
        """The strongest pairs, largest value first. ``text_only`` leaves special tokens and the prompt out."""
        labels = self.left.labels, self.right.labels
        order = np.argsort(-self.matrix, axis=None, kind="stable")
        pairs: list[Pair] = []
        for flat in order:
            if len(pairs) >= count:
                break
            row, column = map(int, np.unravel_index(flat, self.matrix.shape))
            kinds = self.left.kinds[row], self.right.kinds[column]
            if not text_only or kinds == ("text", "text"):
                pairs.append(
                    Pair(labels[0][row], labels[1][column], float(self.matrix[row, column]), row, column, kinds)
                )
        return pairs

    def swapped(self) -> Explanation:
        """The explanation of (right, left)."""
        return replace(
            self,
            left=self.right,
            right=self.left,
            matrix=self.matrix.T,
            left_terms=self.right_terms,
            right_terms=self.left_terms,
            measured={"left": self.measured["right"], "right": self.measured["left"]} if self.measured else {},
            matching=None if self.matching is None else self.matching.swapped(),
        )

    def spread(self, how: Literal["equal", "proportional"] = "equal") -> Explanation:
        """Shares what no token owns among the tokens, so that the matrix alone sums to the score.

        With ``c_i + w_i ρ`` in place of ``c_i`` (weights of a side sum to one) the four parts become one:
        ``M_ij + w'_j L_i + w_i R_j + w_i w'_j K``. Weights are equal, or in proportion to the size of what each token
        adds to the score by itself (its row sum and its term).
        """
        if how not in ("equal", "proportional"):
            raise unknown("way to spread", how, ("equal", "proportional"))
        if self.matching is not None:
            raise BadInput(f"{self.method.name} knows no remainder, so there is nothing to spread. Leave spread() out.")
        rows, columns = self.matrix.sum(1) + self.left_terms, self.matrix.sum(0) + self.right_terms
        left, right = (_weights(totals, how) for totals in (rows, columns))
        matrix = (
            self.matrix
            + np.outer(self.left_terms, right)
            + np.outer(left, self.right_terms)
            + np.outer(left, right) * self.constant
        )
        nothing = np.zeros_like(self.left_terms), np.zeros_like(self.right_terms)
        method = replace(self.method, parameters={**self.method.parameters, "spread": how})  # the result says so
        return replace(self, matrix=matrix, left_terms=nothing[0], right_terms=nothing[1], constant=0.0, method=method)

    def one_sided(self) -> OneSided:
        """What each unit of the left text adds to the score, all of the right text taken together."""
        return OneSided(
            side=self.left,
            values=self.matrix.sum(1) + self.left_terms,
            rest=float(self.right_terms.sum()) + self.constant,
            score=self.score,
            other=self.right,
            method=self.method,
            model=self.model,
            measured=self.measured.get("left", {}),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: what ``--json`` prints and ``whyalike.save`` writes."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "score": self.score,
            "left": self.left.to_dict(),
            "right": self.right.to_dict(),
            "matrix": self.matrix.tolist(),
            "left_terms": self.left_terms.tolist(),
            "right_terms": self.right_terms.tolist(),
            "constant": self.constant,
            "background": self.background,
            "residual": self.residual,
            "method": asdict(self.method),
            "model": asdict(self.model),
            "measured": self.measured,
            "matching": None if self.matching is None else self.matching.to_dict(),
        }

    def _repr_html_(self) -> str:
        from whyalike.render.html import fragment

        return fragment(self)


def _sum_rows(
    rows: Float[np.ndarray, "tokens *rest"], labels: Int[np.ndarray, "tokens"], count: int
) -> Float[np.ndarray, "groups *rest"]:
    summed = np.zeros((count, *rows.shape[1:]), dtype=rows.dtype)
    np.add.at(summed, labels, rows)
    return summed


def _weights(totals: Float[np.ndarray, "tokens"], how: str) -> Float[np.ndarray, "tokens"]:
    sizes = np.abs(totals) if how == "proportional" else np.ones_like(totals)
    if not sizes.any():  # nothing to be in proportion to
        sizes = np.ones_like(totals)
    return sizes / sizes.sum()
