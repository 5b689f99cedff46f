"""The finding of an explanation in words: how alike, because of what, and what speaks against it.

It is made from the numbers, by these rules:

- Equal words of one text count as one (``wine ×7``).
- A *group* is the strongest pair that is left, and the other pairs of its left or of its right word (whichever add more) that
  are at least half as strong. Groups are named while they carry at least `SMALLEST` of the score, at most `MOST` of them.
  Words of a group that stand side by side are written together.
- Shares are of the score. Where the score is too small to share out, or the parts are far larger than it, values are given.
- Below a score of `SMALL_SCORE` the sentence says that what raises and what lowers the score cancel, and names the largest.
- What lowers the score is named if it is at least `AGAINST` of what raises it; below `NOTHING` of it, nothing speaks against.
- Special tokens and the background are named where they are at least `REST` of the score.
- Whether a score is high is said only where the model's range of scores is known, and the texts are in Latin script.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from whyalike.results.numbers import plain, signed
from whyalike.results.sides import Side, sum_rows

if TYPE_CHECKING:
    from whyalike.results.explanation import Explanation
    from whyalike.results.records import ScoreRange

MOST, SMALLEST, AGAINST, NOTHING, REST = 3, 0.08, 0.1, 0.02, 0.1
PARTNERS = 3  # of one phrase that are named
HALF = 0.5  # of the strongest cell of a group: what belongs to it
SPREAD = 0.25  # of the score: where all named groups have less, it is spread over many pairs
SMALL_SCORE, CANCELLING = 0.05, 3.0  # below this score, or above this size of the parts, shares would mislead
LONGEST = 48  # characters of a word or sentence that is named


class Group(NamedTuple):
    """Words that go together, and what they add to the score."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    value: float

    @property
    def label(self) -> str:
        """``stage ↔ crowd, music``"""
        return f"{', '.join(self.left)} ↔ {', '.join(self.right)}"


