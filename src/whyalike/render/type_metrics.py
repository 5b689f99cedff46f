"""How wide text is, in Arial and the fonts of its widths (Liberation Sans, Helvetica, Arimo), so that pictures can be laid out.

The image writer carries Liberation Sans with it, so pictures are the same on every machine. Chinese, Japanese and Korean
characters are one em wide. Other scripts are estimated.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby
from typing import Literal, NamedTuple

Script = Literal["latin", "wide", "other"]

FAMILIES: dict[Script, str] = {
    "latin": "Arial,'Liberation Sans',Helvetica,Arimo,sans-serif",
    "wide": "'Noto Sans CJK SC','PingFang SC','Microsoft YaHei','Hiragino Sans','Malgun Gothic',sans-serif",
    "other": "'Noto Sans Arabic','Noto Sans Hebrew','DejaVu Sans',Arial,sans-serif",
}
SPACE = 32
# Thousandths of an em, of the characters from space to tilde.
WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556,
    556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
)  # fmt: skip
SIGNS = {
    "↔": 1000,
    "−": 584,
    "×": 584,
    "·": 278,
    "…": 1000,
    "–": 556,
    "—": 1000,
    "“": 333,
    "”": 333,
    "‘": 222,
    "’": 222,
}
LETTER, WIDE, BOLD = 590, 1000, 1.08  # a letter that is in no table, a character of a square, what bold adds


class Run(NamedTuple):
    """A piece of text in one script: what one font can draw."""

    script: Script
    text: str


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text in pixels."""
    wide = sum(map(_is_wide, text)) * WIDE  # what is a square stays one in bold
    return (wide + (sum(map(_width, text)) - wide) * (BOLD if bold else 1.0)) * size / 1000


def split_scripts(text: str) -> list[Run]:
    """A text in runs of one script. A space between two runs of one script belongs to them; elsewhere it is Latin."""
    scripts = [_script(character) for character in text]
    for number, character in enumerate(text):
        before = scripts[number - 1] if number else "latin"
        if scripts[number] is None:
            after = next((each for each in scripts[number:] if each is not None), "latin")
            scripts[number] = before if character != " " or before == after else "latin"
    return [
        Run(script or "latin", "".join(text[number] for number in members))
        for script, members in groupby(range(len(text)), key=lambda number: scripts[number])
    ]


def _script(character: str) -> Script | None:
    if _is_wide(character):
        return "wide"
    if unicodedata.category(character) in ("Mn", "Mc", "Cf", "Zs"):
        return None
    if not character.isalnum():
        return "latin"
    name = unicodedata.name(character, "")
    return "latin" if name.startswith(("LATIN", "DIGIT", "GREEK", "CYRILLIC", "SUPERSCRIPT", "VULGAR")) else "other"


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _width(character: str) -> int:
    if character in SIGNS:
        return SIGNS[character]
    if unicodedata.combining(character):
        return 0
    if _is_wide(character):
        return WIDE
    base = ord(unicodedata.normalize("NFD", character)[0]) - SPACE
    return WIDTHS[base] if 0 <= base < len(WIDTHS) else LETTER
