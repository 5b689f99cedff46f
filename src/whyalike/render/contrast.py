"""Why a rather than b, in the terminal and as HTML: the query's words for and against, both texts, the sum."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

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
HEADS = ("word of the query", "for A", "for B", "difference")


class Row(NamedTuple):
    """What a word of the query adds to the score of A and to that of B."""

    name: str
    a: float
    b: float
    apart: bool = False  # no word of the query: special tokens, the background

    @property
    def difference(self) -> float:
        return self.a - self.b


def lines(contrast: Contrast) -> list[tuple[str, tuple[Word, ...]]]:
    """The three texts with what their words add: the query's to the difference, the others' to their own score."""
    values = (
        ("query", contrast.query, contrast.query_values),
        ("A", contrast.a.right, contrast.a_side.values),
        ("B", contrast.b.right, contrast.b_side.values),
    )
    return [(name, words_of(side.only(side.listed), each[side.listed])) for name, side, each in values]


def rows(contrast: Contrast, *, background: bool = False) -> list[Row]:
    """The query's words that speak most for A, then those most for B; what is no word of the query comes last.

    Args:
        contrast: What to show.
        background: With the background, where there is one.
    """
    a, b = contrast.a.one_sided(), contrast.b.one_sided()
    labels, listed = contrast.query.labels, contrast.query.listed
    strongest = contrast.query.strongest(np.abs(contrast.query_values), TOP, special_tokens=False)
    order = sorted(strongest, key=lambda index: -contrast.query_values[index])
    found = [Row(printable(labels[i]), float(a.values[i]), float(b.values[i])) for i in order]
    folded = [index for index in range(len(labels)) if index not in listed]
    if folded:
        found.append(Row("special tokens", float(a.values[folded].sum()), float(b.values[folded].sum()), apart=True))
    if background and (contrast.a.has_background or contrast.b.has_background):
        found.append(Row("background", a.background, b.background, apart=True))
    return found


def notes(contrast: Contrast) -> list[str]:
    """What the reader must know of either explanation."""
    both = [(f"{name}: ", notes_of(e)) for name, e in (("A", contrast.a), ("B", contrast.b))]
    return [which + note for which, found in both for note in found]


def limit(contrast: Contrast, name: str) -> float:
    """The value with the fullest colour: the query's own, and one for both texts, so that they can be compared."""
    chosen = [words for each, words in lines(contrast) if (each == "query") == (name == "query")]
    return max((abs(word.value) for words in chosen for word in words), default=0.0) or 1.0


def sum_line(contrast: Contrast) -> str:
    """``0.421 − 0.305 = +0.116 = +0.131 words of the query + 0.009 special tokens − 0.024 background``"""
    words = float(contrast.query_values[contrast.query.listed].sum())
    folded = float(contrast.query_values.sum()) - words
    special = f" {_term(folded)} special tokens" if len(contrast.query.listed) < len(contrast.query) else ""
    has_background = contrast.a.has_background or contrast.b.has_background
    background = f" {_term(contrast.query_background)} background" if has_background else ""
    left = "" if contrast.adds_up else f" {_term(contrast.residual)} rounding error"
    return (
        f"{_bare(contrast.a.score)} − {_bare(contrast.b.score, inside=True)} = {signed(contrast.difference)} = "
        f"{signed(words)} words of the query{special}{background}{left}"
    )


def picture(contrast: Contrast, width: int, *, background: bool = False) -> RenderableType:
    """For a rich console."""
    shown: list[RenderableType] = [terminal.sentence(contrast.pieces()), Text()]
    for name, words in lines(contrast):
        shown.append(terminal.line(name, words, limit(contrast, name)))
    shown += [Text(), _table(rows(contrast, background=background)), Text(), Text(sum_line(contrast), "bold")]
    shown += [Text(note, "yellow") for note in notes(contrast)]
    return Group(*shown, Text(caption_of(contrast.a), "dim"))


def fragment(contrast: Contrast) -> str:
    """What a notebook shows."""
    sentence, words, table, said = pieces(contrast).values()
    made = f'<p class="caption made">{escape(caption_of(contrast.a))}</p>'
    return (
        f'<div class="whyalike"><style>{html.style()}</style><h1>{sentence}</h1>{words}{table}'
        f'<p class="sum">{escape(sum_line(contrast))}</p>{said}{made}</div>'
    )


def pieces(contrast: Contrast) -> dict[str, str]:
    """The parts of the picture as HTML: the three texts, the query's words, what the reader must know."""
    words = "".join(html_text.text(name, words, limit(contrast, name)) for name, words in lines(contrast))
    said = "".join(f'<p class="note">{escape(note)}</p>' for note in notes(contrast))
    head = "".join(f'<th scope="col">{name}</th>' for name in HEADS)
    listed = rows(contrast, background=True)
    most = _most(listed)
    body = "".join(
        f"<tr><td><bdi>{escape(row.name)}</bdi></td><td>{signed(row.a)}</td><td>{signed(row.b)}</td>"
        f'<td class="cell {shade_class(row.difference, most)}">{signed(row.difference)}</td></tr>'
        for row in listed
    )
    table = f'<table class="pairs"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return {"sentence": html.sentence(contrast.pieces()), "words": words, "pairs": table, "notes": said}


def to_html(contrast: Contrast) -> str:
    """A page that works from disk, offline."""
    return html.page(f"Why A rather than B: {contrast.query.text[:60]}", fragment(contrast))


def _table(listed: list[Row]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for head in HEADS:
        table.add_column(head, justify="left" if "word" in head else "right")
    most = _most(listed)
    for row in listed:
        difference = Text(signed(row.difference), terminal.style(colour(row.difference, most)))
        table.add_row(Text(row.name, "italic" if row.apart else ""), signed(row.a), signed(row.b), difference)
    return table


def _most(listed: list[Row]) -> float:
    return max((abs(row.difference) for row in listed), default=0.0) or 1.0


def _term(value: float) -> str:
    """``+ 0.009``"""
    return f"{'−' if value < 0 else '+'} {plain(abs(value))}"


def _bare(value: float, *, inside: bool = False) -> str:
    text = plain(value)
    return f"({text})" if inside and value < 0 else text
