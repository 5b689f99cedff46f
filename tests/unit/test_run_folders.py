"""The folder of a run belongs to one process at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.families import LEFT, RIGHT, tiny_encoder, tiny_folder
from tests.unit.test_training import train
from whyalike.analysis.interactions import interactions
from whyalike.cli import main
from whyalike.errors import BadInput, FolderInUse
from whyalike.evaluate.rating import prepare
from whyalike.evaluate.run import cases_of, evaluate
from whyalike.language.taggers import tagger
from whyalike.storage.run_folder import LOCK, locked
from whyalike.storage.writing import PART

HOLD = """
import sys, time
from pathlib import Path
from whyalike.storage.run_folder import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(100)
"""


@contextmanager
def held_by_another(folder: Path) -> Iterator[int]:
    """A process of its own that works in the folder, killed in the end."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process.pid
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _evaluate(folder: Path) -> object:
    cases = cases_of([(LEFT, RIGHT)])
    return evaluate("balance", cases, encoder=tiny_encoder(), subjects=["bilrp"], folder=folder, progress=False)


def _prepare(folder: Path) -> object:
    return prepare(cases_of([(LEFT, RIGHT)]), folder, encoder=tiny_encoder(), subjects=["bilrp"], progress=False)


def _interactions(folder: Path) -> object:
    return interactions([(LEFT, RIGHT)], folder, encoder=tiny_encoder(), tagger=tagger("english"), progress=False)


def _train(folder: Path) -> object:
    return train("tuned", tiny_folder(str(folder.parent / "tiny"), "bert"), folder)


@pytest.mark.parametrize("work", [_evaluate, _prepare, _interactions, _train])
def test_a_second_process_is_told_who_works_there_and_a_killed_one_does_not_block(
    work: Callable[[Path], object], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with held_by_another(folder) as pid, pytest.raises(FolderInUse, match=f"run is in use by process {pid} on "):
        work(folder)
    assert (folder / LOCK).is_file()  # left by the killed process
    work(folder)
    assert not (folder / LOCK).exists()


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "balance", "--method", "random"),
        ("evaluate", "rating", "--method", "random"),
        ("analyze", "parts-of-speech"),
        ("report",),
    ],
)
def test_commands_say_it_in_one_line(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.csv").write_text("left,right\na man,a dog\n")
    model = tiny_folder(str(tmp_path / "tiny"), "bert")
    given = ("--data", str(tmp_path / "pairs.csv"), "--out", str(tmp_path / "run"), "--model", model)
    monkeypatch.setattr("sys.argv", ["whyalike", *words, *given])
    with held_by_another(tmp_path / "run") as pid, pytest.raises(SystemExit, match="1"):
        main()
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert f"run is in use by process {pid} on " in said
    assert said.endswith("Wait until it is done, or give another folder.")


def test_a_thread_may_hold_a_folder_twice_and_another_not_at_all(tmp_path: Path) -> None:
    found: list[str] = []

    def other() -> None:
        try:
            with locked(tmp_path):
                found.append("held")
        except FolderInUse as error:
            found.append(str(error))

    with locked(tmp_path):
        with locked(tmp_path):
            pass
        assert (tmp_path / LOCK).is_file()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert f"in use by process {os.getpid()} on" in found[0]
    other()
    assert found[1:] == ["held"]
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_was_writing_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    for name in (f"rows.parquet.1{PART}", "download.part", "rows.parquet"):
        (tmp_path / name).write_text("x")
    with locked(tmp_path):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["download.part", "rows.parquet"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match="is a file; expected a folder"), locked(tmp_path / "file"):
        pass
