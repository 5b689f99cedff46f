"""What pictures are put together from: blocks of a known size, and the lines, paragraphs and tiles in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Literal, NamedTuple

from whyalike.colours import WHITE_INK, rgb, shade
from whyalike.render.type_metrics import FAMILIES, Run, split_scripts, text_width

LEADING = 1.4  # of a line, in sizes of its type
DROP = 1.05  # from the top of a line to its base
SLACK = 0.94  # of a line is filled: where no Arial is at hand, the font may be wider
PALE = 0.72  # the ink of what is said in passing


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a picture, drawn from its upper left corner."""

    body: str
    width: float
    height: float


class Span(NamedTuple):
    """Some text of one look."""

    text: str
    bold: bool = False


NOTHING = Block("", 0.0, 0.0)


def stack(blocks: Iterable[Block], gap: float) -> Block:
    """Blocks one below the other. Empty ones take no room."""
    body, width, y = [], 0.0, 0.0
    for block in blocks:
        if block.height:
            y += gap if y else 0.0
            body.append(moved(block, 0.0, y))
            width, y = max(width, block.width), y + block.height
    return Block("".join(body), width, y)


def beside(blocks: Sequence[Block], gap: float) -> Block:
    """Blocks side by side. Empty ones take no room."""
    body, x = [], 0.0
    for block in blocks:
        if block.height:
            x += gap if x else 0.0
            body.append(moved(block, x, 0.0))
            x += block.width
    return Block("".join(body), x, max((block.height for block in blocks), default=0.0))


def moved(block: Block, x: float, y: float) -> str:
    """A block at a place."""
    return f'<g transform="translate({x:.1f} {y:.1f})">{block.body}</g>' if x or y else block.body


def line(
    x: float,
    y: float,
    spans: Sequence[Span] | str,
    size: float,
    *,
    anchor: Literal["start", "middle", "end"] = "start",
    opacity: float = 1.0,
    look: str = "",
) -> str:
    """One line of text on the base line ``y``. Each script is drawn in a font of its own."""
    given = [Span(spans)] if isinstance(spans, str) else spans
    runs = [(run, span.bold) for span in given for run in split_scripts(span.text)]
    width = sum(text_width(run.text, size, bold=bold) for run, bold in runs)
    if len({run.script for run, _ in runs}) < 2:
        return _element(x, y, runs, size, anchor, opacity, look, fit=width) if runs else ""
    drawn, at = [], x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    for latin, group in groupby(runs, key=lambda each: each[0].script == "latin"):
        members = list(group)
        for chunk in [members] if latin else [[member] for member in members]:
            wide = sum(text_width(run.text, size, bold=bold) for run, bold in chunk)
            drawn.append(_element(at, y, chunk, size, "start", opacity, look, fit=0.0 if latin else wide))
            at += wide
    return "".join(drawn)


def _element(
    x: float,
    y: float,
    runs: Sequence[tuple[Run, bool]],
    size: float,
    anchor: str,
    opacity: float,
    look: str,
    fit: float = 0.0,
) -> str:
    """A text element of one script; what is bold is a part of it. ``fit`` is the width to take, where the font may differ."""
    script = runs[0][0].script
    attributes = f' font-size="{size:.4g}"' + ("" if anchor == "start" else f' text-anchor="{anchor}"')
    attributes += "" if opacity == 1.0 else f' fill-opacity="{opacity:g}"'
    attributes += "" if script == "latin" else f' font-family="{FAMILIES[script]}"'
    attributes += f' textLength="{fit:.1f}" lengthAdjust="spacingAndGlyphs"' if fit and script == "other" else ""
    texts = [(run.text, bold) for run, bold in runs]
    if all(bold for _, bold in texts):
        attributes += ' font-weight="700"'
        inside = escape("".join(text for text, _ in texts))
    else:
        inside = "".join(
            f'<tspan font-weight="700">{escape(text)}</tspan>' if bold else escape(text) for text, bold in texts
        )
    spaces = ' xml:space="preserve"' if re.search(r"^ | $|  |> | <", "".join(t for t, _ in texts) + inside) else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}{look}{spaces}>{inside}</text>'


def paragraph(spans: Sequence[Span] | str, size: float, width: float, *, opacity: float = 1.0, look: str = "") -> Block:
    """Text in as many lines as it needs."""
    given = [Span(spans)] if isinstance(spans, str) else spans
    lines = _wrap(given, size, width * SLACK)
    drawn = [
        line(0.0, LEADING * size * number + DROP * size, each, size, opacity=opacity, look=look)
        for number, each in enumerate(lines)
    ]
    widest = max((sum(text_width(span.text, size, bold=span.bold) for span in each) for each in lines), default=0.0)
    return Block("".join(drawn), widest, LEADING * size * len(lines))


def _wrap(spans: Sequence[Span], size: float, width: float) -> list[list[Span]]:
    """Spans in lines. A line may end after a space, and anywhere in a word that is wider than a line."""
    lines: list[list[Span]] = []
    current: list[Span] = []
    room, ended = width, True  # whether a line may end here
    for span in spans:
        for word in _breakable(span.text, size, width):
            wide = text_width(word.rstrip(), size, bold=span.bold)
            if wide > room and current and (ended or word[0] == " "):
                lines.append(current)
                current, room = [], width
                word = word.lstrip()
            if current and current[-1].bold == span.bold:
                current[-1] = Span(current[-1].text + word, span.bold)
            elif word:
                current.append(Span(word, span.bold))
            room, ended = room - text_width(word, size, bold=span.bold), word[-1:] == " " or wide > width / 2
    return [*lines, current] if current else lines


def _breakable(text: str, size: float, width: float) -> Iterable[str]:
    for word in re.findall(r"\S+(?: %\S*)?\s*|\s+", text):  # 34 % stays together
        wide = text_width(word, size)
        yield from (word,) if wide <= width / 2 else word  # a word that long, such as a Chinese clause, by characters


def cut(label: str, size: float, width: float) -> str:
    """A label that is no wider than this, with an ellipsis where something is missing."""
    if text_width(label, size) <= width:
        return label
    kept = label
    while kept and text_width(kept + "…", size) > width:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def tile(
    x: float, y: float, width: float, height: float, value: float, limit: float, text: str, size: float, title: str = ""
) -> str:
    """A value as a coloured rectangle."""
    share, end = shade(value, limit)
    ink = ' fill="#fff"' if share > WHITE_INK else ""
    told = f"<title>{escape(title)}</title>" if title else ""
    number = line(x + width - 0.35 * size, y + height / 2 + 0.36 * size, text, size, anchor="end", look=ink)
    rect = (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" fill="{rgb(end)}" '
        f'fill-opacity="{share:.3f}"/>'
    )
    return f"<g>{told}{rect if share > 0.004 else ''}{number if text else ''}</g>"
