"""Every public data set by name, as it lies on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from whyalike.data.tables import DATA_SETS, read_table
from whyalike.errors import BadInput

COUNTS = {
    "stsb-en-train": 5749,
    "stsb-de-test": 1379,
    "sick-train": 4500,
    "sick-test": 4927,
    "qqp": 10_000,
    "fashion": 100,
}


@pytest.mark.real
@pytest.mark.parametrize("name", DATA_SETS)
def test_every_data_set_is_read(name: str, data: Path) -> None:
    needed = tuple(DATA_SETS[name].columns)
    table = read_table(name, needed)
    assert len(table) == COUNTS.get(name, len(table))
    assert len(table) > 10
    assert table.dropped <= 1
    texts = [text for column in needed if column in ("left", "right", "text") for text in table.column(column)]
    assert not any(text[0] == text[-1] == '"' and '""' in text for text in texts)  # still in the file's own marks
    if "score" in needed:
        assert all(table.scores[0] <= score <= table.scores[1] for score in table.column("score"))


@pytest.mark.real
def test_biosses_has_a_hundred_pairs(data: Path) -> None:
    joined = read_table("biosses-train+biosses-dev+biosses-test", ("left", "right", "score"))
    assert len(joined) == len(joined.numbers) == 100
    with pytest.raises(BadInput, match="different ranges"):
        read_table("biosses-train+sick-train", ("left",))
