"""Words of scripts that are written without spaces: Chinese, Japanese, Thai, Lao, Khmer, Burmese. The only door to ICU.

Unicode's word boundaries leave these to a dictionary: without one each character is a word of its own. ICU has one for each.
On the gold words of Chinese PUD its F1 is 0.78, that of single characters 0.41 (`python -m experiments.analysis.segmenters`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import accumulate
from typing import Any

import regex

from whyalike.results.sides import SINGLE_CHARACTERS

SCRIPTS = ("Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar")
_UNSPACED = regex.compile("[" + "".join(rf"\p{{Script_Extensions={name}}}" for name in SCRIPTS) + "]{2,}")


def word_edges(text: str) -> list[tuple[int, int, list[int]]]:
    """For each stretch written without spaces its start, its end, and the character positions within at which a word begins.

    Nothing where ICU is not installed. Other scripts are never touched: ASCII costs one test.
    """
    if text.isascii() or _icu() is None:
        return []
    return [(*found.span(), _split(found.group(), found.start())) for found in _UNSPACED.finditer(text)]


def segmenter_of(text: str) -> str:
    """What splits words written without spaces: ``ICU 77.1``, or ``characters`` without ICU; ``""`` where there are none."""
    if text.isascii() or _UNSPACED.search(text) is None:
        return ""
    library = _icu()
    return SINGLE_CHARACTERS if library is None else f"ICU {library.ICU_VERSION}"


def segmentation(texts: Iterable[str]) -> dict[str, str]:
    """What a run must be asked with to get the same words: the segmenter, where some text needs one."""
    found = next(filter(None, map(segmenter_of, texts)), "")
    return {"segmenter": found} if found else {}


def _split(stretch: str, start: int) -> list[int]:
    library = _icu()
    assert library is not None
    breaks = library.BreakIterator.createWordInstance(library.Locale.getRoot())
    breaks.setText(stretch)
    units = set(breaks)  # positions in UTF-16, where a character beyond U+FFFF counts twice
    places = accumulate((1 + (character > "\uffff") for character in stretch), initial=0)
    return [start + index for index, place in enumerate(places) if place in units and index < len(stretch)]


@cache
def _icu() -> Any | None:
    """ICU, loaded when the first text needs it; None where it is not installed."""
    try:
        import icu
    except ImportError:
        return None
    return icu
