"""An explanation in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size
from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from whyalike.colours import Colour, colour, ink
from whyalike.render.legend import LOWERS, RAISES, explain_colours
from whyalike.render.scene import Heading, Part, Scene, scene_of
from whyalike.results.explanation import Explanation
from whyalike.results.finding import Piece
from whyalike.results.numbers import cell, plain, signed
from whyalike.results.words import Word, printable

CELL, ROW_LABEL = 7, 16


def picture(
    explanation: Explanation, width: int, *, background: bool = False, special_tokens: bool = False
) -> RenderableType:
    """The picture for a rich console; with special tokens and the components of the background where they are asked for."""
    scene = scene_of(explanation, special_tokens=special_tokens)
    pieces: list[RenderableType] = [sentence(scene.finding.pieces())]
    pieces += [Text(scene.scale, "dim")] if scene.scale else []
    pieces += [Text(), texts(scene), _legend(scene), Text()]
    columns = len(scene.grid.columns)
    pieces += [_matches(scene) if scene.matches else _pairs(scene), Text()]
    if scene.grid.rows and ROW_LABEL + CELL * columns <= width:
        pieces += [_matrix(scene), Text()]
    elif scene.grid.rows:
        hint = "--by sentence" if explanation.left.unit != "sentence" else "--html FILE"
        pieces += [
            Text(f"The matrix is {columns} columns wide: see it with {hint} or --png FILE.", "dim"),
            Text(),
        ]
    pieces += [_bars(scene.parts)] if scene.parts else []
    if background and scene.background:
        pieces += [Text("background", "bold"), _bars(scene.background)]
    pieces.append(Text(scene.closing, "bold"))
    pieces += [Text(note, "yellow") for note in scene.notes]
    pieces.append(Text(scene.caption, "dim"))
    return Group(*pieces)


def sentence(pieces: Iterable[Piece]) -> Text:
    """A finding; words of the texts are bold."""
    return Text.assemble(*((printable(piece.text), "bold") if piece.emphasised else piece.text for piece in pieces))


def _legend(scene: Scene) -> Text:
    return Text.assemble(
        (f" {RAISES} ", style(colour(0.6, 1.0))),
        " ",
        (f" {LOWERS} ", style(colour(-0.6, 1.0))),
        "  ",
        (explain_colours(scene), "dim"),
    )


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
        shown.append("\n" if "\n" in word.gap else " " if word.gap else "")
        shown.append_text(_word(word, limit))
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
    for line in scene.pairs:
        share = "" if line.share is None else plain(100 * line.share, 0) + " %"
        times = f"  ×{line.times}" if line.times > 1 else ""
        table.add_row(
            Text(signed(line.value), style(colour(line.value, scene.limit))),
            Text(share, "dim", justify="right"),
            Text.assemble(f"{_shorten(line.left, 30)}  ↔  {_shorten(line.right, 30)}", (times, "dim")),
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
