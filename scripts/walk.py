"""Which files of whyalike a command goes through: `python scripts/walk.py explain "A man plays guitar." "Someone makes music."`

Prints every file of which a function runs, in the order in which they are first entered. `python scripts/walk.py post` is one
request to the server, `POST /api/explain`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import whyalike

HOME = Path(whyalike.__file__).parent


def walk(arguments: Sequence[str]) -> list[str]:
    """The files that run between the call and its answer. Modules that are only imported do not count."""
    entered: dict[str, None] = {}
    known: dict[CodeType, bool] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and known.setdefault(frame.f_code, _is_ours(frame.f_code)) and not _is_preparation(frame):
            entered[str(Path(frame.f_code.co_filename).relative_to(HOME))] = None

    run = _request() if list(arguments) == ["post"] else _command(arguments)
    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        run()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(entered)


def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(f"{HOME}/") and code.co_name != "<module>"


def _is_preparation(frame: FrameType | None) -> bool:
    """Whether the call was made by a module that is being imported, or by the types of a command's options."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and (code.co_filename == "<string>" or code.co_filename.startswith(f"{HOME}/")):
            return True
        frame = frame.f_back
    return False


def _command(arguments: Sequence[str]) -> Any:
    from whyalike.cli import main

    sys.argv = ["whyalike", *arguments]
    return main


def _request() -> Any:
    from starlette.testclient import TestClient

    from whyalike.server.app import create_app

    client = TestClient(create_app(), base_url="http://127.0.0.1")
    pair = {"left": "A man plays guitar.", "right": "Someone makes music."}
    return lambda: client.post("/api/explain", json=pair)


if __name__ == "__main__":
    files = walk(sys.argv[1:])
    sys.stderr.write(f"{len(files)} files: {', '.join(files)}\n")
