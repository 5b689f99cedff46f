"""``whyalike explain --data``: a row per word pair, bad rows named, resumed after an interruption."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import polars
import pytest
from typer.testing import CliRunner

import whyalike
from whyalike.cli import app, explain_file
from whyalike.cli.wording import in_command_line_words
from whyalike.errors import BadInput, FolderInUse
from whyalike.storage.run_folder import LOCK, REQUEST, locked

ROWS = [
    {"q": "A man plays guitar.", "a": "Someone makes music."},
    {"q": "The dog runs.", "a": ""},
    {"q": "A cat sleeps.", "a": "word " * 300},
    {"q": "It rains.", "a": "The weather is wet."},
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(tmp_path / "pairs.jsonl")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["explain", *arguments], catch_exceptions=False)


NAMES = ("--column", "left=q", "--column", "right=a")


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_every_pair_of_a_file_is_explained(ending: str, data: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{ending}"
    done = run("--data", data, "--out", str(out), *NAMES)
    assert done.exit_code == 0, done.output
    read = {"parquet": polars.read_parquet, "csv": polars.read_csv, "jsonl": polars.read_ndjson}[ending]
    frame = read(out)
    assert frame["row"].unique().sort().to_list() == [1, 4]
    for number in (1, 4):
        e = whyalike.explain(ROWS[number - 1]["q"], ROWS[number - 1]["a"], unit="word")
        own = frame.filter(polars.col("row") == number)
        assert own["value"].sum() == pytest.approx(e.score, abs=1e-6)
        assert own["score"][0] == pytest.approx(e.score, abs=1e-6)
    rejects = [json.loads(line) for line in (tmp_path / f"out.{ending}.rejects.jsonl").read_text().splitlines()]
    assert [each["row"] for each in rejects] == [2, 3]
    assert "is empty" in rejects[0]["reason"]
    assert "reads at most 256" in rejects[1]["reason"]
    assert "2 of 4 rows could not be explained" in done.stderr.replace("\n", " ")
    assert not out.with_name(out.name + explain_file.WORK).exists()


def test_reasons_have_the_row_of_the_file(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain_file.compute_rows, "__defaults__", (1,))  # pairs explained at a time
    run("--data", data, "--out", str(tmp_path / "out.csv"), *NAMES)
    first = json.loads((tmp_path / "out.csv.rejects.jsonl").read_text().splitlines()[0])
    assert first["row"] == 2
    assert "The right text of pair 2 is empty" in first["reason"]


def test_a_missing_column_is_named_as_an_option(data: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["explain", "--data", data, "--out", str(tmp_path / "out.csv")])
    assert "Name yours, as in --column left=q." in in_command_line_words(str(done.exception))
    assert "as in columns={'left': 'q'}." in str(done.exception)


def test_an_interrupted_run_is_resumed(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("--data", data, *NAMES, "--truncate")
    run(*arguments, "--out", str(tmp_path / "whole.csv"))
    explained: list[int] = []
    original = explain_file.explain_pairs

    def dies(pairs: Any, **options: Any) -> Any:
        explained.append(len(pairs))
        if len(explained) == 2:
            raise KeyboardInterrupt
        return original(pairs, **options)

    monkeypatch.setattr(explain_file.compute_rows, "__defaults__", (2,))
    monkeypatch.setattr(explain_file, "explain_pairs", dies)
    out = tmp_path / "out.csv"
    assert CliRunner().invoke(app, ["explain", *arguments, "--out", str(out)]).exit_code != 0
    assert not out.exists()
    run(*arguments, "--out", str(out))
    assert explained == [2, 2, 2]  # the first two pairs were not explained again
    assert polars.read_csv(out)["row"].to_list() == polars.read_csv(tmp_path / "whole.csv")["row"].to_list()


def test_another_process_stays_out_until_the_table_is_there(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, found = tmp_path / "out.csv", []
    work = out.with_name(out.name + explain_file.WORK)
    removed = []
    original = explain_file.write_table

    def other() -> None:
        with pytest.raises(FolderInUse), locked(work):
            pass
        found.append("kept out")

    def write(columns: Any, path: Path) -> None:
        thread = threading.Thread(target=other)
        thread.start(), thread.join()
        original(columns, path)

    unlink = Path.unlink
    monkeypatch.setattr(explain_file, "write_table", write)
    monkeypatch.setattr(Path, "unlink", lambda path, **options: (removed.append(path.name), unlink(path, **options)))
    assert run("--data", data, "--out", str(out), *NAMES).exit_code == 0
    assert found == ["kept out"]
    assert not work.exists()
    # A process killed in between leaves a folder that the same command takes up: the request goes last.
    kept = [name for name in removed if name in ("pairs.jsonl", REQUEST, LOCK)]
    assert kept == ["pairs.jsonl", REQUEST, LOCK]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "x.csv"), "--data needs --out"),
        (("a", "b", "--out", "x.csv"), "--out has no effect on two texts"),
        (("a", "--data", "x.csv", "--out", "y.csv"), "not both"),
        (("--data", "x.csv", "--out", "y.csv", "--png", "y.png"), "--png has no effect on a file of pairs"),
    ],
)
def test_options_of_the_other_form_are_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run(*arguments)


def test_another_ending_is_refused(data: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="ends in '.xlsx'; expected .parquet, .csv, .jsonl"):
        run("--data", data, "--out", str(tmp_path / "out.xlsx"), *NAMES)


def test_a_single_option_is_given_once() -> None:
    done = CliRunner().invoke(app, ["explain", "a", "b", "--layer", "1", "--layer", "2"])
    assert done.exit_code == 2
    assert "given 2 times; give it once" in done.output
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("whyalike ")


def test_errors_name_the_options_of_the_command_line() -> None:
    said = in_command_line_words("Pass truncate=True, unit='word', layer=3 or pooling='mean'; reference='zero'.")
    assert said == "Pass --truncate, --by word, --layer 3 or --pooling mean; --set reference=zero."
    said = in_command_line_words(
        "Expected cosine or dot; pass similarity='cosine' or similarity='dot' to explain that."
    )
    assert said == "Expected cosine or dot; use load_encoder(similarity='cosine') or 'dot' in Python to explain that."
    said = in_command_line_words("custom code (x.Y), which runs only if you pass trust_remote_code.")
    assert said == "custom code (x.Y), which no command runs; load_encoder does, in Python, with trust_remote_code."
