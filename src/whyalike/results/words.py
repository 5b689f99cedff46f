"""The words of a text with their values, as every picture shows them."""

from __future__ import annotations

import unicodedata
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from whyalike.results.explanation import Explanation
from whyalike.results.sides import Kind, Side

JOINERS = "\u200c\u200d"  # Persian and emoji are wrong without them


class Word(NamedTuple):
    """A unit of a text, and the sum of its pairs with all of the other text; or its saliency, where words are matched."""

    label: str
    kind: Kind
    value: float
    sentence: int  # the sentence it lies in; -1 for what is not text
    gap: str = " "  # the characters between the unit before and this one, as written


def words_of(side: Side, values: Float[np.ndarray, "tokens"]) -> tuple[Word, ...]:
    """The units of a side with a value each, and the gaps between them as they stand in the text."""
    rows = zip(side.labels, side.kinds, values, side.sentence_of, _gaps(side), strict=True)
    return tuple(
        Word(printable(label), kind, float(value), int(number), gap) for label, kind, value, number, gap in rows
    )


def _gaps(side: Side) -> list[str]:
    """What stands before each unit. Units that cover no characters (special tokens) stand apart by a space."""
    gaps: list[str] = []
    end = 0
    for number, (kind, (start, stop)) in enumerate(zip(side.kinds, side.offsets.tolist(), strict=True)):
        covered = side.text[start:stop] if kind == "text" else ""
        if not covered.strip():
            gaps.append(" " if number else "")
            continue
        start += len(covered) - len(covered.lstrip())  # labels are shown without the spaces that a token covers
        gaps.append(_printable_gap(side.text[end:start]) if end else " " if number else "")
        end = max(end, start + len(covered.strip()))
    return gaps


def _printable_gap(gap: str) -> str:
    """A gap with its line breaks; any other white space is a space."""
    return "".join("\n" if each == "\n" else " " if each.isspace() else _printable(each) for each in gap)


def word_values(e: Explanation) -> tuple[Float[np.ndarray, "left"], Float[np.ndarray, "right"]]:
    """What the words of both texts are coloured by: the sums of their pairs, or their saliency where words are matched."""
    if e.matching is None or e.left.unit != "word":
        return e.matrix.sum(1), e.matrix.sum(0)
    return e.matching.left_saliency, e.matching.right_saliency


def direction(words: tuple[Word, ...]) -> Literal["ltr", "rtl"]:
    """Which way a text runs: that of its first letter that has one."""
    for word in words:
        for letter in word.label if word.kind == "text" else "":
            kind = unicodedata.bidirectional(letter)
            if kind in ("L", "R", "AL"):
                return "ltr" if kind == "L" else "rtl"
    return "ltr"


def printable(label: str) -> str:
    """A label without characters that move the cursor or change the direction of what follows; joiners stay."""
    return "".join(map(_printable, label)) or "∅"


def _printable(character: str) -> str:
    return character if character.isprintable() or character in JOINERS else "�"
