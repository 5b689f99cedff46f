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
def data() -> Path:
    """The folder of the data sets."""
    given = os.environ.get("WHYALIKE_DATA")
    folder = Path(given) if given else Path(__file__).parents[3] / "shared/data"
    if not (folder / "stsb/en-test.csv").exists():
        message = f"{folder} has no stsb/en-test.csv; set WHYALIKE_DATA to the folder of the data sets"
        pytest.fail(message) if given else pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def stsb(data: Path) -> list[tuple[str, str, float]]:
    with (data / "stsb/en-test.csv").open(encoding="utf-8", newline="") as rows:
        return [(left, right, float(score)) for left, right, score in csv.reader(rows)]
