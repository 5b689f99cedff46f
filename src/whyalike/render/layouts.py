"""The layouts of a picture: as large as what is on it, a slide, a column of a paper; and how blocks are put on the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Literal, get_args

from whyalike.errors import BadInput, unknown
from whyalike.render.drawing import Block, moved, stack
from whyalike.render.type_metrics import FAMILIES
from whyalike.results.words import printable

Layout = Literal["full", "slide", "column"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
LIGHT, DARK = ("#fff", "#1b1b1b", "#8a4b00"), ("#17181a", "#eaeaea", "#f0b25a")  # paper, ink, notes
INCH = 96  # pixels


@dataclass(frozen=True, slots=True)
class Format:
    """What a layout sets: the page, and the sizes of type to try, largest first."""

    width: float
    margin: float
    sizes: tuple[float, ...]
    height: float | None = None  # None: as high as what is on it
    pixels: float = 2.0  # of an image, per pixel of the drawing


FORMATS: dict[Layout, Format] = {
    "full": Format(width=960.0, margin=16.0, sizes=(14.0,)),
    "slide": Format(
        width=1280.0,
        margin=40.0,
        height=720.0,
        sizes=(32.0, 29.0, 26.0, 23.0, 21.0, 19.0, 17.0, 15.5, 14.0, 13.0, 12.0, 11.0, 10.0),
        pixels=1.5,
    ),
    "column": Format(width=3.35 * INCH, margin=2.0, sizes=(10.0,), pixels=300 / INCH),
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a picture is drawn for: its layout, the width there is, the size of its type."""

    layout: Layout
    width: float
    size: float


def check_layout(layout: str) -> Layout:
    """Refuses a layout there is not."""
    if layout not in LAYOUTS:
        raise unknown("layout", layout, LAYOUTS)
    return layout


def draw_page(blocks: Callable[[Sheet], Sequence[Block]], title: str, layout: str, dark: bool | None) -> str:
    """The blocks of a picture on a page, as SVG.

    Args:
        blocks: Draws them for a sheet.
        title: For those who cannot see it.
        layout: ``"full"``, ``"slide"`` or ``"column"``.
        dark: On dark or on light paper. None: no paper, in ink that follows the reader's preference.
    """
    chosen = check_layout(layout)
    form = FORMATS[chosen]
    room = form.width - 2 * form.margin
    for size in form.sizes:
        drawn = [block for block in blocks(Sheet(chosen, room, size)) if block.height]
        gap = size
        body = stack(drawn, gap)
        if form.height is None or body.height <= form.height - 2 * form.margin:
            break
    else:
        raise BadInput(
            "These texts are too long for a slide. Use the layout full, shorter texts, or explain by sentence."
        )
    width, height = form.width, body.height + 2 * form.margin
    if form.height is not None:  # what is left over goes between the blocks
        spare = form.height - 2 * form.margin - body.height
        gap += min(spare / len(drawn), 2.5 * size)
        body = stack(drawn, gap)
        height = form.height
    elif layout == "full":
        width = float(ceil(body.width + 2 * form.margin))
    height = float(ceil(height))
    top = (height - body.height) / 2
    return _svg(width, height, title, moved(body, form.margin, top), dark)


def _svg(width: float, height: float, title: str, body: str, dark: bool | None) -> str:
    paper, ink, notes = DARK if dark else LIGHT
    style = f".note{{fill:{notes}}}"
    if dark is None:
        style += f"@media (prefers-color-scheme:dark){{svg{{color:{DARK[1]}}}.note{{fill:{DARK[2]}}}}}"
    ground = "" if dark is None else f'<rect width="100%" height="100%" fill="{paper}"/>'
    colour = "" if dark is None else f' color="{ink}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" font-family="{FAMILIES["latin"]}" font-size="14" fill="currentColor"{colour}>'
        f"<title>{escape(printable(title))}</title><style>{style}</style>{ground}{body}</svg>\n"
    )
