"""Files that are read whole or not at all."""

from pathlib import Path

import pytest

from whyalike.storage.writing import whole_file, whole_lines


def test_a_file_appears_when_all_of_it_is_written(tmp_path: Path) -> None:
    with whole_file(tmp_path / "found.json") as part:
        part.write_text("first half, ")
        assert not (tmp_path / "found.json").exists()
        part.write_text("first half, second half")
    assert (tmp_path / "found.json").read_text() == "first half, second half"
    assert [*tmp_path.iterdir()] == [tmp_path / "found.json"]


def test_a_failure_while_writing_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "found.json").write_text("before")
    with pytest.raises(UnicodeEncodeError), whole_file(tmp_path / "found.json") as part:
        part.write_text("half \ud800", encoding="utf-8")
    assert (tmp_path / "found.json").read_text() == "before"
    assert [*tmp_path.iterdir()] == [tmp_path / "found.json"]


def test_a_line_that_was_not_finished_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for written, whole in (("", ""), ("one", ""), ("one\n", "one\n"), ("one\ntwo", "one\n"), ("one\n\n", "one\n\n")):
        path.write_text(written)
        assert whole_lines(path) == whole.encode()
