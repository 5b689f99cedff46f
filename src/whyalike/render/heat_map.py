"""The matrix of an explanation, or of a difference, as tiles of SVG."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, radians, sin

import numpy as np
from jaxtyping import Float

from whyalike.render.drawing import NOTHING, PALE, Block, cut, line, tile
from whyalike.render.scene import Grid, Heading
from whyalike.render.type_metrics import text_width
from whyalike.results.numbers import cell, signed

SMALLEST, WIDEST = 0.45, 3.4  # of a tile, in sizes of the type: a smaller one is a speck
NUMBERED = 2.7  # from here on a tile has room for its number
LABEL = 8.0  # the room for words beside the tiles
SLANTED, STEEP = 40, 75  # degrees


def strongest_words(grid: Grid, most: int) -> Grid:
    """A matrix of at most so many rows and columns: those with the strongest pairs, in the order of the texts."""
    if max(grid.values.shape) <= most:
        return grid
    size = np.abs(grid.values)
    rows, columns = (np.sort(np.argsort(-size.max(axis, initial=0.0), kind="stable")[:most]) for axis in (1, 0))
    return Grid(
        tuple(grid.rows[row] for row in rows),
        tuple(grid.columns[column] for column in columns),
        grid.values[np.ix_(rows, columns)],
    )


def tile_width(rows: Sequence[Heading], columns: Sequence[Heading], size: float, width: float) -> float:
    """How wide a tile can be."""
    return _fit(rows, columns, size, width)[0] if len(rows) and len(columns) else 0.0


def _fit(rows: Sequence[Heading], columns: Sequence[Heading], size: float, width: float) -> tuple[float, int]:
    """The width of a tile, and how steep the names above them stand. The last name leans out to the right."""
    free = width - _longest(rows, size) - 0.5 * size
    wide = 0.0
    for angle in (SLANTED, STEEP):
        wide = (free - _longest(columns, size) * cos(radians(angle))) / len(columns)
        if wide >= 2 * size:
            break
    return min(WIDEST * size, wide), angle


def draw_heat_map(
    rows: Sequence[Heading],
    columns: Sequence[Heading],
    values: Float[np.ndarray, "rows columns"],
    limit: float,
    size: float,
    width: float,
    *,
    hundredths: bool = False,
) -> Block:
    """All pairs as tiles, as large as there is room for; nothing where a tile would be a speck.

    Values are written as they are, or in hundredths (shares as per cent).
    """
    if not len(rows) or not len(columns):
        return NOTHING
    wide, angle = _fit(rows, columns, size, width)
    if wide < SMALLEST * size:
        return NOTHING
    names, heads = ([_label(each, size) for each in side] for side in (rows, columns))
    longest = _longest(columns, size)
    high = 1.7 * size if wide >= NUMBERED * size else min(1.7 * size, wide)
    type_size = min(0.9 * size, 0.85 * min(wide, high) if angle == STEEP else 0.9 * size, 0.85 * high)
    shrink = type_size / (0.9 * size)
    top = longest * shrink * sin(radians(angle)) + type_size + 0.3 * size
    gutter = _longest(rows, size) * shrink + 0.5 * size
    overhang = longest * shrink * cos(radians(angle))
    numbers = wide >= NUMBERED * size
    body = [
        f'<rect x="{gutter:.1f}" y="{top:.1f}" width="{wide * len(columns) - 1:.1f}" '
        f'height="{high * len(rows) - 1:.1f}" rx="2" fill="currentColor" fill-opacity="0.045"/>'
    ]
    for number, (head, column) in enumerate(zip(heads, columns, strict=True)):
        x, y = gutter + wide * (number + 0.5), top - 0.35 * size
        turn = f' transform="rotate(-{angle} {x:.1f} {y:.1f})"'
        body.append(f"<g{turn}>{line(x, y, head, type_size, opacity=_ink(column), look=_slant(column))}</g>")
    for m, (name, row) in enumerate(zip(names, rows, strict=True)):
        y = top + high * m
        base = y + high / 2 + 0.36 * type_size
        body.append(line(gutter - 0.4 * size, base, name, type_size, anchor="end", opacity=_ink(row), look=_slant(row)))
        for n, column in enumerate(columns):
            value = float(values[m, n])
            if value:
                title = f"{row.label} ↔ {column.label}: {signed(value, 4)}"
                text = "" if not numbers else _per_cent(value) if hundredths else cell(value)
                gap = 1.0 if wide > 6 else 0.5
                x = gutter + wide * n
                body.append(tile(x, y, wide - gap, high - gap, value, limit, text, 0.82 * size, title))
    return Block("".join(body), gutter + wide * len(columns) + max(0.0, overhang - wide / 2), top + high * len(rows))


def _longest(headings: Sequence[Heading], size: float) -> float:
    return max(text_width(_label(heading, size), 0.9 * size) for heading in headings)


def _label(heading: Heading, size: float) -> str:
    return cut(heading.label, 0.9 * size, LABEL * size)


def _per_cent(value: float) -> str:
    return signed(100 * value, 0) if abs(value) >= 0.005 else ""


def _ink(heading: Heading) -> float:
    return 1.0 if heading.kind == "text" else PALE


def _slant(heading: Heading) -> str:
    return "" if heading.kind == "text" else ' font-style="italic"'
