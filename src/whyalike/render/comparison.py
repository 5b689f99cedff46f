"""Explanations of one pair in the terminal and as HTML: what all see and what only one sees, the differences, each one's
picture, how far they agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from whyalike.colours import colour, shade_class
from whyalike.render import html, terminal
from whyalike.render.heat_map import strongest_words
from whyalike.render.scene import Grid, Heading, Scene, scene_of
from whyalike.results.comparison import Comparison, Entry
from whyalike.results.difference import Difference, percent
from whyalike.results.numbers import plain, signed
from whyalike.results.words import printable

TOP, DIFFERENT = 5, 6
MATRIX = 20  # rows or columns of the matrix of differences: the words that differ most
SAID = "Shares are of the sum of all sizes of an explanation; the numbers of the matrix are differences in per cent."
COLUMN = 34  # room for the value and two words of usual length
STYLE = """
.whyalike .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));gap:1.5rem}
.whyalike .card h2{font-size:1rem;margin:0}.whyalike .card .caption{margin:0 0 .5rem}
.whyalike h3{font-size:1rem;margin:1.5rem 0 .3rem}
.whyalike details{margin:.6rem 0}.whyalike td.none{text-align:center;color:#8a8a8a}
"""


def differences(comparison: Comparison) -> list[Difference]:
    """The first explanation against each of the others."""
    return [comparison.difference(0, number) for number in range(1, len(comparison.entries))]


def title_of(difference: Difference) -> str:
    """``bilrp − bti: 46 % the same``"""
    first, second = map(printable, difference.names)
    return f"{first} − {second}: {percent(difference.overlap)} the same"


def grid_of(difference: Difference) -> Grid:
    """The differences of all pairs, with headings fit to be shown."""
    rows, columns = (
        tuple(
            Heading(printable(label), kind, number)
            for number, (label, kind) in enumerate(zip(side.labels, side.kinds, strict=True))
        )
        for side in (difference.left, difference.right)
    )
    return Grid(rows, columns, difference.matrix)


def limit_of(difference: Difference) -> float:
    """The difference with the fullest colour."""
    return max((abs(float(value)) for value in difference.matrix.ravel()), default=0.0) or 1.0


def points(value: float) -> str:
    """A difference of shares in per cent: ``+12``."""
    return signed(100 * value, 0 if abs(value) >= 0.01 else 1)


def picture(comparison: Comparison, width: int, *, background: bool = False) -> RenderableType:
    """For a rich console; with the components of each background where they are asked for."""
    scenes = [scene_of(entry.explanation) for entry in comparison.entries]
    shown: list[RenderableType] = [terminal.sentence(comparison.pieces()), Text()]
    for difference in differences(comparison):
        shown += [Text(title_of(difference), "bold"), _different_pairs(difference), Text()]
    for entry, scene in zip(comparison.entries, scenes, strict=True):
        title = Text.assemble((printable(entry.name), "bold"), (f"   score {scene.score:.3f} · {facts(entry)}", "dim"))
        shown += [title, terminal.texts(scene), *(Text(note, "yellow") for note in scene.notes)]
        if background and scene.background:
            shown += [Text(" ".join(f"{part.name} {signed(part.value)}" for part in scene.background), "dim")]
        shown.append(Text())
    together, both = max(1, width // COLUMN), list(zip(comparison.entries, scenes, strict=True))
    for start in range(0, len(both), together):
        shown += [_top_pairs(both[start : start + together], width // together), Text()]
    if len(scenes) > 1:
        over = f"rank agreement (Spearman) / overlap of the top 10, over {comparison.pairs} pairs"
        shown += [Text(over, "bold"), _agreement(comparison)]
    return Group(*shown)


def fragment(comparison: Comparison) -> str:
    """What a notebook shows."""
    said, different, cards, agreement = (
        pieces(comparison)[name] for name in ("sentence", "differences", "cards", "tables")
    )
    return (
        f'<div class="whyalike"><style>{html.style()}{STYLE}</style><h1>{said}</h1>{different}<div class="cards">{cards}</div>'
        f"{agreement}</div>"
    )


def pieces(comparison: Comparison) -> dict[str, str]:
    """The parts of the picture as HTML: the sentence, the differences, a card for each explanation, how far they agree."""
    cards = "".join(_card(entry) for entry in comparison.entries)
    found, tables = differences(comparison), ""
    different = "".join(_html_difference(each) for each in found)
    if found:
        different += f'<p class="caption">{escape(SAID)}</p>'
        named = (
            (f"Rank agreement (Spearman) over {comparison.pairs} pairs", comparison.spearman),
            ("Overlap of the top 10 pairs", comparison.overlap()),
        )
        tables = "".join(f"<h3>{title}</h3>{_html_table(comparison, table)}" for title, table in named)
    return {
        "sentence": html.sentence(comparison.pieces()),
        "differences": different,
        "cards": cards,
        "tables": tables,
    }


def to_html(comparison: Comparison) -> str:
    """A page that works from disk, offline."""
    first = comparison.entries[0].explanation
    return html.page(f"{first.left.text[:60]} ↔ {first.right.text[:60]}", fragment(comparison))


def facts(entry: Entry) -> str:
    """Whether an explanation adds up, and how long it took."""
    e = entry.explanation
    if not e.method.adds_up:
        adds = "does not add up to the score"
    else:
        adds = (
            f"adds up (residual {abs(e.residual):.0e})" if e.adds_up else f"does not add up: {signed(e.residual)} left"
        )
    return f"{adds} · {entry.seconds:.2f} s"


def _different_pairs(difference: Difference) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("difference", *map(printable, difference.names)):
        table.add_column(Text(name), justify="right", max_width=24)
    table.add_column("pair")
    limit = limit_of(difference)
    for row in difference.top(DIFFERENT):
        table.add_row(
            Text(points(row.difference), terminal.style(colour(row.difference, limit))),
            percent(row.first),
            percent(row.second),
            Text(f"{printable(row.left)} ↔ {printable(row.right)}"),
        )
    return table


def _html_difference(difference: Difference) -> str:
    """The pairs that differ most, and the matrix in two colours."""
    limit, names = limit_of(difference), [escape(printable(name)) for name in difference.names]
    head = "".join(f'<th scope="col">{name}</th>' for name in ("difference", *names, "pair"))
    rows = "".join(
        f'<tr><td class="cell {shade_class(row.difference, limit)}">{points(row.difference)}</td>'
        f"<td>{percent(row.first)}</td><td>{percent(row.second)}</td>"
        f"<td><bdi>{escape(printable(row.left))}</bdi> ↔ <bdi>{escape(printable(row.right))}</bdi></td></tr>"
        for row in difference.top(DIFFERENT)
    )
    table = f'<table class="pairs"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    swatches = zip(("p12", "n12"), names, strict=True)
    legend = "".join(f'<span class="{shade}">more for {name}</span>' for shade, name in swatches)
    matrix = _html_matrix(grid_of(difference), limit)
    return f'<h2>{escape(title_of(difference))}</h2><div class="legend">{legend}</div>{table}{matrix}'


def _html_matrix(whole: Grid, limit: float) -> str:
    grid = strongest_words(whole, MATRIX)
    if not grid.rows or not grid.columns:
        return ""
    head = "".join(f'<th scope="col"><bdi>{escape(column.label)}</bdi></th>' for column in grid.columns)
    rows = "".join(
        f'<tr><th scope="row"><bdi>{escape(row.label)}</bdi></th>{_html_cells(values.tolist(), limit)}</tr>'
        for row, values in zip(grid.rows, grid.values, strict=True)
    )
    said = ""
    if grid is not whole:
        counts = f"{len(grid.rows)} of {len(whole.rows)} and {len(grid.columns)} of {len(whole.columns)}"
        said = f'<p class="caption">The words that differ most, in the order of the texts: {counts}.</p>'
    region = 'class="scroll" tabindex="0" role="group" aria-label="Differences"'
    table = f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<div {region}>{table}</div>{said}"


def _html_cells(values: Sequence[float], limit: float) -> str:
    return "".join(
        f'<td class="cell {shade_class(float(value), limit)}">{points(value) if abs(value) >= 0.005 else ""}</td>'
        for value in values
    )


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
        f'<p class="caption">score {scene.score:.3f} · {escape(facts(entry))}<br>{escape(scene.caption)}</p>'
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
