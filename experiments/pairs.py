"""Real pairs for experiments: the English STS benchmark's test set."""

from __future__ import annotations

import csv
import os
from pathlib import Path

MPNET = Path(os.environ.get("WHYALIKE_MODELS", Path.home() / ".cache/whyalike/models")) / "all-mpnet-base-v2"


def stsb_pairs(count: int) -> list[tuple[str, str]]:
    """Evenly spaced pairs of the test set."""
    folder = Path(os.environ.get("WHYALIKE_DATA", Path(__file__).parents[2] / "shared/data"))
    with (folder / "stsb/en-test.csv").open(encoding="utf-8", newline="") as rows:
        pairs = [(left, right) for left, right, _ in csv.reader(rows)]
    return pairs[:: len(pairs) // count][:count]
