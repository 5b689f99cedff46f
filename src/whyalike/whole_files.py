"""Files that are read whole or not at all, though the process that wrote them was killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write what shall be at ``path``: it appears there at the end, whole, or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def whole_lines(path: Path) -> bytes:
    """What was written line by line, without the last line where its writer was killed while it wrote it."""
    written = path.read_bytes()
    return written[: written.rfind(b"\n") + 1]
