"""What an evaluation looks like, on its page and in the terminal."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

import whyalike
from tests.evaluation_pairs import PAIRS
from tests.families import tiny_encoder
from whyalike.evaluate.perturbation import EmbeddingPerturbation
from whyalike.evaluate.run import Evaluation, cases_of, evaluate
from whyalike.render.evaluation import picture, to_html


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert")


def test_a_page_works_alone_and_escapes_names(encoder: whyalike.Encoder) -> None:
    found = evaluate("balance", cases_of(PAIRS[:3]), encoder=encoder, subjects=["bilrp"], progress=False)
    name = "</script><script>alert(1)</script>"
    rows = tuple({**row, "subject": name} for row in found.rows)
    nasty = replace(found, rows=rows, table=({**found.table[0], "subject": name},))
    page = to_html(nasty)
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'src="http' not in page
    assert page.count("<body>") >= 1
    assert page.endswith("</body></html>")


def charts_in(page: str) -> list[dict[str, Any]]:
    """The charts of a page, as Vega-Lite has them."""
    specs, _ = json.JSONDecoder().raw_decode(page[page.index("const specs=") + len("const specs=") :])
    return list(specs.values())


def test_curves_are_drawn_over_the_share_of_tokens(encoder: whyalike.Encoder) -> None:
    measure = EmbeddingPerturbation(step=0.25)
    found = evaluate(measure, cases_of(PAIRS[:2]), encoder=encoder, subjects=["bilrp"], progress=False)
    _, curve = charts_in(to_html(found))
    values = curve["data"]["values"]
    assert [value["share"] for value in values] == [0, 0.25, 0.5, 0.75, 1]
    assert values[-1]["value"] == pytest.approx(0, abs=1e-5)  # all tokens are back


def test_stages_are_drawn_as_lines_and_compared_each_for_itself(encoder: whyalike.Encoder) -> None:
    cases = cases_of(PAIRS[:2])
    found = evaluate("randomization", cases, encoder=encoder, subjects=["bilrp", "exact_match"], progress=False)
    (chart,) = charts_in(to_html(found))
    values = chart["data"]["values"]
    assert {value["subject"] for value in values} == {"bilrp", "exact_match"}
    stages = list(dict.fromkeys(row["stage"] for row in found.rows))
    assert stages[-1] == "all weights"
    assert [(line["one"], line["other"]) for line in found.significance()] == [
        (f"bilrp, {stage}", f"exact_match, {stage}") for stage in stages
    ]


def test_names_are_shown_as_they_are(encoder: whyalike.Encoder) -> None:
    found = evaluate("balance", cases_of(PAIRS[:2]), encoder=encoder, subjects=["bilrp"], progress=False)
    name = "models/[v2]/[/old]"
    odd = replace(found, table=({**found.table[0], "subject": name},), notes=(name,))
    assert printed(odd, 200).count(name) == 2


def printed(found: Evaluation, width: int) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(picture(found, width))
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_narrow_terminal_breaks_no_number_and_no_word(encoder: whyalike.Encoder, width: int) -> None:
    subjects = ["integrated_jacobians@1+equal", "random"]
    found = evaluate("perturbation", cases_of(PAIRS[:3]), encoder=encoder, subjects=subjects, progress=False)
    shown = printed(found, width).split()
    assert shown.count("random") == {60: 3, 80: 2, 200: 1}[width]  # a line in each part of the table
    for line in found.table:
        for name, value in line.items():
            if isinstance(value, float) and not name.endswith("_deviation"):
                assert f"{value:.3f}".replace("-", "−") in shown
    assert {"faithfulness", "compr.", "terms", "pairs"} <= set(shown)
