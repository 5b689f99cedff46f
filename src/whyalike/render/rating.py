"""An explanation to be rated, as HTML: words and pairs with their colours, and no numbers, which would tell methods apart."""

from __future__ import annotations

from html import escape
from typing import Any

from whyalike.colours import shade_class
from whyalike.results.words import Word, direction


def rating_pieces(item: dict[str, Any]) -> dict[str, str]:
    """The two texts and the strongest pairs of an item of a study."""
    pairs = "".join(
        f'<tr><td class="cell {shade_class(pair["value"], 1.0)}">&nbsp;</td>'
        f"<td><bdi>{escape(pair['left'])}</bdi> ↔ <bdi>{escape(pair['right'])}</bdi></td></tr>"
        for pair in item["pairs"]
    )
    return {
        "words": "".join(_text(name, item) for name in ("left", "right")),
        "pairs": f'<table class="pairs"><tbody>{pairs}</tbody></table>',
    }


def _text(name: str, item: dict[str, Any]) -> str:
    words = tuple(Word(**word) for word in item[name])
    shown = " ".join(
        f'<bdi class="word {word.kind} {shade_class(word.value, 1.0)}" data-index="{number}">{escape(word.label)}</bdi>'
        for number, word in enumerate(words)
    )
    cut = '<span class="note"> … the model read no further</span>' if name in item["cut"] else ""
    return f'<div class="line" dir="{direction(words)}"><small>{name}</small> {shown}{cut}</div>'
