"""Explanations of one pair side by side, in the terminal and as HTML: the pictures, their top pairs, how far they agree."""

from __future__ import annotations

import math
from html import escape

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from whyalike.colours import colour, shade_class
from whyalike.render import html, terminal
from whyalike.render.scene import Scene, scene_of
from whyalike.results.comparison import Comparison, Entry
from whyalike.results.numbers import plain, signed
from whyalike.results.words import printable

TOP = 5
COLUMN = 34  # room for the value and two words of usual length
STYLE = """
.whyalike .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));gap:1.5rem}
.whyalike .card h2{font-size:1rem;margin:0}.whyalike .card .caption{margin:0 0 .5rem}
.whyalike h3{font-size:1rem;margin:1.5rem 0 .3rem}
.whyalike details{margin:.6rem 0}.whyalike td.none{text-align:center;color:#8a8a8a}
"""


def picture(comparison: Comparison, width: int) -> RenderableType:
    """For a rich console."""
    scenes = [scene_of(entry.explanation) for entry in comparison.entries]
    pieces: list[RenderableType] = []
    for entry, scene in zip(comparison.entries, scenes, strict=True):
        title = Text.assemble((printable(entry.name), "bold"), (f"   score {scene.score:.3f} · {_facts(entry)}", "dim"))
        pieces += [title, terminal.texts(scene), *(Text(note, "yellow") for note in scene.notes), Text()]
    together, shown = max(1, width // COLUMN), list(zip(comparison.entries, scenes, strict=True))
    for start in range(0, len(shown), together):
        pieces += [_top_pairs(shown[start : start + together], width // together), Text()]
    if len(scenes) > 1:
        over = f"rank agreement (Spearman) / overlap of the top 10, over {comparison.pairs} pairs"
        pieces += [Text(over, "bold"), _agreement(comparison)]
    return Group(*pieces)


def fragment(comparison: Comparison) -> str:
    """What a notebook shows."""
    cards, agreement = pieces(comparison).values()
    head = f"<style>{html.style()}{STYLE}</style><h1>Explanations side by side</h1>"
    return f'<div class="whyalike">{head}<div class="cards">{cards}</div>{agreement}</div>'


def pieces(comparison: Comparison) -> dict[str, str]:
    """The parts of the picture as HTML: a card per explanation, and how far they agree."""
    cards = "".join(_card(entry) for entry in comparison.entries)
    agreement = ""
    if len(comparison.entries) > 1:
        tables = (
            (f"Rank agreement (Spearman) over {comparison.pairs} pairs", comparison.spearman),
            ("Overlap of the top 10 pairs", comparison.overlap()),
        )
        agreement = "".join(f"<h3>{title}</h3>{_html_table(comparison, table)}" for title, table in tables)
    return {"cards": cards, "agreement": agreement}


def to_html(comparison: Comparison) -> str:
    """A page that works from disk, offline."""
    first = comparison.entries[0].explanation
    return html.page(f"{first.left.text[:60]} ↔ {first.right.text[:60]}", fragment(comparison))


def _facts(entry: Entry) -> str:
    e = entry.explanation
    if not e.method.adds_up:
        adds = "does not add up to the score"
    else:
        adds = (
            f"adds up (residual {abs(e.residual):.0e})" if e.adds_up else f"does not add up: {signed(e.residual)} left"
        )
    return f"{adds} · {entry.seconds:.2f} s"


def _top_pairs(shown: list[tuple[Entry, Scene]], width: int) -> Table:
    """One column per explanation."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for entry, _ in shown:
        table.add_column(Text(printable(entry.name)), no_wrap=True, width=width - 2, overflow="ellipsis")
    columns = [_pair_lines(entry, scene) for entry, scene in shown]
    for number in range(max(map(len, columns), default=0)):
        table.add_row(*(column[number] if number < len(column) else Text() for column in columns))
    return table


def _pair_lines(entry: Entry, scene: Scene) -> list[Text]:
    pairs = [pair for pair in entry.explanation.top_pairs(TOP) if pair.value]
    return [
        Text.assemble(
            (signed(pair.value), terminal.style(colour(pair.value, scene.limit))),
            f" {printable(pair.left)} ↔ {printable(pair.right)}",
        )
        for pair in pairs
    ]


def _agreement(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    spearman, overlap = comparison.spearman, comparison.overlap()
    table.add_column()
    for number, _ in enumerate(comparison.entries):
        table.add_column(str(number + 1), justify="right")
    for i, entry in enumerate(comparison.entries):
        cells = [
            Text("·", Style(dim=True)) if i == j else Text(f"{_number(spearman[i, j])} / {_number(overlap[i, j])}")
            for j in range(len(comparison.entries))
        ]
        table.add_row(Text(f"{i + 1} {printable(entry.name)}"), *cells)
    return table


def _number(value: float) -> str:
    return "–" if math.isnan(value) else plain(value, 2)


def _card(entry: Entry) -> str:
    scene = scene_of(entry.explanation)
    return (
        f'<section class="card"><h2>{escape(printable(entry.name))}</h2>'
        f'<p class="caption">score {scene.score:.3f} · {escape(_facts(entry))}<br>{escape(scene.caption)}</p>'
        f"{html.body(scene, folded=True)}</section>"
    )


def _html_table(comparison: Comparison, table: object) -> str:
    names = [escape(printable(entry.name)) for entry in comparison.entries]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    rows = []
    for name, values in zip(names, table, strict=True):  # type: ignore[call-overload]
        cells = "".join(
            f'<td class="cell {shade_class(value, 1.0)}">{_number(value)}</td>'
            if not math.isnan(value)
            else '<td class="none" title="one of the two ranks nothing">–</td>'
            for value in values
        )
        rows.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    whole = f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="Agreement">{whole}</div>'
