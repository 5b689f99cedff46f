"""What there is to see in an explanation, before any medium: words, cells, the parts that add up, the strongest pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from whyalike.colours import shade_step
from whyalike.render.numbers import plain
from whyalike.results.explanation import Explanation, Pair
from whyalike.results.matching import Match
from whyalike.results.records import NOTHING_MEASURED
from whyalike.results.sides import Kind
from whyalike.results.words import Word, printable, word_values, words_of

TOO_LARGE = 5  # times the largest score: parts that cancel say little of single pairs


Labelled = TypeVar("Labelled", Pair, Match)


class Part(NamedTuple):
    """One of the parts that add up to the score."""

    name: str
    value: float
    meaning: str


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
            "shades": [[shade_step(float(value), self.limit) for value in row] for row in self.cells],
            "grid": self.grid.to_dict(),
            "limit": self.limit,
            "word_limit": self.word_limit,
            "parts": [part._asdict() for part in self.parts],
            "background": [part._asdict() for part in self.background],
            "pairs": [{**pair._asdict(), "shade": shade_step(pair.value, self.limit)} for pair in self.pairs],
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
    values = word_values(e)
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
        Part("background", e.background, "the part no pair accounts for, such as biases or a reference"),
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


def _sum_line(e: Explanation, parts: tuple[Part, ...]) -> str:
    """``0.541 = 0.861 word pairs − 0.320 background``, or that the pairs alone add up."""
    if not parts and e.adds_up:
        return f"The {pairs_name(e)} add up to the score, {plain(e.score)}."
    parts = parts or _parts(e)[:1]
    terms = " ".join(f"{'−' if part.value < 0 else '+'} {abs(part.value):.3f} {part.name}" for part in parts)
    rest = f" {'−' if e.residual < 0 else '+'} {abs(e.residual):.3f} rounding error" if not e.adds_up else ""
    return f"{plain(e.score)} = {terms.replace('− ', '−', 1) if terms[0] == '−' else terms[2:]}{rest}"


def _counts(e: Explanation) -> str:
    """``4 of 31 matches, in the top 2 of 5 clusters``"""
    assert e.matching is not None
    found, clusters = e.matching, len(e.matching.centroids)
    return f"{len(found.top)} of {len(found.matches)} matches, in the top {found.kept} of {clusters} clusters of scores"


def caption_of(e: Explanation) -> str:
    """``all-MiniLM-L6-v2 · bilrp at layer 0 · cosine``"""
    layer, spread = e.method.layer, e.method.spread
    where = f" at layer {layer}" if isinstance(layer, int) else f" of the {layer}" if layer else ""
    shared = f" · background spread ({spread})" if spread else ""
    view = " · aligned" if e.method.aligned else ""
    return f"{e.model.name} · {e.method.name}{where} · {e.model.similarity}{view}{shared}"


def notes_of(e: Explanation) -> list[str]:
    """What the reader must know: truncation, integration error, parts that cancel, no claim to add up."""
    notes = []
    if e.model.pooling_assumed:
        notes.append(f"The model states no pooling; {e.model.pooling} pooling was assumed.")
    for name, side in (("left", e.left), ("right", e.right)):
        if side.truncated:
            notes.append(f"The {name} text was cut: {side.cut} of its tokens were not read by the model.")
        measured = e.measured.get(name, NOTHING_MEASURED)
        if measured.error is not None:
            notes.append(f"The {name} text: {measured.steps} steps, integration error {measured.error:.2%}.")
        if measured.words_without_vector:
            notes.append(f"The {name} text: {measured.words_without_vector} words have no vector and match nothing.")
    why = {measured.gradient_vanishes for measured in e.measured.values()}
    if "no words" in why:
        notes.append("One text has no words, so word saliency cannot be computed.")
    elif "same direction" in why:
        notes.append(
            "The two feature vectors point the same way: the cosine is at its maximum, its gradient is zero, and no word is "
            "salient."
        )
    if e.matching is not None and abs(e.matching.similarity - e.score) > 1e-3:
        notes.append(
            f"Saliency is for the similarity of the texts' own tokens, {e.matching.similarity:.3f}; the score is the model's."
        )
    if e.method.layer_reason and e.method.layer:
        notes.append(f"Layer {e.method.layer} was chosen for this model: {e.method.layer_reason}.")
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
        notes.append(f"{e.method.name} does not add up to the score.")
    return notes
