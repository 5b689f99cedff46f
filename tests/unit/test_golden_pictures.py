"""Pictures of our own sentences equal what is stored.

After a change that is meant: `python -m tests.unit.test_golden_pictures`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import whyalike
from whyalike.language.words import sentence_spans, word_spans
from whyalike.results.comparison import Comparison, Entry
from whyalike.results.explanation import Explanation
from whyalike.results.matching import Match, Matching
from whyalike.results.records import MethodRecord, ModelRecord

GOLDEN = Path(__file__).parents[1] / "golden"
MODEL = ModelRecord("golden", "cosine", "mean", 2, 8, 64, "0123456789abcdef")


def side(text: str) -> whyalike.Side:
    words = word_spans(text)
    sentences = sentence_spans(text)
    inside = [next(n for n, (start, end) in enumerate(sentences) if start <= word[0] < end) for word in words]
    return whyalike.Side(
        text=text,
        unit="word",
        tokens=("[CLS]", *(text[start:end] for start, end in words), "[SEP]"),
        kinds=("special", *["text"] * len(words), "special"),
        offsets=np.array([(0, 0), *words, (0, 0)]),
        word_of=np.array([-1, *range(len(words)), -1]),
        sentence_of=np.array([-1, *inside, -1]),
    )


def explanation(left: str, right: str, seed: int = 0, method: str = "bilrp") -> Explanation:
    """Values that depend on nothing but a seed."""
    sides = side(left), side(right)
    draw = np.random.default_rng(seed)
    matrix = np.round(draw.normal(0, 0.05, (len(sides[0]), len(sides[1]))), 4)
    terms = [np.round(draw.normal(0, 0.02, len(each)), 4) for each in sides]
    total = float(matrix.sum() + terms[0].sum() + terms[1].sum()) + 0.125
    return Explanation(*sides, matrix, *terms, 0.125, total, MethodRecord(method, {"layer": 0}, True), MODEL)


def _pair(method: str) -> Explanation:
    return explanation("A man plays guitar.", "Someone makes music.", len(method), method)


def matched() -> Explanation:
    e = explanation("Warm gloves for the winter.", "Gloves that keep hands warm.", method="bti")
    found = [(2, 1, 0.9, 0.81), (1, 5, 0.8, 0.4)]
    matrix = np.zeros_like(e.matrix)
    for row, column, _, score in found:
        matrix[row, column] = score
    matches = tuple(
        Match(e.left.tokens[row], e.right.tokens[column], row, column, similarity, score, number, "both")
        for number, (row, column, similarity, score) in enumerate(found)
    )
    saliency = [np.linspace(0, 1, len(each)) for each in (e.left, e.right)]
    return Explanation(
        e.left,
        e.right,
        matrix,
        e.left_terms * 0,
        e.right_terms * 0,
        0.0,
        0.5,
        MethodRecord("bti", {"layer": "embeddings"}, False),
        MODEL,
        matching=Matching(*saliency, matches, (0.81, 0.4), 2, 0.5),
    )


LONG = " ".join(f"Sentence number {number} says that the weather was fine and the road was dry." for number in range(6))
SCENES: dict[str, Callable[[], whyalike.render.Shown]] = {
    "plain": lambda: explanation("A man plays guitar.", "Someone makes music."),
    "scripts": lambda: explanation("קול גדול במבט אל העיר 猫とネズミ", "سلام <b>&\"'</b>", 1),
    "matched": matched,
    "long": lambda: explanation(LONG, "It rained.", 2),
    "compared": lambda: Comparison(tuple(Entry(name, _pair(name), 0.25) for name in ("bilrp", "other"))),
    "contrast": lambda: whyalike.Contrast(
        explanation("guitar music", "A man plays guitar.", 3), explanation("guitar music", "A man plays chess.", 4)
    ),
}
TABLES = ("plain", "scripts", "matched")  # as LaTeX


def drawn(name: str) -> dict[str, str]:
    shown = SCENES[name]()
    found = {
        f"{name}.txt": whyalike.render.to_terminal(shown, width=110, colours=False),
        f"{name}.html": whyalike.render.to_html(shown).replace("><", ">\n<"),
        f"{name}.svg": whyalike.render.to_svg(shown).replace("><", ">\n<"),
    }
    if name in TABLES:
        found[f"{name}.tex"] = whyalike.render.to_tex(shown)  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("name", SCENES)
def test_pictures_equal_what_is_stored(name: str) -> None:
    for file, text in drawn(name).items():
        assert text == (GOLDEN / file).read_text(encoding="utf-8"), f"{file} has changed"


@pytest.mark.parametrize("name", ["plain", "matched", "long", "scripts"])
def test_images_are_twice_the_size_of_their_drawing_and_have_something_on_them(name: str) -> None:
    explanation = SCENES[name]()
    assert isinstance(explanation, Explanation)
    image = whyalike.render.to_png(explanation)
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    size = re.search(r'width="(\d+)" height="(\d+)"', whyalike.render.to_svg(explanation))
    assert size is not None
    assert struct.unpack(">II", image[16:24]) == tuple(2 * int(number) for number in size.groups())
    assert len(image) > 10_000


def test_a_drawing_too_tall_for_an_image_is_refused() -> None:
    e = explanation("word " * 6000, "word")
    with pytest.raises(whyalike.errors.BadInput, match="too large for an image"):
        whyalike.render.to_png(e)


def test_a_long_text_is_shown_sentence_by_sentence() -> None:
    page = whyalike.render.to_html(SCENES["long"]())
    assert page.count('<details class="sentence">') == page.count('<rect class="ground"') == 6
    assert "<summary>all pairs</summary>" in page


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for scene in SCENES:
        for file, text in drawn(scene).items():
            (GOLDEN / file).write_text(text, encoding="utf-8")
