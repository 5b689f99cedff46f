"""A contrast as SVG: which text scores higher and because of what; the three texts; the query's words for each; the sum."""

from __future__ import annotations

from collections.abc import Sequence

from whyalike.colours import NEGATIVE, POSITIVE, rgb
from whyalike.render import contrast as scene
from whyalike.render.drawing import NOTHING, PALE, Block, Span, cut, line, paragraph, stack, tile
from whyalike.render.layouts import Sheet, draw_page
from whyalike.render.linked_texts import NAME, NARROW_NAME, draw_text
from whyalike.render.scene import caption_of
from whyalike.render.svg import NARROWEST, heading, legend
from whyalike.render.type_metrics import text_width
from whyalike.results.contrast import Contrast
from whyalike.results.numbers import signed

LEGEND = ("for A", "for B")
SAID = "A word of the query has the colour of the text it speaks for; a word of A or B that of what it adds to its own score."
MOST_ON_A_SLIDE = 5
LONG_BAR = 7.0  # in sizes of the type


def to_svg(contrast: Contrast, *, layout: str = "full", dark: bool | None = None) -> str:
    """A picture that stands alone; see `render.images.to_svg`."""

    def draw(sheet: Sheet) -> Sequence[Block]:
        return _blocks(contrast, sheet)

    return draw_page(draw, contrast.sentence, layout, dark)


def _blocks(contrast: Contrast, sheet: Sheet) -> list[Block]:
    size, width, full = sheet.size, sheet.width, sheet.layout == "full"
    rows = scene.rows(contrast, background=True)
    if sheet.layout == "slide":
        rows = [*rows[:MOST_ON_A_SLIDE], *(row for row in rows[MOST_ON_A_SLIDE:] if row.apart)]
    table = draw_rows(rows, size, width, width if sheet.layout == "slide" else LONG_BAR * size)
    width = min(width, max(table.width, 46 * size)) if full else width
    start = (NAME if width > 30 * size else NARROW_NAME) * size
    texts = stack(
        [
            draw_text(name, words, scene.limit(contrast, name), size, width, start)
            for name, words in scene.lines(contrast)
        ],
        0.5 * size,
    )
    width = max(texts.width, table.width, NARROWEST * size) if full else width
    notes = [paragraph(note, 0.85 * size, width, look=' class="note"') for note in scene.notes(contrast)]
    if sheet.layout == "column":
        return [texts, table, *notes]
    small = 0.65 * size if sheet.layout == "slide" else size
    made = paragraph(caption_of(contrast.a), 0.85 * small, width, opacity=PALE)
    return [
        heading(contrast.pieces(), "", sheet, width),
        texts,
        legend(SAID, small, width, LEGEND),
        table,
        paragraph([Span(scene.sum_line(contrast), bold=True)], size if full else 0.8 * size, width),
        stack([*notes, made], 0.2 * size),
    ]


def draw_rows(rows: Sequence[scene.Row], size: float, width: float, longest: float) -> Block:
    """A row for each word of the query: what it adds to the score of A and to that of B as bars, and the difference."""
    if not rows:
        return NOTHING
    names = min(max(text_width(row.name, size) for row in rows), 0.3 * width)
    number, tall = 4.2 * size, 1.7 * size
    bar = min(longest, (width - names - 3 * number - 3 * size) / 2)
    most = max(max(abs(row.a), abs(row.b)) for row in rows) or 1.0
    limit = max(abs(row.difference) for row in rows) or 1.0
    starts = [names + size + at * (number + bar + size) for at in (0, 1)]
    end = starts[1] + number + bar + size
    small = 0.85 * size
    body = [line(0.0, 1.1 * size, "word of the query", small, opacity=PALE)] if names > 6 * size else []
    body += [
        line(start + number, 1.1 * size, name, small, anchor="end", opacity=PALE)
        for start, name in zip((*starts, end), ("for A", "for B", "A − B"), strict=True)
    ]
    for at, row in enumerate(rows, 1):
        y = tall * at
        base = y + 1.18 * size
        slanted = ' font-style="italic"' if row.apart else ""
        body.append(line(0.0, base, cut(row.name, size, names), size, look=slanted))
        for start, value in zip(starts, (row.a, row.b), strict=True):
            long = bar * abs(value) / most
            body.append(line(start + number, base, signed(value), 0.95 * size, anchor="end"))
            body.append(
                f'<rect x="{start + number + 0.4 * size:.1f}" y="{y + 0.3 * size:.1f}" width="{long:.1f}" '
                f'height="{size:.1f}" rx="2" fill="{rgb(POSITIVE if value >= 0 else NEGATIVE)}"/>'
            )
        body.append(
            tile(end, y, number, tall - 2, row.difference, limit, signed(row.difference), 0.95 * size, row.name)
        )
    return Block("".join(body), end + number, tall * (len(rows) + 1))
