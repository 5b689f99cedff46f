"""Explanations side by side: names, agreement, pictures, JSON, refusals."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder
from whyalike.cli import app
from whyalike.results.comparison import Comparison, Entry

BAD = "<script>[/b]:smile:\x1b\u202e'\"&"


@pytest.fixture(scope="module")
def bert() -> whyalike.Encoder:
    return tiny_encoder("bert")


@pytest.fixture(scope="module")
def compared(bert: whyalike.Encoder) -> Comparison:
    return whyalike.compare(LEFT, RIGHT, methods=["bilrp", "token_outputs", "bti"], encoders=[bert])


def test_each_entry_is_the_explanation_that_explain_gives(compared: Comparison, bert: whyalike.Encoder) -> None:
    assert [entry.name for entry in compared.entries] == ["bilrp", "token_outputs", "bti"]
    for entry in compared.entries:
        alone = whyalike.explain(LEFT, RIGHT, encoder=bert, method=entry.name, unit="word")
        np.testing.assert_array_equal(entry.explanation.matrix, alone.matrix)
        assert entry.seconds > 0


def test_agreement_is_spearmans_and_the_share_of_the_smaller_top_ten(compared: Comparison) -> None:
    one, other, sparse = (
        entry.explanation.matrix[
            np.ix_(*(range(1, len(s) - 1) for s in (entry.explanation.left, entry.explanation.right)))
        ]
        for entry in compared.entries
    )  # without the special tokens at both ends
    assert compared.spearman[0, 1] == pytest.approx(spearmanr(one.ravel(), other.ravel()).statistic)
    tops = [set(np.argsort(-matrix, axis=None)[:10].tolist()) for matrix in (one, other)]
    assert compared.overlap()[0, 1] == pytest.approx(len(tops[0] & tops[1]) / 10)
    kept = set(np.flatnonzero(sparse > 0).tolist())
    assert len(kept) < 10
    assert compared.overlap()[0, 2] == pytest.approx(len(tops[0] & kept) / len(kept))
    np.testing.assert_allclose(np.diag(compared.spearman), 1)
    np.testing.assert_allclose(compared.spearman, compared.spearman.T)


def test_explanations_are_aligned_by_words_wherever_they_stand(compared: Comparison) -> None:
    # The same explanation as a model without special tokens would give it: every word stands elsewhere.
    whole = compared.entries[0].explanation
    keep = [np.flatnonzero([kind == "text" for kind in side.kinds]) for side in (whole.left, whole.right)]
    found = Comparison((compared.entries[0], Entry("bare", _part(whole, *keep), 0.1)))
    np.testing.assert_allclose(found.spearman, 1)
    np.testing.assert_allclose(found.overlap(), 1)
    assert found.pairs == len(keep[0]) * len(keep[1])


def test_where_one_reads_less_the_comparison_says_over_how_much(compared: Comparison) -> None:
    whole = compared.entries[0].explanation
    found = Comparison((compared.entries[0], Entry("cut", _part(whole, np.arange(1, 5), np.arange(1, 4)), 0.1)))
    assert found.pairs == found.to_dict()["pairs_compared"] == 12
    shown = whyalike.render.to_terminal(found, colours=False)
    assert "The left text was cut" in shown
    assert "over 12 pairs" in shown
    assert "over 12 pairs" in whyalike.render.to_html(found)


def test_two_models_of_one_name_are_told_apart(bert: whyalike.Encoder) -> None:
    encoders = [bert, tiny_encoder("bert", seed=3)]
    found = whyalike.compare(LEFT, RIGHT, methods=["token_outputs"], encoders=encoders)
    for entry, encoder in zip(found.entries, encoders, strict=True):
        assert entry.name == f"token_outputs · {encoder.record.name} {encoder.record.fingerprint[:6]}"


def _part(e: whyalike.Explanation, rows: np.ndarray, columns: np.ndarray) -> whyalike.Explanation:
    """What a model that reads only these words would say."""
    return replace(
        e,
        left=_only(e.left, rows),
        right=_only(e.right, columns),
        matrix=e.matrix[np.ix_(rows, columns)],
        left_terms=e.left_terms[rows],
        right_terms=e.right_terms[columns],
    )


def _only(side: whyalike.Side, keep: np.ndarray) -> whyalike.Side:
    pick = {name: getattr(side, name)[keep] for name in ("offsets", "word_of", "sentence_of")}
    tokens, kinds = (tuple(getattr(side, name)[i] for i in keep) for name in ("tokens", "kinds"))
    return replace(side, tokens=tokens, kinds=kinds, cut=len(side) - len(keep), **pick)


def test_names_tell_layers_and_parameters_apart(bert: whyalike.Encoder) -> None:
    found = whyalike.compare(LEFT, RIGHT, methods=["bilrp"], layers=[0, 2], encoders=[bert])
    assert [entry.name for entry in found.entries] == ["bilrp · layer 0", "bilrp · layer 2"]
    two = [whyalike.BTI(top_k=1), whyalike.BTI(top_k=3)]
    found = whyalike.compare(LEFT, RIGHT, methods=two, encoders=[bert])
    assert [entry.name for entry in found.entries] == ["bti · top_k 1", "bti · top_k 3"]
    found = whyalike.compare(LEFT, RIGHT, methods=["random", "random"], encoders=[bert])
    assert [entry.name for entry in found.entries] == ["random (1)", "random (2)"]


def test_only_methods_that_add_up_are_aligned(bert: whyalike.Encoder) -> None:
    found = whyalike.compare(LEFT, RIGHT, methods=["bilrp", "bti"], encoders=[bert], aligned=True)
    assert [entry.name for entry in found.entries] == ["bilrp · aligned", "bti"]
    alone = whyalike.explain(LEFT, RIGHT, encoder=bert, unit="word", aligned=True)
    np.testing.assert_array_equal(found.entries[0].explanation.matrix, alone.matrix)
    with pytest.raises(whyalike.errors.BadInput, match="there is nothing to align. Leave out aligned=True"):
        whyalike.compare(LEFT, RIGHT, methods=["bti"], encoders=[bert], aligned=True)


def test_what_ranks_nothing_agrees_with_nothing(compared: Comparison) -> None:
    flat = compared.entries[0]
    flat = Entry("flat", replace(flat.explanation, matrix=np.zeros_like(flat.explanation.matrix)), 0.1)
    found = Comparison((*compared.entries[:1], flat))
    assert math.isnan(found.spearman[0, 1])
    assert math.isnan(found.overlap()[0, 1])
    assert found.to_dict()["spearman"][0][1] is None
    json.dumps(found.to_dict(), allow_nan=False)
    assert "–" in whyalike.render.to_terminal(found, colours=False)
    assert "–" in whyalike.render.to_html(found)


def test_pictures_name_everything_and_escape_everything(bert: whyalike.Encoder) -> None:
    plain = whyalike.compare(LEFT, RIGHT, methods=["bilrp", "bti"], encoders=[bert])
    found = Comparison(tuple(Entry(f"{entry.name} {BAD}", _nasty(entry.explanation), 0.1) for entry in plain.entries))
    page = whyalike.render.to_html(found)
    tags = re.sub(r"<[^<>]*>", "", page)  # what is left are no tags: whatever a label brought must be spelled out
    assert "<" not in tags.replace("<!doctype html>", "")
    assert page.count("&lt;script&gt;") > 10
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert found._repr_html_() in page
    drawn = whyalike.render.to_terminal(found, width=70, colours=False)
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn
    assert "[/b]" in drawn  # rich's own markup is text here
    assert ":smile:" in drawn
    for text in (page, drawn):
        for said in ("bilrp", "bti", "adds up", "does not add up", "Spearman"):
            assert said in text


def _nasty(e: whyalike.Explanation) -> whyalike.Explanation:
    """The same with a first word that tries everything."""
    sides = [
        replace(side, tokens=(BAD, *side.tokens[1:]), offsets=side.offsets * 0, kinds=("text",) * len(side))
        for side in (e.left, e.right)
    ]
    matching = e.matching and replace(
        e.matching, matches=tuple(match._replace(left=BAD, right=BAD) for match in e.matching.matches)
    )
    return replace(e, left=sides[0], right=sides[1], matching=matching)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "token"}, "in words or sentences"),
        ({"methods": []}, "methods should be a list with at least one entry"),
        ({"methods": "bilrp"}, "methods should be a list"),
        ({"layers": []}, "layers should be a list"),
        ({"methods": ["no such"]}, "There is no method 'no such'"),
        ({"layers": [77]}, "There is no layer 77"),
        ({"unit": None}, "in words or sentences"),
        ({"methods": whyalike.BiLRP()}, "methods should be a list"),
    ],
)
def test_bad_requests_are_refused_before_any_work(options: dict, message: str, bert: whyalike.Encoder) -> None:
    with pytest.raises(whyalike.errors.BadInput, match=message):
        whyalike.compare(LEFT, RIGHT, encoders=[bert], **options)


def test_the_command_prints_the_picture_or_json_and_writes_the_page(tmp_path: Path) -> None:
    base = ["compare", LEFT, RIGHT, "--method", "bilrp", "--method", "bti"]
    ran = CliRunner().invoke(app, [*base, "--set", "top_k=1", "--set", "bti.saliency=gradients", "--json"])
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert [entry["name"] for entry in found["entries"]] == ["bilrp", "bti"]
    parameters = found["entries"][1]["explanation"]["method"]["parameters"]
    assert (parameters["top_k"], parameters["saliency"]) == (1, "gradients")
    assert found["entries"][0]["adds_up"] is True
    files = ["--html", str(tmp_path / "page.html"), "--svg", str(tmp_path / "page.svg")]
    ran = CliRunner().invoke(app, [*base, "--layer", "0", "--layer", "1", *files])
    assert ran.exit_code == 0, ran.output
    assert "more for bti · layer 0" in (tmp_path / "page.svg").read_text()
    assert "bilrp · layer 1" in ran.stdout
    assert "bti · layer 0" in (tmp_path / "page.html").read_text()


def test_settings_of_a_method_can_be_given_and_are_checked(tmp_path: Path) -> None:
    base = ["explain", LEFT, RIGHT, "--json", "--method"]
    ran = CliRunner().invoke(app, [*base, "integrated_jacobians", "--set", "tolerance=0.1", "--set", "reference=mask"])
    parameters = json.loads(ran.stdout)["method"]["parameters"]
    assert (parameters["tolerance"], parameters["reference"]) == (0.1, "mask")
    ran = CliRunner().invoke(app, [*base, "bti", "--set", "tolerance=0.1"])
    assert isinstance(ran.exception, whyalike.errors.UnknownName)
    assert "no parameter of bti 'tolerance'" in str(ran.exception)
    ran = CliRunner().invoke(app, ["compare", LEFT, RIGHT, "--set", "bit.top_k=1"])
    assert "'bit.top_k'. Known: bilrp.biases, bilrp.layer" in str(ran.exception)
    ran = CliRunner().invoke(app, [*base, "bti", "--corpus", str(tmp_path / "none.txt")])
    assert "are for tfidf_vectors" in str(ran.exception)
    ran = CliRunner().invoke(app, [*base, "bti", "--by", "token"])
    assert "explains words, not tokens" in str(ran.exception)
    ran = CliRunner().invoke(app, [*base, "bti", "--spread"])
    assert "nothing to spread" in str(ran.exception)
    ran = CliRunner().invoke(app, [*base, "bti", "--set", "top_k"])
    assert "--set takes NAME=VALUE" in str(ran.exception)
    (tmp_path / "corpus.txt").write_text("the old man\na dog runs\n")
    (tmp_path / "vectors.txt").write_text("man 1 2\nwoman 1 2.1\nguitar 3 1\nmusic 3 2\n")
    files = ["--corpus", str(tmp_path / "corpus.txt"), "--vectors", str(tmp_path / "vectors.txt")]
    ran = CliRunner().invoke(app, [*base, "tfidf_vectors", *files])
    found = json.loads(ran.stdout)
    assert {(m["left"], m["right"]) for m in found["matching"]["matches"] if m["score"] > 0} >= {("man", "woman")}
    assert found["method"]["parameters"]["corpus"].startswith("2 texts")
