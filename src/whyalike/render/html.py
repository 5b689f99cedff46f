"""An explanation as HTML: one self-contained page without script, or a fragment for notebooks. All text is escaped."""

from __future__ import annotations

from html import escape
from itertools import groupby

from whyalike.colours import NEGATIVE, POSITIVE, shade_class, shade_rules
from whyalike.render.numbers import cell, signed
from whyalike.render.scene import Heading, Part, Scene, scene_of
from whyalike.render.svg import texts_with_links
from whyalike.results.explanation import Explanation
from whyalike.results.words import Word, direction, printable

LINKED = 40  # units; between longer texts links are a thicket
LONG = 80  # words; a longer text is shown sentence by sentence
WIDE = 40  # a larger matrix is folded away
MOST_CELLS, MOST_CELLS_OF_A_PAGE = 1_600, 40_000  # of a matrix that is drawn in a notebook, and on a page

STYLE = """
.whyalike{font:15px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;padding:1rem;max-width:72rem}
.whyalike h1{font-size:1.15rem;margin:0 0 .2rem}.whyalike .caption{color:#5c5c5c;margin:0 0 1rem}
.whyalike .line{margin:.3rem 0;overflow-wrap:anywhere}.whyalike .word{padding:.05rem .25rem;border-radius:.2rem;margin:0 .05rem}
.whyalike .special,.whyalike .prompt{font-style:italic;outline:1px dashed #8a8a8a;outline-offset:-1px}
.whyalike details.sentence{margin:.2rem 0}
.whyalike details.sentence summary{cursor:pointer;padding:.1rem .4rem;border-radius:.2rem}
.whyalike .links{overflow-x:auto}.whyalike .links svg{max-width:100%;height:auto}
.whyalike .scroll{overflow-x:auto;margin:1rem 0}.whyalike table{border-collapse:separate;border-spacing:1px}
.whyalike td.cell{min-width:3.4rem;text-align:right;padding:.1rem .4rem;font-variant-numeric:tabular-nums;border-radius:.15rem}
.whyalike th{font-weight:500;padding:.1rem .4rem;text-align:right;max-width:14rem;overflow-wrap:anywhere}
.whyalike .pairs th{text-align:left;color:#5c5c5c;overflow-wrap:normal}
.whyalike th.special,.whyalike th.prompt{outline:none;color:#6a6a6a}
.whyalike .bar{vertical-align:middle}
.whyalike .sum{font-weight:600;margin:.6rem 0}.whyalike .note{color:#8a4b00}
.whyalike table.parts{margin-top:1rem}.whyalike .parts td,.whyalike .pairs td{padding:.05rem .6rem;text-align:left}
@media (prefers-color-scheme:dark){.whyalike{color:#eaeaea;background:#17181a}.whyalike .caption{color:#a8a8a8}
.whyalike .note{color:#f0b25a}.whyalike .pairs th{color:#a8a8a8}
.whyalike th.special,.whyalike th.prompt{color:#a0a0a0}}
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
        f"<title>{escape(printable(title))}</title><style>{PAGE_STYLE}</style></head><body>{body}</body></html>\n"
    )


def fragment(explanation: Explanation, *, compact: bool = False, most_cells: int = MOST_CELLS) -> str:
    """The picture alone, with its style: what a notebook shows. Compact, without headings, where it is one of many.

    A matrix of more than ``most_cells`` cells is left out, and the picture says so.
    """
    scene = scene_of(explanation)
    head = f'<h1>score {scene.score:.3f}</h1><p class="caption">{escape(scene.caption)}</p>'
    drawn = body(scene, folded=compact, most_cells=most_cells)
    return f'<div class="whyalike"><style>{style()}</style>{"" if compact else head}{drawn}</div>'


def body(scene: Scene, *, folded: bool = False, most_cells: int = MOST_CELLS) -> str:
    """All of a scene below its headings; the matrix folded away where there is little room."""
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in scene.notes)
    rows, columns = scene.grid.values.shape
    if rows * columns > most_cells:
        return _assembled(scene, _too_large(scene), notes, folded)
    matrix = _matrix(scene)
    if matrix and (folded or max(scene.grid.values.shape) > WIDE):
        matrix = f"<details><summary>all pairs</summary>{matrix}</details>"
    return _assembled(scene, matrix, notes, folded)


def _too_large(scene: Scene) -> str:
    rows, columns = scene.grid.values.shape
    return (
        f'<p class="caption">The matrix of {rows} × {columns} is too large to be shown here. '
        "Save it as .csv or .parquet, or look at it by sentence.</p>"
    )


def _assembled(scene: Scene, matrix: str, notes: str, folded: bool) -> str:
    short = not folded and max(len(scene.left), len(scene.right)) <= LINKED
    texts = f'<div class="links">{texts_with_links(scene)}</div>' if short else _texts(scene)
    return (
        f"{texts}{matrix}{_matches(scene) if scene.matches else _pairs(scene)}{_parts(scene, brief=folded)}"
        f'<p class="sum">{escape(scene.closing)}</p>{notes}'
    )


def _texts(scene: Scene) -> str:
    both = (("left", scene.left), ("right", scene.right))
    return "".join(text(name, words, scene.word_limit) for name, words in both)


def text(name: str, words: tuple[Word, ...], limit: float, *, tag: str = "bdi") -> str:
    """A text with its words coloured, behind its name; a long one sentence by sentence, each to be opened.

    With ``tag="button"`` words can be pointed at; each has its number.
    """
    runs = [_word(word, number, limit, tag) for number, word in enumerate(words)]
    if len(words) <= LONG or len({word.sentence for word in words}) < 3:
        return f'<div class="line" dir="{direction(words)}"><small>{escape(name)}</small> {" ".join(runs)}</div>'
    groups = [list(members) for _, members in groupby(range(len(words)), key=lambda number: words[number].sentence)]
    totals = [sum(words[number].value for number in members) for members in groups]
    most = max(map(abs, totals)) or 1.0
    folded = "".join(
        f'<details class="sentence"><summary class="{shade_class(total, most)}" title="{signed(total, 4)}">'
        f"<bdi>{escape(' '.join(words[number].label for number in members))}</bdi></summary>"
        f"{' '.join(runs[number] for number in members)}</details>"
        for members, total in zip(groups, totals, strict=True)
    )
    heading = f"<small>{escape(name)}, sentence by sentence: open one to see its words</small>"
    return f'<div class="line" dir="{direction(words)}">{heading}{folded}</div>'


def _word(word: Word, number: int, limit: float, tag: str) -> str:
    role = f' type="button" dir="auto" aria-pressed="false" data-index="{number}"' if tag == "button" else ""
    return (
        f'<{tag}{role} class="word {word.kind} {shade_class(word.value, limit)}" title="{signed(word.value, 4)}">'
        f"{escape(word.label)}</{tag}>"
    )


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
    return f'<div class="scroll"><table><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _cell(value: float, limit: float, row: Heading, column: Heading) -> str:
    title = f"{escape(row.label)} ↔ {escape(column.label)}: {signed(value, 5)}"
    place = f'data-row="{row.number}" data-column="{column.number}"'
    return f'<td class="cell {shade_class(value, limit)}" {place} title="{title}">{cell(value)}</td>'


def _pairs(scene: Scene) -> str:
    rows = "".join(
        f'<tr><td class="cell {shade_class(pair.value, scene.limit)}">{signed(pair.value)}</td>'
        f"<td><bdi>{escape(pair.left)}</bdi> ↔ <bdi>{escape(pair.right)}</bdi></td></tr>"
        for pair in scene.pairs
    )
    return f'<table class="pairs">{rows}</table>'


def _matches(scene: Scene) -> str:
    rows = "".join(
        f'<tr><td class="cell {shade_class(match.score, scene.limit)}">{signed(match.score)}</td>'
        f"<td><bdi>{escape(match.left)}</bdi> ↔ <bdi>{escape(match.right)}</bdi></td>"
        f"<td>{match.similarity:.2f}</td><td>{match.cluster + 1}</td></tr>"
        for match in scene.matches
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("score", "matched words", "similar", "cluster"))
    return f'<table class="pairs"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _parts(scene: Scene, *, brief: bool) -> str:
    if not scene.parts:
        return ""
    more = f"<details><summary>background</summary>{_bars(scene.background, brief)}</details>" if not brief else ""
    return _bars(scene.parts, brief) + more


def _bars(parts: tuple[Part, ...], brief: bool) -> str:
    most = max(abs(part.value) for part in parts) or 1.0
    rows = []
    for part in parts:
        width = (96 if brief else 256) * abs(part.value) / most
        meaning = "" if brief else f"<td>{escape(part.meaning)}</td>"
        full = "rgb({},{},{})".format(*(POSITIVE if part.value >= 0 else NEGATIVE))
        rect = f'<rect width="{width:.0f}" height="12" rx="2" fill="{full}"/>'
        bar = f'<svg class="bar" width="{width:.0f}" height="12">{rect}</svg>'
        rows.append(f"<tr><td>{escape(part.name)}</td><td>{signed(part.value)}</td><td>{bar}</td>{meaning}</tr>")
    return f'<table class="parts">{"".join(rows)}</table>'


def pieces(scene: Scene) -> dict[str, str]:
    """The parts of a picture as HTML, for a page that puts them in places of its own and adds behaviour."""
    both = (("left", scene.left), ("right", scene.right))
    large = scene.grid.values.size > MOST_CELLS_OF_A_PAGE
    return {
        "words": "".join(text(name, words, scene.word_limit, tag="button") for name, words in both),
        "pairs": _matches(scene) if scene.matches else _pairs(scene),
        "parts": _parts(scene, brief=False),
        "matrix": _too_large(scene) if large else _matrix(scene),
        "notes": "".join(f'<p class="note">{escape(note)}</p>' for note in scene.notes),
    }
