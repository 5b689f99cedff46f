"""Where results that take long to compute are kept for the next time: `$WHYALIKE_CACHE`, or the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """The folder: `~/.cache/whyalike` on Linux. Where there is no home, one in which nothing can be kept."""
    if given := os.environ.get("WHYALIKE_CACHE"):
        return Path(given)
    folder = platformdirs.user_cache_path("whyalike")
    return folder if folder.is_absolute() else Path(os.devnull)  # a home that is not known stays a "~"
