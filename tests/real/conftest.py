"""Real models and data: found by path, never committed. Where WHYALIKE_DATA is set, their absence is a failure."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

import whyalike


@pytest.fixture(scope="session")
def minilm() -> whyalike.Encoder:
    return whyalike.load_encoder()


@pytest.fixture(scope="session")
def stsb() -> list[tuple[str, str, float]]:
    given = os.environ.get("WHYALIKE_DATA")
    folder = Path(given) if given else Path(__file__).parents[3] / "shared/data"
    path = folder / "stsb/en-test.csv"
    if not path.exists():
        message = f"{path} is not there; set WHYALIKE_DATA to a folder with stsb/en-test.csv"
        pytest.fail(message) if given else pytest.skip(message)
    with path.open(encoding="utf-8", newline="") as rows:
        return [(left, right, float(score)) for left, right, score in csv.reader(rows)]
