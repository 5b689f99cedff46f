"""The command line on the embedded model, and what the pictures show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder, tiny_folder
from whyalike import render
from whyalike.cli import app, main
from whyalike.colours import NEGATIVE, PAGES, POSITIVE, STEPS, WHITE_INK, colour, contrast, ink, shade, shade_rules
from whyalike.render.scene import notes_of, scene_of
from whyalike.results.words import printable

PAIR = ("A man plays guitar.", "Someone makes music.")


def run(*arguments: str, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["whyalike", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0), capsys.readouterr().err


def test_explain_shows_the_matrix_and_the_pairs_adding_up() -> None:
    shown = run("explain", *PAIR)
    assert shown.startswith("0.541, moderately alike: mostly guitar ↔ music (40 %)")
    assert "+0.217  40 %  guitar  ↔  music" in shown
    assert "0.541 = 0.459 word pairs + 0.082 special tokens" in shown
    assert "background" not in shown


def test_a_background_is_one_part_and_its_components_are_shown_on_request(tmp_path: Path) -> None:
    asked = ("explain", *PAIR, "--set", "biases=apart", "--html", str(tmp_path / "e.html"))
    shown = run(*asked)
    assert "0.541 = 0.684 word pairs + 0.177 special tokens − 0.320 background" in shown
    assert "left terms" not in shown
    shown = run(*asked, "--background")
    assert [name in shown for name in ("left terms  −0.339", "right terms −0.189", "constant    +0.207")] == [True] * 3
    page = (tmp_path / "e.html").read_text()
    assert "<summary>background</summary>" in page
    e = whyalike.explain(*PAIR, method=whyalike.BiLRP(layer=0, biases="apart"))
    assert e.matrix.sum() + e.background == pytest.approx(e.score)
    assert e.to_dict()["background"] == e.background == pytest.approx(-0.320, abs=1e-3)


def test_json_is_the_explanation_and_loads_back(tmp_path: Path) -> None:
    printed = run("explain", *PAIR, "--json", "--by", "token", "--layer", "3", "--method", "token_outputs")
    fields = json.loads(printed)
    assert (fields["method"]["name"], fields["method"]["parameters"]["layer"]) == ("token_outputs", 3)
    (tmp_path / "e.json").write_text(printed)
    assert whyalike.load(tmp_path / "e.json").left.tokens[1] == "a"


def test_texts_come_from_files_and_standard_input(tmp_path: Path) -> None:
    (tmp_path / "left.txt").write_text(PAIR[0] + "\n")
    shown = run("explain", f"@{tmp_path / 'left.txt'}", "-", stdin=PAIR[1] + "\n")
    assert shown == run("explain", *PAIR)


def test_html_and_png_are_written(tmp_path: Path) -> None:
    run("explain", *PAIR, "--html", str(tmp_path / "e.html"), "--png", str(tmp_path / "e.png"))
    assert (tmp_path / "e.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    page = (tmp_path / "e.html").read_text()
    assert "guitar" in page
    assert "http" not in page.replace('http-equiv="Content', "")


def test_methods_and_models_are_listed() -> None:
    shown = run("methods")
    assert all(name in shown for name in whyalike.METHODS)
    assert "all-MiniLM-L6-v2" in run("models")


def test_a_model_is_named_as_models_lists_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tiny_folder(str(tmp_path))).rename(tmp_path / "my-model")
    monkeypatch.setenv("WHYALIKE_MODELS", str(tmp_path))
    assert "my-model" in [line.split()[0] for line in run("models").splitlines()]
    shown = json.loads(run("explain", "a dog", "a cat", "--model", "my-model", "--json"))
    assert shown["model"]["name"] == "my-model"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("explain", "a", "b", "--method", "magic"), 1, "There is no method 'magic'. Known: bilrp"),
        (("explain", "a", "b", "--layer", "7"), 1, "There is no layer 7 in 'all-MiniLM-L6-v2'"),
        (("explain", "a", "b", "--model", "./nowhere"), 1, "there is no folder './nowhere'"),
        (("explain", "@nowhere.txt", "b"), 1, "nowhere.txt cannot be read"),
        (("explain", "-", "-"), 1, "Only one of the texts can come from standard input"),
        (("explain", "word " * 300, "b"), 1, "reads at most 256. Shorten it, or pass --truncate"),
        (("explain", "a", "b", "--prompts", "x"), 1, "--prompts takes two names"),
        (("explain", "a", "b", "--html", "nowhere/x.html"), 1, "The folder of 'nowhere/x.html' does not exist"),
        (("explain", "a"), 2, "Missing argument 'right'"),
        (("explain", "a", "b", "--by", "letter"), 2, "Invalid value for '--by'"),
    ],
)
def test_bad_calls_get_one_clear_line(
    arguments: tuple[str, ...],
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    got, shown = fail(monkeypatch, capsys, *arguments)
    assert got == code
    assert message in " ".join(shown.replace("│", " ").split())
    assert "Traceback" not in shown


def test_truncation_and_missing_claims_are_shown() -> None:
    assert "The left text was cut: 46 of its tokens" in run("explain", "word " * 300, "b", "--truncate")
    assert "These values do not add up to the score, 0.541." in run("explain", *PAIR, "--method", "random")
    assert "integration error 0." in run("explain", *PAIR, "--method", "integrated_jacobians", "--layer", "5")


@pytest.mark.parametrize("statement", ["import whyalike", "from whyalike.cli import app", "import whyalike.render"])
def test_importing_takes_no_torch(statement: str) -> None:
    code = f"{statement}; import sys; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_hostile_text_is_inert_everywhere() -> None:
    hostile = "<script>alert(1)</script> \u202eevil\u202c \x1b[31m \"' </style> & music"
    e = whyalike.explain(hostile, RIGHT, encoder=tiny_encoder("bert", dtype=torch.float32)).by_word()
    page = render.to_html(e)
    assert "<script" not in page
    assert page.count("</style>") == 2  # the page's and the picture's own
    assert "\x1b" not in page
    shown = render.to_terminal(e, colours=False)
    assert "\x1b" not in shown
    assert "\u202e" not in shown + page.split("<body>")[1]
    render.to_figure(e).to_dict()
    for unit in ("word", "sentence"):
        picture = render.to_svg(e.by(unit))  # type: ignore[arg-type]
        tree = ElementTree.fromstring(picture)  # well-formed whatever the text
        assert "\u202e" not in picture
        assert not [node for node in tree.iter() if node.tag.endswith(("script", "img"))]


def test_every_medium_shows_the_same_scene() -> None:
    e = whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder("bert", dtype=torch.float32)).by_word()
    line = scene_of(e).closing
    assert line in render.to_terminal(e, width=160, colours=False)
    assert line in render.to_html(e)
    assert line in json.dumps(render.to_figure(e).to_dict(), ensure_ascii=False)
    assert e._repr_html_() in render.to_html(e)


def test_the_terminal_picture_is_stable() -> None:
    e = whyalike.explain("a man", "the dog", encoder=tiny_encoder("bert", dtype=torch.float32)).by_word().spread()
    lines = render.to_terminal(e, width=120, colours=False).splitlines()
    texts = lines.index("left   a man")
    assert lines[texts + 1].rstrip() == "right  the dog"
    assert lines[texts + 2].split()[:4] == ["raises", "the", "score", "lowers"]
    matrix = next(number for number, line in enumerate(lines) if line.split() == ["the", "dog"])
    assert [line.split()[0] for line in lines[matrix + 1 : matrix + 3]] == ["a", "man"]
    shown = render.to_terminal(e, width=120, colours=False, special_tokens=True)
    assert "left   [CLS] a man [SEP]" in shown


def test_colours_meet_at_zero_and_ink_stays_readable() -> None:
    assert colour(0.0, 1.0) == colour(-0.0, 1.0)
    assert colour(5.0, 1.0) == colour(1.0, 1.0) != colour(-1.0, 1.0)
    for value in (-1.0, -0.5, 0.0, 0.5, 1.0):
        back = colour(value, 1.0)
        assert abs(sum(back) / 3 - sum(ink(back)) / 3) > 70
    assert printable("a\x00b") == "a�b"
    assert printable("می\u200cخواهم") == "می\u200cخواهم"


@pytest.mark.parametrize("paper", [(255, 255, 255), (0x17, 0x18, 0x1A)], ids=["light", "dark"])
def test_words_can_be_read_on_every_shade(paper: tuple[int, int, int]) -> None:
    def luminance(colour: tuple[float, ...]) -> float:
        parts = [c / 255 / 12.92 if c / 255 <= 0.03928 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    ink = (0x1B,) * 3 if paper[0] > 100 else (0xEA,) * 3
    for value in np.linspace(-1, 1, 81):
        share, end = shade(float(value), 1.0)
        ground = tuple(p + (c - p) * share for p, c in zip(paper, end, strict=True))
        front = (255, 255, 255) if share > WHITE_INK else ink
        low, high = sorted((luminance(ground), luminance(front)))
        assert (high + 0.05) / (low + 0.05) >= 3.7, value  # no ink reaches WCAG's 4.5 on the middle of an orange


@pytest.mark.parametrize("scheme", PAGES)
def test_every_step_of_a_page_has_an_ink_that_can_be_read(scheme: str) -> None:
    rules = shade_rules()
    light, dark = rules.split("@media (prefers-color-scheme:dark)")
    inks = {"": PAGES[scheme][0], "#fff": (255, 255, 255), "#000": (0, 0, 0)}
    for letter, end in (("p", POSITIVE), ("n", NEGATIVE)):
        for step in range(1, STEPS + 1):
            given = re.search(rf"\.{letter}{step}{{[^}}]*;color:(#\w+)}}", light)
            other = re.search(rf"\.{letter}{step}{{color:(#\w+)}}", dark) if scheme == "dark" else None
            front = inks[(other or given)[1] if (other or given) else ""]
            for paper in PAGES[scheme][1]:
                ground = tuple(round(p + (c - p) * step / STEPS) for p, c in zip(paper, end, strict=True))
                assert contrast(front, ground) >= 4.5, (letter, step)


def test_a_text_may_begin_with_an_at_sign() -> None:
    assert "left   @bob thanks" in run("explain", "@@bob thanks", "music")


def test_parts_far_larger_than_the_score_are_said_to_cancel() -> None:
    e = whyalike.explain(*PAIR, encoder=tiny_encoder("bert"))
    assert not any("cancel" in note for note in notes_of(e))
    matrix = e.matrix.copy()
    matrix[0, 0], matrix[1, 1] = 20.0, -20.0
    (note,) = [note for note in notes_of(replace(e, matrix=matrix)) if "cancel" in note]
    assert note.startswith("The token pairs are ")
    assert note.endswith("times as large as the score and cancel, so single pairs say little. Use a later layer.")