class Piece(NamedTuple):
    """A piece of the sentence; emphasised where it names words of the texts."""

    text: str
    emphasised: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What the sentence is made of. ``whole`` is what shares are of; None where values are given instead."""

    score: float
    level: str | None
    groups: tuple[Group, ...]
    against: tuple[Group, ...]
    raises: float  # all that raises the score, between words
    lowers: float  # all that lowers it
    special: float  # pairs with special tokens or the prompt
    background: float
    whole: float | None
    adds_up: bool

    def __str__(self) -> str:
        return "".join(piece.text for piece in self.pieces())

    def pieces(self) -> Iterator[Piece]:
        """The sentence in pieces, for media that emphasise words."""
        level = f", {self.level}" if self.level else ""
        yield Piece(f"{plain(self.score)}{level}: ")
        yield from self._because()
        if not self.adds_up:
            yield Piece(". These values do not add up to the score")
        elif self.score >= SMALL_SCORE:
            yield from self._but()
        yield Piece(".")

    def _because(self) -> Iterator[Piece]:
        if self.adds_up and self.score < SMALL_SCORE:
            yield Piece(f"what raises it ({signed(self.raises)}) and what lowers it ({signed(self.lowers)}) ")
            yield Piece("cancel" if self.raises + self.lowers > -SMALL_SCORE else "do not balance")
            if largest := (*self.groups[:1], *self.against[:1]):
                yield Piece("; the largest are " if len(largest) > 1 else "; the largest is ")
                yield from self._list(largest)
            return
        if not self.groups:
            yield Piece("many small pairs" if self.raises > 0 else "no pair of words raises the score")
            return
        named = sum(group.value for group in self.groups)
        whole = self.whole if self.whole is not None else self.raises
        if not self.adds_up:
            yield Piece("the strongest pairs are " if len(self.groups) > 1 else "the strongest pair is ")
        else:
            verb = "are" if len(self.groups) > 1 else "is"
            yield Piece("mostly " if named >= SPREAD * whole else f"spread over many pairs; the largest {verb} ")
        yield from self._list(self.groups)

    def _but(self) -> Iterator[Piece]:
        if abs(self.lowers) < NOTHING * self.raises:
            yield Piece("; nothing speaks against it")
        elif abs(self.lowers) < AGAINST * self.raises:
            yield Piece("; little speaks against it")
        elif self.against:
            yield Piece("; against it ")
            yield from self._list(self.against)
        elif self.lowers:
            yield Piece(f"; small pairs that lower it sum to {self._amount(self.lowers)}")
        for name, value in (("pairs with special tokens", self.special), ("the background", self.background)):
            if abs(value) >= REST * max(abs(self.score), SMALL_SCORE):
                verb = "adds" if name == "the background" else "add"
                yield Piece(f"; {name} {verb} {self._amount(value)}")

    def _list(self, groups: tuple[Group, ...]) -> Iterator[Piece]:
        for number, group in enumerate(groups):
            if number:
                yield Piece(" and " if number == len(groups) - 1 else ", ")
            yield Piece(group.label, emphasised=True)
            yield Piece(f" ({self._amount(group.value)})")

    def _amount(self, value: float) -> str:
        """``34 %`` of the score, or ``+0.127``."""
        if self.whole is None:
            return signed(value)
        return f"{value / self.whole:.0%}".replace("%", " %").replace("-", "−")


def find(e: Explanation) -> Finding:
    """The finding of an explanation."""
    if e.matching is not None:
        pairs = dict.fromkeys((match.left, match.right, match.score) for match in e.matching.top)
        groups = [Group((shorten(left),), (shorten(right),), value) for left, right, value in pairs]
        return Finding(e.score, _level(e), tuple(groups[:MOST]), (), 1.0, 0.0, 0.0, 0.0, None, False)
    e = e.by("word") if e.left.unit == "token" else e
    left, right = Names.of(e.left), Names.of(e.right)
    cells = e.matrix[np.ix_(e.left.own, e.right.own)]
    special = float(e.matrix.sum() - cells.sum())
    cells = sum_rows(sum_rows(cells, left.numbers, len(left.labels)).T, right.numbers, len(right.labels)).T
    raises, lowers = float(cells.clip(min=0).sum()), float(cells.clip(max=0).sum())
    adds_up = e.method.adds_up
    shared = adds_up and e.score >= SMALL_SCORE and float(np.abs(cells).sum()) <= CANCELLING * e.score
    whole = e.score if shared else None
    least = SMALLEST * (e.score if shared else raises)
    partners = 1 if e.left.unit == "sentence" else PARTNERS
    groups_for = _groups(cells, left, right, least, partners)
    groups_against = _groups(-cells, left, right, max(least, AGAINST * raises / 2), partners) if adds_up else []
    return Finding(
        score=e.score,
        level=_level(e),
        groups=tuple(groups_for),
        against=tuple(group._replace(value=-group.value) for group in groups_against[:2]),
        raises=raises,
        lowers=lowers,
        special=special if adds_up else 0.0,
        background=e.background if adds_up else 0.0,
        whole=whole,
        adds_up=adds_up,
    )


def level_of(score: float, scores: ScoreRange) -> str:
    """How alike two texts with this score are, for a model with this range of scores."""
    if score < scores.unrelated:
        return "not alike"
    if score < scores.related:
        return "slightly alike"
    return "moderately alike" if score < scores.same else "very alike"


def _level(e: Explanation) -> str | None:
    known = e.model.score_range
    return level_of(e.score, known) if known is not None and fits_range(e.left) and fits_range(e.right) else None


def fits_range(side: Side) -> bool:
    """Whether the model's range of scores, which is of plain sentences in Latin script, says something about this text."""
    letters = [letter for letter in side.text if letter.isalpha()]
    latin = sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return "prompt" not in side.kinds and latin > len(letters) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The different words of a text, whatever their case: how each is written, how often, and where it first stands."""

    labels: tuple[str, ...]
    first: tuple[int, ...]
    counts: tuple[int, ...]
    numbers: Int[np.ndarray, "own"]  # the word that each of the text's own units is

    @classmethod
    def of(cls, side: Side) -> Names:
        labels = side.labels
        written = [labels[index] for index in side.own]
        known: dict[str, int] = {}
        numbers = np.array([known.setdefault(each.casefold(), len(known)) for each in written], dtype=np.int64)
        first = tuple(int(np.flatnonzero(numbers == number)[0]) for number in range(len(known)))
        counts = tuple(int((numbers == number).sum()) for number in range(len(known)))
        return cls(tuple(shorten(written[index]) for index in first), first, counts, numbers)

    def written(self, members: Sequence[int]) -> tuple[str, ...]:
        """Words, strongest first; neighbours in the text as one piece."""
        pieces: list[list[int]] = []
        for member in members:
            place = next((piece for piece in pieces if self._beside(piece, member)), None)
            if place is None:
                pieces.append([member])
            else:
                place.append(member)
                place.sort(key=lambda each: self.first[each])
        return tuple(self._phrase(piece) for piece in pieces)

    def _beside(self, piece: list[int], member: int) -> bool:
        once = all(self.counts[each] == 1 for each in (*piece, member))
        return once and any(abs(self.first[each] - self.first[member]) == 1 for each in piece)

    def _phrase(self, piece: list[int]) -> str:
        if len(piece) > 1:
            return " ".join(self.labels[each] for each in piece)
        times = f" ×{self.counts[piece[0]]}" if self.counts[piece[0]] > 1 else ""
        return self.labels[piece[0]] + times


def _groups(
    cells: Float[np.ndarray, "left right"], left: Names, right: Names, least: float, partners: int
) -> list[Group]:
    """The strongest groups of positive cells, each with at least ``least``, largest first."""
    left_over = cells.clip(min=0)
    found: list[Group] = []
    while len(found) < MOST and left_over.any():
        row, column = map(int, np.unravel_index(int(left_over.argmax()), left_over.shape))
        rows, columns = [row], _partners(left_over[row], partners)
        down = _partners(left_over[:, column], partners)
        if left_over[down, column].sum() > left_over[row, columns].sum():
            rows, columns = down, [column]
        block = np.ix_(rows, columns)
        value = float(left_over[block].sum())
        if value < least:
            break
        found.append(Group(left.written(rows), right.written(columns), value))
        left_over[block] = 0.0
    return sorted(found, key=lambda group: -group.value)


def _partners(values: Float[np.ndarray, "units"], most: int) -> list[int]:
    """The strongest, and those at least half as strong."""
    order = np.argsort(-values, kind="stable")[:most]
    return [int(index) for index in order if values[index] >= HALF * values[order[0]]]


def shorten(label: str) -> str:
    """A label in one line, of at most `LONGEST` characters."""
    label = " ".join(label.split())
    return label if len(label) <= LONGEST else label[: LONGEST - 1].rstrip() + "…"
