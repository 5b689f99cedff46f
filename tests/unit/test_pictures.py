"""Pictures as SVG, PNG, PDF and LaTeX: what is on them, where links run, layouts, refusals."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import whyalike
from tests.unit.test_golden_pictures import explanation, matched
from whyalike.cli import app
from whyalike.render import to_html, to_pdf, to_png, to_svg, to_terminal, to_tex
from whyalike.render.contrast import lines, rows, sum_line
from whyalike.render.drawing import Span, paragraph
from whyalike.render.heat_map import draw_heat_map, strongest_words
from whyalike.render.latex import escape_tex
from whyalike.render.linked_texts import HIGH, NAME, WIDEST_LINK, place_words, route
from whyalike.render.scene import scene_of
from whyalike.render.type_metrics import split_scripts, text_width
from whyalike.results.comparison import Comparison, Entry
from whyalike.results.explanation import Explanation

PAIR = explanation("A man plays guitar.", "Someone makes music.")
MANY = explanation(
    "On Sunday a young man with a red hat was playing the old guitar on the small stage by the river.",
    "After the rain somebody had begun to make music for a large crowd of friendly people who were dancing.",
    5,
)
LONG = explanation("The weather was fine, and the road was dry. " * 12, "It rained on every second day of May. " * 9, 6)
CONTRAST = whyalike.Contrast(
    explanation("guitar music", "A man plays guitar.", 3), explanation("guitar music", "A man plays chess.", 4)
)


def compared(*matrices: np.ndarray) -> Comparison:
    """Explanations of the same pair with these values between the words of the two texts."""
    entries = []
    for number, values in enumerate(matrices, 1):
        matrix = np.zeros_like(PAIR.matrix)
        matrix[1:-1, 1:-1] = values
        entries.append(Entry(f"m{number}", replace(PAIR, matrix=matrix), 0.1))
    return Comparison(tuple(entries))


def cells(**values: float) -> np.ndarray:
    """A table over ``A man plays guitar .`` and ``Someone makes music .``, such as ``guitar_music=2``."""
    left, right = ["A", "man", "plays", "guitar", "."], ["Someone", "makes", "music", "."]
    table = np.zeros((len(left), len(right)))
    for name, value in values.items():
        one, other = name.split("_")
        table[left.index(one), right.index(other)] = value
    return table


# What is on a picture


@pytest.mark.parametrize("layout", ["full", "slide"])
def test_a_picture_says_how_alike_then_because_of_what_then_how_it_was_made(layout: str) -> None:
    drawn = to_svg(MANY, layout=layout)
    texts = ["".join(node.itertext()) for node in ElementTree.fromstring(drawn).iter() if node.tag.endswith("text")]
    first = {text: number for number, text in reversed(list(enumerate(texts)))}
    assert str(MANY.finding).startswith(texts[0].strip())
    order = [first[text] for text in ("left", "right", "golden · bilrp at layer 0 · cosine")]
    assert order == sorted(order)
    assert first["raises the score"] > first["right"]


def test_a_column_has_the_texts_and_the_matrix_and_no_title() -> None:
    drawn = re.sub("<title>.*?</title>", "", to_svg(PAIR, layout="column"))
    assert ">guitar<" in drawn
    assert "%" not in re.sub(r'width="100%"|height="100%"', "", drawn)
    assert "word pairs" not in drawn


def test_cells_that_round_to_zero_are_blank() -> None:
    scene = scene_of(PAIR)
    small = int((np.abs(scene.grid.values) < 0.005).sum())
    drawn = draw_heat_map(scene.grid.rows, scene.grid.columns, scene.grid.values, scene.limit, 14.0, 900.0).body
    assert small > 0
    assert len(re.findall(r">[+−]0\.\d\d<", drawn)) == scene.grid.values.size - small
    assert "0.00<" not in drawn


def test_of_long_texts_the_matrix_shows_the_words_with_the_strongest_pairs_and_says_so() -> None:
    scene = scene_of(LONG)
    grid = strongest_words(scene.grid, 30)
    assert grid.values.shape == (30, 30)
    largest = np.abs(scene.grid.values).max(1)
    kept = {row.number for row in grid.rows}
    assert min(largest[list(kept)]) >= max(np.delete(largest, list(kept)))
    assert [row.number for row in grid.rows] == sorted(kept)
    counts = f"30 of {len(scene.left)} and 30 of {len(scene.right)}."
    assert counts in "".join(ElementTree.fromstring(to_svg(LONG)).itertext())


def test_light_and_dark_are_drawn_on_paper_and_otherwise_the_reader_decides() -> None:
    assert 'fill="#17181a"' in to_svg(PAIR, dark=True)
    assert 'fill="#fff"/><g' in to_svg(PAIR, dark=False).replace("</rect>", "")
    free = to_svg(PAIR)
    assert "prefers-color-scheme:dark" in free
    assert '<rect width="100%"' not in free
    assert to_png(PAIR, dark=True) != to_png(PAIR)


def test_hostile_texts_are_inert_in_every_layout_and_result() -> None:
    bad = explanation("<script>alert(1)</script> \u202eevil \x1b[31m", "]]> &amp; \"' <b>", 2)
    shown = [bad, Comparison((Entry("<b>\x1b", bad, 0.1), Entry("\u202e]]>", upside_down(bad), 0.1)))]
    shown.append(whyalike.Contrast(bad, bad))
    for each in shown:
        for layout in ("full", "slide", "column"):
            drawn = to_svg(each, layout=layout)
            tree = ElementTree.fromstring(drawn)
            assert not [node for node in tree.iter() if node.tag.endswith(("script", "}b"))]
            assert not {"\u202e", "\x1b"} & set(drawn)


def upside_down(e: Explanation) -> Explanation:
    return replace(e, matrix=e.matrix[::-1].copy())


# Links


@pytest.mark.parametrize("width", [200.0, 320.0, 640.0])
@pytest.mark.parametrize("texts", [(MANY, "ltr"), (explanation("سلام " * 14, "שלום " * 11, 3), "rtl")])
def test_links_cross_no_word_however_the_texts_wrap(texts: tuple[Explanation, str], width: float) -> None:
    scene, size = scene_of(texts[0], pairs=40), 14.0
    left = place_words(scene.left, size, width, top=0.0, start=NAME * size, linked=True)
    right = place_words(scene.right, size, width, top=left.bottom + 60, start=NAME * size, linked=True)
    boxes, reach = (*left.boxes, *right.boxes), WIDEST_LINK * size / 2
    assert left.lines > 1 or width > 600
    for start in left.boxes:
        for end in right.boxes:
            corners = route(left, right, start, end)
            assert corners[0][1] == start.y + HIGH * size
            assert corners[-1] == (end.middle, end.y)
            for x, y in _follow(corners):
                hit = [b for b in boxes if b.x - reach < x < b.x + b.width + reach and b.y < y < b.y + HIGH * size]
                assert not hit, (start, end, x, y)


def _follow(corners: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points of a link: a curve between lines, a straight line through a gap, and so on."""
    points = []
    for number, ((x, y), (to_x, to_y)) in enumerate(pairwise(corners)):
        for t in np.linspace(0.02, 0.98, 25):
            if number % 2:
                points.append((x + (to_x - x) * t, y + (to_y - y) * t))
                assert x == to_x
            else:
                bend, s = (y + to_y) / 2, 1 - t
                points.append(
                    (
                        s**3 * x + 3 * s * s * t * x + 3 * s * t * t * to_x + t**3 * to_x,
                        s**3 * y + 3 * s * s * t * bend + 3 * s * t * t * bend + t**3 * to_y,
                    )
                )
    return points


