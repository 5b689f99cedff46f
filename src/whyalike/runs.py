"""Folders of long runs: one process at a time, what was asked written down beside the work, so that a killed run goes on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from whyalike.errors import BadInput, DamagedFile, FolderInUse
from whyalike.untrusted import Fields, parse_json, read_text
from whyalike.whole_files import PART, write_text, writing

ASKED = "asked.json"
LOCK = ".lock"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Makes the folder, and keeps other processes out of it until the block ends; a thread may hold it more than once.

    The lock is the system's, on the file `.lock`, so that it ends with its process however that ends. The file says who holds
    it. What a killed process left half written is taken away.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file; expected a folder. Give another.")
    path = folder / LOCK
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0, is_singleton=True)
        try:
            lock.acquire()
        except Timeout:
            raise FolderInUse(
                f"{folder} is in use by {_holder(path)}. Wait until it is done, or give another folder."
            ) from None
    try:
        if lock.lock_counter == 1:
            with writing(path):
                path.write_text(
                    f"process {os.getpid()} on {platform.node()} since {time.strftime('%Y-%m-%d %H:%M:%S')}"
                )
            for part in folder.glob(f"*{PART}"):
                part.unlink(missing_ok=True)
        yield
    finally:
        if lock.lock_counter == 1:
            path.unlink(
                missing_ok=True
            )  # while it is held: whoever waits for it sees that it is gone, and makes a new one
        lock.release()


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:200] or "another process"
    except OSError:
        return "another process"


def write_asked(state: Path, asked: Mapping[str, Any]) -> None:
    with writing(state):
        state.parent.mkdir(parents=True, exist_ok=True)
    write_text(state, json.dumps(asked))


def is_empty(folder: Path) -> bool:
    """Whether a run can begin there. What a killed one was about to write does not count."""
    return not folder.exists() or all(each.name == LOCK or each.suffix == PART for each in folder.iterdir())


def begin_or_resume(folder: Path, asked: Mapping[str, Any]) -> None:
    """Writes down what was asked, or refuses a folder where something else was."""
    state = folder / ASKED
    if state.is_file():
        check_asked(read_asked(state), asked, folder, "Give another folder.")
    elif not is_empty(folder):
        raise BadInput(f"{folder} exists and holds something else. Give another folder, or empty this one.")
    else:
        write_asked(state, asked)


def read_asked(state: Path) -> dict[str, Any]:
    try:
        return Fields(parse_json(read_text(state, DamagedFile))).value
    except ValueError as error:
        raise DamagedFile(f"{state} is damaged ({error}). Empty the folder, and begin anew.") from error


def check_asked(before: Mapping[str, Any], asked: Mapping[str, Any], folder: Path, advice: str) -> None:
    """Refuses to go on with a run that was asked for differently."""
    now = json.loads(json.dumps(asked))
    changed = [key for key in {*before, *now} if before.get(key) != now.get(key)]
    for key in sorted(changed, key=lambda key: (key == "data", key)):  # what was set before what it changed
        was = "the data were others" if key == "data" else f"{key} was {before.get(key)!r}, now {now.get(key)!r}"
        raise BadInput(f"{folder} holds a run that was asked for differently: {was}. {advice}")


def digest(data: Any) -> str:
    """Tells data apart: a run is taken up on the same data only."""
    return hashlib.sha256(json.dumps(data).encode("utf-8", "surrogatepass")).hexdigest()[:16]
