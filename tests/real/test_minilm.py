"""The embedded model, on odd texts and on real pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whyalike
from whyalike.methods.method import Options
from whyalike.methods.spec import parse_method

pytestmark = pytest.mark.real
METHODS = ("bilrp", "integrated_jacobians", "token_outputs")
ODD = {
    "empty": "",
    "spaces": "   \t\n ",
    "one token": "guitar",
    "emoji": "👨‍👩‍👧 🎸🎸 🇩🇪",
    "combining marks": "Cafe\u0301 n\u0303andu\u0301 a\u0300\u0301\u0302\u0303",
    "right to left": "האיש מנגן בגיטרה. الرجل يعزف",
    "NUL": "a\x00b \x00",
    "url": "https://example.org/" + "x" * 380,
    "bidi": "\u202eabc\u202c \u2066def\u2069",
    "quotes": "\"'`´‘’“”«»",
}


def explain_any(
    left: str, right: str, encoder: whyalike.Encoder, method: str, layer: int | None = None
) -> whyalike.Explanation:
    """As `whyalike.explain`, which refuses blank texts."""
    (e,) = parse_method(method, layer).method.explain_pairs(encoder, [(left, right)], Options())
    return e


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ODD)
def test_adds_up_on_odd_texts(name: str, method: str, minilm: whyalike.Encoder) -> None:
    layer = 4 if method == "integrated_jacobians" else None
    e = explain_any(ODD[name], "A man plays guitar.", minilm, method, layer)
    assert abs(e.residual) <= 1e-5 * max(1, abs(e.score))
    own = minilm.model.encode([ODD[name], "A man plays guitar."])
    assert e.score == pytest.approx(float(own[0] @ own[1]), abs=1e-6)
    assert e.by_word().adds_up
    assert e.by_sentence().adds_up


@settings(max_examples=30, deadline=None)
@given(left=st.text(max_size=40), right=st.text(max_size=40))
def test_adds_up_on_any_text(left: str, right: str, minilm: whyalike.Encoder) -> None:
    for method in ("bilrp", "token_outputs"):
        e = explain_any(left, right, minilm, method)
        assert abs(float(e.matrix.sum()) - e.score) <= 1e-5 * max(1, abs(e.score))
        assert e.background == 0
        assert e.by_word().adds_up


def test_ten_thousand_words(minilm: whyalike.Encoder) -> None:
    text = "Someone plays the guitar on a hill. " * 1250
    with pytest.raises(whyalike.errors.TextTooLong, match="has 10002 tokens; 'all-MiniLM-L6-v2' reads at most 256"):
        whyalike.explain(text, "music", encoder=minilm)
    e = whyalike.explain(text, "music", encoder=minilm, truncate=True, unit="sentence")
    assert e.left.truncated
    assert e.left.cut == 10002 - 256
    assert e.adds_up


def test_a_notebook_cell_of_two_long_texts_stays_below_300_kb(minilm: whyalike.Encoder) -> None:
    texts = [" ".join(f"{word} number {n} is told here." for n in range(40)) for word in ("Guitar", "Music")]
    rows, columns = (len(whyalike.split_words(text)) for text in texts)
    values = np.random.default_rng(0).standard_normal((rows, columns)) / rows
    (e,) = whyalike.evaluate.make_subject(lambda left, right: values).explanations([(texts[0], texts[1])], minilm)
    assert min(e.matrix.shape) > 200
    drawn = e._repr_html_()
    assert len(drawn.encode()) < 300_000
    assert "is too large to be shown here" in drawn


def test_embeddings_are_those_of_sentence_transformers(
    minilm: whyalike.Encoder, stsb: list[tuple[str, str, float]]
) -> None:
    texts = [left for left, _, _ in stsb[:64]]
    np.testing.assert_allclose(minilm.embed(texts), minilm.model.encode(texts), atol=1e-6)
    parts = whyalike.contributions(texts, encoder=minilm)
    raw = np.stack([part.embedding / np.linalg.norm(part.embedding) for part in parts])
    np.testing.assert_allclose(raw, minilm.model.encode(texts), atol=1e-6)


@pytest.mark.parametrize(("method", "layer"), [("bilrp", 0), ("bilrp", 3), ("token_outputs", None)])
def test_adds_up_on_two_hundred_real_pairs(
    method: str, layer: int | None, minilm: whyalike.Encoder, stsb: list[tuple[str, str, float]]
) -> None:
    pairs = [(left, right) for left, right, _ in stsb[::6][:200]]
    worst = max(
        abs(float(e.matrix.sum()) - e.score) / max(1, abs(e.score))
        for e in whyalike.explain_pairs(pairs, encoder=minilm, method=method, layer=layer)
    )
    assert len(pairs) == 200
    assert worst <= 1e-5


def test_integrated_jacobians_add_up_on_real_pairs(
    minilm: whyalike.Encoder, stsb: list[tuple[str, str, float]]
) -> None:
    # Two hundred pairs at layer 0 are in experiments/adds_up; here a few, to keep the suite fast.
    pairs = [(left, right) for left, right, _ in stsb[::60]]
    for e in whyalike.explain_pairs(pairs, encoder=minilm, method="integrated_jacobians", layer=5):
        assert abs(e.residual) <= 1e-5 * max(1, abs(e.score))
        assert max(e.measured[side].error for side in ("left", "right")) <= 1e-2


def test_integrated_jacobians_reach_one_percent_at_layer_zero(
    minilm: whyalike.Encoder, stsb: list[tuple[str, str, float]]
) -> None:
    texts = [left for left, _, _ in stsb[::137][:10]]
    parts = whyalike.contributions(texts, encoder=minilm, method="integrated_jacobians")
    assert max(part.measured.error for part in parts) <= 1e-2
    assert np.median([part.measured.steps for part in parts]) <= 18


def test_the_score_ranks_pairs_as_published(minilm: whyalike.Encoder, stsb: list[tuple[str, str, float]]) -> None:
    left, right = (minilm.embed([row[side] for row in stsb]) for side in (0, 1))
    scores, labels = (left * right).sum(1), np.array([row[2] for row in stsb])

    def ranks(values: np.ndarray) -> np.ndarray:
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[inverse]

    assert np.corrcoef(ranks(scores), ranks(labels))[0, 1] == pytest.approx(0.8203, abs=5e-4)


def test_a_reference_at_zero_makes_the_matrix_alone_the_score(minilm: whyalike.Encoder) -> None:
    method = whyalike.IntegratedJacobians(layer=5, reference="null")
    e = whyalike.explain("A man plays guitar.", "Someone makes music.", encoder=minilm, method=method)
    assert all(side.reference_size < 1e-3 for side in e.measured.values())
    assert e.matrix.sum() == pytest.approx(e.score, abs=0.02)


@pytest.mark.parametrize("method", ["shapley", "leave_one_out"])
def test_the_model_as_a_function_is_explained_as_the_model(method: str, minilm: whyalike.Encoder) -> None:
    function = whyalike.load_encoder(lambda texts: minilm.embed(texts), name="as a function")
    pair = ("A man plays guitar on the stage.", "Someone makes music.")
    inside, outside = (whyalike.explain(*pair, encoder=each, method=method) for each in (minilm, function))
    own = np.ix_(inside.left.own, inside.right.own)
    np.testing.assert_allclose(inside.matrix[own], outside.matrix, atol=2e-6)
    assert inside.score == pytest.approx(outside.score, abs=1e-6)
    assert inside.adds_up
    assert outside.adds_up
