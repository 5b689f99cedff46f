"""Encoders: loading, prompts, references, quadrature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder, tiny_model, tokenizer
from whyalike.encoders.references import reference_states
from whyalike.methods.quadrature import RULES, cheapest_rule


def with_prompts(**options: object) -> whyalike.Encoder:
    model = tiny_encoder("bert").model
    model.prompts = {"query": "a man plays ", "document": "the house is "}
    model.set_pooling_include_prompt(bool(options.get("include", True)))
    return whyalike.load_encoder(model)


def test_prompt_tokens_are_marked_and_the_score_is_the_models() -> None:
    encoder = with_prompts()
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, prompts=("query", "document"))
    assert e.left.kinds[:5] == ("special", "prompt", "prompt", "prompt", "text")
    assert e.left.tokens[1:4] == ("a", "man", "plays")
    assert e.left.labels[4] == "The"
    assert e.by_word().left.kinds[:3] == ("special", "prompt", "text")
    query, document = (
        encoder.model.encode([text], prompt_name=name)[0] for text, name in ((LEFT, "query"), (RIGHT, "document"))
    )
    assert e.score == pytest.approx(float(encoder.model.similarity(query, document)), abs=1e-10)
    assert e.adds_up


def test_the_default_prompt_is_used_as_the_model_uses_it() -> None:
    encoder = with_prompts()
    encoder.model.default_prompt_name = "query"
    np.testing.assert_allclose(encoder.embed([LEFT]), encoder.model.encode([LEFT]), atol=1e-12)
    assert "prompt" in whyalike.explain(LEFT, RIGHT, encoder=encoder).left.kinds


def test_a_path_gives_the_same_as_the_model_in_memory(tmp_path: Path) -> None:
    model, words = tiny_model("bert", dtype=torch.float32), tokenizer()
    model.save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    memory = whyalike.load_encoder(model, tokenizer=words, pooling="cls")
    disk = whyalike.load_encoder(tmp_path, pooling="cls")
    one, other = (whyalike.explain(LEFT, RIGHT, encoder=each) for each in (memory, disk))
    np.testing.assert_allclose(one.matrix, other.matrix, atol=1e-7)
    assert disk.record.pooling == "cls"
    assumed = whyalike.load_encoder(tmp_path)
    assert (assumed.record.pooling, assumed.record.pooling_assumed) == ("mean", True)


def test_a_saved_sentence_transformer_loads_with_all_its_modules(tmp_path: Path) -> None:
    first = whyalike.load_encoder(tiny_model("bert", dtype=torch.float32), tokenizer=tokenizer(), pooling="mean")
    first.model[0].auto_model.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

    modules = [Transformer(str(tmp_path)), Pooling(32, "mean"), Dense(32, 8), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(tmp_path / "whole"))
    encoder = whyalike.load_encoder(tmp_path / "whole")
    assert (encoder.record.dim, encoder.record.similarity) == (8, "cosine")
    assert encoder.output.normalizes
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder)
    own = encoder.model.encode([LEFT, RIGHT])
    assert e.score == pytest.approx(float(own[0] @ own[1]), abs=1e-6)
    assert e.adds_up


def test_the_default_goes_by_its_name_too_and_limits_are_read_live() -> None:
    encoder = whyalike.load_encoder("all-MiniLM-L6-v2")
    assert encoder.record == whyalike.load_encoder().record
    encoder.model.max_seq_length = 8
    assert whyalike.explain("guitar " * 20, "music", encoder=encoder, truncate=True).left.cut == 14


def test_embedding_leaves_the_model_in_its_mode() -> None:
    encoder = tiny_encoder("bert")
    encoder.model.train()
    encoder.embed([LEFT])
    assert encoder.model.training


def test_the_twin_follows_the_users_model() -> None:
    encoder = tiny_encoder("bert")
    before = whyalike.explain(LEFT, RIGHT, encoder=encoder)
    with torch.no_grad():
        encoder.model[0].auto_model.embeddings.word_embeddings.weight.mul_(1.5)
    after = whyalike.explain(LEFT, RIGHT, encoder=encoder)
    assert after.score != pytest.approx(before.score, abs=1e-6)
    own = encoder.model.encode([LEFT, RIGHT])
    assert after.score == pytest.approx(float(encoder.model.similarity(*own)), abs=1e-10)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "deberta-v2", "qwen3"])
def test_a_reference_keeps_the_texts_own_positions_by_default(family: str) -> None:
    encoder = tiny_encoder(family)
    (batch,) = encoder.batches(encoder.read([LEFT]), 100)
    own, models = (reference_states(encoder, batch, 0, "pad", positions) for positions in ("own", "model"))
    states = encoder.run(batch.features, 0)[1].observed
    torch.testing.assert_close(own[:, [0, -1]], states[:, [0, -1]])  # special tokens are their own reference
    if family in ("roberta", "xlm-roberta"):
        assert (own - models).abs().max() > 1e-3  # these derive positions from ids, and padding has none
    else:
        torch.testing.assert_close(own, models)


def test_every_reference_adds_up_and_zero_is_zero() -> None:
    encoder = tiny_encoder("bert", dtype=torch.float32)
    for reference in ("pad", "mask", "unk", "zero"):
        method = whyalike.IntegratedJacobians(reference=reference, layer=1)
        e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)
        assert e.adds_up
        assert e.measured["left"].error <= 1e-2
    (batch,) = encoder.batches(encoder.read([LEFT]), 100)
    assert not reference_states(encoder, batch, 1, "zero", "own").any()


def test_the_tolerance_is_kept_and_the_error_is_the_true_one() -> None:
    encoder = tiny_encoder("bert")
    for tolerance in (1e-1, 1e-3, 1e-5):
        method = whyalike.IntegratedJacobians(tolerance=tolerance)
        (part,) = whyalike.contributions([LEFT], encoder=encoder, method=method)
        (batch,) = encoder.batches(encoder.read([LEFT]), 100)
        start = reference_states(encoder, batch, 0, "pad", "own")
        from whyalike.methods.tangents import states_at

        reference = states_at(encoder, batch, 0)[0].embed(start, lambda: None)[0].numpy()
        total = part.embedding - reference
        error = np.linalg.norm(total - part.tokens.sum(0)) / np.linalg.norm(total)
        assert error == pytest.approx(part.measured.error, rel=1e-3, abs=1e-12)
        assert error <= tolerance


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_too_few_steps_are_reported_not_hidden(dtype: torch.dtype) -> None:
    encoder = tiny_encoder("gpt2", dtype=dtype)
    method = whyalike.IntegratedJacobians(tolerance=1e-12, max_steps=9)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)
    assert e.measured["left"].error > 1e-12
    assert e.measured["left"].steps <= 9
    assert e.adds_up


@pytest.mark.parametrize("name", RULES)
def test_quadrature_weights_sum_to_one_and_nodes_lie_on_the_path(name: str) -> None:
    for steps in (1, 2, 7, 30):
        rule = RULES[name](steps)
        assert rule.weights.sum() == pytest.approx(1)
        assert 0 <= rule.nodes.min() <= rule.nodes.max() <= 1


def test_a_sharp_jump_is_found_by_halving_panels() -> None:
    def value(a: np.ndarray) -> np.ndarray:
        return np.stack([np.tanh((a - 0.4217) * 900), a**2], 1)

    def speed(a: np.ndarray) -> np.ndarray:
        return np.stack([900 / np.cosh(np.clip((a - 0.4217) * 900, -300, 300)) ** 2, 2 * a], 1)

    rule = cheapest_rule(speed, value, 1e-3, 3000)
    assert rule.name == "gauss_on_panels"
    assert rule.error <= 1e-3
    assert len(rule.nodes) < 120  # a uniform midpoint rule needs more than 1000
    np.testing.assert_allclose(rule.weights @ speed(rule.nodes), np.subtract(*value(np.array([1.0, 0.0]))), rtol=1e-2)


def test_a_smooth_path_takes_more_nodes_of_gauss_legendre_and_a_rough_one_none() -> None:
    def tried(steepness: float, middle: float) -> list[int]:
        """The number of nodes of every rule tried on a path with one bend."""
        counts = []

        def value(a: np.ndarray) -> np.ndarray:
            return np.tanh((a - middle) * steepness)[:, None]

        def speed(a: np.ndarray) -> np.ndarray:
            counts.append(len(a))
            return steepness / np.cosh((a - middle) * steepness)[:, None] ** 2

        assert cheapest_rule(speed, value, 1e-2, 3000).error <= 1e-2
        return counts

    assert tried(8, 0.1) == [4, 6, 8, 9]  # where the warped rule needs 18
    assert tried(16, 0.45) == [4, 6, 8, 12]  # 30 % off with 6 nodes, so 9 are not tried


def test_captum_gives_the_same_one_sided_integrated_gradients() -> None:
    captum = pytest.importorskip("captum.attr")
    encoder = tiny_encoder("bert")
    (batch,), (other,) = (list(encoder.batches(encoder.read([text]), 100)) for text in (LEFT, RIGHT))
    from whyalike.methods.tangents import states_at

    states, embedding = states_at(encoder, batch, 0)
    towards = encoder.run(other.features, 0)[0]
    scale = embedding.norm() * towards.norm()

    def score(hidden: torch.Tensor) -> torch.Tensor:
        rows = [states.embed(row[None], lambda: None) for row in hidden]
        return (torch.cat(rows) * towards).sum(-1) / scale

    start = reference_states(encoder, batch, 0, "pad", "own")
    gradients = captum.IntegratedGradients(score)
    theirs = gradients.attribute(states.hidden, baselines=start, n_steps=12, method="gausslegendre").sum(-1)[0]
    method = whyalike.IntegratedJacobians(steps=12, rule="gauss")
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)
    np.testing.assert_allclose(e.matrix.sum(1) + e.left_terms, theirs.detach().numpy(), atol=1e-10)
    ours = whyalike.explain_against(LEFT, RIGHT, encoder=encoder, method=method)
    np.testing.assert_allclose(ours.values, theirs.detach().numpy(), atol=1e-10)


def test_embedding_leaves_every_module_in_its_mode() -> None:
    encoder = tiny_encoder("bert")
    model = encoder.transformer.model
    model.train()
    model[0].auto_model.eval()
    before = [module.training for module in model.modules()]
    encoder.embed(["a man", "the dog"])
    assert [module.training for module in model.modules()] == before
    assert len(set(before)) == 2
