"""Prints results and writes the requested files: written to the files asked for, printed as JSON or as the picture."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from whyalike.cli.options import Layout, check_folders
from whyalike.errors import BadInput

if TYPE_CHECKING:
    from whyalike.render import Shown
    from whyalike.render.page import Saved


@dataclass(frozen=True, slots=True)
class Pictures:
    """The pictures a command is asked to write."""

    html: Path | None = None
    png: Path | None = None
    svg: Path | None = None
    pdf: Path | None = None
    tex: Path | None = None
    layout: Layout = Layout.full
    dark: bool = False

    @property
    def files(self) -> dict[str, Path]:
        """The files asked for, by the kind of picture."""
        named = {kind: getattr(self, kind) for kind in ("html", "png", "svg", "pdf", "tex")}
        return {f".{kind}": path for kind, path in named.items() if path is not None}

    def check(self) -> None:
        """Refuses, before any work is done, what cannot be written or has no effect."""
        check_folders(*self.files.values())
        if not self.files.keys() & {".png", ".svg", ".pdf"}:
            for option, given in (("--layout", self.layout is not Layout.full), ("--dark", self.dark)):
                if given:
                    raise BadInput(f"{option} has no effect without --png, --svg or --pdf. Add one, or leave it out.")

    def write(self, shown: Shown) -> None:
        from whyalike.results.files import write_picture

        for kind, path in self.files.items():
            write_picture(shown, path, kind, self.layout.value, self.dark or None)


def print_result(shown: Shown, *, as_json: bool, pictures: Pictures, background: bool = False) -> None:
    """Data on stdout; pictures into their files, which are named on stderr."""
    from whyalike import render

    pictures.write(shown)
    if as_json:
        sys.stdout.write(json.dumps(shown.to_dict(), ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False)
    console.print(render.picture(shown, console.width, background=background))
    for path in pictures.files.values():
        Console(stderr=True, highlight=False).print(f"Wrote {path}", markup=False)


def print_saved_files(saved: Saved) -> None:
    """Which files were written; and which were not, and what would bring them."""
    say = Console(stderr=True, highlight=False)
    say.print(f"Written: {', '.join(map(str, saved.written))}", markup=False)
    for name, error in saved.left_out.items():
        say.print(f"No {name}: {error}", markup=False)
