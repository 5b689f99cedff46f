"""What a command found, handed over: written to the files asked for, printed as JSON or as the picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from whyalike.render import Shown


def hand_over(shown: Shown, *, as_json: bool, html: Path | None, wrote: tuple[Path | None, ...] = ()) -> None:
    """Data on stdout, what was written on stderr. ``wrote`` are files the command has written itself."""
    from whyalike import render

    if html is not None:
        html.write_text(render.to_html(shown), encoding="utf-8")
    if as_json:
        sys.stdout.write(json.dumps(shown.to_dict(), ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False)
    console.print(render.picture(shown, console.width))
    for path in (html, *wrote):
        if path is not None:
            Console(stderr=True, highlight=False).print(f"Wrote {path}", markup=False)
