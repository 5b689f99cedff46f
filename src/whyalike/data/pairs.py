"""Pairs of texts in whatever form a user has them: a list, an iterator, a pandas or a polars data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from whyalike.errors import BadInput, EmptyText

COLUMNS = ("left", "right")


class NumberedPair(NamedTuple):
    """A pair of texts, and its number in the data, counted from 1. ``problem`` says why a row is no pair of texts."""

    number: int
    left: Any
    right: Any
    problem: str | None = None

    def check(self) -> tuple[str, str]:
        """The two texts. Raises `BadInput` with the number of the pair."""
        if self.problem is not None:
            raise BadInput(self.problem)
        left, right = (
            check_text(text, f"The {side} text of pair {self.number}")
            for side, text in (("left", self.left), ("right", self.right))
        )
        return left, right


def number_pairs(pairs: Iterable[Any], columns: tuple[str, str] = COLUMNS) -> Iterator[NumberedPair]:
    """The pairs one by one. A row that is no pair of texts is numbered too, with the problem.

    A data frame needs the two columns. Anything else is an iterable of pairs; a `NumberedPair` keeps its own number.
    """
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise BadInput(f"pairs should be pairs of texts, or a data frame; got {type(pairs).__name__}: {pairs!r:.60}.")
    return _number(_rows_of_frame(pairs, columns) if hasattr(pairs, "columns") else pairs)


def _number(rows: Iterable[Any]) -> Iterator[NumberedPair]:
    for number, row in enumerate(rows, 1):
        if isinstance(row, NumberedPair):
            yield row
            continue
        if isinstance(row, str) or not isinstance(row, Iterable):
            problem = f"Pair {number} should be two texts; got {type(row).__name__}: {row!r:.60}."
            yield NumberedPair(number, row, None, problem)
            continue
        texts = tuple(row)
        if len(texts) == 2:
            yield NumberedPair(number, *texts)
        else:
            problem = f"Pair {number} should be two texts; got {len(texts)}: {texts!r:.60}."
            yield NumberedPair(number, texts, None, problem)


def _rows_of_frame(frame: Any, columns: tuple[str, str]) -> Iterator[tuple[Any, Any]]:
    names = [str(name) for name in frame.columns]
    for column in columns:
        if column not in names:
            raise BadInput(
                f"The data frame has no column {column!r} (it has {', '.join(names) or 'none'}). "
                "Name yours, as in columns=('question', 'answer')."
            )
    left, right = (list(frame[column]) for column in columns)
    return zip(left, right, strict=True)


def check_text(text: object, what: str = "A text") -> str:
    """The text, or an error that says what is wrong with it: no text, not Unicode, or blank."""
    if not isinstance(text, str):
        raise BadInput(f"{what} should be a str; got {type(text).__name__}: {text!r:.60}.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadInput(
            f"{what} has characters that are not Unicode text (lone surrogates): {text!r:.60}. Decode it first."
        )
    if not text.strip():
        raise EmptyText(
            f"{what} is {'blank' if text else 'empty'}, so there is nothing to explain. Give it some words."
        )
    return text
