"""What stands in the place of an explanation that could not be made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Skipped:
    """A pair that was not explained, and why. Yielded by `explain_pairs` with ``on_error="skip"``."""

    number: int  # of the pair, from 1
    left: Any
    right: Any
    reason: str
