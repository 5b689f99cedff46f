"""An explanation in the terminal."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from whyalike.colours import Colour, colour, ink
from whyalike.render.numbers import cell, plain, signed
from whyalike.render.scene import Heading, Part, Scene, scene_of
from whyalike.results.explanation import Explanation
from whyalike.results.words import Word

CELL, ROW_LABEL = 7, 16


def picture(explanation: Explanation, width: int, *, background: bool = False) -> RenderableType:
    """The picture for a rich console; with the components of the background where they are asked for."""
    scene = scene_of(explanation)
    title = Text.assemble(("score ", "bold"), (f"{scene.score:.3f}", "bold"), (f"   {scene.caption}", "dim"))
    pieces: list[RenderableType] = [title, Text(), texts(scene), Text()]
    columns = len(scene.grid.columns)
    if scene.grid.rows and ROW_LABEL + CELL * columns <= width:
        pieces += [_matrix(scene), Text()]
    elif scene.grid.rows:
        hint = "--by sentence" if explanation.left.unit != "sentence" else "--html FILE"
        pieces += [
            Text(f"The matrix is {columns} columns wide: see it with {hint} or --png FILE.", "dim"),
            Text(),
        ]
    pieces += [_matches(scene) if scene.matches else _pairs(scene), Text()]
    pieces += [_bars(scene.parts)] if scene.parts else []
    if background and scene.background:
        pieces += [Text("background", "bold"), _bars(scene.background)]
    pieces.append(Text(scene.closing, "bold"))
    pieces += [Text(note, "yellow") for note in scene.notes]
    return Group(*pieces)


def style(background: Colour) -> Style:
    front, back = (Color.from_triplet(ColorTriplet(*triple)) for triple in (ink(background), background))
    return Style(color=front, bgcolor=back)


def _word(word: Word, limit: float) -> Text:
    look = style(colour(word.value, limit))
    return Text(word.label, look if word.kind == "text" else look + Style(italic=True, dim=True))


def texts(scene: Scene) -> Text:
    both = (("left", scene.left), ("right", scene.right))
    return Text("\n").join(line(name, words, scene.word_limit) for name, words in both)


def line(name: str, words: tuple[Word, ...], limit: float) -> Text:
    """A text with its words coloured, behind its name."""
    shown = Text(f"{name:<5}  ", "dim")
    for word in words:
        shown.append_text(_word(word, limit))
        shown.append(" ")
    return shown


def _matrix(scene: Scene) -> Text:
    lines = [Text(" " * ROW_LABEL)]
    for column in scene.grid.columns:
        label = _shorten(column.label, CELL - 1)
        lines[0].append(" " * (CELL - 1 - cell_len(label)) + label + " ", _label_style(column))
    for row, values in zip(scene.grid.rows, scene.grid.values, strict=True):
        label = _shorten(row.label, ROW_LABEL - 1)
        line = Text(" " * (ROW_LABEL - 1 - cell_len(label)))
        line.append(label + " ", _label_style(row))
        for value in values:
            text = cell(float(value))
            line.append(f"{text:>{CELL - 1}} ", style(colour(float(value), scene.limit)))
        lines.append(line)
    return Text("\n").join(lines)


def _label_style(heading: Heading) -> str:
    return "" if heading.kind == "text" else "dim italic"


def _shorten(label: str, width: int) -> str:
    return label if cell_len(label) <= width else set_cell_size(label, width - 1) + "…"


def _pairs(scene: Scene) -> Table:
    table = Table.grid(padding=(0, 2))
    for pair in scene.pairs:
        label = "" if pair.kinds == ("text", "text") else "dim italic"
        table.add_row(
            Text(signed(pair.value), style(colour(pair.value, scene.limit))),
            Text(f"{_shorten(pair.left, 30)}  ↔  {_shorten(pair.right, 30)}", label),
        )
    return table


def _matches(scene: Scene) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("score", "matched words", "similarity", "cluster"):
        table.add_column(heading, justify="left" if heading == "matched words" else "right")
    for match in scene.matches:
        table.add_row(
            Text(signed(match.score), style(colour(match.score, scene.limit))),
            Text(f"{_shorten(match.left, 30)}  ↔  {_shorten(match.right, 30)}"),
            plain(match.similarity, 2),
            str(match.cluster + 1),
        )
    return table


def _bars(parts: tuple[Part, ...]) -> Table:
    table = Table.grid(padding=(0, 1))
    most = max(abs(part.value) for part in parts) or 1.0
    for part in parts:
        length = round(24 * abs(part.value) / most)
        bar = Text(
            "█" * length, Style(color=Color.from_triplet(ColorTriplet(*colour(part.value, abs(part.value) or 1.0))))
        )
        table.add_row(part.name, signed(part.value), bar, Text(part.meaning, "dim"))
    return table
