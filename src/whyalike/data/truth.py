"""A known truth about a pair: which characters of one text match which of the other."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from whyalike.errors import BadInput
from whyalike.results.sides import Side
from whyalike.storage.reading import Fields, parse_json, read_text
from whyalike.storage.writing import write_text

Span = tuple[int, int]


class Truth(NamedTuple):
    """Which characters of the left text match which of the right."""

    left: str
    right: str
    matches: tuple[tuple[Span, Span], ...]

    @property
    def score(self) -> int:
        return len(self.matches)

    def matrix(self, left: Side, right: Side) -> Float[np.ndarray, "left right"]:
        """The truth in the units of an explanation's sides: sums to the score where no text was cut."""
        found = np.zeros((len(left), len(right)))
        for one, other in self.matches:
            rows, columns = _units(left, one), _units(right, other)
            for number in range(max(len(rows), len(columns)) if rows and columns else 0):
                share = 1 / max(len(rows), len(columns))
                found[rows[min(number, len(rows) - 1)], columns[min(number, len(columns) - 1)]] += share
        return found


def _units(side: Side, span: Span) -> list[int]:
    """The units of a side that have characters in a span."""
    return [
        number
        for number, (start, end) in enumerate(side.offsets.tolist())
        if side.kinds[number] == "text" and start < span[1] and span[0] < end
    ]


def write_truth(truths: Sequence[Truth], path: Path) -> None:
    lines = [json.dumps(truth._asdict()) for truth in truths]
    write_text(path, "".join(f"{line}\n" for line in lines))


def read_truth(path: str | os.PathLike[str]) -> list[Truth]:
    """What `train_nouns` keeps beside a model."""
    found = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(_truth(Fields(parse_json(line))))
        except ValueError as error:
            raise BadInput(
                f"Line {number} of {Path(path).name} is no truth: {error}. Expected JSON with left, right and matches, as in "
                "the truth-*.jsonl that `whyalike train nouns` writes."
            ) from error
    return found


def _truth(given: Fields) -> Truth:
    left, right = given.text("left"), given.text("right")
    spans = given.wholes("matches", len(given.list("matches")), 2, 2)
    ends = np.array([len(left), len(right)])
    if ((spans[..., 0] < 0) | (spans[..., 0] >= spans[..., 1]) | (spans[..., 1] > ends)).any():
        raise ValueError(f"a match lies outside its texts of {len(left)} and {len(right)} characters")
    return Truth(left, right, tuple(((a, b), (c, d)) for (a, b), (c, d) in spans.tolist()))
