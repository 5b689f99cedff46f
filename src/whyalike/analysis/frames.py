"""Tables of a corpus. The only door to polars."""

from __future__ import annotations

from whyalike.errors import MissingExtra

try:
    import polars as pl
except ImportError as missing:
    raise MissingExtra("polars", "analyses of a corpus", "analysis") from missing

__all__ = ["in_no_order", "pl"]


def in_no_order(left: pl.Expr, right: pl.Expr) -> list[pl.Expr]:
    """Two columns as ``first`` and ``second``, whichever side each stood on: a–b and b–a are one."""
    return [pl.min_horizontal(left, right).alias("first"), pl.max_horizontal(left, right).alias("second")]
