"""Pictures of explanations and comparisons: one scene, every medium."""

from __future__ import annotations

import io

from rich.console import Console, Group, RenderableType
from rich.text import Text

from whyalike.render import comparison, contrast, html, terminal, terms
from whyalike.render.figure import to_figure
from whyalike.render.images import Shown, to_pdf, to_png, to_svg
from whyalike.render.latex import to_tex
from whyalike.render.scene import Scene, scene_of
from whyalike.results.comparison import Comparison
from whyalike.results.explanation import Explanation

__all__ = [
    "Scene",
    "Shown",
    "picture",
    "scene_of",
    "to_figure",
    "to_html",
    "to_pdf",
    "to_png",
    "to_svg",
    "to_terminal",
    "to_tex",
]


def to_html(shown: Shown) -> str:
    """One self-contained page that works from disk, offline."""
    if isinstance(shown, Explanation):
        return html.to_html(shown)
    return comparison.to_html(shown) if isinstance(shown, Comparison) else contrast.to_html(shown)


def to_terminal(shown: Shown, *, width: int = 100, colours: bool = True, special_tokens: bool = False) -> str:
    """The picture as text with colour codes, or without."""
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colours, color_system="truecolor" if colours else None, highlight=False
    )
    console.print(picture(shown, width, special_tokens=special_tokens))
    return out.getvalue()


def picture(shown: Shown, width: int, *, background: bool = False, special_tokens: bool = False) -> RenderableType:
    """The picture for a rich console.

    Args:
        shown: What to draw.
        width: Of the console, in characters.
        background: With the components of the background.
        special_tokens: With the special tokens of an explanation.
    """
    if isinstance(shown, Explanation):
        drawn, found = (
            terminal.picture(shown, width, background=background, special_tokens=special_tokens),
            terms.table(shown),
        )
        return drawn if found is None else Group(drawn, Text(), found)
    if isinstance(shown, Comparison):
        return comparison.picture(shown, width, background=background)
    return contrast.picture(shown, width, background=background)
