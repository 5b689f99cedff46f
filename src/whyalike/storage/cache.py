"""Where results that take long to compute are kept for the next time: `$WHYALIKE_CACHE`, or the user's cache folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from whyalike.errors import WhyalikeError
from whyalike.storage.reading import Fields, parse_json, read_text
from whyalike.storage.writing import write_text

T = TypeVar("T")


def cache_folder() -> Path:
    """The folder: `~/.cache/whyalike` on Linux. Where there is no home, one in which nothing can be kept."""
    if given := os.environ.get("WHYALIKE_CACHE"):
        return Path(given)
    folder = platformdirs.user_cache_path("whyalike")
    return folder if folder.is_absolute() else Path(os.devnull)  # a home that is not known stays a "~"


def read_or_make(name: str, read: Callable[[Fields], T], make: Callable[[], T], to_json: Callable[[T], Any]) -> T:
    """A small value from a JSON file of the cache folder; made, and kept there, where no file can be used.

    Args:
        name: The file's name below the cache folder.
        read: The value from the file's content. Raises ValueError where it is none.
        make: The value anew.
        to_json: The file's content.
    """
    path = cache_folder() / name
    try:
        return read(Fields(parse_json(read_text(path))))
    except ValueError:
        found = make()
    with suppress(OSError, WhyalikeError):  # a folder that cannot be written to costs time, not the answer
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(to_json(found)))
    return found
