"""Pictures of every result as SVG, PNG and PDF, in every layout. PNG and PDF are made from the SVG by vl-convert."""

from __future__ import annotations

import re

from whyalike.errors import BadInput, MissingExtra
from whyalike.render import comparison_svg, contrast_svg, svg
from whyalike.render.layouts import FORMATS, check_layout
from whyalike.results.comparison import Comparison
from whyalike.results.contrast import Contrast
from whyalike.results.explanation import Explanation

TALLEST = 8000  # pixels of a drawing
SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')
POINTS = 0.75  # of a pixel: a column of a paper is 3.35 inches wide in PDF too

Shown = Explanation | Comparison | Contrast


def to_svg(shown: Shown, *, layout: str = "full", dark: bool | None = None) -> str:
    """A drawing that stands alone.

    Args:
        shown: An explanation, a comparison or a contrast.
        layout: ``"full"`` (all there is to see), ``"slide"`` (16:9, large type) or ``"column"`` (3.35 inches, for a paper).
        dark: On dark or on light paper. None: without paper, in ink that follows the reader's preference.
    """
    if isinstance(shown, Explanation):
        return svg.to_svg(shown, layout=layout, dark=dark)
    if isinstance(shown, Comparison):
        return comparison_svg.to_svg(shown, layout=layout, dark=dark)
    return contrast_svg.to_svg(shown, layout=layout, dark=dark)


def to_png(shown: Shown, *, layout: str = "full", dark: bool = False) -> bytes:
    """The picture as an image: twice as large as its drawing; a slide 1920 × 1080; a column with 300 dots per inch."""
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtra("vl-convert", "PNG files", "plots") from error
    image: bytes = vl_convert.svg_to_png(_drawn(shown, layout, dark), scale=FORMATS[check_layout(layout)].pixels)
    return image


def to_pdf(shown: Shown, *, layout: str = "full", dark: bool = False) -> bytes:
    """The picture as PDF: text stays text, and the fonts are embedded."""
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtra("vl-convert", "PDF files", "plots") from error
    drawn = SIZE.sub(_in_points, _drawn(shown, layout, dark), count=1)
    document: bytes = vl_convert.svg_to_pdf(drawn)  # takes pixels for points
    return document


def _in_points(size: re.Match[str]) -> str:
    width, height = (POINTS * float(each) for each in size.groups())
    return f' width="{width:g}" height="{height:g}"'


def _drawn(shown: Shown, layout: str, dark: bool) -> str:
    drawn = to_svg(shown, layout=layout, dark=dark)
    size = SIZE.search(drawn)
    assert size is not None
    if float(size[2]) > TALLEST:
        raise BadInput(
            f"The picture is {size[2]} pixels tall, too large for an image (at most {TALLEST}). "
            "Draw it by sentence, or as HTML or SVG."
        )
    return drawn