def test_a_line_does_not_begin_with_what_belongs_to_the_word_before() -> None:
    scene = scene_of(MANY)
    for width in range(150, 500, 10):
        placed = place_words(scene.left, 14.0, float(width), top=0.0, start=0.0, linked=True)
        starts = [box for box in placed.boxes if box.x == 0.0]
        assert all(box.word.gap or box is placed.boxes[0] for box in starts), width


# Text


def test_text_is_measured_as_arial_is_and_squares_are_squares() -> None:
    assert text_width("guitar", 1000.0) == 556 + 556 + 222 + 278 + 556 + 333
    assert text_width("é", 1000.0) == text_width("e", 1000.0)
    assert text_width("音乐", 10.0) == text_width("音乐", 10.0, bold=True) == 20
    assert text_width("a", 10.0, bold=True) > text_width("a", 10.0)


def test_each_script_is_a_run_of_its_own() -> None:
    assert [tuple(run) for run in split_scripts("كتاب جديد ↔ book ×2")] == [
        ("other", "كتاب جديد"),
        ("latin", " ↔ book ×2"),
    ]
    assert [run.script for run in split_scripts("吉 ↔ 奏 音")] == ["wide", "latin", "wide"]
    assert "".join(run.text for run in split_scripts("a 猫 ب!")) == "a 猫 ب!"
    assert split_scripts("") == []


