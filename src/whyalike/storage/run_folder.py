"""The folder of a long run: one process at a time, the request written beside the work, so that an interrupted run resumes.

Every command that takes long (evaluate, analyze, report, train, rating studies) works in one:

- ``.lock``: held by the process that works there; the lock ends with its process, however that ends;
- ``request.json``: what was asked for. The same request resumes the run; another one is refused;
- JSON lines (`JsonLog`): finished work, one line each, on disk when `append` returns.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from whyalike.errors import BadInput, DamagedFile, FolderInUse
from whyalike.storage.reading import Fields, parse_json, read_text
from whyalike.storage.writing import PART, append_line, drop_cut_off_line, whole_lines, write_text, writing

REQUEST = "request.json"
LOCK = ".lock"
ITEMS_TOGETHER = 64  # items of which the rows are written at a time; always the same ones, so that bytes are the same
Item = TypeVar("Item")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A locked folder with its request."""

    path: Path
    resumed: bool  # whether the request was there already

    @classmethod
    @contextmanager
    def open(
        cls,
        path: Path,
        request: Mapping[str, Any],
        *,
        request_file: str = REQUEST,
        advice: str = "Give another folder.",
    ) -> Iterator[RunFolder]:
        """Locks a folder, and begins or resumes the run that was asked for.

        Raises:
            BadInput: The folder holds another run, or something else.
            FolderInUse: Another process works there.
        """
        with locked(path):
            state = path / request_file
            resumed = state.is_file()
            if resumed:
                check_request(read_request(state), request, path, advice)
            elif not _is_unused(path, request_file):
                raise BadInput(f"{path} exists and holds something else. Give another folder, or empty this one.")
            else:
                with writing(state):
                    state.parent.mkdir(parents=True, exist_ok=True)
                write_text(state, json.dumps(request))
            yield cls(path, resumed)

    def check_part(self, name: str, request: Mapping[str, Any]) -> None:
        """The same for one of several results in a folder, such as one analysis of a corpus."""
        state = self.path / f"{name}-{REQUEST}"
        if state.is_file():
            check_request(read_request(state), request, self.path, "Give another folder.")
        else:
            write_text(state, json.dumps(request))


def compute_rows(
    path: Path,
    items: Sequence[Item],
    compute: Callable[[Sequence[Item]], Sequence[Row]],
    together: int = ITEMS_TOGETHER,
) -> list[Row]:
    """The rows of all items, computed some items at a time and written to a file; what is there already is read.

    The file's name has to tell its content apart: see `digest`.
    """
    log = JsonLog(path, lambda entry: (entry.whole("start"), entry.list("rows")))
    known = {entry["start"]: entry["rows"] for entry in log.entries}
    for start in range(0, len(items), together):
        if start not in known:
            known[start] = list(compute(items[start : start + together]))
            log.append({"start": start, "rows": known[start]})
    return [row for start in sorted(known) for row in known[start]]


@dataclass(slots=True)
class JsonLog:
    """Lines of JSON that are only ever added to. A last line cut off by a crash does not count."""

    path: Path | None  # None: kept in memory only
    check: Callable[[Fields], object] = lambda entry: None  # raises ValueError for an entry that is none
    entries: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.path is not None:
            drop_cut_off_line(self.path)
            self.entries = self.read(self.path, self.check)

    @staticmethod
    def read(path: Path, check: Callable[[Fields], object]) -> list[Row]:
        """The entries of a file, without changing it. A damaged line raises `DamagedFile`."""
        found = []
        for number, line in enumerate(whole_lines(path).split(b"\n")[:-1] if path.is_file() else (), 1):
            try:
                entry = Fields(parse_json(line.decode()))
                check(entry)
            except ValueError as error:
                raise DamagedFile(
                    f"Line {number} of {path} is damaged: {error}. Delete the line to compute it again."
                ) from error
            found.append(entry.value)
        return found

    def append(self, entry: Row) -> None:
        """Adds an entry. It is on disk when this returns."""
        if self.path is not None:
            append_line(self.path, entry)
        self.entries.append(entry)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Makes the folder, and keeps other processes out of it until the block ends. A thread may lock it more than once.

    The lock is the system's, on the file `.lock`. The file says which process holds it. Files that a killed process left half
    written are removed.
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
            # While it is locked: a process that waits for the lock sees that the file is gone, and makes a new one.
            path.unlink(missing_ok=True)
        lock.release()


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:200] or "another process"
    except OSError:
        return "another process"


def _is_unused(folder: Path, request_file: str) -> bool:
    """Whether a run can begin there. What a killed process was about to write does not count."""
    begun, *rest = Path(request_file).parts
    for each in folder.iterdir():
        if each.name == LOCK or each.suffix == PART:
            continue
        if not (rest and each.name == begun and each.is_dir() and _is_unused(each, str(Path(*rest)))):
            return False
    return True


def read_request(state: Path) -> dict[str, Any]:
    """What was asked for when a run began."""
    try:
        return Fields(parse_json(read_text(state, DamagedFile))).value
    except ValueError as error:
        raise DamagedFile(f"{state} is damaged ({error}). Empty the folder, and begin anew.") from error


def check_request(before: Mapping[str, Any], request: Mapping[str, Any], folder: Path, advice: str) -> None:
    """Raises `BadInput` for a request that is not the one the run began with."""
    now = json.loads(json.dumps(request))
    changed = [key for key in {*before, *now} if before.get(key) != now.get(key)]
    for key in sorted(changed, key=lambda key: (key == "data", key)):  # what was set before what it changed
        what = "data" if key == "data" else f"settings: {key} was {before.get(key)!r}, now {now.get(key)!r}"
        raise BadInput(f"{folder} holds a run with different {what}. {advice}")


def digest(data: Any) -> str:
    """Tells data apart: a run is resumed on the same data only."""
    return hashlib.sha256(json.dumps(data).encode("utf-8", "surrogatepass")).hexdigest()[:16]
