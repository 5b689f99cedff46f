"""Late-interaction and sparse models: equal to their literal, slow form; laws, sums, and the library's own scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import whyalike
from tests.families import LEFT, RIGHT, DoubleThroughout, tiny_encoder
from tests.kinds import EXPANSION, PUNCTUATION, tiny_late_interaction, tiny_sparse
from tests.reference.slow_kinds import maxsim_by_loops, splade_by_loops
from whyalike.encoders.frozen import record
from whyalike.encoders.transformer import TransformerEncoder
from whyalike.errors import BadInput, EmptyText, TextTooLong, UnsupportedModel
from whyalike.evaluate.measure import Case
from whyalike.evaluate.perturbation import PerturbedPair, orders

SHORT, OTHER = "The man plays", "A cat, runs!"  # the loops are slow
LATE: dict[str, dict[str, Any]] = {
    "plain": {},
    "mean": {"similarity": "meanmaxsim"},
    "expanded, skipping": {"expansion": {**EXPANSION, "length": 9}, "skip": PUNCTUATION, "dense_bias": True},
    "attended": {"expansion": {"strategy": "min", "length": 8, "attend": True}},
    "prompts": {"prompts": {"query": "play: ", "document": "music: "}},
    "not normalised": {"normalize": False, "dense": False, "skip": PUNCTUATION},
}
SPARSE: dict[str, dict[str, Any]] = {
    f"{pooling} {activation}": {"pooling": pooling, "activation": activation}
    for pooling in ("max", "sum")
    for activation in ("relu", "log1p_relu")
} | {"cosine": {"similarity": "cosine"}}
MAKERS: dict[str, Callable[..., TransformerEncoder]] = {
    **{f"late, {name}": lambda kind=kind, **more: tiny_late_interaction(**kind, **more) for name, kind in LATE.items()},
    **{f"sparse, {name}": lambda kind=kind, **more: tiny_sparse(**kind, **more) for name, kind in SPARSE.items()},
}


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with DoubleThroughout():
        yield


def library_score(encoder: TransformerEncoder, left: str, right: str) -> float:
    model = encoder.model
    how = {"convert_to_sparse_tensor": False} if encoder.record.kind == "sparse" else {}
    return float(model.similarity(model.encode_query([left], **how), model.encode_document([right], **how)))


# --- equal to the definition ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LATE)
def test_late_interaction_equals_its_loops(name: str) -> None:
    encoder = tiny_late_interaction(**LATE[name])
    e = whyalike.explain(SHORT, OTHER, encoder=encoder, layer=2)
    matrix, score = maxsim_by_loops(encoder, SHORT, OTHER, 2, mean=encoder.record.similarity == "meanmaxsim")
    np.testing.assert_allclose(e.matrix, matrix, rtol=0, atol=1e-8)
    assert e.score == pytest.approx(score, abs=1e-8)


@pytest.mark.parametrize("family", ["mpnet", "distilbert"])
def test_late_interaction_equals_its_loops_in_other_families(family: str) -> None:
    encoder = tiny_late_interaction(family)
    e = whyalike.explain(SHORT, OTHER, encoder=encoder, layer=2)
    matrix, _ = maxsim_by_loops(encoder, SHORT, OTHER, 2, mean=False)
    np.testing.assert_allclose(e.matrix, matrix, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", SPARSE)
def test_splade_equals_its_loops(name: str) -> None:
    encoder = tiny_sparse(**SPARSE[name])
    e = whyalike.explain(SHORT, OTHER, encoder=encoder, layer=2)
    matrix, score = splade_by_loops(encoder, SHORT, OTHER, 2, cosine=encoder.record.similarity == "cosine")
    np.testing.assert_allclose(e.matrix, matrix, rtol=0, atol=1e-8)
    assert e.score == pytest.approx(score, abs=1e-8)


def test_the_maxsim_map_has_the_products_of_the_vectors_that_met() -> None:
    encoder = tiny_late_interaction(**LATE["expanded, skipping"])
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="maxsim_map")
    queries, documents = (
        encoder.embed([text], prompt=role)[0] for text, role in ((LEFT, "query"), (RIGHT, "document"))
    )
    scored = [index for index, kind in enumerate(e.right.kinds) if kind != "skipped"]
    expected = np.zeros_like(e.matrix)
    for k, vector in enumerate(queries):
        products = documents @ vector
        expected[k, scored[int(products.argmax())]] = products.max()
    np.testing.assert_allclose(e.matrix, expected, rtol=0, atol=1e-12)
    assert e.matrix.sum() == pytest.approx(e.score, abs=1e-12)


# --- laws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_the_matrix_alone_is_the_score_of_the_library(name: str) -> None:
    encoder = MAKERS[name]()
    for layer in range(encoder.layers + 1):
        e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=layer)
        assert e.matrix.sum() == pytest.approx(e.score, abs=1e-10)
        assert e.background == 0
        assert e.score == pytest.approx(library_score(encoder, LEFT, RIGHT), rel=1e-6)


@pytest.mark.parametrize("name", MAKERS)
def test_it_adds_up_in_float32(name: str) -> None:
    encoder = MAKERS[name](dtype=torch.float32)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0)
    assert e.adds_up
    assert abs(e.score - library_score(encoder, LEFT, RIGHT)) <= 1e-5 * max(1, abs(e.score))


@pytest.mark.parametrize("name", MAKERS)
def test_a_frozen_model_is_linear_and_equal_to_the_model(name: str) -> None:
    encoder = MAKERS[name]()
    (batch,) = encoder.batches(encoder.read([LEFT], prompt=encoder.pair_prompts[0]), 100)
    own, _ = encoder.run(batch.features, 0)
    with torch.no_grad():
        recording = record(encoder.twin, batch.features, 0, encoder.wiring(0))
        x, y = recording.hidden, recording.hidden.roll(1, -1)
        at_x, at_y, at_sum = recording.replay(torch.cat([x, y, x + 2 * y])).chunk(3)
    torch.testing.assert_close(at_x, own, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(at_x + 2 * at_y, at_sum, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", MAKERS)
def test_texts_explained_together_come_out_as_alone(name: str) -> None:
    encoder = MAKERS[name]()
    pairs = [(LEFT, RIGHT), (SHORT, OTHER), (OTHER, LEFT), (LEFT, LEFT)]
    together = list(whyalike.explain_pairs(pairs, encoder=encoder, layer=0, progress=False))
    for pair, e in zip(pairs, together, strict=True):
        np.testing.assert_allclose(e.matrix, whyalike.explain(*pair, encoder=encoder, layer=0).matrix, atol=1e-10)


@pytest.mark.parametrize("name", ["plain", "mean", "expanded, skipping", "not normalised"])
def test_pulling_through_a_long_text_gives_what_pushing_gives(name: str) -> None:
    encoder = tiny_late_interaction(**{**LATE[name], "expansion": None})
    short, long = "Music", "A woman sings and makes music, on the hill and in the house, not under the river!"
    for pair in ((short, long), (long, short)):
        pulled = whyalike.explain(*pair, encoder=encoder, layer=0)
        prompts = ("query", "document")
        parts = [
            whyalike.contributions([text], encoder=encoder, layer=0, prompt=prompt, progress=False)[0]
            for text, prompt in zip(pair, prompts, strict=True)
        ]
        pushed = whyalike.explain_parts(*parts)
        np.testing.assert_allclose(pulled.matrix, pushed.matrix, rtol=0, atol=1e-9)
        assert pulled.score == pytest.approx(pushed.score, abs=1e-10)
        assert pulled.background == 0


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("method", ["bilrp@0", "bilrp@1,biases=apart"])
def test_one_text_against_another_has_the_sums_of_the_rows(name: str, method: str) -> None:
    encoder = MAKERS[name]()
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)
    one = whyalike.explain_against(LEFT, RIGHT, encoder=encoder, method=method)
    np.testing.assert_allclose(one.values, e.matrix.sum(1) + e.left_terms, rtol=0, atol=1e-9)
    assert one.score == pytest.approx(e.score, abs=1e-10)
    assert abs(e.residual) < 1e-9


@pytest.mark.parametrize("name", MAKERS)
def test_words_have_what_their_tokens_have(name: str) -> None:
    encoder = MAKERS[name]()
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0)
    worded = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0, unit="word")
    np.testing.assert_allclose(worded.matrix, e.by_word().matrix, rtol=0, atol=1e-10)
    aligned = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0, aligned=True)
    assert aligned.matrix.sum() == pytest.approx(e.score, abs=1e-10)


@pytest.mark.parametrize("name", ["late, expanded, skipping", "sparse, max relu"])
def test_files_give_back_what_was_saved(name: str, tmp_path: Path) -> None:
    encoder = MAKERS[name]()
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0)
    read = whyalike.load(whyalike.save(e, tmp_path / "e.json"))
    np.testing.assert_array_equal(read.matrix, e.matrix)
    assert (read.left.kinds, read.model, read.score) == (e.left.kinds, e.model, e.score)
    parts = [
        whyalike.contributions([text], encoder=encoder, layer=0, prompt=prompt, progress=False)[0]
        for text, prompt in zip((LEFT, RIGHT), encoder.pair_prompts, strict=True)
    ]
    again = whyalike.explain_parts(*whyalike.load(whyalike.save(parts, tmp_path / "parts.safetensors")))
    np.testing.assert_allclose(again.matrix, e.matrix, rtol=0, atol=1e-12)
    if encoder.record.kind == "sparse":
        assert read.terms() == e.terms()


@pytest.mark.parametrize("name", MAKERS)
def test_random_values_can_be_had_of_every_kind(name: str) -> None:
    e = whyalike.explain(LEFT, RIGHT, encoder=MAKERS[name](), method="random")
    assert np.isfinite(e.matrix).all()
    assert np.abs(e.matrix).sum() > 0


# --- late interaction -----------------------------------------------------------------------------------------------


def test_expansion_and_skipped_tokens_are_kinds_of_their_own() -> None:
    encoder = tiny_late_interaction(**LATE["expanded, skipping"])
    e = whyalike.explain("A man sings", RIGHT, encoder=encoder, layer=0)
    assert e.left.kinds == ("special", "text", "text", "text", "special", *["expansion"] * 4)
    assert [token for token, kind in zip(e.right.tokens, e.right.kinds, strict=True) if kind == "skipped"] == ["!"]
    worded = e.by_word()
    assert worded.left.tokens == ("[CLS]", "A", "man", "sings", "[SEP]", "[MASK] × 4")
    assert "!" in worded.right.labels
    assert {pair.kinds for pair in worded.top_pairs(50)} == {("text", "text")}
    assert np.abs(worded.matrix[-1]).sum() > 0  # the expansion counts


def test_a_document_is_expanded_by_nothing_and_a_query_skips_nothing() -> None:
    encoder = tiny_late_interaction(**LATE["expanded, skipping"])
    query, document = (encoder.read(["A man sings."], prompt=role)[0].side for role in ("query", "document"))
    assert "expansion" in query.kinds
    assert "skipped" not in query.kinds
    assert "expansion" not in document.kinds
    assert "skipped" in document.kinds


def test_a_query_longer_than_its_expansion_is_refused_or_cut() -> None:
    encoder = tiny_late_interaction(expansion={**EXPANSION, "length": 6})
    with pytest.raises(TextTooLong, match="reads at most 6"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0, truncate=True)
    assert e.left.truncated
    assert e.score == pytest.approx(library_score(encoder, LEFT, RIGHT), rel=1e-6)


def test_a_document_of_which_nothing_is_scored_is_refused() -> None:
    encoder = tiny_late_interaction(skip=[*PUNCTUATION, "[CLS]", "[SEP]"])
    with pytest.raises(EmptyText, match="no token has a vector that is compared"):
        whyalike.explain(LEFT, "!!", encoder=encoder, layer=0)


def test_another_prompt_than_query_or_document_is_refused() -> None:
    encoder = tiny_late_interaction(prompts={"query": "a ", "document": "the ", "code": "an "})
    with pytest.raises(BadInput, match="got the prompt 'code'"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, prompts=("code", "document"))


# --- sparse ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPARSE)
def test_the_terms_between_the_words_add_up_to_the_score(name: str) -> None:
    encoder = tiny_sparse(**SPARSE[name])
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0)
    weights = encoder.embed([LEFT, RIGHT])
    products = weights[0] * weights[1] / e.model.scale(*weights)
    known = {term.term: term.value for term in e.terms()}
    assert len(known) == np.count_nonzero(products)
    names = encoder.output.terms  # type: ignore[attr-defined]
    for number in np.flatnonzero(products):
        assert known[names[number]] == pytest.approx(products[number], abs=1e-10)
    assert sum(known.values()) == pytest.approx(e.score, abs=1e-10)
    assert sum(term.share for term in e.by_word().terms()) == pytest.approx(1)
    assert [term.value for term in e.swapped().by_sentence().terms(3)] == pytest.approx(
        [term.value for term in e.terms(3)]
    )


def test_the_best_words_of_a_term_are_those_that_give_most_of_it() -> None:
    e = whyalike.explain(LEFT, RIGHT, encoder=tiny_sparse(pooling="sum"), layer=3, unit="word")
    assert e.shared_terms is not None
    for term in e.terms(5):
        column = e.shared_terms.left[:, e.shared_terms.names.index(term.term)]
        own = [column[index] for index in e.left.own]
        assert column[term.left_index] == (max(own) if max(own) > 0 else column.max())
        assert term.left_share == pytest.approx(column[term.left_index] / column.sum())


def test_a_limit_of_active_terms_is_kept() -> None:
    encoder = tiny_sparse(max_active_dims=10)
    (part,) = whyalike.contributions([LEFT], encoder=encoder, layer=0, progress=False)
    assert len(part.terms) == part.tokens.shape[1] == 10
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0)
    assert e.score == pytest.approx(library_score(encoder, LEFT, RIGHT), rel=1e-6)
    one = whyalike.explain_against(LEFT, RIGHT, encoder=encoder, layer=0)
    np.testing.assert_allclose(one.values, e.matrix.sum(1), rtol=0, atol=1e-9)


def test_only_active_terms_are_computed() -> None:
    encoder = tiny_sparse()
    (batch,) = encoder.batches(encoder.read([LEFT]), 100)
    terms = encoder.active_terms()
    with torch.no_grad():
        recording = record(encoder.twin, batch.features, 0, encoder.wiring(0), terms)
        whole, _ = encoder.run(batch.features, 0)
    assert terms is not None
    assert terms.numbers is not None
    assert terms.numbers.tolist() == whole[0].nonzero()[:, 0].tolist()
    torch.testing.assert_close(recording.embedding, whole[:, terms.numbers], rtol=1e-12, atol=1e-12)


def test_only_sparse_models_have_terms() -> None:
    e = whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder(), layer=0)
    with pytest.raises(BadInput, match="no vocabulary terms between the words"):
        e.terms()


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["bti", "integrated_jacobians", "token_outputs", "hessian_product", "contextual_cosine@1"]
)
@pytest.mark.parametrize("make", [tiny_late_interaction, tiny_sparse])
def test_methods_that_make_no_sense_for_a_kind_are_refused(method: str, make: Callable[[], TransformerEncoder]) -> None:
    encoder = make()
    with pytest.raises(
        BadInput, match=rf"{method.split('@')[0]} explains .* is a {encoder.record.kind} model, .*Use bilrp"
    ):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)


def test_the_maxsim_map_is_of_late_interaction_alone() -> None:
    with pytest.raises(BadInput, match="maxsim_map explains multi-vector models; .* is a dense model"):
        whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder(), method="maxsim_map")
    with pytest.raises(BadInput, match="maxsim_map has no layer"):
        whyalike.explain(LEFT, RIGHT, encoder=tiny_late_interaction(), method="maxsim_map@2")


def test_another_similarity_than_maxsim_is_refused() -> None:
    model = tiny_late_interaction().model
    with pytest.raises(UnsupportedModel, match="cannot be compared by 'cosine'"):
        whyalike.load_encoder(model, similarity="cosine")


def test_merged_token_vectors_are_refused() -> None:
    from sentence_transformers import MultiVectorEncoder
    from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling

    modules = [*tiny_late_interaction().model, HierarchicalTokenPooling(2.0)]
    with pytest.raises(UnsupportedModel, match="merges token vectors"):
        whyalike.load_encoder(MultiVectorEncoder(modules=modules, device="cpu"))


# --- loading --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [tiny_late_interaction, tiny_sparse])
def test_a_saved_model_is_loaded_as_what_it_is(make: Callable[..., TransformerEncoder], tmp_path: Path) -> None:
    encoder = make(dtype=torch.float32)
    encoder.model.save(str(tmp_path), create_model_card=False)
    loaded = whyalike.load_encoder(tmp_path)
    assert loaded.record.kind == encoder.record.kind
    e, again = (whyalike.explain(LEFT, RIGHT, encoder=each, layer=1) for each in (encoder, loaded))
    np.testing.assert_allclose(again.matrix, e.matrix, rtol=0, atol=1e-5 * max(1, abs(e.score)))


@pytest.mark.parametrize("name", ["late, plain", "sparse, max relu"])
def test_the_model_is_left_as_it_was(name: str) -> None:
    encoder = MAKERS[name]()
    before = library_score(encoder, LEFT, RIGHT)
    fingerprint = encoder.record.fingerprint
    whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0)
    assert library_score(encoder, LEFT, RIGHT) == before
    assert whyalike.load_encoder(encoder.model).record.fingerprint == fingerprint


# --- measured -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["late, expanded, skipping", "late, mean", "sparse, max relu"])
@pytest.mark.parametrize("removal", ["delete", "replace"])
def test_words_can_be_taken_away_from_every_kind(name: str, removal: Any) -> None:
    encoder = MAKERS[name]()
    pair = PerturbedPair(Case(0, LEFT, RIGHT), encoder, removal, 0.25)
    assert pair.whole == pytest.approx(library_score(encoder, LEFT, RIGHT), rel=1e-6)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=0, unit="word")
    gone = pair.scores(e, orders(e, "rows"), np.array([0.5]), back=False)
    assert np.isfinite(gone).all()
    assert gone[0] != pytest.approx(pair.whole)


def test_deleted_words_leave_the_score_of_the_text_without_them() -> None:
    encoder = tiny_late_interaction(skip=PUNCTUATION)
    pair = PerturbedPair(Case(0, "old man plays", "cat runs"), encoder, "delete", 0.25)
    keep = [np.array([True, False, True, True, True]), np.ones(4, dtype=bool)]
    pair._remember([each[None] for each in keep])
    assert pair._score(*keep) == pytest.approx(library_score(encoder, "man plays", "cat runs"), rel=1e-6)


def test_a_sparse_model_is_explained_from_its_embeddings_alone_too() -> None:
    e = whyalike.explain(LEFT, RIGHT, encoder=tiny_sparse(), method="shapley")
    assert e.score == pytest.approx(library_score(tiny_sparse(), LEFT, RIGHT), rel=1e-6)
    assert abs(e.residual) < 1e-6