def test_paragraphs_keep_to_their_width_and_keep_numbers_with_their_sign() -> None:
    spans = [Span("mostly "), Span("guitar ↔ music", bold=True), Span(" (34 %), little (5 %); and more. " * 4)]
    for width in range(120, 400, 7):
        block = paragraph(spans, 14.0, float(width))
        assert block.width <= width
        said = ["".join(node.itertext()) for node in ElementTree.fromstring(f"<g>{block.body}</g>")]
        assert not [line for line in said if re.match(r"[%;,.)]", line.strip())]
        assert "".join(said).split() == "".join(span.text for span in spans).split()


# Layouts


@pytest.mark.parametrize("shown", [PAIR, LONG, matched(), CONTRAST, compared(cells(A_makes=1), cells(guitar_music=1))])
def test_layouts_have_their_sizes_in_every_format(shown: whyalike.render.Shown) -> None:
    assert 'viewBox="0 0 1280 720" width="1280" height="720"' in to_svg(shown, layout="slide")
    assert ' width="321.6" ' in to_svg(shown, layout="column")
    assert struct.unpack(">II", to_png(shown, layout="slide")[16:24]) == (1920, 1080)
    assert struct.unpack(">I", to_png(shown, layout="column")[16:20]) == (1005,)  # 300 dots per inch
    for layout, width in (("slide", b"960"), ("column", b"241.2")):
        document = to_pdf(shown, layout=layout)
        assert b"/MediaBox [0 0 " + width + b" " in document
        assert b"/FontFile" in document  # embedded
    assert float(re.search(r' width="([\d.]+)"', to_svg(shown))[1]) <= 960  # type: ignore[index]


def test_what_does_not_fit_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(whyalike.errors.UnknownName, match="There is no layout 'poster'. Known: full, slide, column"):
        to_svg(PAIR, layout="poster")
    with pytest.raises(whyalike.errors.BadInput, match="too long for a slide. Use the layout full"):
        to_svg(explanation("word " * 900, "other " * 900), layout="slide")
    with pytest.raises(
        whyalike.errors.BadInput, match=r"layout and dark are for .svg, .png, .pdf; e.json ends in '.json'"
    ):
        PAIR.save(tmp_path / "e.json", layout="slide")
    with pytest.raises(whyalike.errors.BadInput, match=r"c.tex ends in '.tex'; Contrast can be saved as .json, .csv"):
        CONTRAST.save(tmp_path / "c.tex")
    ran = CliRunner().invoke(app, ["explain", "a", "b", "--layout", "slide"])
    assert "--layout has no effect without --png, --svg or --pdf" in str(ran.exception)
    ran = CliRunner().invoke(app, ["contrast", "a", "b", "c", "--dark"])
    assert "--dark has no effect without" in str(ran.exception)
    assert not list(tmp_path.iterdir())


def test_every_result_is_saved_as_every_picture(tmp_path: Path) -> None:
    begins = {".html": b"<!doctype html>", ".svg": b"<svg ", ".png": b"\x89PNG", ".pdf": b"%PDF-"}
    for number, shown in enumerate((PAIR, CONTRAST, compared(cells(A_makes=1), cells(A_makes=2)))):
        for ending, head in begins.items():
            assert shown.save(tmp_path / f"{number}{ending}").read_bytes().startswith(head)
    assert "\\begin{tikzpicture}" in PAIR.save(tmp_path / "e.tex").read_text()
    slide = PAIR.save(tmp_path / "slide.svg", layout="slide", dark=True).read_text()
    assert 'width="1280"' in slide
    assert "#17181a" in slide


# LaTeX


def test_words_are_escaped_for_latex() -> None:
    assert escape_tex(r"100% of {a_b} & $5 #1 ~ ^ \x <y> |z| [q]") == (
        r"100\% of \{a\_b\} \& \$5 \#1 \textasciitilde{} \textasciicircum{} \textbackslash{}x "
        r"\textless{}y\textgreater{} \textbar{}z\textbar{} {[}q{]}"
    )
    code = to_tex(explanation("a\nb% \\end{tikzpicture} $x$", "c_d & #2"))
    body = "\n".join(line for line in code.splitlines() if not line.startswith("%"))
    assert body.count(r"\end{tikzpicture}") == 1
    assert r"\strut \textbackslash{}" in body
    assert not re.search(r"(?<!\\)[#&_]", body)
    assert all(line.startswith(("%", "\\")) for line in code.splitlines())


