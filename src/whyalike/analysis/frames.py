"""Tables of a corpus. The only door to polars."""

from __future__ import annotations

from whyalike.errors import MissingExtra

try:
    import polars as pl
except ImportError as missing:
    raise MissingExtra("polars", "analyses of a corpus", "analysis") from missing

__all__ = ["pl"]
