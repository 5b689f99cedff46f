"""Two texts with links between their strongest pairs of words, as SVG. A link crosses no word.

Links run between the two texts. From a word of an upper line a link goes down through the gaps between the words of the lines
below it (or past an end of the line), in the room between two lines; likewise to a word of a lower line of the right text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise

from whyalike.colours import WHITE_INK, rgb, shade
from whyalike.render.drawing import PALE, Block, cut, line
from whyalike.render.scene import Scene
from whyalike.render.type_metrics import text_width
from whyalike.results.numbers import signed
from whyalike.results.words import Word, direction

LINKED = 40  # units; between longer texts links are a thicket
HIGH, PAD, TIGHT = (
    1.7,
    0.35,
    0.12,
)  # of a word: its height, the room in it, before it where no space is; in sizes of the type
GAP, UNLINKED_GAP = 0.5, 0.15  # between words, with links and without
BETWEEN_LINES, UNLINKED_LINES, BETWEEN_TEXTS, NAME, NARROW_NAME = 1.0, 0.3, 5.0, 3.4, 2.6
PASSABLE = 0.4  # a gap that a link goes through
WIDEST_LINK = 0.32
DASHED = ' stroke="currentColor" stroke-opacity=".5" stroke-dasharray="3 2"'


@dataclass(frozen=True, slots=True)
class Box:
    """Where a word stands."""

    word: Word
    x: float
    y: float
    width: float
    line: int

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Placed:
    """The words of a text in lines."""

    boxes: tuple[Box, ...]
    size: float
    top: float
    bottom: float

    @property
    def lines(self) -> int:
        return 1 + max((box.line for box in self.boxes), default=0)

    @property
    def right(self) -> float:
        return max((box.x + box.width for box in self.boxes), default=0.0)


def place_words(words: Sequence[Word], size: float, width: float, *, top: float, start: float, linked: bool) -> Placed:
    """Words as they follow each other in the text, in lines from ``start`` to ``width``."""
    boxes: list[Box] = []
    step = (HIGH + (BETWEEN_LINES if linked else UNLINKED_LINES)) * size
    x, number, between = start, 0, GAP if linked else UNLINKED_GAP
    for chunk in _chunks(words, size, (width - start) / 2):
        wide = sum(_box_width(word, size, width - start) + TIGHT * size for word in chunk)
        gap = 0.0 if not boxes else (between if chunk[0].gap else TIGHT) * size
        if boxes and (x + gap + wide > width or "\n" in chunk[0].gap):
            x, gap, number = start, 0.0, number + 1
        x += gap
        for word in chunk:
            box = Box(word, x, top + number * step, _box_width(word, size, width - start), number)
            boxes.append(box)
            x += box.width + TIGHT * size
        x -= TIGHT * size
    if direction(tuple(words)) == "rtl":  # the same, seen in a mirror
        right = max(box.x + box.width for box in boxes)
        boxes = [replace(box, x=start + right - box.x - box.width) for box in boxes]
    return Placed(tuple(boxes), size, top, top + number * step + HIGH * size)


def _chunks(words: Sequence[Word], size: float, longest: float) -> list[list[Word]]:
    """Words that no line break may part, since nothing stands between them; a long row of them may be parted."""
    chunks: list[list[Word]] = []
    for word in words:
        if chunks and not word.gap and sum(_box_width(each, size, longest) for each in chunks[-1]) < longest / 2:
            chunks[-1].append(word)
        else:
            chunks.append([word])
    return chunks


def _box_width(word: Word, size: float, most: float) -> float:
    return min(text_width(word.label, size) + 2 * PAD * size, most)


def gaps_of(placed: Placed, number: int) -> list[tuple[float, float]]:
    """Where a link can pass a line, from where to where: between its words, before its first, and after its last."""
    boxes = sorted((box for box in placed.boxes if box.line == number), key=lambda box: box.x)
    room = PASSABLE * placed.size
    inside = [
        ((before.x + before.width + after.x) / 2,) * 2
        for before, after in pairwise(boxes)
        if after.x - before.x - before.width >= room
    ]
    outermost = min(box.x for box in placed.boxes), placed.right
    first, last = boxes[0].x - room, boxes[-1].x + boxes[-1].width + room
    return [(min(outermost[0] - room, first), first), *inside, (last, max(outermost[1] + room, last))]


def route(left: Placed, right: Placed, start: Box, end: Box) -> list[tuple[float, float]]:
    """The corners of a link: where it leaves a word, enters and leaves each gap, and reaches the other word."""
    high = HIGH * left.size
    corners = [(start.middle, start.y + high)]
    passed = [(left, number) for number in range(start.line + 1, left.lines)]
    passed += [(right, number) for number in range(end.line)]
    for count, (placed, number) in enumerate(passed):
        here, y = corners[-1][0], next(box.y for box in placed.boxes if box.line == number)
        straight = here + (end.middle - here) / (len(passed) - count + 1)
        through = [min(max(straight, low), top) for low, top in gaps_of(placed, number)]
        best = min(through, key=lambda x: (round(abs(x - here) + abs(x - end.middle)), abs(x - straight)))
        corners += [(best, y), (best, y + high)]
    return [*corners, (end.middle, end.y)]


def _curve(corners: Sequence[tuple[float, float]]) -> str:
    """Curves from gap to gap, which stay in the room between two lines; straight lines through the gaps."""
    path = "M{:.1f} {:.1f}".format(*corners[0])
    for number, ((x, y), (to_x, to_y)) in enumerate(pairwise(corners)):
        bend = (y + to_y) / 2
        path += f"V{to_y:.1f}" if number % 2 else f"C{x:.1f} {bend:.1f} {to_x:.1f} {bend:.1f} {to_x:.1f} {to_y:.1f}"
    return path


def draw_texts(scene: Scene, size: float, width: float, *, links: int = 8) -> Block:
    """Both texts, their strongest pairs linked where the texts are short."""
    short = max(len(scene.left), len(scene.right)) <= LINKED
    linked = scene.links[:links] if short else ()
    start = (NAME if width > 30 * size else NARROW_NAME) * size
    left = place_words(scene.left, size, width, top=0.0, start=start, linked=bool(linked))
    top = left.bottom + (BETWEEN_TEXTS if linked else 0.8) * size
    right = place_words(scene.right, size, width, top=top, start=start, linked=bool(linked))
    body = [*_links(scene, linked, left, right)]
    for name, placed in (("left", left), ("right", right)):
        body += draw_words(name, placed, scene.word_limit)
    return Block("".join(body), max(left.right, right.right), right.bottom)


def draw_text(name: str, words: Sequence[Word], limit: float, size: float, width: float, start: float) -> Block:
    """One text behind its name."""
    placed = place_words(words, size, width, top=0.0, start=start, linked=False)
    return Block("".join(draw_words(name, placed, limit)), placed.right, placed.bottom)


def draw_words(name: str, placed: Placed, limit: float) -> Iterable[str]:
    size, high = placed.size, HIGH * placed.size
    yield line(0.0, placed.top + 1.18 * size, name, 0.85 * size, opacity=PALE)
    for box in placed.boxes:
        share, end = shade(box.word.value, limit)
        dashed = "" if box.word.kind == "text" else DASHED
        ink = ' fill="#fff"' if share > WHITE_INK else ""
        label = cut(box.word.label, size, box.width - 1.5 * PAD * size)
        yield (
            f'<g><title>{escape(box.word.label)}: {signed(box.word.value, 4)}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" '
            f'width="{box.width:.1f}" height="{high:.1f}" rx="4" fill="{rgb(end)}" fill-opacity="{share:.3f}"{dashed}/>'
            f"{line(box.middle, box.y + 1.2 * size, label, size, anchor='middle', look=ink)}</g>"
        )


def _links(scene: Scene, linked: Sequence, left: Placed, right: Placed) -> Iterable[str]:  # type: ignore[type-arg]
    """The strongest last, so that they lie above the others; all of them behind the words."""
    for pair in reversed(linked):
        start, end = left.boxes[pair.left_index], right.boxes[pair.right_index]
        share, colour = shade(pair.value, scene.limit)
        wide = WIDEST_LINK * left.size * (0.2 + 0.8 * share)
        yield (
            f'<path d="{_curve(route(left, right, start, end))}" fill="none" stroke="{rgb(colour)}" '
            f'stroke-width="{wide:.2f}" stroke-opacity="{0.3 + 0.6 * share:.2f}"><title>{escape(pair.left)} ↔ '
            f"{escape(pair.right)}: {signed(pair.value)}</title></path>"
        )
