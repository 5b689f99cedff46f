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
from whyalike.sides import Side

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
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_truth(path: str | os.PathLike[str]) -> list[Truth]:
    """What `train_nouns` keeps beside a model."""
    found = []
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise BadInput(f"{Path(path).name} is not UTF-8. Save it as UTF-8.") from error
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            matches = tuple((tuple(one), tuple(other)) for one, other in row["matches"])
            found.append(Truth(row["left"], row["right"], matches))
        except (ValueError, TypeError, KeyError) as error:
            raise BadInput(
                f"Line {number} of {Path(path).name} is no truth. Expected JSON with left, right and matches, as in the "
                "truth-*.jsonl that `whyalike train nouns` writes."
            ) from error
    return found
