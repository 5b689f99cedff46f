"""Why a rather than b, in the terminal and as HTML: the query's words for and against, both texts, the sum."""

from __future__ import annotations

from html import escape

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from whyalike.colours import colour, shade_class
from whyalike.render import html, html_text, terminal
from whyalike.render.scene import caption_of, notes_of
from whyalike.results.contrast import Contrast
from whyalike.results.numbers import plain, signed
from whyalike.results.words import Word, printable, words_of

TOP = 8


def lines(contrast: Contrast) -> list[tuple[str, tuple[Word, ...]]]:
    """The three texts with what their words add: the query's to the difference, the others' to their own score."""
    return [
        ("query", words_of(contrast.query, contrast.query_values)),
        ("a", words_of(contrast.a.right, contrast.a_side.values)),
        ("b", words_of(contrast.b.right, contrast.b_side.values)),
    ]


def notes(contrast: Contrast) -> list[str]:
    """What the reader must know of either explanation."""
    both = [(f"{name}: ", notes_of(e)) for name, e in (("a", contrast.a), ("b", contrast.b))]
    return [which + note for which, found in both for note in found]


def _limit(contrast: Contrast, name: str) -> float:
    """The value with the fullest colour: the query's own, and one for both texts, so that they can be compared."""
    values = [contrast.query_values] if name == "query" else [contrast.a_side.values, contrast.b_side.values]
    return max((float(np.abs(each).max(initial=0.0)) for each in values), default=0.0) or 1.0


def sum_line(contrast: Contrast) -> str:
    """``0.421 − 0.305 = +0.116 = +0.140 words of the query − 0.024 background``"""
    words = float(contrast.query_values.sum())
    has_background = contrast.a.has_background or contrast.b.has_background
    background = f" {signed(contrast.query_background)} background" if has_background else ""
    left = "" if contrast.adds_up else f" {signed(contrast.residual)} rounding error"
    return (
        f"{_bare(contrast.a.score)} − {_bare(contrast.b.score, inside=True)} = {signed(contrast.difference)} = "
        f"{signed(words)} words of the query{background}{left}"
    )


def picture(contrast: Contrast, width: int) -> RenderableType:
    """For a rich console."""
    title = Text.assemble(
        (f"a rather than b: {signed(contrast.difference)}", "bold"), (f"   {caption_of(contrast.a)}", "dim")
    )
    pieces: list[RenderableType] = [title, Text()]
    for name, words in lines(contrast):
        pieces.append(terminal.line(name, words, _limit(contrast, name)))
    pieces += [Text(), _table(contrast), Text(), Text(sum_line(contrast), "bold")]
    pieces += [Text(note, "yellow") for note in notes(contrast)]
    return Group(*pieces)


def fragment(contrast: Contrast) -> str:
    """What a notebook shows."""
    sentence, words, table, notes = pieces(contrast).values()
    return (
        f'<div class="whyalike"><style>{html.style()}</style><h1>{sentence}</h1>'
        f'<p class="caption">{escape(caption_of(contrast.a))}</p>{words}{table}'
        f'<p class="sum">{escape(sum_line(contrast))}</p>{notes}</div>'
    )


def pieces(contrast: Contrast) -> dict[str, str]:
    """The parts of the picture as HTML: the three texts, the query's words, what the reader must know."""
    words = "".join(html_text.text(name, words, _limit(contrast, name)) for name, words in lines(contrast))
    said = "".join(f'<p class="note">{escape(note)}</p>' for note in notes(contrast))
    head = "".join(f'<th scope="col">{name}</th>' for name in ("word of the query", "for a", "for b", "difference"))
    most = max((abs(value) for *_, value in _rows(contrast)), default=0.0) or 1.0
    rows = "".join(
        f"<tr><td><bdi>{escape(word)}</bdi></td><td>{signed(a)}</td><td>{signed(b)}</td>"
        f'<td class="cell {shade_class(value, most)}">{signed(value)}</td></tr>'
        for word, a, b, value in _rows(contrast)
    )
    table = f'<table class="pairs"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return {"sentence": html.sentence(contrast.pieces()), "words": words, "pairs": table, "notes": said}


def to_html(contrast: Contrast) -> str:
    """A page that works from disk, offline."""
    return html.page(f"Why a rather than b: {contrast.query.text[:60]}", fragment(contrast))


def _rows(contrast: Contrast) -> list[tuple[str, float, float, float]]:
    """The query's words that speak most for a, then those most for b."""
    a, b, values = contrast.a.one_sided().values, contrast.b.one_sided().values, contrast.query_values
    strongest = contrast.query.strongest(np.abs(values), TOP, special_tokens=False)
    order = sorted(strongest, key=lambda index: -values[index])
    labels = contrast.query.labels
    return [(printable(labels[i]), float(a[i]), float(b[i]), float(values[i])) for i in order]


def _table(contrast: Contrast) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("word of the query", "for a", "for b", "difference"):
        table.add_column(heading, justify="left" if "word" in heading else "right")
    most = max((abs(value) for *_, value in _rows(contrast)), default=0.0) or 1.0
    for word, a, b, value in _rows(contrast):
        table.add_row(Text(word), signed(a), signed(b), Text(signed(value), terminal.style(colour(value, most))))
    return table


def _bare(value: float, *, inside: bool = False) -> str:
    text = plain(value)
    return f"({text})" if inside and value < 0 else text
