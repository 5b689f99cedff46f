"""A comparison as SVG: what all see and what only one sees; for each against the first the differences; each one's texts."""

from __future__ import annotations

from collections.abc import Sequence

from whyalike.render import comparison as scene
from whyalike.render.drawing import NOTHING, PALE, Block, Span, beside, cut, line, paragraph, stack, tile
from whyalike.render.heat_map import draw_heat_map, strongest_words, tile_width
from whyalike.render.layouts import Sheet, draw_page
from whyalike.render.linked_texts import NAME, draw_text
from whyalike.render.scene import Scene, scene_of
from whyalike.render.svg import LEGIBLE, NARROWEST, SHOWN, SHOWN_IN_A_COLUMN, SLIDE_MATRIX, heading, legend
from whyalike.render.type_metrics import text_width
from whyalike.results.comparison import Comparison, Entry
from whyalike.results.difference import Difference, PairDifference, percent
from whyalike.results.words import printable

LISTED = {"full": 8, "slide": 6, "column": 6}
MATRIX = {"full": SHOWN, "slide": SLIDE_MATRIX, "column": SHOWN_IN_A_COLUMN}


def to_svg(comparison: Comparison, *, layout: str = "full", dark: bool | None = None) -> str:
    """A picture that stands alone; see `render.images.to_svg`."""

    def draw(sheet: Sheet) -> Sequence[Block]:
        return _blocks(comparison, sheet)

    return draw_page(draw, comparison.sentence, layout, dark)


def _blocks(comparison: Comparison, sheet: Sheet) -> list[Block]:
    size, width = sheet.size, sheet.width
    found = scene.differences(comparison)
    if sheet.layout == "column":
        return [_difference(each, sheet, several=len(found) > 1) for each in found]
    if sheet.layout == "slide":
        shown = [_difference(each, sheet, several=False) for each in found[:1]] or [
            _entry(comparison.entries[0], sheet)
        ]
        return [heading(comparison.pieces(), "", sheet, width), *shown, _said(sheet, width)]
    differences = stack([_difference(each, sheet, several=len(found) > 1) for each in found], 1.6 * size)
    entries = stack([_entry(entry, sheet) for entry in comparison.entries], 1.2 * size)
    fit = max(differences.width, entries.width, NARROWEST * size)
    said = _said(sheet, fit) if found else NOTHING
    return [heading(comparison.pieces(), "", sheet, fit), said, differences, entries]


def _said(sheet: Sheet, width: float) -> Block:
    return paragraph(scene.SAID, 0.85 * sheet.size * (0.75 if sheet.layout == "slide" else 1), width, opacity=PALE)


def _difference(difference: Difference, sheet: Sheet, *, several: bool) -> Block:
    """The pairs that differ most, and all of them as a matrix in two colours."""
    size, width = sheet.size, sheet.width
    names = [cut(printable(name), 0.9 * size, 0.4 * width) for name in difference.names]
    colours = legend("", size, width, (f"more for {names[0]}", f"more for {names[1]}"))
    title = scene.title_of(difference) if several else ""
    top = stack([paragraph([Span(title, bold=True)], size, width) if title else NOTHING, colours], 0.4 * size)
    grid = strongest_words(scene.grid_of(difference), MATRIX[sheet.layout])
    limit = scene.limit_of(difference)
    listed = _list(difference.top(LISTED[sheet.layout]), limit, size, width, sheet.layout != "column")
    room = width - listed.width - 3 * size
    if sheet.layout != "column" and tile_width(grid.rows, grid.columns, size, room) >= LEGIBLE * size:
        matrix = draw_heat_map(grid.rows, grid.columns, grid.values, limit, size, room, hundredths=True)
        return stack([top, beside([listed, matrix], 3 * size)], 0.8 * size)
    matrix = draw_heat_map(grid.rows, grid.columns, grid.values, limit, size, width, hundredths=True)
    return stack([top, listed, matrix], 0.8 * size)


def _list(rows: Sequence[PairDifference], limit: float, size: float, width: float, wide: bool) -> Block:
    """A row for each pair: its share in either explanation, and the difference."""
    if not rows:
        return NOTHING
    number, tall, small = 4.0 * size, 1.65 * size, 0.85 * size
    start = 3 * number + size if wide else number + 0.8 * size
    body, right = [], 0.0
    heads = (("difference", number), ("first", 2 * number), ("second", 3 * number)) if wide else ()
    body += [line(x, 1.05 * size, name, small, anchor="end", opacity=PALE) for name, x in heads]
    for at, row in enumerate(rows, 1 if wide else 0):
        y = tall * at
        base = y + 1.15 * size
        value = scene.points(row.difference)
        name = cut(f"{printable(row.left)} ↔ {printable(row.right)}", size, min(width - start, 30 * size))
        body.append(tile(0.0, y, number, tall - 2, row.difference, limit, value, 0.95 * size))
        if wide:
            body.append(line(2 * number, base, percent(row.first), 0.95 * size, anchor="end", opacity=PALE))
            body.append(line(3 * number, base, percent(row.second), 0.95 * size, anchor="end", opacity=PALE))
        body.append(line(start, base, name, size))
        right = max(right, start + text_width(name, size))
    return Block("".join(body), right, tall * (len(rows) + (1 if wide else 0)))


def _entry(entry: Entry, sheet: Sheet) -> Block:
    """What one explanation shows: both texts, coloured."""
    shown = scene_of(entry.explanation)
    size, width = sheet.size, sheet.width
    spans = [Span(printable(entry.name), bold=True), Span(f"   score {shown.score:.3f} · {scene.facts(entry)}")]
    notes = [paragraph(note, 0.85 * size, width, look=' class="note"') for note in shown.notes]
    return stack([paragraph(spans, size, width), *_texts(shown, size, width), *notes], 0.3 * size)


def _texts(shown: Scene, size: float, width: float) -> list[Block]:
    return [
        draw_text(name, words, shown.word_limit, size, width, NAME * size)
        for name, words in (("left", shown.left), ("right", shown.right))
    ]
