"""Writing files: each is there whole or not at all, though its writer is killed or the disk is full.

Where the system refuses, the error is `CannotWrite`, one line that names the file and the reason.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from whyalike.errors import CannotWrite

PART = ".whyalike-part"  # ends the name of a file that is being written
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
RUST_ERROR = re.compile(r"\(os error (\d+)\)")  # as polars and safetensors report it
TORCH_ERROR = re.compile(r"inline_container|PytorchStreamWriter|iostream error")  # torch.save does not say why


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns the errors of whatever writes below ``path`` into `CannotWrite`."""
    try:
        yield
    except OSError as error:
        where = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else path
        raise _cannot_write(where, error.errno) from error
    except Exception as error:
        if found := RUST_ERROR.search(str(error)):
            raise _cannot_write(path, int(found[1])) from error
        if isinstance(error, RuntimeError) and TORCH_ERROR.search(str(error)):
            raise _cannot_write(path, errno.ENOSPC) from error
        raise


def _cannot_write(path: Path, code: int | None) -> CannotWrite:
    if code in FULL:
        return CannotWrite(
            f"{path} cannot be written: there is no room left in {path.parent}. Free some space, and run the same again."
        )
    why = os.strerror(code) if code else "the system refused"
    return CannotWrite(f"{path} cannot be written: {why}. Give a file or folder that can be written to.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write what shall be at ``path``: it appears there at the end, whole, or not at all.

    A device or a pipe (`/dev/stdout`) is written to directly: it cannot be replaced.
    """
    with writing(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if path.exists() and not path.is_file():
            yield path
            return
        target = Path(os.path.realpath(path))
        part = target.with_name(f"{target.name}.{os.getpid()}{PART}")
        try:
            yield part
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    with whole_file(path) as part:
        part.write_bytes(content)


def append_line(path: Path, entry: Mapping[str, Any]) -> None:
    """Adds a JSON object as a line. It is on disk when this returns; where that fails, the file is as it was before."""
    line = json.dumps(entry, allow_nan=False).encode() + b"\n"
    with writing(path), path.open("ab", buffering=0) as out:
        before = out.tell()
        try:
            written = 0
            while written < len(line):
                written += out.write(line[written:]) or 0
            os.fsync(out.fileno())
        except BaseException:
            out.truncate(before)
            raise


def whole_lines(path: Path) -> bytes:
    """What was written line by line, without the last line where its writer was killed while it wrote it."""
    with writing(path):
        written = path.read_bytes()
    return written[: written.rfind(b"\n") + 1]


def drop_cut_off_line(path: Path) -> None:
    """Takes away a last line whose writer was killed while it wrote it."""
    if path.exists() and (size := len(whole_lines(path))) < path.stat().st_size:
        with writing(path):
            os.truncate(path, size)