def test_the_latex_matrix_has_its_cells_colours_and_sum() -> None:
    scene, code = scene_of(PAIR), to_tex(PAIR)
    large = int((np.abs(scene.grid.values) >= 0.005).sum())
    assert len(re.findall(r"\{\$[+-]0\.\d\d\$\};", code)) == large
    assert r"\definecolor{whyalikeraises}{RGB}{179,88,6}%" in code
    assert "0.159 = $-$0.221 word pairs + 0.112 special tokens" in code
    assert "lualatex" not in code
    assert "lualatex" in to_tex(explanation("猫", "cat"))
    with pytest.raises(
        whyalike.errors.BadInput, match="too large for a table .at most 40 each way.. Explain by sentence"
    ):
        to_tex(LONG)


# What one sees and the other does not


def test_a_difference_is_of_shares_of_all_sizes() -> None:
    one, other = cells(guitar_music=3, plays_makes=-1), cells(guitar_music=1, A_Someone=1)
    found = compared(one, other).difference()
    for row, values in enumerate(found.matrix):  # literally, cell by cell
        for column, value in enumerate(values):
            assert value == pytest.approx(one[row, column] / 4 - other[row, column] / 2)
    assert found.overlap == pytest.approx(1 - (0.25 + 0.25 + 0.5) / 2)
    assert [(pair.left, pair.right) for pair in found.top(1)] == [("A", "Someone")]
    assert found.top()[0].difference == pytest.approx(-0.5)
    assert compared(one, one).difference().top() == []
    with pytest.raises(whyalike.errors.BadInput, match="There is no entry 2: this comparison has 2"):
        compared(one, other).difference(0, 2)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            (cells(guitar_music=6, plays_music=3, man_makes=1), cells(guitar_music=6, A_Someone=4)),
            "Both see guitar ↔ music (60 % and 60 %); only m1 sees plays ↔ music (30 %); only m2 sees A ↔ Someone (40 %); "
            "in all, 60 % of what they say is the same.",
        ),
        (
            (cells(guitar_music=1), cells(plays_makes=1)),
            "They see no pair in common; only m1 sees guitar ↔ music (100 %); only m2 sees plays ↔ makes (100 %); "
            "in all, 0 % of what they say is the same.",
        ),
        (
            (cells(guitar_music=5, plays_makes=5), cells(guitar_music=5, plays_makes=-5)),
            "Both see guitar ↔ music (50 % and 50 %); only m1 sees plays ↔ makes (50 %); they disagree on whether the score is "
            "raised by plays ↔ makes (50 % and −50 %); in all, 50 % of what they say is the same.",
        ),
        (
            (cells(guitar_music=1), cells(guitar_music=3, A_makes=1), cells(guitar_music=1, man_music=1)),
            "All 3 see guitar ↔ music (50 % to 100 %); only m2 sees A ↔ makes (25 %); only m3 sees man ↔ music (50 %).",
        ),
        ((cells(), cells(guitar_music=1)), "They see no pair in common; only m2 sees guitar ↔ music (100 %); "
         "in all, 50 % of what they say is the same."),
    ],
)  # fmt: skip
def test_the_sentence_says_what_all_see_and_what_only_one_sees(tables: tuple[np.ndarray, ...], sentence: str) -> None:
    found = compared(*tables)
    assert found.sentence == sentence
    assert found.to_dict()["sentence"] == sentence
    for text in (to_terminal(found, width=400, colours=False), re.sub("<[^>]*>", "", to_html(found))):
        assert sentence in text


def test_a_comparison_of_one_says_what_its_explanation_says() -> None:
    assert (
        compared(cells(guitar_music=0.5)).sentence == compared(cells(guitar_music=0.5)).entries[0].explanation.sentence
    )


# Contrasts


def test_special_tokens_and_background_are_a_row_each_and_all_rows_add_up() -> None:
    found = rows(CONTRAST, background=True)
    assert [row.name for row in found if row.apart] == ["special tokens", "background"]
    assert {word.kind for _, words in lines(CONTRAST) for word in words} == {"text"}
    assert sum(row.difference for row in found) == pytest.approx(CONTRAST.difference)
    assert "special tokens" in sum_line(CONTRAST)
    total = sum(float(number.replace("−", "-").replace(" ", "")) for number in re.findall(
        r"([+−] ?[\d.]+) (?:words|special|background)", sum_line(CONTRAST)))  # fmt: skip
    assert total == pytest.approx(CONTRAST.difference, abs=2e-3)
