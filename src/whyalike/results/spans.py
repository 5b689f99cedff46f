"""Highlights: runs of words that carry weight, as character spans; and phrases, found from which words go together.

A phrase is a run of words of one sentence. Two neighbouring words join where both have a strong cell in the matrix and their
partners stand close together in the other text; one weak word between two such words is taken in ("ribbing *at* cuffs"), a
punctuation mark is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypedDict

import numpy as np
from jaxtyping import Bool, Float, Int

from whyalike.errors import BadInput
from whyalike.results.sides import Side

MIN_SHARE = 0.2  # of the largest weight, or cell
NEAR = 2  # words between the partners of two words that join


class Partner(TypedDict):
    """The span of the other text that a span goes with most, and the value of the two together."""

    start: int
    end: int
    text: str
    weight: float


class Span(TypedDict):
    """A stretch of a text and what it adds to the score."""

    start: int
    end: int
    text: str
    weight: float
    partner: Partner | None


def heavy(values: Float[np.ndarray, "units"], side: Side, min_share: float) -> Bool[np.ndarray, "units"]:
    """Which of the text's own units have a value of at least ``min_share`` of the largest."""
    check_share(min_share)
    own = np.zeros(len(side), dtype=bool)
    own[side.own] = True
    largest = float(np.abs(values[own]).max(initial=0.0))
    return own & (np.abs(values) >= min_share * largest) & (values != 0)


def check_share(min_share: float) -> None:
    if not isinstance(min_share, int | float) or not 0 <= min_share <= 1:
        raise BadInput(f"min_share is a share of the largest weight, from 0 to 1; got {min_share!r}.")


def join_runs(side: Side, joins: Bool[np.ndarray, "units"]) -> Int[np.ndarray, "units"]:
    """A label per unit: neighbouring units of one sentence that both join share one."""
    return _labels(side, [(one, other) for one, other in _neighbours(side) if joins[one] and joins[other]])


def find_phrases(
    matrix: Float[np.ndarray, "left right"], left: Side, right: Side, min_share: float
) -> tuple[Int[np.ndarray, "left"], Int[np.ndarray, "right"]]:
    """A label per unit of each side: units of one phrase share one."""
    check_share(min_share)
    inner = matrix[np.ix_(left.own, right.own)]
    largest = float(inner.max(initial=0.0))
    strong = np.zeros(matrix.shape, dtype=bool)
    strong[np.ix_(left.own, right.own)] = (inner >= min_share * largest) & (inner > 0)
    return _phrases(strong, left), _phrases(strong.T, right)


def _phrases(strong: Bool[np.ndarray, "units others"], side: Side) -> Int[np.ndarray, "units"]:
    partners = [np.flatnonzero(row) for row in strong]

    def together(one: int, other: int) -> bool:
        if not len(partners[one]) or not len(partners[other]):
            return False
        return int(np.abs(partners[one][:, None] - partners[other][None]).min()) <= NEAR

    neighbours = _neighbours(side)
    following = dict(neighbours)
    joined = []
    for one, other in neighbours:
        after = following.get(other)
        if together(one, other):
            joined.append((one, other))
        elif after is not None and not len(partners[other]) and _is_word(side, other) and together(one, after):
            joined += [(one, other), (other, after)]
    return _labels(side, joined)


def _neighbours(side: Side) -> list[tuple[int, int]]:
    """Units of the text next to each other in one sentence."""
    own = side.own
    return [(one, other) for one, other in pairwise(own) if side.sentence_of[one] == side.sentence_of[other]]


def _is_word(side: Side, index: int) -> bool:
    return any(character.isalnum() for character in side.labels[index])


def _labels(side: Side, joined: Sequence[tuple[int, int]]) -> Int[np.ndarray, "units"]:
    """Numbers from 0 in the order of the units; each pair, of neighbours in order, gets one number."""
    before = {other: one for one, other in joined}
    labels = np.empty(len(side), dtype=np.int64)
    count = 0
    for index in range(len(side)):
        if index in before:
            labels[index] = labels[before[index]]
        else:
            labels[index], count = count, count + 1
    return labels


def make_spans(
    side: Side,
    labels: Int[np.ndarray, "units"],
    weights: Float[np.ndarray, "groups"],
    partners: Sequence[Partner | None],
    max_spans: int | None,
    min_share: float,
) -> list[Span]:
    """The groups of the text's own units that carry weight, in the order of the text."""
    if max_spans is not None and (not isinstance(max_spans, int) or max_spans < 1):
        raise BadInput(f"max_spans should be a whole number above 0, or None for all; got {max_spans!r}.")
    members: dict[int, list[int]] = {}
    for index in side.own:
        members.setdefault(int(labels[index]), []).append(index)
    largest = max((abs(float(weights[group])) for group in members), default=0.0)
    spans = []
    for group, indices in members.items():
        start, end = int(side.offsets[indices, 0].min()), int(side.offsets[indices, 1].max())
        start += len(side.text[start:end]) - len(side.text[start:end].lstrip())
        end = start + len(side.text[start:end].rstrip())
        weight = float(weights[group])
        if start < end and weight and abs(weight) >= min_share * largest:
            spans.append(Span(start=start, end=end, text=side.text[start:end], weight=weight, partner=partners[group]))
    strongest = sorted(spans, key=lambda span: -abs(span["weight"]))[:max_spans]
    return sorted(strongest, key=lambda span: span["start"])
