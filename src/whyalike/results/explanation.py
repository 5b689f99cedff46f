"""The explanation of a pair: which pairs of words (tokens, phrases, sentences) make the score. Frozen, numpy, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from whyalike.errors import BadInput, unknown
from whyalike.results.finding import Finding, find
from whyalike.results.matching import Matching
from whyalike.results.one_sided import OneSided
from whyalike.results.records import NOTHING_MEASURED, Measured, MethodRecord, ModelRecord
from whyalike.results.result import Result
from whyalike.results.sides import Kind, Side, Unit, group, merge, sum_rows
from whyalike.results.spans import MIN_SHARE, Partner, Span, find_phrases, make_spans
from whyalike.results.terms import SharedTerms, Term

FORMAT, VERSION = "whyalike explanation", 1  # of to_dict; read back by results/files.py


class Pair(NamedTuple):
    """One cell of the matrix with its two labels."""

    left: str
    right: str
    value: float
    left_index: int
    right_index: int
    kinds: tuple[Kind, Kind]


@dataclass(frozen=True, slots=True, eq=False)
class Explanation(Result):
    """Why an encoder scored two texts as it did: ``score == matrix.sum() + background + residual``.

    ``matrix[i, j]`` is what unit ``i`` of the left text and unit ``j`` of the right text add together. The background is 0
    where nothing is left over; ``left_terms``, ``right_terms`` and ``constant`` are its components.
    """

    left: Side
    right: Side
    matrix: Float[np.ndarray, "left right"]
    left_terms: Float[np.ndarray, "left"]
    right_terms: Float[np.ndarray, "right"]
    constant: float
    score: float
    method: MethodRecord
    model: ModelRecord
    measured: Mapping[str, Measured] = field(default_factory=dict)  # under "left" and "right"
    matching: Matching | None = None  # intermediate values of a first-order method, in words
    shared_terms: SharedTerms | None = (
        None  # what the words give to each vocabulary term, in a sparse model: see `terms`
    )

    def __repr__(self) -> str:
        worded = self.by("word") if self.left.unit == "token" else self
        top = ", ".join(f"{pair.left:.30} ↔ {pair.right:.30} {pair.value:+.3f}" for pair in worded.top_pairs(3))
        return f"Explanation(score {self.score:.3f}: {top}; {self.method.name}, {self.model.name})"

    @property
    def residual(self) -> float:
        """Rounding error: the score minus all parts. Derived, so it cannot drift from them."""
        return self.score - float(self.matrix.sum() + self.left_terms.sum() + self.right_terms.sum()) - self.constant

    @property
    def background(self) -> float:
        """The part of the score that no word pair accounts for (model biases, a reference). 0 where nothing is left over."""
        return float(self.left_terms.sum() + self.right_terms.sum()) + self.constant

    @property
    def has_background(self) -> bool:
        return bool(self.left_terms.any() or self.right_terms.any() or self.constant)

    @property
    def adds_up(self) -> bool:
        """Whether the parts reach the score to 1e-5, relative to the score where that is above 1."""
        return abs(self.residual) <= 1e-5 * max(1.0, abs(self.score))

    @property
    def finding(self) -> Finding:
        """How alike, because of what, and what speaks against it: the parts of `sentence`."""
        return find(self)

    @property
    def sentence(self) -> str:
        """The finding in words, by the rules of `results/finding.py`.

        Example:
            >>> explain("A man plays guitar.", "Someone makes music.").sentence                 # doctest: +SKIP
            '0.541, moderately alike: mostly plays guitar ↔ makes music (64 %); nothing speaks against.'
        """
        return str(self.finding)

    def by(self, unit: Unit) -> Explanation:
        """The same explanation in larger units; every total is kept."""
        (left, rows), (right, columns) = group(self.left, unit), group(self.right, unit)
        return self._merged(left, right, rows, columns)

    def _merged(
        self, left: Side, right: Side, rows: Int[np.ndarray, "left"], columns: Int[np.ndarray, "right"]
    ) -> Explanation:
        """Units of one label summed."""
        matrix = sum_rows(sum_rows(self.matrix, rows, len(left)).T, columns, len(right)).T
        shared = self.shared_terms
        return replace(
            self,
            left=left,
            right=right,
            matrix=np.ascontiguousarray(matrix),  # so that sums come out the same after a file was read back
            left_terms=sum_rows(self.left_terms, rows, len(left)),
            right_terms=sum_rows(self.right_terms, columns, len(right)),
            shared_terms=None if shared is None else shared.merged(rows, columns, (len(left), len(right))),
        )

    def by_word(self) -> Explanation:
        return self.by("word")

    def by_sentence(self) -> Explanation:
        return self.by("sentence")

    def by_phrase(self, *, min_share: float = MIN_SHARE) -> Explanation:
        """The same explanation in phrases: neighbouring words that go with the same part of the other text become one unit.

        The matrix keeps its sum. The explanation has to be in tokens or words.

        Args:
            min_share: Smallest cell that joins words, as a share of the largest cell.
        """
        worded = self.by("word")
        labels = find_phrases(worded.matrix, worded.left, worded.right, min_share)
        left, right = (
            merge(side, own, "phrase") for side, own in zip((worded.left, worded.right), labels, strict=True)
        )
        return worded._merged(left, right, *labels)

    def phrase_pairs(self, count: int = 10, *, min_share: float = MIN_SHARE) -> list[Pair]:
        """The strongest pairs of phrases, largest value first: see `by_phrase`."""
        return self.by_phrase(min_share=min_share).top_pairs(count)

    def spans(
        self, side: Literal["left", "right"], *, max_spans: int | None = None, min_share: float = MIN_SHARE
    ) -> list[Span]:
        """The highlights of one text: the phrases that carry weight, as JSON-ready dictionaries.

        Args:
            side: ``"left"`` or ``"right"``.
            max_spans: At most so many, those with the largest weights. None: all.
            min_share: Smallest weight, as a share of the largest.

        Returns:
            Dictionaries with ``start`` and ``end`` (characters), ``text``, ``weight`` (what the span adds to the score) and
            ``partner`` (the part of the other text it goes with most), in the order of the text.

        Example:
            >>> explain("A man plays guitar.", "Someone makes music.").spans("left")[0]["text"]     # doctest: +SKIP
            'plays guitar'
        """
        if side not in ("left", "right"):
            raise unknown("side", side, ("left", "right"))
        phrased = self if self.left.unit in ("phrase", "sentence") else self.by_phrase(min_share=min_share)
        if side == "right":
            phrased = phrased.swapped()
        partners = [_partner(phrased.right, phrased.matrix[row]) for row in range(len(phrased.left))]
        weights = phrased.matrix.sum(1) + phrased.left_terms
        return make_spans(phrased.left, np.arange(len(phrased.left)), weights, partners, max_spans, min_share)

    def top_pairs(self, count: int = 10, *, special_tokens: bool = False) -> list[Pair]:
        """The strongest pairs, largest value first.

        Args:
            count: How many.
            special_tokens: Also pairs with special tokens and the prompt.
        """
        labels = self.left.labels, self.right.labels
        order = np.argsort(-self.matrix, axis=None, kind="stable")
        pairs: list[Pair] = []
        for flat in order:
            if len(pairs) >= count:
                break
            row, column = map(int, np.unravel_index(flat, self.matrix.shape))
            kinds = self.left.kinds[row], self.right.kinds[column]
            if special_tokens or kinds == ("text", "text"):
                pairs.append(
                    Pair(labels[0][row], labels[1][column], float(self.matrix[row, column]), row, column, kinds)
                )
        return pairs

    def terms(self, count: int | None = None) -> list[Term]:
        """The vocabulary terms through which a sparse model finds the texts alike, the one that adds most first.

        Values are what the matrix adds at each term; together they are its sum.

        Args:
            count: At most so many. None: all that both texts have.

        Raises:
            BadInput: The model is not a sparse one, or the method makes no contributions.
        """
        if self.shared_terms is None:
            raise BadInput(
                f"This explanation ({self.method.name}, a {self.model.kind} model) has no vocabulary terms between the words. "
                "Explain a SparseEncoder with bilrp."
            )
        return self.shared_terms.strongest(self.left, self.right, self.score)[:count]

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
            shared_terms=None if self.shared_terms is None else self.shared_terms.swapped(),
        )

    def spread(self, how: Literal["equal", "proportional"] = "equal") -> Explanation:
        """Spreads the background over the tokens, so that the matrix alone sums to the score.

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
        shared = None if self.has_background else self.shared_terms  # terms say nothing of a background
        return replace(
            self,
            matrix=matrix,
            left_terms=nothing[0],
            right_terms=nothing[1],
            constant=0.0,
            method=method,
            shared_terms=shared,
        )

    def one_sided(self) -> OneSided:
        """What each unit of the left text adds to the score, all of the right text taken together."""
        return OneSided(
            side=self.left,
            values=self.matrix.sum(1) + self.left_terms,
            background=float(self.right_terms.sum()) + self.constant,
            score=self.score,
            other=self.right,
            method=self.method,
            model=self.model,
            measured=self.measured.get("left", NOTHING_MEASURED),
        )

    def to_columns(self) -> dict[str, list[Any]]:
        """The table behind `to_frame`: one row per pair of units, with labels, kinds, character offsets and value."""
        rows, columns = (each.ravel().tolist() for each in np.indices(self.matrix.shape))
        sides = (("left", self.left, rows), ("right", self.right, columns))
        table: dict[str, list[Any]] = {}
        for name, side, indices in sides:
            labels, starts, ends = side.labels, side.offsets[:, 0].tolist(), side.offsets[:, 1].tolist()
            table |= {
                name: [labels[index] for index in indices],
                f"{name}_index": indices,
                f"{name}_kind": [side.kinds[index] for index in indices],
                f"{name}_start": [starts[index] for index in indices],
                f"{name}_end": [ends[index] for index in indices],
            }
        return {**table, "value": self.matrix.ravel().tolist()}

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
            "measured": {name: each.to_dict() for name, each in self.measured.items()},
            "matching": None if self.matching is None else self.matching.to_dict(),
            **({} if self.shared_terms is None else {"shared_terms": self.shared_terms.to_dict()}),
        }

    def _repr_html_(self) -> str:
        from whyalike.render.html import fragment

        return fragment(self.by("word") if self.left.unit == "token" else self)  # words as they are written


def _weights(totals: Float[np.ndarray, "tokens"], how: str) -> Float[np.ndarray, "tokens"]:
    sizes = np.abs(totals) if how == "proportional" else np.ones_like(totals)
    if not sizes.any():  # nothing to be in proportion to
        sizes = np.ones_like(totals)
    return sizes / sizes.sum()


def _partner(side: Side, values: Float[np.ndarray, "units"]) -> Partner | None:
    """The unit of the text with the largest value; None where no value is above 0."""
    best = max(side.own, key=lambda index: values[index], default=None)
    if best is None or not values[best] > 0:
        return None
    start, end = map(int, side.offsets[best])
    return Partner(start=start, end=end, text=side.text[start:end], weight=float(values[best]))
