r"""The matrix of an explanation as LaTeX: a TikZ picture to \input, as papers print it, with the sum below."""

from __future__ import annotations

import unicodedata

from whyalike.colours import NEGATIVE, POSITIVE, WHITE_INK, Colour, shade
from whyalike.errors import BadInput
from whyalike.render.scene import Grid, Heading, Scene, scene_of
from whyalike.results.explanation import Explanation
from whyalike.results.numbers import cell

WIDEST = 40  # rows or columns
LONGEST = 24  # characters of a word or sentence
NUMBERED = 16  # columns: more leave no room for numbers
ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "−": "$-$",
    "↔": r"$\leftrightarrow$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "…": r"\dots{}",
    "[": "{[}",  # may stand where LaTeX looks for an option
    "]": "{]}",
}
HEAD = r"""% A word-pair matrix. In the preamble of your paper: \usepackage{tikz}. Then \input{FILE},
% or, as wide as a column, \resizebox{\columnwidth}{!}{\input{FILE}}.
% Alone: pdflatex '\documentclass{article}\usepackage{tikz}\pagestyle{empty}\begin{document}\input{FILE}\end{document}'
"""
OTHER_SCRIPTS = (
    "% Words in other scripts than Latin need lualatex or xelatex, and a font that has them (\\usepackage{fontspec}).\n"
)


def to_tex(explanation: Explanation) -> str:
    r"""LaTeX code to \input: the matrix, its cells coloured, those that round to 0.00 blank; below it the sum.

    Raises:
        BadInput: The matrix has more than 40 rows or columns.
    """
    scene = scene_of(explanation)
    grid = scene.grid
    if max(grid.values.shape) > WIDEST:
        raise BadInput(
            f"The matrix is {len(grid.rows)} by {len(grid.columns)}, too large for a table (at most {WIDEST} each way). "
            "Explain by sentence, or save it as .pdf or .csv."
        )
    if not grid.rows:
        raise BadInput("There is no pair to print: no word was matched. Save it as .json or .csv.")
    lines = [
        *(_define(name, colour) for name, colour in (("whyalikeraises", POSITIVE), ("whyalikelowers", NEGATIVE))),
        rf"\begin{{tikzpicture}}[x={_cell_width(grid):g}em,y=1.5em,inner sep=0pt,font=\small]",
        *_headings(grid),
        *_cells(scene),
        *_sum(scene),
        r"\end{tikzpicture}",
    ]
    body = "".join(f"{line}%\n" if line.startswith(r"\definecolor") else f"{line}\n" for line in lines)
    return HEAD + _about(scene) + body


def escape_tex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(ESCAPED.get(character, character) for character in text)


def _about(scene: Scene) -> str:
    """The finding and how it was made, as comments: whatever stands in the texts ends with the line."""
    said = [str(scene.finding), scene.caption, *scene.notes]
    words = "".join(heading.label for heading in (*scene.grid.rows, *scene.grid.columns))
    other = any(letter.isalpha() and not unicodedata.name(letter, "").startswith("LATIN") for letter in words)
    return "".join(f"% {' '.join(line.split())}\n" for line in said) + (OTHER_SCRIPTS if other else "")


def _define(name: str, colour: Colour) -> str:
    return rf"\definecolor{{{name}}}{{RGB}}{{{','.join(map(str, colour))}}}"


def _cell_width(grid: Grid) -> float:
    return 2.9 if len(grid.columns) <= NUMBERED else 1.5


def _headings(grid: Grid) -> list[str]:
    columns = [
        rf"\node[anchor=west,rotate=60] at ({number + 0.5:g},0.75) {{{_label(column)}}};"
        for number, column in enumerate(grid.columns)
    ]
    rows = [rf"\node[anchor=east] at (-0.12,{-number:g}) {{{_label(row)}}};" for number, row in enumerate(grid.rows)]
    return columns + rows


def _label(heading: Heading) -> str:
    short = heading.label if len(heading.label) <= LONGEST else heading.label[: LONGEST - 1].rstrip() + "…"
    label = rf"\strut {escape_tex(' '.join(short.split()))}"
    return label if heading.kind == "text" else rf"\itshape {label}"


def _cells(scene: Scene) -> list[str]:
    found, numbered = [], len(scene.grid.columns) <= NUMBERED
    for m, values in enumerate(scene.grid.values):
        for n, value in enumerate(values):
            share, end = shade(float(value), scene.limit)
            percent = round(100 * share)
            text = cell(float(value))
            if percent:
                name = "whyalikeraises" if end == POSITIVE else "whyalikelowers"
                corners = f"({n + 0.02:g},{-m - 0.48:g}) rectangle ({n + 0.98:g},{-m + 0.48:g})"
                found.append(rf"\fill[{name}!{percent}] {corners};")
            if text and numbered:
                ink = "white" if share > WHITE_INK else "black"
                number = text.replace("−", "-")
                found.append(rf"\node[{ink},font=\scriptsize] at ({n + 0.5:g},{-m:g}) {{${number}$}};")
    return found


def _sum(scene: Scene) -> list[str]:
    low = -len(scene.grid.rows) - 0.1
    return [rf"\node[anchor=north west] at (0,{low + 0.5:g}) {{\strut {escape_tex(scene.closing)}}};"]
