"""An explanation as HTML: one self-contained page without script, or a fragment for notebooks. All text is escaped."""

from __future__ import annotations

from html import escape
from itertools import groupby

from whyalike.explanation import Explanation
from whyalike.render.scene import WHITE_INK, Heading, Part, Scene, Word, direction, printable, scene_of, shade
from whyalike.render.svg import texts_with_links

LINKED = 40  # units; between longer texts links are a thicket
LONG = 80  # words; a longer text is shown sentence by sentence
WIDE = 40  # a larger matrix is folded away

STYLE = """
.whyalike{font:15px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;padding:1rem;max-width:72rem}
.whyalike h1{font-size:1.15rem;margin:0 0 .2rem}.whyalike .caption{color:#5c5c5c;margin:0 0 1rem}
.whyalike .text{margin:.3rem 0;overflow-wrap:anywhere}.whyalike .word{padding:.05rem .25rem;border-radius:.2rem;margin:0 .05rem}
.whyalike .special,.whyalike .prompt{font-style:italic;outline:1px dashed #8a8a8a;outline-offset:-1px}
.whyalike details.sentence{margin:.2rem 0}
.whyalike details.sentence summary{cursor:pointer;padding:.1rem .4rem;border-radius:.2rem}
.whyalike .links{overflow-x:auto}.whyalike .links svg{max-width:100%;height:auto}
.whyalike .scroll{overflow-x:auto;margin:1rem 0}.whyalike table{border-collapse:separate;border-spacing:1px}
.whyalike td.cell{min-width:3.4rem;text-align:right;padding:.1rem .4rem;font-variant-numeric:tabular-nums;border-radius:.15rem}
.whyalike th{font-weight:500;padding:.1rem .4rem;text-align:right;max-width:14rem;overflow-wrap:anywhere}
.whyalike .pairs th{text-align:left;color:#5c5c5c;overflow-wrap:normal}
.whyalike th.special,.whyalike th.prompt{outline:none;color:#6a6a6a}
.whyalike .bar{display:inline-block;height:.8em;vertical-align:middle;border-radius:.15rem}
.whyalike .sum{font-weight:600;margin:.6rem 0}.whyalike .note{color:#8a4b00}
.whyalike table.parts{margin-top:1rem}.whyalike .parts td,.whyalike .pairs td{padding:.05rem .6rem;text-align:left}
@media (prefers-color-scheme:dark){.whyalike{color:#eaeaea;background:#17181a}.whyalike .caption{color:#a8a8a8}
.whyalike .note{color:#f0b25a}.whyalike .pairs th{color:#a8a8a8}
.whyalike th.special,.whyalike th.prompt{color:#a0a0a0}}
"""

PAGE_STYLE = "body{margin:0;background:#fff}@media (prefers-color-scheme:dark){body{background:#17181a}}"


def to_html(explanation: Explanation) -> str:
    """A page that works from disk, offline."""
    return page(f"{explanation.left.text[:60]} ↔ {explanation.right.text[:60]}", fragment(explanation))


def page(title: str, body: str) -> str:
    """A body with a head around it that lets nothing in from outside."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(printable(title))}</title><style>{PAGE_STYLE}</style></head><body>{body}</body></html>\n"
    )


def fragment(explanation: Explanation, *, compact: bool = False) -> str:
    """The picture alone, with its style: what a notebook shows. Compact, without headings, where it is one of many."""
    scene = scene_of(explanation)
    head = f'<h1>score {scene.score:.3f}</h1><p class="caption">{escape(scene.caption)}</p>'
    return f'<div class="whyalike"><style>{STYLE}</style>{"" if compact else head}{body(scene, folded=compact)}</div>'


def body(scene: Scene, *, folded: bool = False) -> str:
    """All of a scene below its headings; the matrix folded away where there is little room."""
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in scene.notes)
    matrix = _matrix(scene)
    if matrix and (folded or max(scene.grid.values.shape) > WIDE):
        matrix = f"<details><summary>all pairs</summary>{matrix}</details>"
    short = not folded and max(len(scene.left), len(scene.right)) <= LINKED
    texts = f'<div class="links">{texts_with_links(scene)}</div>' if short else _texts(scene)
    return (
        f"{texts}{matrix}{_matches(scene) if scene.matches else _pairs(scene)}{_parts(scene, brief=folded)}"
        f'<p class="sum">{escape(scene.closing)}</p>{notes}'
    )


def css(value: float, limit: float) -> str:
    """See-through, so that the page's own paper shows, light or dark."""
    share, (red, green, blue) = shade(value, limit)
    ink = ";color:#fff" if share > WHITE_INK else ""
    return f"background:rgba({red},{green},{blue},{share:.3f}){ink}"


def _texts(scene: Scene) -> str:
    return "".join(
        text(name, words, scene.word_limit) for name, words in (("left", scene.left), ("right", scene.right))
    )


def text(name: str, words: tuple[Word, ...], limit: float) -> str:
    """A text with its words coloured, behind its name; a long one sentence by sentence, each to be opened."""
    if len(words) <= LONG or len({word.sentence for word in words}) < 3:
        return f'<p class="text" dir="{direction(words)}"><small>{name}</small> {_run(words, limit)}</p>'
    sentences = [tuple(members) for _, members in groupby(words, key=lambda word: word.sentence)]
    totals = [sum(word.value for word in members) for members in sentences]
    most = max(map(abs, totals)) or 1.0
    folded = "".join(
        f'<details class="sentence"><summary style="{css(total, most)}" title="{total:+.4f}">'
        f"<bdi>{escape(' '.join(word.label for word in members))}</bdi></summary>{_run(members, limit)}</details>"
        for members, total in zip(sentences, totals, strict=True)
    )
    heading = f"<small>{name}, sentence by sentence: open one to see its words</small>"
    return f'<div class="text" dir="{direction(words)}">{heading}{folded}</div>'


def _run(words: tuple[Word, ...], limit: float) -> str:
    return " ".join(
        f'<bdi class="word {word.kind}" style="{css(word.value, limit)}" '
        f'title="{word.value:+.4f}">{escape(word.label)}</bdi>'
        for word in words
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
            _cell(float(value), scene.limit, f"{row.label} ↔ {column.label}")
            for column, value in zip(grid.columns, values, strict=True)
        )
        rows.append(f"<tr>{_heading(row, 'row')}{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _cell(value: float, limit: float, pair: str) -> str:
    title = f"{escape(pair)}: {value:+.5f}"
    return f'<td class="cell" style="{css(value, limit)}" title="{title}">{value:+.2f}</td>'


def _pairs(scene: Scene) -> str:
    rows = "".join(
        f'<tr><td class="cell" style="{css(pair.value, scene.limit)}">{pair.value:+.3f}</td>'
        f"<td><bdi>{escape(pair.left)}</bdi> ↔ <bdi>{escape(pair.right)}</bdi></td></tr>"
        for pair in scene.pairs
    )
    return f'<table class="pairs">{rows}</table>'


def _matches(scene: Scene) -> str:
    rows = "".join(
        f'<tr><td class="cell" style="{css(match.score, scene.limit)}">{match.score:+.3f}</td>'
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
        width, tint = (6 if brief else 16) * abs(part.value) / most, css(part.value or 1.0, abs(part.value) or 1.0)
        meaning = "" if brief else f"<td>{part.meaning}</td>"
        bar = f'<span class="bar" style="width:{width:.2f}rem;{tint}"></span>'
        rows.append(f"<tr><td>{part.name}</td><td>{part.value:+.3f}</td><td>{bar}</td>{meaning}</tr>")
    return f'<table class="parts">{"".join(rows)}</table>'
