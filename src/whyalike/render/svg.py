"""An explanation as SVG: the finding, the two texts with links, the colours, the strongest pairs, all pairs, the sum.

The layouts: ``full`` has all of it, ``slide`` what can be read from afar, ``column`` the texts and the matrix, for a paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil

from whyalike.colours import NEGATIVE, POSITIVE, rgb
from whyalike.render.drawing import NOTHING, PALE, Block, Span, beside, cut, line, paragraph, stack, tile
from whyalike.render.heat_map import draw_heat_map, strongest_words, tile_width
from whyalike.render.layouts import Sheet, draw_page
from whyalike.render.legend import LOWERS, RAISES, explain_colours
from whyalike.render.linked_texts import draw_texts
from whyalike.render.scene import Part, Scene, scene_of
from whyalike.render.type_metrics import FAMILIES, text_width
from whyalike.results.explanation import Explanation
from whyalike.results.finding import Piece
from whyalike.results.numbers import plain, signed
from whyalike.results.words import printable

LISTED, LISTED_ON_A_SLIDE = 8, 6
SLIDE_MATRIX = 12  # rows or columns that can be read from afar
SHOWN, SHOWN_IN_A_COLUMN = 30, 20  # rows or columns of a matrix: those with the strongest pairs
LEGIBLE = 1.1  # the width of a tile that is preferred, in sizes of the type
NARROWEST = 38  # sizes of the type: what a paragraph takes at least


def to_svg(explanation: Explanation, *, layout: str = "full", dark: bool | None = None) -> str:
    """A picture that stands alone.

    Args:
        explanation: What to draw.
        layout: ``"full"``, ``"slide"`` (16:9, large type) or ``"column"`` (3.35 inches wide, for a paper).
        dark: On dark or on light paper. None: no paper, in ink that follows the reader's preference.
    """
    scene = scene_of(explanation)
    blocks = {"full": _full, "slide": _slide, "column": _column}

    def draw(sheet: Sheet) -> Sequence[Block]:
        return blocks[sheet.layout](scene, sheet)

    return draw_page(draw, str(scene.finding), layout, dark)


def texts_with_links(scene: Scene, *, width: int = 960) -> str:
    """The two texts alone, to stand in a page that has the rest."""
    block = draw_texts(scene, 14.0, float(width - 4))
    wide, high = ceil(block.width + 4), ceil(block.height + 4)
    return (
        f'<svg viewBox="-2 -2 {wide} {high}" width="{wide}" height="{high}" role="img" '
        f'font-family="{FAMILIES["latin"]}" font-size="14" fill="currentColor">'
        f"<title>the two texts, their strongest pairs linked</title>{block.body}</svg>"
    )


def _full(scene: Scene, sheet: Sheet) -> list[Block]:
    size = sheet.size
    middle = _pairs_and_matrix(scene, size, sheet.width)
    width = min(sheet.width, max(middle.width, 46 * size))
    texts = draw_texts(scene, size, width)
    bars = draw_bars(scene.parts, size, sheet.width)
    width = max(texts.width, middle.width, bars.width, NARROWEST * size)
    said = [paragraph(note, 0.9 * size, width, look=' class="note"') for note in scene.notes]
    return [
        heading(scene.finding.pieces(), scene.scale, sheet, width),
        texts,
        legend(explain_colours(scene), size, width, () if scene.matched else (RAISES, LOWERS)),
        middle,
        stack([bars, paragraph([Span(scene.closing, bold=True)], size, width)], 0.6 * size),
        paragraph(scene.advice, 0.9 * size, width),
        stack([*said, paragraph(scene.caption, 0.85 * size, width, opacity=PALE)], 0.2 * size),
    ]


def _slide(scene: Scene, sheet: Sheet) -> list[Block]:
    size, width = sheet.size, sheet.width
    names = () if scene.matched else (RAISES, LOWERS)
    notes = [paragraph(note, 0.55 * size, width, look=' class="note"') for note in scene.notes]
    made = beside(
        [legend("", 0.65 * size, width, names), paragraph(scene.caption, 0.65 * size, width, opacity=PALE)], size
    )
    return [
        heading(scene.finding.pieces(), scene.scale, sheet, width),
        *(_texts_and_matrix(scene, size, width) or _texts_and_pairs(scene, size, width)),
        stack([*notes, made], 0.3 * size),
    ]


def _texts_and_matrix(scene: Scene, size: float, width: float) -> list[Block]:
    """Texts and pairs on the left, the matrix on the right; nothing where it is too large to be read from afar."""
    if max(scene.grid.values.shape) > SLIDE_MATRIX or not len(scene.grid.rows) or scene.matched:
        return []
    half = 0.55 * width
    left = stack([draw_texts(scene, size, half), _listed(scene, size, half, LISTED_ON_A_SLIDE - 1)], size)
    matrix = _matrix(scene, 0.85 * size, width - half - size, SLIDE_MATRIX)
    return [beside([Block(left.body, half, left.height), matrix], size)] if matrix.height else []


def _texts_and_pairs(scene: Scene, size: float, width: float) -> list[Block]:
    half = LISTED_ON_A_SLIDE // 2
    lists = [_listed(scene, size, width / 2, which) for which in (slice(half), slice(half, LISTED_ON_A_SLIDE))]
    return [draw_texts(scene, size, width), beside(lists, 3 * size)]


def _column(scene: Scene, sheet: Sheet) -> list[Block]:
    size, width = sheet.size, sheet.width
    notes = [paragraph(note, 0.85 * size, width, look=' class="note"') for note in scene.notes]
    return [draw_texts(scene, size, width), _matrix(scene, size, width, SHOWN_IN_A_COLUMN), *notes]


def _pairs_and_matrix(scene: Scene, size: float, width: float) -> Block:
    """The strongest pairs beside the matrix, or above it where that leaves it too little room."""
    grid = strongest_words(scene.grid, SHOWN)
    listed = _listed(scene, size, width, LISTED)
    room = width - listed.width - 3 * size
    if tile_width(grid.rows, grid.columns, size, room) >= LEGIBLE * size:
        return beside([listed, _matrix(scene, size, room, SHOWN)], 3 * size)
    halves = [_listed(scene, size, width / 2, half) for half in (slice(LISTED // 2), slice(LISTED // 2, LISTED))]
    return stack([beside(halves, 4 * size), _matrix(scene, size, width, SHOWN)], 1.5 * size)


def heading(pieces: Iterable[Piece], scale: str, sheet: Sheet, width: float) -> Block:
    """The finding, words of the texts bold, and what scores mean for this model."""
    size = sheet.size
    large, small = (1.15, 0.65) if sheet.layout == "slide" else (1.2, 0.9)
    spans = [Span(printable(piece.text), piece.emphasised) for piece in pieces]
    return stack(
        [paragraph(spans, large * size, width), paragraph(scale, small * size, width, opacity=PALE)], 0.35 * size
    )


def legend(words: str, size: float, width: float, names: tuple[str, ...] = (RAISES, LOWERS)) -> Block:
    """What the two colours and the numbers mean."""
    body, x = [], 0.0
    for name, value in zip(names, (0.6, -0.6), strict=False):
        wide = text_width(name, 0.9 * size) + size
        body.append(tile(x, 0.0, wide, 1.5 * size, value, 1.0, "", size))
        body.append(line(x + wide / 2, 1.05 * size, name, 0.9 * size, anchor="middle"))
        x += wide + 0.5 * size
    swatches = Block("".join(body), x, 1.5 * size if names else 0.0)
    said = paragraph(words, 0.85 * size, width - x - size, opacity=PALE) if words else NOTHING
    if said.height > 3 * size:  # too narrow beside them
        return stack([swatches, paragraph(words, 0.85 * size, width, opacity=PALE)], 0.3 * size)
    return beside([swatches, said], 0.5 * size)


def _matrix(scene: Scene, size: float, width: float, most: int) -> Block:
    """The matrix; of long texts, of the words with the strongest pairs."""
    grid = strongest_words(scene.grid, most)
    drawn = draw_heat_map(grid.rows, grid.columns, grid.values, scene.limit, size, width)
    if grid is scene.grid or not drawn.height:
        return drawn
    counts = f"{len(grid.rows)} of {len(scene.grid.rows)} and {len(grid.columns)} of {len(scene.grid.columns)}"
    said = f"The {scene.unit}s with the strongest pairs, in the order of the texts: {counts}."
    return stack([drawn, paragraph(said, 0.85 * size, width, opacity=PALE)], 0.4 * size)


def _listed(scene: Scene, size: float, width: float, which: int | slice) -> Block:
    """The strongest pairs, each with what it adds and its share of the score; or the matches."""
    chosen = slice(which) if isinstance(which, int) else which
    rows = [(match.score, "", f"{match.left} ↔ {match.right}", 1) for match in scene.matches[chosen]] or [
        (
            pair.value,
            "" if pair.share is None else f"{plain(100 * pair.share, 0)} %",
            f"{pair.left} ↔ {pair.right}",
            pair.times,
        )
        for pair in scene.pairs[chosen]
        if not scene.matched
    ]
    return draw_list(rows, scene.limit, size, width)


def draw_list(rows: Sequence[tuple[float, str, str, int]], limit: float, size: float, width: float) -> Block:
    """Values as tiles, each with a share, a name and how often it occurs."""
    if not rows:
        return NOTHING
    tall, wide = 1.65 * size, 4.2 * size
    shares = max(text_width(share, size) for _, share, _, _ in rows)
    start = wide + 0.8 * size + (shares + 0.9 * size if shares else 0.0)
    body, right = [], 0.0
    for number, (value, share, name, times) in enumerate(rows):
        y = tall * number
        base = y + 1.15 * size
        counted = f"  ×{times}" if times > 1 else ""
        shown = cut(name, size, min(width - start, 30 * size) - text_width(counted, size)) + counted
        body.append(tile(0.0, y, wide, tall - 2, value, limit, signed(value), 0.95 * size))
        body.append(
            line(wide + 0.8 * size + shares, base, share, 0.95 * size, anchor="end", opacity=PALE) if share else ""
        )
        body.append(line(start, base, shown, size))
        right = max(right, start + text_width(shown, size))
    return Block("".join(body), right, tall * len(rows))


def draw_bars(parts: Sequence[Part], size: float, width: float) -> Block:
    """The parts that add up."""
    if not parts:
        return NOTHING
    most = max(abs(part.value) for part in parts) or 1.0
    names = max(text_width(part.name, size) for part in parts) + size
    start, tall, body, right = names + 4.5 * size, 1.6 * size, [], 0.0
    for number, part in enumerate(parts):
        y, long = tall * number, 12 * size * abs(part.value) / most
        base = y + 1.1 * size
        meaning = cut(part.meaning, 0.85 * size, max(0.0, width - start - long - size))
        body += [
            line(0.0, base, part.name, size) + line(start - 0.8 * size, base, signed(part.value), size, anchor="end"),
            f'<rect x="{start:.1f}" y="{y + 0.25 * size:.1f}" width="{long:.1f}" height="{size:.1f}" rx="2" '
            f'fill="{rgb(POSITIVE if part.value >= 0 else NEGATIVE)}"/>',
            line(start + long + 0.6 * size, base, meaning, 0.85 * size, opacity=PALE),
        ]
        right = max(right, start + long + 0.6 * size + text_width(meaning, 0.85 * size))
    return Block("".join(body), right, tall * len(parts))
