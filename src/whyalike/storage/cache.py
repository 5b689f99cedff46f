"""Where results that take long to compute are kept for the next time: `$WHYALIKE_CACHE`, by default `~/.cache/whyalike`."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    try:
        return Path(os.environ.get("WHYALIKE_CACHE") or Path.home() / ".cache/whyalike")
    except RuntimeError:  # no home, so nowhere to keep anything
        return Path(os.devnull)
