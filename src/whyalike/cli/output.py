"""Prints results and writes the requested files: written to the files asked for, printed as JSON or as the picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from whyalike.storage.writing import write_bytes, write_text

if TYPE_CHECKING:
    from whyalike.render import Shown
    from whyalike.render.page import Saved
    from whyalike.results.explanation import Explanation


def print_result(
    shown: Shown,
    *,
    as_json: bool,
    html: Path | None,
    wrote: tuple[Path | None, ...] = (),
    background: bool = False,
) -> None:
    """Data on stdout, what was written on stderr. ``wrote`` are files the command has written itself."""
    from whyalike import render

    if html is not None:
        write_text(html, render.to_html(shown))
    if as_json:
        sys.stdout.write(json.dumps(shown.to_dict(), ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False)
    console.print(render.picture(shown, console.width, background=background))
    for path in (html, *wrote):
        if path is not None:
            Console(stderr=True, highlight=False).print(f"Wrote {path}", markup=False)


def save_as(result: Explanation, path: Path, ending: str) -> None:
    """Writes a picture, whatever the ending of the file."""
    from whyalike import render

    drawn = render.to_png(result) if ending == ".png" else render.to_svg(result).encode()
    write_bytes(path, drawn)


def print_saved_files(saved: Saved) -> None:
    """Which files were written; and which were not, and what would bring them."""
    say = Console(stderr=True, highlight=False)
    say.print(f"Written: {', '.join(map(str, saved.written))}", markup=False)
    for name, error in saved.left_out.items():
        say.print(f"No {name}: {error}", markup=False)
