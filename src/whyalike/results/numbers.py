"""How numbers are written, in every medium: a true minus sign, and nothing for what rounds to nothing."""

from __future__ import annotations


def signed(value: float, digits: int = 3) -> str:
    """``+0.127``, ``−0.030``"""
    return f"{value:+.{digits}f}".replace("-", "−")


def plain(value: float, digits: int = 3) -> str:
    """``0.375``, ``−0.030``"""
    return f"{value:.{digits}f}".replace("-", "−")


def cell(value: float) -> str:
    """``+0.13`` for the cell of a matrix; blank where it rounds to zero."""
    return signed(value, 2) if abs(value) >= 0.005 else ""
