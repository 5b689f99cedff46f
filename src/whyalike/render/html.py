"""An explanation as HTML: one self-contained page without script, or a fragment for notebooks. All text is escaped.

From top to bottom: how alike and because of what, in a sentence; the two texts; what the colours mean; the strongest pairs; all
pairs; the sum; how it was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from html import escape

import numpy as np

from whyalike.colours import NEGATIVE, POSITIVE, shade_class, shade_rules
from whyalike.render import terms
from whyalike.render.html_text import text
from whyalike.render.legend import LOWERS, RAISES, explain_colours
from whyalike.render.scene import Heading, PairLine, Part, Scene, scene_of
from whyalike.render.svg import texts_with_links
from whyalike.results.explanation import Explanation
from whyalike.results.finding import Piece, shorten
from whyalike.results.numbers import cell, plain, signed
from whyalike.results.words import printable

LINKED = 40  # units; between longer texts links are a thicket
WIDE = 40  # a larger matrix is folded away
OPENED = 4  # pairs shown below a sentence of a long text
MOST_CELLS, MOST_CELLS_OF_A_PAGE = 1_600, 40_000  # of a matrix that is drawn in a notebook, and on a page

STYLE = """
.whyalike{font:15px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;padding:1rem;max-width:72rem}
.whyalike h1{overflow-wrap:anywhere;font-size:1.15rem;font-weight:400;margin:0 0 .2rem}.whyalike h1 b{font-weight:700}
.whyalike h2{font-size:1rem;margin:1.2rem 0 .3rem}
.whyalike .caption,.whyalike .soft{color:#5c5c5c}.whyalike .caption{margin:0 0 1rem}
.whyalike .legend{display:flex;flex-wrap:wrap;gap:.3rem 1rem;align-items:baseline;font-size:.9rem;margin:.6rem 0}
.whyalike .legend span{border-radius:.2rem;padding:.05rem .4rem}
.whyalike .line{margin:.6rem 0;overflow-wrap:anywhere}.whyalike .word{padding:.05rem .1rem;border-radius:.2rem}
.whyalike .written{white-space:pre-wrap;line-height:1.9}.whyalike .unread{color:#6a6a6a;font-style:italic}
.whyalike .mapped{display:flex;gap:.8rem;align-items:flex-start}.whyalike .mapped .written{flex:1;min-width:0}
.whyalike .map{position:sticky;top:.5rem;flex:none}.whyalike .map .ground{fill:#8a8a8a;fill-opacity:.18}
.whyalike .badge{font-size:.72em;border-radius:.6rem;padding:.05rem .35rem;margin:0 .2rem;white-space:nowrap;
outline:1px solid #8a8a8a66}
.whyalike summary.badge{display:inline;cursor:pointer;list-style:none}.whyalike details.sentence{display:inline}
.whyalike details.sentence:not([open])::details-content{display:none}.whyalike details.sentence[open]{display:block}
.whyalike .panel{margin:.2rem 0 .6rem;padding:.3rem .6rem;border-left:3px solid #8a8a8a66}
.whyalike :is(.special,.prompt,.expansion,.skipped){font-style:italic;outline:1px dashed #8a8a8a;outline-offset:-1px}
.whyalike .links{overflow-x:auto}.whyalike .links svg{max-width:100%;min-width:40rem;height:auto}
.whyalike .scroll{overflow-x:auto;margin:1rem 0}.whyalike table{border-collapse:separate;border-spacing:1px}
.whyalike td.cell{min-width:3.4rem;text-align:right;padding:.1rem .4rem;font-variant-numeric:tabular-nums;border-radius:.15rem}
.whyalike th{font-weight:500;padding:.1rem .4rem;text-align:right;max-width:14rem;overflow-wrap:break-word}
.whyalike .pairs th{text-align:left;color:#5c5c5c;overflow-wrap:normal}
.whyalike th:is(.special,.prompt,.expansion,.skipped){outline:none;color:#6a6a6a}
.whyalike .bar{vertical-align:middle}
.whyalike .sum{font-weight:600;margin:.6rem 0}.whyalike .note{color:#8a4b00}
.whyalike table.parts{margin-top:1rem}.whyalike .parts td,.whyalike .pairs td{padding:.05rem .6rem;text-align:left}
.whyalike .pairs bdi{overflow-wrap:anywhere}.whyalike h1,.whyalike h2{overflow-wrap:anywhere}
@media (max-width:640px){.whyalike .bar{width:3rem}.whyalike .parts td{padding:.05rem .3rem}}
@media (prefers-color-scheme:dark){.whyalike{color:#eaeaea;background:#17181a}
.whyalike .caption,.whyalike .soft,.whyalike .unread{color:#a8a8a8}
.whyalike .note{color:#f0b25a}.whyalike .pairs th{color:#a8a8a8}
.whyalike th:is(.special,.prompt,.expansion,.skipped){color:#a0a0a0}}
"""


def style() -> str:
    """The style sheet of a picture that stands alone."""
    return STYLE + shade_rules()


PAGE_STYLE = "body{margin:0;background:#fff}@media (prefers-color-scheme:dark){body{background:#17181a}}"


def to_html(explanation: Explanation) -> str:
    """A page that works from disk, offline."""
    return page(
        f"{explanation.left.text[:60]} ↔ {explanation.right.text[:60]}",
        fragment(explanation, most_cells=MOST_CELLS_OF_A_PAGE),
    )


def page(title: str, body: str) -> str:
    """A body with a head around it that lets nothing in from outside."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(printable(title))}</title><style>{PAGE_STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def fragment(explanation: Explanation, *, compact: bool = False, most_cells: int = MOST_CELLS) -> str:
    """The picture alone, with its style: what a notebook shows. Compact, without headings, where it is one of many.

    A matrix of more than ``most_cells`` cells is left out, and the picture says so.
    """
    scene = scene_of(explanation)
    drawn = body(scene, folded=compact, most_cells=most_cells)
    drawn += terms.section(explanation)
    return f'<div class="whyalike"><style>{style()}</style>{"" if compact else heading(scene)}{drawn}</div>'


def heading(scene: Scene) -> str:
    """The finding, and what scores mean for this model."""
    scale = f'<p class="caption">{escape(scene.scale)}</p>' if scene.scale else ""
    return f"<h1>{sentence(scene.finding.pieces())}</h1>{scale}"


def sentence(pieces: Iterable[Piece]) -> str:
    """A finding as HTML; words of the texts are bold."""
    return "".join(
        f"<b><bdi>{escape(printable(piece.text))}</bdi></b>" if piece.emphasised else escape(piece.text)
        for piece in pieces
    )


def body(scene: Scene, *, folded: bool = False, most_cells: int = MOST_CELLS) -> str:
    """All of a scene below its headings; the matrix folded away where there is little room."""
    short = not folded and max(len(scene.left), len(scene.right)) <= LINKED
    texts = _linked(scene) if short else both_texts(scene)
    matrix = matrix_of(scene, most_cells)
    if matrix and (folded or max(scene.grid.values.shape) > WIDE):
        matrix = f"<details><summary>all pairs</summary>{matrix}</details>"
    return (
        f"{texts}{legend(scene)}{matches(scene) if scene.matches else pairs(scene.pairs, scene.limit)}{matrix}"
        f'{parts(scene, brief=folded)}<p class="sum">{escape(scene.closing)}</p>{notes(scene)}{made(scene)}'
    )


def _linked(scene: Scene) -> str:
    """Both texts and their links; where there is little room they scroll, also by keyboard."""
    return f'<div class="links" tabindex="0" role="group" aria-label="The texts">{texts_with_links(scene)}</div>'


def matrix_of(scene: Scene, most_cells: int) -> str:
    """The heat map, or why it is not here."""
    rows, columns = scene.grid.values.shape
    if rows * columns <= most_cells:
        return _matrix(scene)
    return (
        f'<p class="caption">The matrix of {rows} × {columns} is too large to be shown here. '
        "Save it as .csv or .parquet, or look at it by sentence.</p>"
    )


def legend(scene: Scene) -> str:
    """What the colours and the numbers mean."""
    return (
        f'<div class="legend"><span class="p12">{RAISES}</span><span class="n12">{LOWERS}</span>'
        f"<small>{escape(explain_colours(scene))}</small></div>"
    )


def notes(scene: Scene) -> str:
    return "".join(f'<p class="note">{escape(note)}</p>' for note in scene.notes)


def made(scene: Scene) -> str:
    """Model, method, layer and similarity."""
    return f'<p class="caption made">{escape(scene.caption)}</p>'


def both_texts(scene: Scene, *, tag: str = "bdi") -> str:
    """Both texts, as they are written."""
    panels = [None, None] if scene.matched else [partial(_strongest, scene), partial(_strongest, scene, swapped=True)]
    sides = zip(("left", "right"), (scene.left, scene.right), scene.unread, panels, strict=True)
    return "".join(
        text(name, words, scene.word_limit, tag=tag, unread=unread, panel=panel) for name, words, unread, panel in sides
    )


def _strongest(scene: Scene, members: Sequence[int], swapped: bool = False) -> str:
    """The strongest pairs that words of a sentence have with the other text."""
    chosen = list(members)
    block = scene.cells[:, chosen] if swapped else scene.cells[chosen]
    order = np.argsort(-block, axis=None, kind="stable")[:OPENED]
    lines = []
    for row, column in (map(int, np.unravel_index(flat, block.shape)) for flat in order):
        i, j = (row, chosen[column]) if swapped else (chosen[row], column)
        value = float(block[row, column])
        share = None if scene.finding.whole is None else value / scene.finding.whole
        lines.append(PairLine(scene.left[i].label, scene.right[j].label, value, 1, share))
    return pairs(lines, scene.limit)


def _heading(heading: Heading, scope: str) -> str:
    return f'<th scope="{scope}" class="{heading.kind}"><bdi>{escape(heading.label)}</bdi></th>'


def _matrix(scene: Scene) -> str:
    grid = scene.grid
    if not grid.rows:
        return ""
    head = "".join(_heading(column, "col") for column in grid.columns)
    rows = []
    for row, values in zip(grid.rows, grid.values, strict=True):
        cells = "".join(
            _cell(float(value), scene.limit, row, column) for column, value in zip(grid.columns, values, strict=True)
        )
        rows.append(f"<tr>{_heading(row, 'row')}{cells}</tr>")
    table = f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="All pairs">{table}</div>'


def _cell(value: float, limit: float, row: Heading, column: Heading) -> str:
    title = f"{escape(row.label)} ↔ {escape(column.label)}: {signed(value, 5)}"
    place = f'data-row="{row.number}" data-column="{column.number}"'
    return f'<td class="cell {shade_class(value, limit)}" {place} title="{title}">{cell(value)}</td>'


def pairs(lines: Sequence[PairLine], limit: float) -> str:
    """The strongest pairs, with their shares of the score."""
    shares = any(line.share is not None for line in lines)
    rows = "".join(
        f'<tr><td class="cell {shade_class(line.value, limit)}">{signed(line.value)}</td>'
        + (f'<td class="share">{percent(line.share)}</td>' if shares else "")
        + f"<td><bdi>{escape(shorten(line.left))}</bdi> ↔ <bdi>{escape(shorten(line.right))}</bdi>{_times(line)}</td></tr>"
        for line in lines
    )
    heads = ("adds", "share", "pair") if shares else ("adds", "pair")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f'<table class="pairs"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>' if rows else ""


def percent(share: float | None) -> str:
    return "" if share is None else plain(100 * share, 0) + " %"


def _times(line: PairLine) -> str:
    return f' <span class="soft">×{line.times}</span>' if line.times > 1 else ""


def matches(scene: Scene) -> str:
    rows = "".join(
        f'<tr><td class="cell {shade_class(match.score, scene.limit)}">{signed(match.score)}</td>'
        f"<td><bdi>{escape(match.left)}</bdi> ↔ <bdi>{escape(match.right)}</bdi></td>"
        f"<td>{match.similarity:.2f}</td><td>{match.cluster + 1}</td></tr>"
        for match in scene.matches
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("score", "matched words", "similar", "cluster"))
    return f'<table class="pairs"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def parts(scene: Scene, *, brief: bool) -> str:
    if not scene.parts:
        return ""
    opened = () if brief else scene.background
    more = f"<details><summary>background</summary>{_bars(opened, brief)}</details>" if opened else ""
    return _bars(scene.parts, brief) + more


def _bars(parts: tuple[Part, ...], brief: bool) -> str:
    most = max(abs(part.value) for part in parts) or 1.0
    rows, whole = [], 96 if brief else 256
    for part in parts:
        width = whole * abs(part.value) / most
        meaning = "" if brief else f"<td>{escape(part.meaning)}</td>"
        full = "rgb({},{},{})".format(*(POSITIVE if part.value >= 0 else NEGATIVE))
        rect = f'<rect width="{width:.0f}" height="12" rx="2" fill="{full}"/>'
        box = f'width="{whole}" height="12" viewBox="0 0 {whole} 12" preserveAspectRatio="none"'
        bar = f'<svg class="bar" {box}>{rect}</svg>'
        rows.append(f"<tr><td>{escape(part.name)}</td><td>{signed(part.value)}</td><td>{bar}</td>{meaning}</tr>")
    return f'<table class="parts">{"".join(rows)}</table>'


def pieces(scene: Scene) -> dict[str, str]:
    """The parts of a picture as HTML, for a page that puts them in places of its own and adds behaviour."""
    return {
        "sentence": sentence(scene.finding.pieces()),
        "words": both_texts(scene, tag="button"),
        "legend": legend(scene),
        "pairs": matches(scene) if scene.matches else pairs(scene.pairs, scene.limit),
        "parts": parts(scene, brief=False),
        "matrix": matrix_of(scene, MOST_CELLS_OF_A_PAGE),
        "notes": notes(scene),
    }
