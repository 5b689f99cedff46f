"""An explanation in the terminal."""

from __future__ import annotations

import io

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.console import Console, Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from whyalike.explanation import Explanation
from whyalike.render.scene import Colour, Scene, Word, colour, ink, printable, scene_of

CELL, ROW_LABEL = 7, 16


def to_terminal(explanation: Explanation, *, width: int = 100, colours: bool = True) -> str:
    """The picture as text with colour codes, or without."""
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colours, color_system="truecolor" if colours else None, highlight=False
    )
    console.print(picture(explanation, width))
    return out.getvalue()


def picture(explanation: Explanation, width: int) -> RenderableType:
    """The picture for a rich console."""
    scene = scene_of(explanation)
    title = Text.assemble(("score ", "bold"), (f"{scene.score:.3f}", "bold"), (f"   {scene.caption}", "dim"))
    pieces: list[RenderableType] = [title, Text(), _texts(scene), Text()]
    if ROW_LABEL + CELL * len(scene.right) <= width:
        pieces += [_matrix(scene), Text()]
    else:
        hint = "--by sentence" if explanation.left.unit != "sentence" else "--html FILE"
        pieces += [
            Text(f"The matrix is {len(scene.right)} columns wide: see it with {hint} or --png FILE.", "dim"),
            Text(),
        ]
    pieces += [_pairs(scene), Text(), _bars(scene), Text(scene.sum_line, "bold")]
    pieces += [Text(note, "yellow") for note in scene.notes]
    return Group(*pieces)


def _style(background: Colour) -> Style:
    front, back = (Color.from_triplet(ColorTriplet(*triple)) for triple in (ink(background), background))
    return Style(color=front, bgcolor=back)


def _word(word: Word, limit: float) -> Text:
    style = _style(colour(word.value, limit))
    return Text(word.label, style if word.kind == "text" else style + Style(italic=True, dim=True))


def _texts(scene: Scene) -> Text:
    lines = []
    for name, words in (("left ", scene.left), ("right", scene.right)):
        line = Text(f"{name}  ", "dim")
        for word in words:
            line.append_text(_word(word, scene.word_limit))
            line.append(" ")
        lines.append(line)
    return Text("\n").join(lines)


def _matrix(scene: Scene) -> Text:
    lines = [Text(" " * ROW_LABEL)]
    for word in scene.right:
        label = _shorten(word.label, CELL - 1)
        lines[0].append(" " * (CELL - 1 - cell_len(label)) + label + " ", _label_style(word))
    for word, row in zip(scene.left, scene.cells, strict=True):
        label = _shorten(word.label, ROW_LABEL - 1)
        line = Text(" " * (ROW_LABEL - 1 - cell_len(label)))
        line.append(label + " ", _label_style(word))
        for value in row:
            text = f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")
            line.append(f"{text:>{CELL - 1}} ", _style(colour(float(value), scene.limit)))
        lines.append(line)
    return Text("\n").join(lines)


def _label_style(word: Word) -> str:
    return "" if word.kind == "text" else "dim italic"


def _shorten(label: str, width: int) -> str:
    return label if cell_len(label) <= width else set_cell_size(label, width - 1) + "…"


def _pairs(scene: Scene) -> Table:
    table = Table.grid(padding=(0, 2))
    for pair in scene.pairs:
        style = "" if pair.kinds == ("text", "text") else "dim italic"
        table.add_row(
            Text(f"{pair.value:+.3f}".replace("-", "−"), _style(colour(pair.value, scene.limit))),
            Text(f"{_shorten(printable(pair.left), 30)}  ↔  {_shorten(printable(pair.right), 30)}", style),
        )
    return table


def _bars(scene: Scene) -> Table:
    table = Table.grid(padding=(0, 1))
    most = max(abs(part.value) for part in scene.parts) or 1.0
    for part in scene.parts:
        length = round(24 * abs(part.value) / most)
        bar = Text(
            "█" * length, Style(color=Color.from_triplet(ColorTriplet(*colour(part.value, abs(part.value) or 1.0))))
        )
        table.add_row(part.name, f"{part.value:+.3f}".replace("-", "−"), bar, Text(part.meaning, "dim"))
    return table
