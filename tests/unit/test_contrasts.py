"""Why one text rather than another: the difference falls apart over all three texts, and adds up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import whyalike
from tests.families import tiny_encoder
from whyalike.cli import app

QUERY, A, B = "The old man plays guitar.", "Someone makes music.", "A dog runs under the house!"


@pytest.fixture(scope="module")
def bert() -> whyalike.Encoder:
    return tiny_encoder("bert")


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("method", ["bilrp", "integrated_jacobians", "token_outputs"])
def test_the_difference_falls_apart_over_the_query_and_over_both_texts(method: str, similarity: str) -> None:
    encoder = tiny_encoder("bert", similarity=similarity)
    for unit in ("token", "word", "sentence"):
        found = whyalike.contrast(QUERY, A, B, encoder=encoder, method=method, unit=unit)  # type: ignore[arg-type]
        alone = [whyalike.explain(QUERY, text, encoder=encoder, method=method).score for text in (A, B)]
        assert found.difference == pytest.approx(alone[0] - alone[1])
        assert found.query_values.sum() + found.query_background == pytest.approx(found.difference, abs=1e-9)
        sides = [side.values.sum() + side.background for side in (found.a_side, found.b_side)]
        assert sides[0] - sides[1] == pytest.approx(found.difference, abs=1e-9)
        assert found.adds_up
        assert found.query.unit == unit


def test_a_words_part_is_its_rows_and_terms_in_both(bert: whyalike.Encoder) -> None:
    found = whyalike.contrast(QUERY, A, B, encoder=bert, unit="word")
    a, b = (whyalike.explain(QUERY, text, encoder=bert, unit="word") for text in (A, B))
    expected = a.matrix.sum(1) + a.left_terms - b.matrix.sum(1) - b.left_terms
    np.testing.assert_allclose(found.query_values, expected, atol=1e-12)
    np.testing.assert_allclose(found.a_side.values, a.matrix.sum(0) + a.right_terms, atol=1e-12)
    assert found.top(1)[0][1] == pytest.approx(expected.max())
    np.testing.assert_allclose(found.swapped().query_values, -expected, atol=1e-12)


def test_what_does_not_belong_together_is_refused(bert: whyalike.Encoder) -> None:
    a, b = (whyalike.explain(QUERY, text, encoder=bert) for text in (A, B))
    with pytest.raises(whyalike.errors.BadInput, match="same query on the left"):
        whyalike.Contrast(a, b.swapped())
    with pytest.raises(whyalike.errors.BadInput, match="by one method"):
        whyalike.Contrast(a, whyalike.explain(QUERY, B, encoder=bert, layer=1))
    with pytest.raises(whyalike.errors.BadInput, match="by one model"):
        whyalike.Contrast(a, replace(b, model=replace(b.model, fingerprint="another")))
    with pytest.raises(whyalike.errors.BadInput, match="does not add up"):
        whyalike.contrast(QUERY, A, B, encoder=bert, method="bti")


def test_pictures_show_the_sum_and_escape_the_words(bert: whyalike.Encoder) -> None:
    found = whyalike.contrast(QUERY, A, B, encoder=bert, unit="word")
    nasty = "<script>[/b]\x1b\u202e"
    query = found.query
    query = replace(
        query, tokens=(nasty, *query.tokens[1:]), kinds=("text", *query.kinds[1:]), offsets=query.offsets * 0
    )
    sides = [replace(e, left=query) for e in (found.a, found.b)]
    contrast = whyalike.Contrast(*sides)
    page, drawn = whyalike.render.to_html(contrast), whyalike.render.to_terminal(contrast, width=160, colours=False)
    svg = whyalike.render.to_svg(contrast)
    ElementTree.fromstring(svg)  # well-formed whatever the text
    assert contrast._repr_html_() in page
    for text in (page, drawn, svg):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "words of the query" in text
        assert "guitar" in text
    assert "<script" not in page + svg
    assert "&lt;script&gt;" in page
    assert "[/b]" in drawn


def test_what_was_cut_is_said(bert: whyalike.Encoder) -> None:
    found = whyalike.contrast(QUERY, A, "dog " * 80, encoder=bert, unit="word", truncate=True)
    for drawn in (whyalike.render.to_html(found), whyalike.render.to_terminal(found, colours=False)):
        assert "B: The right text was cut" in drawn


def test_the_command_prints_the_picture_or_json_and_writes_the_page(tmp_path: Path) -> None:
    base = ["contrast", "guitar music", "A man plays guitar.", "A man plays chess."]
    files = [str(tmp_path / f"why.{kind}") for kind in ("html", "svg", "png", "pdf")]
    pictures = [part for file in files for part in (f"--{file.rsplit('.')[-1]}", file)]
    ran = CliRunner().invoke(app, [*base, *pictures, "--layout", "slide", "--set", "biases=apart", "--background"])
    assert ran.exit_code == 0, ran.output
    assert "background" in ran.stdout
    assert 'width="1280" height="720"' in (tmp_path / "why.svg").read_text()
    assert (tmp_path / "why.pdf").read_bytes()[:5] == b"%PDF-"
    assert (tmp_path / "why.png").read_bytes()[:4] == b"\x89PNG"
    assert ran.stdout.startswith("A scores higher by 0.")
    assert "guitar" in (tmp_path / "why.html").read_text()
    ran = CliRunner().invoke(app, [*base, "--json", "--by", "token"])
    found = json.loads(ran.stdout)
    assert sum(found["query_values"]) + found["query_background"] == pytest.approx(found["difference"], abs=1e-6)
    assert max(found["query_values"]) == found["query_values"][found["query"]["tokens"].index("guitar")]
