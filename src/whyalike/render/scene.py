"""What there is to see in an explanation, before any medium: words, cells, the parts that add up, the strongest pairs."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from whyalike.explanation import Explanation, Pair
from whyalike.matching import Match
from whyalike.sides import Kind, Side

Colour = tuple[int, int, int]
POSITIVE: Colour = (179, 88, 6)  # orange against blue: told apart by every kind of colour vision
NEGATIVE: Colour = (33, 102, 172)
PAPER: Colour = (250, 250, 248)
WHITE_INK = 0.85  # a fuller colour than this is written on in white; see the test of contrast ratios
TOO_LARGE = 5  # times the largest score: parts that cancel say little of single pairs
JOINERS = "\u200c\u200d"  # Persian and emoji are wrong without them


Labelled = TypeVar("Labelled", Pair, Match)


class Word(NamedTuple):
    """A unit of a text, and the sum of its pairs with all of the other text; or its saliency, where words are matched."""

    label: str
    kind: Kind
    value: float
    sentence: int  # the sentence it lies in; -1 for what is not text


class Part(NamedTuple):
    """One of the parts that add up to the score."""

    name: str
    value: float
    meaning: str


def rgb(colour: Colour) -> str:
    """As CSS, SVG and charts write it."""
    return "rgb({},{},{})".format(*colour)


class Heading(NamedTuple):
    """Of a row or a column of the heat map."""

    label: str
    kind: Kind
    number: int  # of the word in its text


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """The heat map: the words that have something to show."""

    rows: tuple[Heading, ...]
    columns: tuple[Heading, ...]
    values: Float[np.ndarray, "rows columns"]

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": [heading._asdict() for heading in self.rows],
            "columns": [heading._asdict() for heading in self.columns],
            "values": self.values.tolist(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """An explanation as things to draw."""

    score: float
    left: tuple[Word, ...]
    right: tuple[Word, ...]
    cells: Float[np.ndarray, "left right"]
    grid: Grid  # all cells, or those of words that have a match
    matched: bool  # whether a first-order method matched words; its cells without a match are empty
    parts: tuple[Part, ...]  # the pairs and the background; none where the pairs alone add up, or words are matched
    background: tuple[Part, ...]  # the components of the background
    pairs: tuple[Pair, ...]
    matches: tuple[Match, ...]  # of a first-order method
    caption: str
    closing: str  # the sum of the parts, or what there is instead
    notes: tuple[str, ...]  # what the reader must know: truncation, no claim to add up

    @property
    def limit(self) -> float:
        """The value with the fullest colour."""
        return float(np.abs(self.cells).max(initial=0.0)) or 1.0

    @property
    def word_limit(self) -> float:
        return max((abs(word.value) for word in (*self.left, *self.right)), default=0.0) or 1.0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for media that draw elsewhere. Every label is fit to be shown."""
        return {
            "score": self.score,
            "left": [word._asdict() for word in self.left],
            "right": [word._asdict() for word in self.right],
            "cells": self.cells.tolist(),
            "grid": self.grid.to_dict(),
            "limit": self.limit,
            "word_limit": self.word_limit,
            "parts": [part._asdict() for part in self.parts],
            "background": [part._asdict() for part in self.background],
            "pairs": [pair._asdict() for pair in self.pairs],
            "matches": [match._asdict() for match in self.matches],
            "caption": self.caption,
            "closing": self.closing,
            "notes": list(self.notes),
        }


def scene_of(explanation: Explanation, pairs: int = 8) -> Scene:
    """The scene of an explanation as it is: choose the unit first, with ``by_word()`` or ``by_sentence()``."""
    e = explanation
    matched = e.matching is not None
    shows_background = e.has_background and not matched
    parts = _parts(e) if shows_background else ()
    values = _saliency(e) or (e.matrix.sum(1), e.matrix.sum(0))
    left, right = words_of(e.left, values[0]), words_of(e.right, values[1])
    return Scene(
        score=e.score,
        left=left,
        right=right,
        cells=e.matrix,
        grid=_grid(e, left, right),
        matched=matched,
        parts=parts,
        background=_background(e) if shows_background else (),
        pairs=tuple(_shown(pair) for pair in e.top_pairs(pairs) if not matched or pair.value),
        matches=tuple(_shown(match) for match in e.matching.top) if e.matching is not None else (),
        caption=caption_of(e),
        closing=_counts(e) if matched else _sum_line(e, parts),
        notes=tuple(notes_of(e)),
    )


def _grid(e: Explanation, left: tuple[Word, ...], right: tuple[Word, ...]) -> Grid:
    """Of matched words only those with a match; otherwise every word."""
    some = e.matching is not None
    rows, columns = (
        np.flatnonzero(e.matrix.any(axis)) if some else np.arange(e.matrix.shape[1 - axis]) for axis in (1, 0)
    )
    headings = [
        [Heading(words[number].label, words[number].kind, int(number)) for number in numbers]
        for words, numbers in ((left, rows), (right, columns))
    ]
    return Grid(tuple(headings[0]), tuple(headings[1]), e.matrix[np.ix_(rows, columns)])


def _shown(pair: Labelled) -> Labelled:
    """The same with labels fit to be shown."""
    return pair._replace(left=printable(pair.left), right=printable(pair.right))


def _parts(e: Explanation) -> tuple[Part, ...]:
    return (
        Part(pairs_name(e), float(e.matrix.sum()), "all of them"),
        Part("background", e.background, "what no pair can be given, such as biases or a reference"),
    )


def _background(e: Explanation) -> tuple[Part, ...]:
    return (
        Part("left terms", float(e.left_terms.sum()), "left words with the right text's remainder"),
        Part("right terms", float(e.right_terms.sum()), "right words with the left text's remainder"),
        Part("constant", e.constant, "the two remainders with each other"),
    )


