"""BTI equals its Algorithm 1, step by step; its relatives are what they say; odd input has a defined result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
import torch
from sklearn.cluster import MeanShift
from sklearn.feature_extraction.text import TfidfVectorizer

import whyalike
from tests.families import LEFT, RIGHT, DoubleThroughout, tiny_encoder, tiny_model, tokenizer
from tests.reference.algorithm_1 import Paragraph, bti_by_loops, cosine
from whyalike.methods.first_order import cluster, min_max
from whyalike.methods.method import Options
from whyalike.methods.tfidf_vectors import Frequencies, weights
from whyalike.results.records import Measured

LONG = "The old man plays guitar under the red house, and a young woman sings. Someone makes music!"
OTHER = "A child plays piano in the green house over the river; the dog runs and the beautiful cat walks."
FAMILIES = [
    "bert",
    "roberta",
    "mpnet",
    "distilbert",
    "electra:projected",
    "albert",
    "gpt2",
    "deberta-v2",
    "qwen3",
    "t5",
]
CORPUS = [LONG, OTHER, LEFT, RIGHT, "A man walks.", "The cat is not ugly."]


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with DoubleThroughout():
        yield


@pytest.fixture(scope="module")
def bert() -> whyalike.Encoder:
    return tiny_encoder("bert")


def vectors(width: int = 8) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {word: generator.normal(size=width) for text in CORPUS for word in text.lower().replace(".", "").split()}


def first_order() -> list[whyalike.METHODS["bti"]]:  # type: ignore[valid-type]
    fitted = whyalike.TfidfVectors.fit(CORPUS, vectors())
    return [whyalike.BTI(), whyalike.Gradients(), whyalike.IntegratedGradients(), fitted]


def own(saliency: np.ndarray, side: whyalike.Side) -> list[float]:
    return [float(s) for s, kind in zip(saliency, side.kinds, strict=True) if kind == "text"]


@pytest.mark.parametrize("family", FAMILIES)
def test_bti_equals_algorithm_1_step_by_step(family: str) -> None:
    encoder = tiny_encoder(family)
    slow = bti_by_loops(encoder, LONG, OTHER)
    e = whyalike.explain(LONG, OTHER, encoder=encoder, method="bti")
    found = e.matching
    np.testing.assert_allclose(own(found.left_saliency, e.left), slow["left_saliency"], atol=1e-10)
    np.testing.assert_allclose(own(found.right_saliency, e.right), slow["right_saliency"], atol=1e-10)
    first = [side.kinds.index("text") for side in (e.left, e.right)]  # the special tokens before the words
    ours = {(m.left_index - first[0], m.right_index - first[1]): m.score for m in found.matches}
    theirs = {(i, j): score for i, j, score in slow["matches"]}
    assert ours.keys() == theirs.keys()
    np.testing.assert_allclose([ours[key] for key in theirs], list(theirs.values()), atol=1e-9)
    assert {(m.left_index - first[0], m.right_index - first[1]) for m in found.top} == {m[:2] for m in slow["top"]}
    assert 0 < len(found.top) < len(found.matches)


@pytest.mark.parametrize("ablation", ["activations", "gradients"])
def test_the_ablations_leave_one_factor_out(ablation: Any, bert: whyalike.Encoder) -> None:
    slow = bti_by_loops(bert, LONG, OTHER, ablation=ablation)
    e = whyalike.explain(LONG, OTHER, encoder=bert, method=whyalike.BTI(saliency=ablation))
    np.testing.assert_allclose(own(e.matching.left_saliency, e.left), slow["left_saliency"], atol=1e-10)


def test_the_last_layer_gives_every_token_the_same_gradient(bert: whyalike.Encoder) -> None:
    # With the mean of the tokens as the feature, d C / d state is the same for each of them.
    e = whyalike.explain(LONG, OTHER, encoder=bert, method=whyalike.BTI(layer=bert.layers))
    left, right = Paragraph(bert, LONG), Paragraph(bert, OTHER)
    feature = left.feature().detach().requires_grad_()
    (gradient,) = torch.autograd.grad(cosine(right.feature().detach(), feature), feature)
    raw = (left.latent.detach() * gradient).relu().sum(-1).numpy()
    scaled = min_max(raw, np.isin(np.arange(len(raw)), left.tokens))
    by_word = [max(scaled[i] for i in left.tokens if left.word_of[i] == word) for word in range(len(left.words))]
    np.testing.assert_allclose(own(e.matching.left_saliency, e.left), by_word, atol=1e-10)


@pytest.mark.parametrize("combine", ["mean", "max", "sum"])
def test_words_are_combined_from_tokens_as_told(combine: Any, bert: whyalike.Encoder) -> None:
    text = "Unsinger plays"  # un ##s ##ing ##er: one word of four tokens
    fine = whyalike.BTI(combine_vectors=combine, combine_saliency=combine, top_k=None)
    e = whyalike.explain(text, OTHER, encoder=bert, method=fine)
    paragraph, other = Paragraph(bert, text), Paragraph(bert, OTHER)
    (gradient,) = torch.autograd.grad(cosine(other.feature().detach(), paragraph.feature()), paragraph.leaf)
    raw = (paragraph.activation * gradient[0]).relu().sum(-1).numpy()
    scaled = min_max(raw, np.isin(np.arange(len(raw)), paragraph.tokens))
    members = [i for i in paragraph.tokens if paragraph.word_of[i] == 0]
    assert len(members) == 4
    latent = getattr(torch, {"mean": "mean", "max": "amax", "sum": "sum"}[combine])(
        paragraph.latent.detach()[members], 0
    )
    match = next(m for m in e.matching.matches if m.left == "Unsinger" and m.found_from != "right")
    theirs = other.latent.detach()[[i for i in other.tokens if other.words[other.word_of[i]] == match.right]]
    assert any(match.similarity == pytest.approx(float(cosine(latent, each)), abs=1e-9) for each in theirs)
    word = own(e.matching.left_saliency, e.left)[0]
    assert word == pytest.approx(getattr(scaled[members], combine)(), abs=1e-10)


def test_top_k_keeps_so_many_clusters_and_none_keeps_all(bert: whyalike.Encoder) -> None:
    found = {k: whyalike.explain(LONG, OTHER, encoder=bert, method=whyalike.BTI(top_k=k)) for k in (1, 2, None)}
    sizes = [np.count_nonzero(found[k].matrix) for k in (1, 2, None)]
    assert 0 < sizes[0] < sizes[1] < sizes[2]
    every = found[None].matching
    assert every.top == tuple(match for match in every.matches if match.score)
    assert max(match.cluster for match in found[2].matching.top) == 1
    assert [match.score for match in every.matches] == sorted((match.score for match in every.matches), reverse=True)
    assert list(every.centroids) == sorted(every.centroids, reverse=True)


def test_vanilla_gradients_are_lengths_of_gradients(bert: whyalike.Encoder) -> None:
    e = whyalike.explain(LONG, OTHER, encoder=bert, method="gradients")
    left, right = Paragraph(bert, LONG), Paragraph(bert, OTHER)
    (gradient,) = torch.autograd.grad(cosine(right.feature().detach(), left.feature()), left.leaf)
    lengths = gradient[0].norm(dim=-1).numpy()
    scaled = min_max(lengths, np.isin(np.arange(len(lengths)), left.tokens))
    by_word = [max(scaled[i] for i in left.tokens if left.word_of[i] == word) for word in range(len(left.words))]
    np.testing.assert_allclose(own(e.matching.left_saliency, e.left), by_word, atol=1e-10)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_integrated_gradients_equal_a_fine_sum_along_the_way_from_zero(family: str) -> None:
    encoder = tiny_encoder(family)
    method = whyalike.IntegratedGradients(tolerance=1e-5)
    e = whyalike.explain(LONG, OTHER, encoder=encoder, method=method)
    left, right = Paragraph(encoder, LONG), Paragraph(encoder, OTHER)
    fixed = right.feature().detach()
    total = torch.zeros(len(left.activation), dtype=torch.float64)
    for step in (np.arange(300) + 0.5) / 300:
        alpha, weight = step**3, 3 * step**2 / 300  # close together near zero, where a norm turns fast
        # E scaled by α; the model adds its own position embeddings O, so the words it is given are αE − O.
        point = alpha * left.activation
        leaf = (point - (left.activation - left.leaf.detach()[0]))[None].requires_grad_()
        handle = encoder.model[0].auto_model.get_input_embeddings().register_forward_hook(lambda *_, leaf=leaf: leaf)
        with torch.enable_grad():
            latent = encoder.model[0](dict(encoder.model.preprocess([LONG])))["token_embeddings"][0]
            score = cosine(fixed, latent[left.tokens].mean(0))
        handle.remove()
        (gradient,) = torch.autograd.grad(score, leaf)
        total += (gradient[0] * left.activation).sum(-1) * weight
    scaled = min_max(total.numpy(), np.isin(np.arange(len(total)), left.tokens))
    by_word = [max(scaled[i] for i in left.tokens if left.word_of[i] == word) for word in range(len(left.words))]
    np.testing.assert_allclose(own(e.matching.left_saliency, e.left), by_word, atol=2e-3)
    assert e.measured["left"].error <= 1e-5


def test_tfidf_is_scikit_learns_and_matches_by_static_vectors(bert: whyalike.Encoder) -> None:
    words = TfidfVectorizer(tokenizer=lambda text: text.replace("!", "").replace(".", "").split(), token_pattern=None)
    corpus = ["the old man plays", "the dog runs", "a man walks", "the house is old"]
    words.fit(corpus)
    text = "the old dog walks the man"
    theirs = dict(zip(words.get_feature_names_out(), words.transform([text]).toarray()[0], strict=True))
    fitted = whyalike.TfidfVectors.fit(corpus, vectors())
    e = whyalike.explain(text, "the man runs", encoder=bert, method=fitted)
    assert fitted.corpus is not None
    ours = dict(zip(e.left.tokens, weights(e.left, fitted.corpus), strict=True))
    for word in text.split():
        assert ours[word] == pytest.approx(theirs[word])
    best = {(m.left, m.right): m for m in e.matching.matches}
    match = best["man", "man"]
    assert match.similarity == pytest.approx(1)
    assert match.score == pytest.approx(ours["man"] * weights(e.right, fitted.corpus)[e.right.tokens.index("man")])


def test_a_word_never_seen_is_the_rarest_and_one_without_a_vector_matches_nothing(bert: whyalike.Encoder) -> None:
    frequencies = Frequencies.of(["a man", "a dog"])
    assert frequencies.rarity("river") > frequencies.rarity("man") > frequencies.rarity("A")
    fitted = whyalike.TfidfVectors.fit(CORPUS, {"man": np.ones(3), "dog": np.arange(3.0)})
    e = whyalike.explain("the man runs", "the dog runs", encoder=bert, method=fitted)
    assert {(m.left, m.right) for m in e.matching.matches if m.score > 0} == {("man", "dog")}
    assert e.measured["left"].words_without_vector == 2


def test_word_vectors_come_from_text_files_and_spacy_pipelines(tmp_path: Path) -> None:
    plain, counted = tmp_path / "plain.txt", tmp_path / "counted.txt"
    plain.write_text("man 1 0 2\n. . . 7 8 9\n\ndog 0.5 -1e-1 3\n")  # GloVe's largest file has words with spaces
    counted.write_text("2 3\nman 1 0 2\ndog 0.5 -1e-1 3\n")
    for path in (plain, counted):
        found = whyalike.load_word_vectors(path)
        np.testing.assert_allclose(found.find("Dog"), [0.5, -0.1, 3], rtol=1e-6)
        assert found.find("river") is None
    pipeline = spacy.blank("en")
    pipeline.vocab.set_vector("man", np.array([1.0, 2.0], dtype=np.float32))
    pipeline.to_disk(tmp_path / "pipeline")
    found = whyalike.load_word_vectors(tmp_path / "pipeline")
    np.testing.assert_allclose(found.find("man"), [1, 2])
    assert (found.width, found.find("river")) == (2, None)


def test_bad_word_vectors_are_refused(tmp_path: Path) -> None:
    torn = tmp_path / "torn.txt"
    torn.write_text("man 1 0 2\ndog 0.5\n")
    with pytest.raises(whyalike.errors.DamagedFile, match="line 2, is not a word vector as text: it has 1 numbers"):
        whyalike.load_word_vectors(torn)
    (tmp_path / "torn.gz").write_bytes(b"\x1f\x8b nothing of the kind")
    with pytest.raises(whyalike.errors.DamagedFile, match=r"torn.gz, line 0"):
        whyalike.load_word_vectors(tmp_path / "torn.gz")
    with pytest.raises(whyalike.errors.BadInput, match="should be 2 finite numbers"):
        whyalike.load_word_vectors({"man": np.ones(2), "dog": np.ones(3)})
    with pytest.raises(whyalike.errors.BadInput, match="The corpus has no text"):
        whyalike.TfidfVectors.fit([], {"man": np.ones(2)})
    torn.write_text("this is prose\n")
    with pytest.raises(whyalike.errors.DamagedFile, match="line 1, is not a word vector as text"):
        whyalike.load_word_vectors(torn)
    with pytest.raises(whyalike.errors.UnknownModel, match="neither such a file nor such a spaCy pipeline"):
        whyalike.load_word_vectors("no_such_pipeline_anywhere")
    spacy.blank("en").to_disk(tmp_path / "empty")
    with pytest.raises(whyalike.errors.BadInput, match="no word vectors"):
        whyalike.load_word_vectors(tmp_path / "empty")


DEGENERATE = {
    "one word": ("man", "dog"),
    "the same word": ("man", "man"),
    "identical": (LONG, LONG),
    "no common vocabulary": ("The old man plays guitar.", "A dog runs and walks!"),
    "empty": ("", "A dog runs."),
    "both empty": ("", ""),
    "one word many times": ("man man man man", "man man man"),
    "unknown words only": ("xyzzy quux", "frobnicate"),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("method", first_order(), ids=lambda method: method.name)
def test_odd_input_has_a_defined_result(method: Any, case: str, bert: whyalike.Encoder, tmp_path: Path) -> None:
    left, right = DEGENERATE[case]
    (e,) = method.explain_pairs(bert, [(left, right)], Options(unit="word"))
    values = [e.matrix, e.matching.left_saliency, e.matching.right_saliency, np.array(e.matching.centroids)]
    assert all(np.isfinite(each).all() for each in values)
    assert all(np.isfinite((match.similarity, match.score)).all() for match in e.matching.matches)
    with_vectors = method.name != "tfidf_vectors" or case not in ("unknown words only",)
    assert bool(e.matching.matches) == (bool(left) and bool(right) and with_vectors)
    if "empty" in case and method.name == "bti":
        assert e.measured["right"] == Measured(gradient_vanishes="no words")
    again = whyalike.load(whyalike.save(e, tmp_path / "e.json"))
    assert again.to_dict() == e.to_dict()
    for drawn in (whyalike.render.to_terminal(e), whyalike.render.to_html(e), whyalike.render.to_figure(e).to_json()):
        assert f"{e.score:.3f}" in drawn


def test_where_the_cosine_is_at_its_maximum_nothing_is_salient_and_the_result_says_so() -> None:
    encoder = tiny_encoder("bert", dtype=torch.float32)
    e = whyalike.explain(LONG, LONG, encoder=encoder, method="bti")
    assert e.measured == {name: Measured(gradient_vanishes="same direction") for name in ("left", "right")}
    assert not e.matrix.any()
    assert e.matching.top == ()
    assert all(match.left_index == match.right_index for match in e.matching.matches)
    assert "at its maximum" in whyalike.render.to_terminal(e, colours=False)
    near = whyalike.explain(LONG, LONG.replace("old", "young"), encoder=encoder, method="bti")
    assert near.measured == {"left": Measured(), "right": Measured()}
    assert near.matrix.any()


def test_saliency_that_is_zero_everywhere_leaves_an_empty_explanation(bert: whyalike.Encoder) -> None:
    zero = min_max(np.zeros(4), np.array([False, True, True, False]))
    np.testing.assert_array_equal(zero, np.zeros(4))
    np.testing.assert_array_equal(min_max(np.full(3, 2.0), np.array([False, True, True])), [0, 1, 1])
    with pytest.raises(whyalike.errors.UnsupportedModel, match="not finite"):
        min_max(np.array([0, np.nan, 1]), np.array([False, True, True]))
    labels, centroids = cluster(np.zeros(5))
    assert labels.tolist() == [0] * 5
    assert centroids.tolist() == [0]


def test_clusters_are_those_that_scikit_learn_finds_from_every_start() -> None:
    generator = np.random.default_rng(3)
    for count in (2, 3, 4, 5, 6, 7, 12, 30, 60, 60, 60):
        scores = generator.random(count) * generator.random(count) * generator.beta(1, 3, count)
        ours, centroids = cluster(scores)
        every = MeanShift().fit(scores[:, None])
        theirs = np.argsort(np.argsort(-every.cluster_centers_[:, 0]))[every.labels_]
        np.testing.assert_array_equal(ours, theirs)
        assert np.all(np.diff(centroids) < 0)


def test_the_models_own_pooling_can_be_looked_at_instead() -> None:
    encoder = tiny_encoder("bert", pooling="cls")
    words, model = (
        whyalike.explain(LONG, OTHER, encoder=encoder, method=whyalike.BTI(pooling=pooling))  # type: ignore[arg-type]
        for pooling in ("words", "model")
    )
    assert model.matching.similarity == pytest.approx(model.score)
    assert words.matching.similarity != pytest.approx(words.score)
    assert words.score == pytest.approx(model.score)
    assert not np.allclose(words.matching.left_saliency, model.matching.left_saliency)


def test_special_tokens_and_the_prompt_are_never_matched() -> None:
    encoder = tiny_encoder("bert")
    encoder.model.prompts = {"query": "the cat: "}
    e = whyalike.explain(LONG, OTHER, encoder=encoder, method="bti", prompts=("query", None))
    assert e.left.kinds[:2] == ("special", "prompt")
    for index, kind in enumerate(e.left.kinds):
        if kind != "text":
            assert not e.matrix[index].any()
            assert e.matching.left_saliency[index] == 0


def test_units_and_calls_that_make_no_sense_are_refused(bert: whyalike.Encoder) -> None:
    pair = {"left": LEFT, "right": RIGHT, "encoder": bert}
    with pytest.raises(whyalike.errors.BadInput, match="explains words, not tokens"):
        whyalike.explain(**pair, method="bti", unit="token")
    with pytest.raises(whyalike.errors.BadInput, match="a text alone has no contributions"):
        whyalike.contributions([LEFT], encoder=bert, method="bti")
    with pytest.raises(whyalike.errors.BadInput, match="cannot explain one text alone"):
        whyalike.explain_against(LEFT, RIGHT, encoder=bert, method="gradients")
    with pytest.raises(whyalike.errors.BadInput, match="needs a corpus"):
        whyalike.explain(**pair, method="tfidf_vectors")
    with pytest.raises(whyalike.errors.UnknownName, match="no layer 9"):
        whyalike.explain(**pair, method="bti", layer=9)
    with pytest.raises(whyalike.errors.BadInput, match="top_k should be"):
        whyalike.explain(**pair, method=whyalike.BTI(top_k=0))
    with pytest.raises(whyalike.errors.BadInput, match="looks at no layer"):
        whyalike.explain(**pair, method=whyalike.TfidfVectors.fit(CORPUS, vectors()), layer=0)
    sentences = whyalike.explain(**pair, method="bti", unit="sentence")
    words = whyalike.explain(**pair, method="bti")
    assert sentences.left.unit == "sentence"
    assert sentences.matrix.sum() == pytest.approx(words.matrix.sum())


def test_half_precision_and_dot_products_are_looked_at_too() -> None:
    exact = whyalike.explain(LONG, OTHER, encoder=tiny_encoder("bert"), method="bti")
    model = tiny_model("bert").to(torch.bfloat16)
    encoder = whyalike.load_encoder(model, tokenizer=tokenizer(), pooling="mean")
    half = whyalike.explain(LONG, OTHER, encoder=encoder, method="bti")
    assert np.corrcoef(half.matching.left_saliency, exact.matching.left_saliency)[0, 1] > 0.98
    encoder = tiny_encoder("bert", similarity="dot")
    dot = whyalike.explain(LONG, LONG, encoder=encoder, method="bti")
    assert dot.measured == {"left": Measured(), "right": Measured()}  # a dot product has no maximum there
    assert dot.matrix.any()
    assert dot.matching.similarity != pytest.approx(1)


def test_damaged_steps_in_a_file_are_refused(bert: whyalike.Encoder) -> None:
    from whyalike.results.files import explanation_from_dict

    fields = whyalike.explain(LONG, OTHER, encoder=bert, method="bti").to_dict()
    short = {**fields["matching"], "left_saliency": fields["matching"]["left_saliency"][:-1]}
    with pytest.raises(whyalike.errors.DamagedFile, match="left_saliency has"):
        explanation_from_dict({**fields, "matching": short})
    outside = [{**fields["matching"]["matches"][0], "left_index": 99}]
    with pytest.raises(whyalike.errors.DamagedFile, match="lies outside"):
        explanation_from_dict({**fields, "matching": {**fields["matching"], "matches": outside}})


def test_swapping_swaps_every_step(bert: whyalike.Encoder) -> None:
    one, other = (whyalike.explain(*pair, encoder=bert, method="bti") for pair in ((LONG, OTHER), (OTHER, LONG)))
    swapped = one.swapped()
    np.testing.assert_allclose(swapped.matching.left_saliency, other.matching.left_saliency, atol=1e-9)
    assert {m[:4] + m[6:] for m in swapped.matching.matches} == {m[:4] + m[6:] for m in other.matching.matches}
    assert replace(swapped, matching=None).to_dict()["left"] == other.to_dict()["left"]
