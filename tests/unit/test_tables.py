"""Tables from files: every format, and every bad row named before anything else is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet
import pytest

from whyalike.data.tables import read_scored_pairs, read_table
from whyalike.errors import BadInput, UnknownName

ROWS = [
    {"left": 'A "man", plays.', "right": "Musik äöü\u2028x", "score": 2.5},
    {"left": "b", "right": "c", "score": 0.0},
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        arrow.parquet.write_table(arrow.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        mark = "," if path.suffix == ".csv" else "\t"
        quoted = [mark.join('"' + str(value).replace('"', '""') + '"' for value in row.values()) for row in rows]
        path.write_text("\n".join([mark.join(rows[0]), *quoted]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_gives_the_same_rows(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"pairs.{ending}", ROWS)
    pairs, scores = read_scored_pairs(path, scores=(0, 5))
    assert pairs == [(row["left"], row["right"]) for row in ROWS]
    assert scores == [0.5, 0.0]
    renamed = write(tmp_path / f"other.{ending}", [{"q": row["left"], **row} for row in ROWS])
    assert read_table(renamed, ("left",), {"left": "q"}).column("left") == [row["left"] for row in ROWS]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"left": ""}, "Row 2 of pairs.jsonl has an empty 'left'"),
        ({"right": None}, "Row 2 of pairs.jsonl has an empty 'right'"),
        ({"score": "high"}, "Row 2 of pairs.jsonl has the score 'high'"),
        ({"score": float("nan")}, "Line 2 of pairs.jsonl is not JSON: NaN is not a number"),
        ({"score": 7}, "has the score 7; expected 0 to 5"),
    ],
)
def test_a_bad_row_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.jsonl", [ROWS[0], ROWS[1] | change])
    with pytest.raises(BadInput, match=message):
        read_scored_pairs(path, scores=(0, 5))


def test_no_row_is_swallowed_by_a_quotation_mark(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('left\tright\tscore\n"a\tb\t1\nc\td\t1\n"e\tf\t1\n')
    with pytest.raises(BadInput, match="is not well-formed"):
        read_scored_pairs(tmp_path / "a.tsv")
    (tmp_path / "b.csv").write_bytes("left,right,score\nä,b,1\n".encode("latin-1"))
    with pytest.raises(BadInput, match="is not UTF-8"):
        read_scored_pairs(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text("\ufeffleft,right,score\na,b,1\n", encoding="utf-8")
    assert read_scored_pairs(tmp_path / "c.csv") == ([("a", "b")], [1.0])


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no column 'score'"):
        read_scored_pairs(write(tmp_path / "a.csv", [{"left": "a", "right": "b"}]))
    for name, content, message in (
        ("a.jsonl", "{", "Line 1 of a.jsonl is not JSON"),
        ("b.jsonl", "[1]", "is list; expected one object"),
        ("c.csv", "left,right,score\n", "has no rows"),
        ("d.xlsx", "x", "ends in '.xlsx'"),
        ("e.parquet", "", "is not a whole Parquet file"),
        (
            "f.csv",
            "left,right,score\na,b,1\na man, a plan,b,1\n",
            "Row 2 of f.csv .* more cells than there are columns",
        ),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(BadInput, match=message):
            read_scored_pairs(tmp_path / name)
    with pytest.raises(UnknownName, match="no file or data set 'stsb-xx-train'"):
        read_table("stsb-xx-train", ("left",))
    (tmp_path / "g.csv").write_text("left,right,score,\na,b,1,\n")  # a comma at the end of every line is no cell
    assert read_scored_pairs(tmp_path / "g.csv") == ([("a", "b")], [1.0])
    with pytest.raises(UnknownName, match="no column to name 'scores'. Known: left, right, score"):
        read_scored_pairs(tmp_path / "g.csv", columns={"scores": "left"})
    with pytest.raises(BadInput, match="The range of scores should rise"):
        read_scored_pairs(write(tmp_path / "e.csv", ROWS), scores=(5, 0))


def test_a_data_set_that_is_not_here_says_where_it_was_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WHYALIKE_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="Set WHYALIKE_DATA"):
        read_table("stsb-en-train", ("left",))
