"""Tables of a corpus. The only door to polars."""

from __future__ import annotations

from whyalike.errors import MissingExtra

try:
    import polars as pl
except ImportError as missing:
    raise MissingExtra("polars", "analyses of a corpus", "analysis") from missing

__all__ = ["exact_sum", "in_no_order", "pl"]

FINENESS = 2.0**60  # parts of one, in which numbers are summed


def in_no_order(left: pl.Expr, right: pl.Expr) -> list[pl.Expr]:
    """Two columns as ``first`` and ``second``, whichever side each stood on: a–b and b–a are one."""
    return [pl.min_horizontal(left, right).alias("first"), pl.max_horizontal(left, right).alias("second")]


def exact_sum(column: pl.Expr) -> pl.Expr:
    """The sum of numbers, the same to its last bit in whatever order they come: polars sums in no fixed one.

    In whole numbers of 2⁻⁶⁰, 128 bits wide, so that the sum is exact up to 10²⁰.
    """
    return (column * FINENESS).cast(pl.Int128).sum().cast(pl.Float64) / FINENESS
