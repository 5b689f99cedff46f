"""Reading what others wrote: files that may be missing, damaged or hostile. Every failure has a place and a reason.

`read_text` and `parse_json` stand below every reader; `Fields` takes a JSON object apart, field by field, each of the type and
size it should have. All of them raise errors of ours or a plain ``ValueError`` with the reason, never another.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from whyalike.errors import BadInput, WhyalikeError

MOST_DIGITS = 300  # of a whole number: with more it does not fit into a float
LARGEST = 2**53  # up to here every whole number is a float too
LARGEST_SIZE = 1e100  # of a number: sums of such numbers are finite
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def is_file(path: Path) -> bool:
    """Whether there is a file; also an answer for names the system refuses (too long, with a zero byte)."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_text(path: str | os.PathLike[str], error: type[WhyalikeError] = BadInput) -> str:
    """A file's text in UTF-8, without a byte order mark."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as reason:
        raise error(f"{path} is not UTF-8 (at byte {reason.start}). Save it as UTF-8.") from reason
    except (OSError, ValueError) as reason:
        why = getattr(reason, "strerror", None) or str(reason)
        raise error(f"{path} cannot be read: {why}. Give a file that can be read.") from reason


def parse_json(text: str) -> Any:
    """A JSON value whose numbers are finite and whose texts are Unicode.

    Raises:
        ValueError: for everything else, with the reason.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
    if SURROGATE.search(text) and not is_unicode(json.dumps(value, ensure_ascii=False)):
        raise ValueError("it has characters that are not Unicode text (lone surrogates)")
    return value


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits:.20} is too large")
    return value


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"the number {digits:.20}… has {len(digits)} digits")
    return int(digits)


class Fields:
    """A JSON object, field by field. Every method raises ``ValueError`` with the field's name and what was expected."""

    def __init__(self, value: Any, name: str = "it") -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{name} should be an object; got {_shown(value)}")
        self.value, self.name = value, name

    def __getitem__(self, field: str) -> Any:
        if field not in self.value:
            raise ValueError(f"{self._of(field)} is missing")
        return self.value[field]

    def fields(self, field: str) -> Fields:
        return Fields(self[field], self._of(field))

    def list(self, field: str) -> list[Any]:
        return self._checked(field, self[field], list, "a list")

    def text(self, field: str) -> str:
        return self._checked(field, self[field], str, "a text")

    def texts(self, field: str) -> tuple[str, ...]:
        return tuple(self._checked(field, each, str, "texts") for each in self.list(field))

    def flag(self, field: str) -> bool:
        return self._checked(field, self[field], bool, "true or false")

    def number(self, field: str) -> float:
        value = self[field]
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST_SIZE:
            raise ValueError(f"{self._of(field)} should be a finite number; got {_shown(value)}")
        return float(value)

    def whole(self, field: str, least: int = 0) -> int:
        value = self[field]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
            raise ValueError(f"{self._of(field)} should be a whole number from {least}; got {_shown(value)}")
        return value

    def choice(self, field: str, known: Collection[str]) -> Any:
        value = self[field]
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{self._of(field)} should be one of {', '.join(known)}; got {_shown(value)}")
        return value

    def plain(self) -> dict[str, Any]:
        """All fields, each a finite number, a text, a flag or nothing."""
        for field, value in self.value.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.number(field)
            elif isinstance(value, str):
                self.text(field)
            elif not isinstance(value, bool | None):
                raise ValueError(f"{self._of(field)} should be a number, a text or a flag; got {_shown(value)}")
        return dict(self.value)

    def check_finite(self) -> None:
        """Every number in here, however deep, is finite, and every text Unicode."""
        for field, value in self.value.items():
            inner = value if isinstance(value, list) else [value]
            for each in inner:
                own = each if isinstance(each, dict) else dict(enumerate(each)) if isinstance(each, list) else None
                if own is not None:
                    Fields(own, self._of(field)).check_finite()
                elif isinstance(each, str):
                    self._checked(field, each, str, "texts")
                elif isinstance(each, int | float) and not isinstance(each, bool):
                    Fields({field: each}, self.name).number(field)

    def numbers(self, field: str, *shape: int) -> Float[np.ndarray, "..."]:
        return self._array(field, np.float64, shape, "finite numbers")

    def wholes(self, field: str, *shape: int) -> Int[np.ndarray, "..."]:
        return self._array(field, np.int64, shape, "whole numbers")

    def _array(self, field: str, kind: Any, shape: tuple[int, ...], called: str) -> Any:
        """An array of just this shape. Where it has no entries, JSON cannot tell all of its dimensions."""
        values = self.list(field)
        try:
            found = np.asarray(values, dtype=object)
            types = {int} if kind is np.int64 else {int, float}
            right = (found.shape == shape or found.size == math.prod(shape) == 0) and set(
                map(type, found.flat)
            ) <= types
            array = found.astype(kind).reshape(shape) if right else None
        except (OverflowError, ValueError, TypeError):
            array = None
        if array is None or not (np.abs(array) <= LARGEST_SIZE).all():
            raise ValueError(f"{self._of(field)} should be {' × '.join(map(str, shape))} {called}")
        return array

    def _checked(self, field: str, value: Any, kind: type, called: str) -> Any:
        if type(value) is not kind or (isinstance(value, str) and not is_unicode(value)):
            raise ValueError(f"{self._of(field)} should be {called}; got {_shown(value)}")
        return value

    def _of(self, field: str) -> str:
        return repr(field) if self.name == "it" else f"{field!r} of {self.name}"


def _shown(value: Any) -> str:
    return f"{value!r:.40}"
