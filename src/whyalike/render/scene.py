"""What there is to see in an explanation, before any medium: the finding, words, cells, the strongest pairs, the parts.

Special tokens ([CLS], [SEP]) are folded into one part unless they are asked for: they stand in no text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from whyalike.colours import shade_step
from whyalike.results.explanation import Explanation, Pair
from whyalike.results.finding import Finding, find, fits_range, shorten
from whyalike.results.matching import Match
from whyalike.results.numbers import plain
from whyalike.results.records import NOTHING_MEASURED
from whyalike.results.sides import Kind
from whyalike.results.words import Word, printable, word_values, words_of

TOO_LARGE = 5  # times the largest score: parts that cancel say little of single pairs


class Part(NamedTuple):
    """One of the parts that add up to the score."""

    name: str
    value: float
    meaning: str


class PairLine(NamedTuple):
    """A line of the list of pairs: equal pairs of words are one line, ``wine ↔ wine ×7``."""

    left: str
    right: str
    value: float  # of all of them
    times: int
    share: float | None  # of the score; None where shares would mislead


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
    finding: Finding
    scale: str  # what scores mean for this model; empty where it is not known
    advice: str  # which words carry most of the score
    unit: str
    left: tuple[Word, ...]
    right: tuple[Word, ...]
    cells: Float[np.ndarray, "left right"]
    grid: Grid  # all cells, or those of words that have a match
    matched: bool  # whether a first-order method matched words; its cells without a match are empty
    parts: tuple[Part, ...]  # the pairs and the background; none where the pairs alone add up, or words are matched
    background: tuple[Part, ...]  # the components of the background
    pairs: tuple[PairLine, ...]
    links: tuple[Pair, ...]  # the strongest single pairs
    unread: tuple[str, str]  # the ends of the two texts that the model did not read
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
            "sentence": str(self.finding),
            "scale": self.scale,
            "advice": self.advice,
            "left": [word._asdict() for word in self.left],
            "right": [word._asdict() for word in self.right],
            "cells": self.cells.tolist(),
            "shades": [[shade_step(float(value), self.limit) for value in row] for row in self.cells],
            "grid": self.grid.to_dict(),
            "limit": self.limit,
            "word_limit": self.word_limit,
            "parts": [part._asdict() for part in self.parts],
            "background": [part._asdict() for part in self.background],
            "pairs": [pair._asdict() for pair in self.pairs],
            "links": [{**pair._asdict(), "shade": shade_step(pair.value, self.limit)} for pair in self.links],
            "matches": [match._asdict() for match in self.matches],
            "caption": self.caption,
            "closing": self.closing,
            "notes": list(self.notes),
        }


def scene_of(explanation: Explanation, pairs: int = 8, *, special_tokens: bool = False) -> Scene:
    """The scene of an explanation as it is: choose the unit first, with ``by_word()`` or ``by_sentence()``.

    Args:
        explanation: What to show.
        pairs: How many pairs to list and to link.
        special_tokens: Show special tokens as words, too.
    """
    e = explanation
    finding = find(e)
    matched = e.matching is not None
    rows, columns = (range(len(side)) if special_tokens or matched else side.listed for side in (e.left, e.right))
    left, right = (
        words_of(side.only(chosen), values[list(chosen)])
        for side, chosen, values in zip((e.left, e.right), (rows, columns), word_values(e), strict=True)
    )
    cells = e.matrix[np.ix_(rows, columns)]
    listed = replace(e, left=e.left.only(rows), right=e.right.only(columns), matrix=cells)
    parts = _parts(e, cells) if e.method.adds_up else ()
    return Scene(
        score=e.score,
        finding=finding,
        scale=_scale(e),
        advice=_advice(left, right, finding) if not matched else "",
        unit=e.left.unit,
        left=left,
        right=right,
        cells=cells,
        grid=_grid(cells, left, right, matched=matched),
        matched=matched,
        parts=parts,
        background=_background(e) if e.has_background and e.method.adds_up else (),
        pairs=_pair_lines(listed, pairs, finding.whole),
        links=tuple(_shown(pair) for pair in listed.top_pairs(pairs) if pair.value > 0),
        unread=(e.left.unread, e.right.unread),
        matches=tuple(
            match._replace(left=printable(match.left), right=printable(match.right)) for match in e.matching.top
        )
        if e.matching is not None
        else (),
        caption=caption_of(e),
        closing=_counts(e) if matched else _sum_line(e, parts),
        notes=tuple(notes_of(e)),
    )


def _scale(e: Explanation) -> str:
    """What scores mean for this model, seen on sentences of ours."""
    known = e.model.score_range
    if known is None or not fits_range(e.left) or not fits_range(e.right):
        return ""
    return (
        f"With this model, unrelated sentences score below {plain(known.unrelated, 2)}, sentences about the same thing around "
        f"{plain(known.related, 2)}, sentences that mean the same {plain(known.same, 2)} or more."
    )


def _advice(left: tuple[Word, ...], right: tuple[Word, ...], finding: Finding) -> str:
    """Which words would change the score most: those whose pairs sum to most."""
    named = []
    for name, words in (("left", left), ("right", right)):
        best = max((word for word in words if word.kind == "text"), key=lambda word: word.value, default=None)
        if finding.whole is None or best is None or best.value <= 0:
            return ""
        named.append(f"“{shorten(best.label)}” on the {name} ({plain(100 * best.value / finding.whole, 0)} %)")
    return f"What would lower it: to change or leave out {named[0]} or {named[1]}. Their pairs carry most of the score."


def _pair_lines(e: Explanation, count: int, whole: float | None) -> tuple[PairLine, ...]:
    """The strongest pairs of words of the two texts, equal pairs as one line."""
    own = e.left.own, e.right.own
    labels = [
        [printable(written[index]) for index in each]
        for written, each in zip((e.left.labels, e.right.labels), own, strict=True)
    ]
    numbers, known = [], []
    for each in labels:
        seen: dict[str, int] = {}
        numbers.append([seen.setdefault(label.casefold(), len(seen)) for label in each])
        known.append([next(label for label in each if label.casefold() == key) for key in seen])
    sums, counts = (np.zeros((len(known[0]), len(known[1]))) for _ in range(2))
    at = np.ix_(*(np.array(each, dtype=np.int64) for each in numbers))
    cells = e.matrix[np.ix_(*own)]
    np.add.at(sums, at, cells)
    np.add.at(counts, at, cells != 0)
    order = np.argsort(-sums, axis=None, kind="stable")[:count]
    places = [tuple(map(int, np.unravel_index(flat, sums.shape))) for flat in order]
    return tuple(
        PairLine(
            known[0][i],
            known[1][j],
            float(sums[i, j]),
            int(counts[i, j]),
            None if whole is None else float(sums[i, j]) / whole,
        )
        for i, j in places
        if sums[i, j] or e.matching is None
    )


def _grid(
    cells: Float[np.ndarray, "left right"], left: tuple[Word, ...], right: tuple[Word, ...], *, matched: bool
) -> Grid:
    """Of matched words only those with a match; otherwise every word."""
    rows, columns = (
        np.flatnonzero(cells.any(axis)) if matched else np.arange(cells.shape[1 - axis]) for axis in (1, 0)
    )
    headings = [
        [Heading(words[number].label, words[number].kind, int(number)) for number in numbers]
        for words, numbers in ((left, rows), (right, columns))
    ]
    return Grid(tuple(headings[0]), tuple(headings[1]), cells[np.ix_(rows, columns)])


def _shown(pair: Pair) -> Pair:
    """The same with labels fit to be shown."""
    return pair._replace(left=printable(pair.left), right=printable(pair.right))


def _parts(e: Explanation, cells: Float[np.ndarray, "left right"]) -> tuple[Part, ...]:
    """What adds up to the score, where it is more than the pairs that are shown."""
    pairs, special = float(cells.sum()), float(e.matrix.sum()) - float(cells.sum())
    parts = [Part(pairs_name(e), pairs, "all pairs of the two texts")]
    if cells.shape != e.matrix.shape:
        parts.append(
            Part("special tokens", special, "pairs with tokens that the model adds to each text, such as [CLS]")
        )
    if e.has_background:
        parts.append(Part("background", e.background, "the part no pair accounts for, such as biases or a reference"))
    return tuple(parts) if len(parts) > 1 else ()


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
    if not e.method.adds_up:
        return f"These values do not add up to the score, {plain(e.score)}."
    if not parts and e.adds_up:
        return f"The {pairs_name(e)} add up to the score, {plain(e.score)}."
    parts = parts or (Part(pairs_name(e), float(e.matrix.sum()), ""),)
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
        if side.in_single_characters:
            notes.append(
                f"The {name} text is written without spaces; its words are single characters, because no segmenter is "
                "installed. Install one with `pip install 'whyalike[languages]'`."
            )
        measured = e.measured.get(name, NOTHING_MEASURED)
        if measured.embeddings is not None:
            off = "" if measured.error is None else f", sampling error {measured.error:.1%}"
            notes.append(f"The {name} text: {measured.embeddings} embeddings of it with {side.unit}s removed{off}.")
        elif measured.error is not None:
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
        shared = e.method.parameters.get("biases", "shared") == "shared"
        later = " Use a later layer." if isinstance(e.method.layer, int) else ""
        advice = later if shared else " Use biases=shared, or a later layer."
        notes.append(
            f"The {pairs_name(e)} are {size / max(abs(e.score), 1e-12):.0f} times as large as the score and cancel, so single "
            f"pairs say little.{advice}"
        )
    return notes
