"""An explanation as HTML: one self-contained page without script, or a fragment for notebooks. All text is escaped."""

from __future__ import annotations

from html import escape

from whyalike.explanation import Explanation
from whyalike.render.scene import Colour, Scene, Word, colour, ink, printable, scene_of

STYLE = """
.whyalike{font:15px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;padding:1rem;max-width:72rem}
.whyalike h1{font-size:1.15rem;margin:0 0 .2rem}.whyalike .caption{color:#5c5c5c;margin:0 0 1rem}
.whyalike .text{margin:.3rem 0;overflow-wrap:anywhere}.whyalike .word{padding:.05rem .25rem;border-radius:.2rem;margin:0 .05rem}
.whyalike .special,.whyalike .prompt{font-style:italic;outline:1px dashed #8a8a8a;outline-offset:-1px}
.whyalike .scroll{overflow-x:auto;margin:1rem 0}.whyalike table{border-collapse:separate;border-spacing:1px}
.whyalike td.cell{min-width:3.4rem;text-align:right;padding:.1rem .4rem;font-variant-numeric:tabular-nums;border-radius:.15rem}
.whyalike th{font-weight:500;padding:.1rem .4rem;text-align:right;max-width:14rem;overflow-wrap:anywhere}
.whyalike th.special,.whyalike th.prompt{outline:none;color:#6a6a6a}
.whyalike .bar{display:inline-block;height:.8em;vertical-align:middle;border-radius:.15rem}
.whyalike .sum{font-weight:600;margin:.6rem 0}.whyalike .note{color:#8a4b00}
.whyalike table.parts{margin-top:1rem}.whyalike .parts td,.whyalike .pairs td{padding:.05rem .6rem;text-align:left}
@media (prefers-color-scheme:dark){.whyalike{color:#eaeaea;background:#17181a}.whyalike .caption{color:#a8a8a8}
.whyalike .note{color:#f0b25a}.whyalike th.special,.whyalike th.prompt{color:#a0a0a0}}
"""

PAGE_STYLE = "body{margin:0;background:#fff}@media (prefers-color-scheme:dark){body{background:#17181a}}"


def to_html(explanation: Explanation) -> str:
    """A page that works from disk, offline."""
    left, right = (escape(printable(side.text[:60])) for side in (explanation.left, explanation.right))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{left} ↔ {right}</title><style>{PAGE_STYLE}</style></head><body>{fragment(explanation)}</body></html>\n"
    )


def fragment(explanation: Explanation) -> str:
    """The picture alone, with its style: what a notebook shows."""
    scene = scene_of(explanation)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in scene.notes)
    return (
        f'<div class="whyalike"><style>{STYLE}</style><h1>score {scene.score:.3f}</h1>'
        f'<p class="caption">{escape(scene.caption)}</p>{_texts(scene)}{_matrix(scene)}{_pairs(scene)}{_parts(scene)}'
        f'<p class="sum">{escape(scene.sum_line)}</p>{notes}</div>'
    )


def _css(background: Colour) -> str:
    front = ink(background)
    return f"background:rgb{background};color:rgb{front}".replace(" ", "")


def _texts(scene: Scene) -> str:
    lines = []
    for name, words in (("left", scene.left), ("right", scene.right)):
        shown = " ".join(
            f'<bdi class="word {word.kind}" style="{_css(colour(word.value, scene.word_limit))}" '
            f'title="{word.value:+.4f}">{escape(word.label)}</bdi>'
            for word in words
        )
        lines.append(f'<p class="text"><small>{name}</small> {shown}</p>')
    return "".join(lines)


def _heading(word: Word, scope: str) -> str:
    return f'<th scope="{scope}" class="{word.kind}"><bdi>{escape(word.label)}</bdi></th>'


def _matrix(scene: Scene) -> str:
    head = "".join(_heading(word, "col") for word in scene.right)
    rows = []
    for word, values in zip(scene.left, scene.cells, strict=True):
        cells = "".join(
            f'<td class="cell" style="{_css(colour(float(value), scene.limit))}" '
            f'title="{escape(word.label)} ↔ {escape(other.label)}: {value:+.5f}">{value:+.2f}</td>'
            for other, value in zip(scene.right, values, strict=True)
        )
        rows.append(f"<tr>{_heading(word, 'row')}{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr><td></td>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _pairs(scene: Scene) -> str:
    rows = "".join(
        f'<tr><td class="cell" style="{_css(colour(pair.value, scene.limit))}">{pair.value:+.3f}</td>'
        f"<td><bdi>{escape(printable(pair.left))}</bdi> ↔ <bdi>{escape(printable(pair.right))}</bdi></td></tr>"
        for pair in scene.pairs
    )
    return f'<table class="pairs">{rows}</table>'


def _parts(scene: Scene) -> str:
    most = max(abs(part.value) for part in scene.parts) or 1.0
    rows = []
    for part in scene.parts:
        width, shade = 16 * abs(part.value) / most, colour(part.value, abs(part.value) or 1.0)
        bar = f'<span class="bar" style="width:{width:.2f}rem;background:rgb{shade}"></span>'
        rows.append(f"<tr><td>{part.name}</td><td>{part.value:+.3f}</td><td>{bar}</td><td>{part.meaning}</td></tr>")
    return f'<table class="parts">{"".join(rows)}</table>'