def pairs_name(e: Explanation) -> str:
    """``word pairs``"""
    return f"{e.left.unit} pairs" if e.left.unit == e.right.unit else "pairs"


def _saliency(e: Explanation) -> tuple[Float[np.ndarray, "left"], Float[np.ndarray, "right"]] | None:
    """What the words of a first-order explanation are coloured by; in larger units it is the pairs again."""
    if e.matching is None or e.left.unit != "word":
        return None
    return e.matching.left_saliency, e.matching.right_saliency


def _sum_line(e: Explanation, parts: tuple[Part, ...]) -> str:
    """``0.541 = 0.861 word pairs − 0.320 background``, or that the pairs alone add up."""
    if not parts and e.adds_up:
        return f"The {pairs_name(e)} add up to the score, {_bare(e.score)}."
    parts = parts or _parts(e)[:1]
    terms = " ".join(f"{'−' if part.value < 0 else '+'} {abs(part.value):.3f} {part.name}" for part in parts)
    rest = f" {'−' if e.residual < 0 else '+'} {abs(e.residual):.3f} unexplained" if not e.adds_up else ""
    return f"{_bare(e.score)} = {terms.replace('− ', '−', 1) if terms[0] == '−' else terms[2:]}{rest}"


def _bare(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _counts(e: Explanation) -> str:
    """``4 of 31 matches, in the top 2 of 5 clusters``"""
    assert e.matching is not None
    found, clusters = e.matching, len(e.matching.centroids)
    return f"{len(found.top)} of {len(found.matches)} matches, in the top {found.kept} of {clusters} clusters of scores"


def caption_of(e: Explanation) -> str:
    """``all-MiniLM-L6-v2 · bilrp at layer 0 · cosine``"""
    layer, spread = e.method.parameters["layer"], e.method.parameters.get("spread")
    where = {None: "", "embeddings": " of the embeddings"}.get(layer, f" at layer {layer}")
    shared = f" · remainder spread ({spread})" if spread else ""
    view = " · aligned" if e.method.parameters.get("aligned") else ""
    return f"{e.model.name} · {e.method.name}{where} · {e.model.similarity}{view}{shared}"


def words_of(side: Side, values: Float[np.ndarray, "tokens"]) -> tuple[Word, ...]:
    rows = zip(side.labels, side.kinds, values, side.sentence_of, strict=True)
    return tuple(Word(printable(label), kind, float(value), int(sentence)) for label, kind, value, sentence in rows)


def notes_of(e: Explanation) -> list[str]:
    """What the reader must know: truncation, integration error, parts that cancel, no claim to add up."""
    notes = []
    if "assumed" in e.model.pooling:
        notes.append(f"The model states no pooling; {e.model.pooling.split()[0]} pooling was assumed.")
    for name, side in (("left", e.left), ("right", e.right)):
        if side.truncated:
            notes.append(f"The {name} text was cut: {side.cut} of its tokens were not read by the model.")
        measured = e.measured.get(name, {})
        if "error" in measured:
            notes.append(f"The {name} text: {measured['steps']} steps, integration error {measured['error']:.2%}.")
        if "words_without_vector" in measured:
            notes.append(f"The {name} text: {measured['words_without_vector']} words have no vector and match nothing.")
    why = {measured.get("gradient_vanishes") for measured in e.measured.values()}
    if "no words" in why:
        notes.append("One of the texts has no words of its own, so there is nothing to be salient for.")
    elif "same direction" in why:
        notes.append(
            "The two feature vectors point the same way: the cosine is at its maximum, its gradient is zero, and no word is "
            "salient."
        )
    if e.matching is not None and abs(e.matching.similarity - e.score) > 1e-3:
        notes.append(
            f"Saliency is for the similarity of the texts' own tokens, {e.matching.similarity:.3f}; the score is the model's."
        )
    if e.method.parameters.get("layer_chosen") and e.method.parameters["layer"]:
        notes.append(
            f"Layer {e.method.parameters['layer']} was chosen for this model: {e.method.parameters['layer_chosen']}."
        )
    size = float(np.abs(e.matrix).sum())
    whole = 1.0 if e.model.similarity == "cosine" else abs(e.score)
    if e.method.adds_up and size > TOO_LARGE * whole:
        advice = (
            "" if e.method.parameters.get("biases", "shared") == "shared" else " Use biases=shared, or a later layer."
        )
        notes.append(
            f"The {pairs_name(e)} are {size / max(abs(e.score), 1e-12):.0f} times as large as the score and cancel, so single "
            f"pairs say little.{advice or ' Use a later layer.'}"
        )
    if not e.method.adds_up:
        notes.append(f"{e.method.name} makes no claim to add up to the score.")
    return notes


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
    return "".join(each if each.isprintable() or each in JOINERS else "�" for each in label) or "∅"


def shade(value: float, limit: float) -> tuple[float, Colour]:
    """How much of which colour: a diverging scale with nothing at zero."""
    share = min(1.0, abs(value) / limit) ** 0.8  # small values stay visible
    return share, POSITIVE if value >= 0 else NEGATIVE


def colour(value: float, limit: float) -> Colour:
    """The same on paper, for media that cannot see through a colour."""
    share, end = shade(value, limit)
    red, green, blue = (round(paper + (full - paper) * share) for paper, full in zip(PAPER, end, strict=True))
    return red, green, blue


def ink(background: Colour) -> Colour:
    """Black or white, whichever reads better."""
    luminance = sum(weight * channel for weight, channel in zip((0.299, 0.587, 0.114), background, strict=True))
    return (20, 20, 20) if luminance > 140 else (255, 255, 255)
