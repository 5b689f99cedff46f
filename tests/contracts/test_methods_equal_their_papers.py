"""Every method equals its literal, slow form to 1e-8 in float64: families × layers, poolings, cosine and dot."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from torch import nn

import whyalike
from tests.families import FAMILIES, LEFT, POOLINGS, RIGHT, DoubleThroughout, tiny_encoder
from tests.reference.slow import (
    bilrp_by_loops,
    hessian_product_by_loops,
    integrated_jacobians_by_loops,
    pair_by_outer_products,
)
from whyalike.encoders.encoder import Encoder
from whyalike.methods.quadrature import RULES

GATED = {"modernbert", "nomic_bert", "eurobert", "qwen2", "qwen3", "llama", "mistral", "gemma3_text", "gte", "t5:gated"}
EXACT = {"rtol": 0, "atol": 1e-8}


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with DoubleThroughout():
        yield


def scale_of(encoder: Encoder) -> float:
    if encoder.record.similarity == "dot":
        return 1.0
    left, right = (encoder.model.encode([text], normalize_embeddings=False)[0] for text in (LEFT, RIGHT))
    return float(np.linalg.norm(left) * np.linalg.norm(right))


@pytest.mark.parametrize("layer", [0, 1, -1])
@pytest.mark.parametrize("family", FAMILIES)
def test_bilrp(family: str, layer: int) -> None:
    encoder = tiny_encoder(family)
    layer = layer % (encoder.layers + 1)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=whyalike.BiLRP(layer=layer, biases="apart"))
    slow = [bilrp_by_loops(encoder, text, layer, family in GATED) for text in (LEFT, RIGHT)]
    np.testing.assert_allclose(e.matrix, pair_by_outer_products(*slow, scale_of(encoder)), **EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_bilrp_with_its_biases_shared(family: str) -> None:
    encoder = tiny_encoder(family)
    left, right = LEFT.split(",")[0], " ".join(RIGHT.split()[:5])  # the loops are slow
    e = whyalike.explain(left, right, encoder=encoder, layer=1)
    slow = [bilrp_by_loops(encoder, text, 1, family in GATED, shared=True) for text in (left, right)]
    scale = e.model.scale(*(part.embedding for part in whyalike.contributions([left, right], encoder=encoder, layer=1)))
    np.testing.assert_allclose(e.matrix, pair_by_outer_products(*slow, scale), **EXACT)


@pytest.mark.parametrize("family", FAMILIES)
def test_hessian_product(family: str) -> None:
    encoder = tiny_encoder(family, similarity="dot")
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="hessian_product", layer=1)
    slow = [hessian_product_by_loops(encoder, text, 1) for text in (LEFT, RIGHT)]
    np.testing.assert_allclose(e.matrix, pair_by_outer_products(*slow, 1.0), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_integrated_jacobians_with_the_same_nodes(family: str) -> None:
    encoder = tiny_encoder(family, similarity="dot")
    method = whyalike.IntegratedJacobians(layer=0, steps=3, rule="gauss", reference_positions="model")
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)
    rule = RULES["gauss"](3)
    slow = [integrated_jacobians_by_loops(encoder, text, 0, rule.nodes, rule.weights)[0] for text in (LEFT, RIGHT)]
    np.testing.assert_allclose(e.matrix, pair_by_outer_products(*slow, 1.0), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("dense", [None, nn.Tanh(), nn.Identity()], ids=["plain", "tanh", "dense"])
@pytest.mark.parametrize("pooling", POOLINGS, ids=str)
def test_every_pooling_dense_layer_and_similarity(
    pooling: str | tuple[str, ...], dense: nn.Module, similarity: str
) -> None:
    encoder = tiny_encoder("bert", pooling=pooling, dense=dense, similarity=similarity)
    scale = scale_of(encoder)
    for biases in ("apart", "shared"):
        e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=whyalike.BiLRP(layer=2, biases=biases))
        slow = [bilrp_by_loops(encoder, text, 2, False, biases == "shared") for text in (LEFT, RIGHT)]
        np.testing.assert_allclose(e.matrix, pair_by_outer_products(*slow, scale), **EXACT)
    assert e.matrix.sum() == pytest.approx(e.score, abs=1e-10 * max(1, abs(e.score)))
    method = whyalike.IntegratedJacobians(layer=2, steps=2, rule="midpoint")
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)
    rule = RULES["midpoint"](2)
    paths = [integrated_jacobians_by_loops(encoder, text, 2, rule.nodes, rule.weights)[0] for text in (LEFT, RIGHT)]
    np.testing.assert_allclose(e.matrix, pair_by_outer_products(*paths, scale), rtol=1e-8, atol=1e-8)


def test_differentiating_through_the_normalisation() -> None:
    encoder = tiny_encoder("bert", normalize=True)
    e = whyalike.explain(
        LEFT, RIGHT, encoder=encoder, method=whyalike.IntegratedJacobians(steps=3, rule="gauss", normalize="path")
    )
    rule = RULES["gauss"](3)
    slow = [
        integrated_jacobians_by_loops(encoder, t, 0, rule.nodes, rule.weights, normalize=True)[0] for t in (LEFT, RIGHT)
    ]
    np.testing.assert_allclose(e.matrix, pair_by_outer_products(*slow, 1.0), **EXACT)
    assert e.adds_up


def test_the_papers_right_endpoint_sum_approaches_the_converged_integral() -> None:
    encoder = tiny_encoder("bert")
    exact = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=whyalike.IntegratedJacobians(tolerance=1e-9))
    gaps = []
    for steps in (16, 64, 256):
        paper = whyalike.IntegratedJacobians(steps=steps, rule="right_endpoint")
        gaps.append(np.abs(whyalike.explain(LEFT, RIGHT, encoder=encoder, method=paper).matrix - exact.matrix).max())
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.2)  # the error of the paper's rule falls like 1/N
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize("family", ["bert", "mpnet", "qwen3", "t5", "albert", "gpt2"])
def test_token_outputs_are_last_states_times_their_pooling_weight(family: str) -> None:
    encoder = tiny_encoder(family)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="token_outputs")
    states = encoder.model.encode([LEFT, RIGHT], output_value="token_embeddings")
    left, right = (each.numpy() / len(each) for each in states)
    np.testing.assert_allclose(e.matrix, left @ right.T / scale_of(encoder), **EXACT)
    np.testing.assert_allclose(e.matrix.sum(), e.score, **EXACT)


@pytest.mark.parametrize("family", ["bert", "mpnet", "qwen3", "gpt2"])
def test_token_embeddings_are_products_of_the_states(family: str) -> None:
    from tests.reference.slow import SlowEncoder

    encoder = tiny_encoder(family)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="token_embeddings", layer=1)
    left, right = (SlowEncoder(encoder, text, 1).hidden[0].numpy() for text in (LEFT, RIGHT))
    np.testing.assert_allclose(e.matrix, left @ right.T / scale_of(encoder), **EXACT)
