"""An explanation as SVG: the two texts, linked; all pairs; the strongest of them; the parts as bars."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape

from rich.cells import cell_len, set_cell_size

from whyalike.colours import NEGATIVE, POSITIVE, WHITE_INK, rgb, shade
from whyalike.render.scene import Heading, PairLine, Scene, scene_of
from whyalike.results.explanation import Explanation
from whyalike.results.matching import Match
from whyalike.results.numbers import cell, signed
from whyalike.results.words import Word, direction

CELL, HEIGHT, LEADING, BETWEEN = 8.2, 24.0, 34.0, 90.0  # of a character, a word, a line, the two texts; in pixels
MARGIN, NAME = 16.0, 48.0
LONG = 14  # characters
ROW, LISTED = 22.0, 12  # of a list: its height, and how many at most
GUTTER, SMALLEST_TILE = 120.0, 7.0  # for the words beside the heat map; a smaller tile is a speck
DASHED = ' stroke="currentColor" stroke-opacity=".5" stroke-dasharray="3 2"'
STYLE = "@media (prefers-color-scheme:dark){svg{color:#eaeaea}}"  # where it stands alone or as an image
FONT = "font-family=\"system-ui,'DejaVu Sans','Noto Sans CJK JP',sans-serif\""


@dataclass(frozen=True, slots=True)
class Box:
    """Where a word stands."""

    word: Word
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def to_svg(explanation: Explanation, *, width: int = 960, links: int = 12, paper: str | None = None) -> str:
    """A picture that stands alone. Colours are see-through, so it fits light and dark pages; ``paper`` fills the ground."""
    scene = scene_of(explanation, pairs=links)
    body, bottom = _texts(scene, width, MARGIN + 2 * LEADING)
    drawn = [body]
    for view in (heat_map, _pairs, _bars):
        shown, bottom = view(scene, bottom, width)
        drawn.append(shown)
    height = bottom + 20 * len(scene.notes) + 2 * LEADING
    drawn += [
        _line(MARGIN, height - MARGIN - 20 * (len(scene.notes) - number), note, size=12, opacity=0.8)
        for number, note in enumerate(scene.notes)
    ]
    ground = f'<rect width="{width}" height="{height:.0f}" fill="{escape(paper)}"/>' if paper else ""
    head = _line(MARGIN, MARGIN + 14, f"score {scene.score:.3f}", size=18, weight=700)
    head += _line(MARGIN, MARGIN + 36, scene.caption, opacity=0.7)
    foot = _line(MARGIN, height - MARGIN, scene.closing, weight=600)
    inside = f"<style>{STYLE}</style>{ground}{head}{''.join(drawn)}{foot}"
    alone = ' xmlns="http://www.w3.org/2000/svg"'  # inside a page it goes without saying
    return _svg(width, height, scene.closing, inside, alone) + "\n"


def texts_with_links(scene: Scene, *, width: int = 960) -> str:
    """The two texts alone, to stand in a page that has the rest."""
    body, bottom = _texts(scene, width, 4.0)
    return _svg(width, bottom + 4, "the two texts, their strongest pairs linked", body)


def _svg(width: int, height: float, title: str, body: str, namespace: str = "") -> str:
    return (
        f'<svg{namespace} viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}" '
        f'role="img" {FONT} font-size="14" fill="currentColor"><title>{escape(title)}</title>{body}</svg>'
    )


def _texts(scene: Scene, width: int, top: float) -> tuple[str, float]:
    """Both texts and their links, and where they end."""
    left = _place(scene.left, width, top)
    right = _place(scene.right, width, _bottom(left) + BETWEEN)
    drawn = [*_links(scene, left, right), *_words("left", left, scene.word_limit)]
    return "".join([*drawn, *_words("right", right, scene.word_limit)]), _bottom(right)


def _place(words: tuple[Word, ...], width: int, top: float) -> list[Box]:
    """Words one after the other, in as many lines as they need."""
    boxes, x, y = [], MARGIN + NAME, top
    for word in words:
        wide = min(CELL * cell_len(word.label) + 12, width - 2 * MARGIN - NAME)
        if x + wide > width - MARGIN and x > MARGIN + NAME:
            x, y = MARGIN + NAME, y + LEADING
        boxes.append(Box(word, x, y, wide))
        x += wide + 6
    if direction(words) == "rtl":  # the same, seen in a mirror
        return [replace(box, x=width - box.x - box.width + NAME) for box in boxes]
    return boxes


def _bottom(boxes: list[Box]) -> float:
    return max((box.y for box in boxes), default=0.0) + HEIGHT


def _words(name: str, boxes: list[Box], limit: float) -> Iterable[str]:
    if boxes:
        yield _line(MARGIN, boxes[0].y + 17, name, size=12, opacity=0.7)
    for box in boxes:
        share, end = shade(box.word.value, limit)
        dashed = "" if box.word.kind == "text" else DASHED
        ink = ' fill="#fff"' if share > WHITE_INK else ""
        # A long word is made to fit its box in whatever font is at hand.
        long = cell_len(box.word.label) > LONG
        fit = f' textLength="{box.width - 12:.1f}" lengthAdjust="spacingAndGlyphs"' if long else ""
        yield (
            f'<g><title>{escape(box.word.label)}: {box.word.value:+.4f}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" '
            f'width="{box.width:.1f}" height="{HEIGHT:g}" rx="4" fill="{rgb(end)}" fill-opacity="{share:.3f}"{dashed}/>'
            f'<text x="{box.middle:.1f}" y="{box.y + 17:.1f}" text-anchor="middle"{fit}{ink}>'
            f"{escape(box.word.label)}</text></g>"
        )


def _links(scene: Scene, left: list[Box], right: list[Box]) -> Iterable[str]:
    """Curves between the strongest pairs of words, behind everything else."""
    for pair in scene.links:
        above, below = left[pair.left_index], right[pair.right_index]
        share, end = shade(pair.value, scene.limit)
        start, stop = above.y + HEIGHT, below.y
        bend = (start + stop) / 2
        yield (
            f'<path d="M{above.middle:.1f} {start:.1f}C{above.middle:.1f} {bend:.1f} {below.middle:.1f} {bend:.1f} '
            f'{below.middle:.1f} {stop:.1f}" fill="none" stroke="{rgb(end)}" stroke-width="{1 + 5 * share:.2f}" '
            f'stroke-opacity="{0.25 + 0.7 * share:.2f}"><title>{escape(pair.left)} ↔ {escape(pair.right)}: '
            f"{signed(pair.value)}</title></path>"
        )


def _pairs(scene: Scene, top: float, width: int) -> tuple[str, float]:
    """The strongest pairs, or the matches, as a list in two columns; and where it ends."""
    strongest: list[tuple[float, PairLine | Match]] = [(match.score, match) for match in scene.matches]
    rows = (strongest or [(pair.value, pair) for pair in scene.pairs])[:LISTED]
    if not rows:
        return "", top
    half = -(-len(rows) // 2)
    drawn, start = [], top + LEADING
    for number, (value, pair) in enumerate(rows):
        x = MARGIN + (number // half) * (width - 2 * MARGIN) / 2
        y = start + ROW * (number % half)
        text = f"{_cut(pair.left, 18)} ↔ {_cut(pair.right, 18)}"
        drawn.append(_tile(x, y, 64.0, ROW - 2, value, scene.limit, signed(value)) + _line(x + 76, y + 16, text))
    return "".join(drawn), start + ROW * half


def _bars(scene: Scene, top: float, width: int) -> tuple[str, float]:
    """The parts that add up, and where they end."""
    if not scene.parts:
        return "", top
    most = max(abs(part.value) for part in scene.parts) or 1.0
    drawn = []
    for number, part in enumerate(scene.parts):
        y, long = top + LEADING + ROW * number, 260 * abs(part.value) / most
        fill = rgb(POSITIVE if part.value >= 0 else NEGATIVE)
        drawn += [
            _line(MARGIN, y + 12, part.name) + _line(MARGIN + 100, y + 12, signed(part.value)),
            f'<rect x="{MARGIN + 160:g}" y="{y:.1f}" width="{long:.1f}" height="14" rx="2" fill="{fill}"/>',
            _line(MARGIN + 170 + long, y + 12, part.meaning, size=12, opacity=0.7),
        ]
    return "".join(drawn), top + LEADING + ROW * len(scene.parts)


def heat_map(scene: Scene, top: float, width: int) -> tuple[str, float]:
    """All pairs as tiles, and where they end; nothing where a tile would be a speck."""
    rows, columns = scene.grid.rows, scene.grid.columns
    room = width - 2 * MARGIN - GUTTER
    if not rows or room / len(columns) < SMALLEST_TILE or len(rows) > room / SMALLEST_TILE:
        return "", top
    wide = min(56.0, room / len(columns))
    high = min(24.0, wide)
    x, y = MARGIN + GUTTER, top + LEADING + GUTTER * 0.6
    numbers = wide >= 38
    drawn = [_heading(column, x + wide * (n + 0.5), y - 6, wide, slanted=True) for n, column in enumerate(columns)]
    drawn += [_heading(row, x - 6, y + high * (n + 0.5) + 4, high) for n, row in enumerate(rows)]
    for m, row in enumerate(rows):
        for n, column in enumerate(columns):
            value = float(scene.grid.values[m, n])
            text = cell(float(value)) if numbers else ""
            title = f"{row.label} ↔ {column.label}"
            drawn.append(_tile(x + wide * n, y + high * m, wide - 1, high - 1, value, scene.limit, text, title))
    return "".join(drawn), y + high * len(rows)


def _heading(heading: Heading, x: float, y: float, room: float, *, slanted: bool = False) -> str:
    look = "" if heading.kind == "text" else ' font-style="italic" fill-opacity=".65"'
    turn = f' transform="rotate({-40 if room >= 24 else -75} {x:.1f} {y:.1f})"' if slanted else ""
    anchor = "start" if slanted else "end"
    size = 12 if room >= 14 else max(6, round(room * 0.8))
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{look}{turn}>'
        f"{escape(_cut(heading.label, 14))}</text>"
    )


def _tile(
    x: float,
    y: float,
    width: float,
    height: float,
    value: float,
    limit: float,
    text: str,
    title: str = "",
) -> str:
    """A value as a coloured rectangle."""
    share, end = shade(value, limit)
    ink = ' fill="#fff"' if share > WHITE_INK else ""
    told = f"<title>{escape(title)}: {value:+.4f}</title>" if title else ""
    number = (
        f'<text x="{x + width - 5:.1f}" y="{y + height / 2 + 4:.1f}" font-size="12" text-anchor="end"{ink}>'
        f"{text.replace('-', '−')}</text>"
    )
    return (
        f'<g>{told}<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" fill="{rgb(end)}" '
        f'fill-opacity="{share:.3f}"/>{number if text else ""}</g>'
    )


def _cut(label: str, longest: int) -> str:
    return label if cell_len(label) <= longest else set_cell_size(label, longest - 1) + "…"


def _line(x: float, y: float, text: str, *, size: int = 14, weight: int = 400, opacity: float = 1.0) -> str:
    look = f'font-size="{size}" font-weight="{weight}" fill-opacity="{opacity:g}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(text)}</text>'
