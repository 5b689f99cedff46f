"""What must hold for the gates of every family: values kept, linear, nothing left over, and no gate to spare."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import whyalike
from tests.families import FAMILIES, LEFT, RIGHT, DoubleThroughout, tiny_encoder
from whyalike.encoders import gates
from whyalike.encoders.gates import Detached, Gates, Recorder, Wiring
from whyalike.encoders.twin import Pass
from whyalike.errors import BadInput, UnsupportedModel
from whyalike.methods import null_reference
from whyalike.methods.tangents import pull_directions, states_at


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with DoubleThroughout():
        yield


@pytest.mark.parametrize("family", FAMILIES)
def test_freezing_changes_no_value(family: str) -> None:
    encoder = tiny_encoder(family)
    (batch,) = encoder.batches(encoder.read([LEFT]), 100)
    own = torch.from_numpy(encoder.embed([LEFT]))
    for keeper in (Detached(), Recorder()):
        with torch.no_grad(), Gates(keeper, encoder.wiring(0)) as mode:
            frozen = encoder.twin.run(batch.features, Pass(0, when_reached=mode.start))
        torch.testing.assert_close(frozen, own, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_freezing_changes_gradients(family: str) -> None:
    encoder = tiny_encoder(family)
    frozen, plain = (
        whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method) for method in ("bilrp", "hessian_product")
    )
    assert np.abs(frozen.matrix - plain.matrix).max() > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_the_matrix_alone_is_the_score(family: str) -> None:
    encoder = tiny_encoder(family)
    assert not encoder.wiring(0).constant
    for layer in (0, encoder.layers // 2, encoder.layers - 1):
        e = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=layer)
        assert e.matrix.sum() == pytest.approx(e.score, abs=1e-10)
        assert not e.left_terms.any()
        assert not e.right_terms.any()
        assert e.constant == e.background == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_without_biases_both_ways_to_treat_them_are_one(family: str) -> None:
    encoder = tiny_encoder(family, biases=False)
    shared, apart = (
        whyalike.explain(LEFT, RIGHT, encoder=encoder, method=whyalike.BiLRP(layer=0, biases=biases))
        for biases in ("shared", "apart")
    )
    np.testing.assert_allclose(shared.matrix, apart.matrix, atol=1e-10)
    assert apart.matrix.sum() == pytest.approx(apart.score, abs=1e-10)


ATTENTION = {F.scaled_dot_product_attention, F.softmax, torch.softmax}
NORMALISATION = {F.layer_norm, torch.rsqrt, Tensor.rsqrt, torch.pow, Tensor.pow}
ACTIVATION = {gates.activate, F.gelu, F.silu}


BIASES = {F.linear, torch.addmm}
FEW_BIASES = ("qwen3", "modernbert", "t5:gated")  # models whose linear maps have none
LEFT_OUT = {"attention": ATTENTION, "norm": NORMALISATION, "activation": ACTIVATION, "bias": BIASES}


@pytest.mark.parametrize(
    ("family", "name"),
    [
        (family, name)
        for family in ("bert", "mpnet", "qwen3", "gpt2", "modernbert", "t5:gated")
        for name in LEFT_OUT
        if name != "bias" or family not in FEW_BIASES
    ],
)
def test_leaving_out_any_gate_breaks_the_law(family: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = LEFT_OUT[name]
    encoder = tiny_encoder(family)
    (batch,) = encoder.batches(encoder.read([LEFT]), 100)
    states, embedding = states_at(encoder, batch, 0)
    masks = torch.ones(1, 1, batch.length, dtype=torch.float64)
    wiring = encoder.wiring(0)
    whole = pull_directions(states, states.hidden, masks, frozen=wiring)[0]
    torch.testing.assert_close(whole, embedding, rtol=1e-10, atol=1e-10)
    fewer = MappingProxyType({key: value for key, value in gates.HANDLERS.items() if key not in left_out})
    monkeypatch.setattr(gates, "HANDLERS", fewer)
    partial = pull_directions(states, states.hidden, masks, frozen=wiring)[0]
    assert (partial - embedding).norm() > 1e-3 * embedding.norm()
    if name == "bias":  # what is no known gate adds a constant, which the result states
        e = whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder(family), layer=0)
        assert abs(e.background) > 1e-3
        assert e.adds_up
        return
    with pytest.raises(UnsupportedModel, match="cannot be explained with frozen gates"):
        whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder(family), layer=0)


class Cubed(nn.Module):
    """An operation that is no known gate."""

    def forward(self, x: Tensor) -> Tensor:
        return x + x**3


def test_a_model_with_an_unknown_nonlinearity_is_refused_not_explained_wrongly() -> None:
    encoder = tiny_encoder("bert", dense=Cubed())
    with pytest.raises(UnsupportedModel, match="it is not additive"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder)
    assert whyalike.explain(LEFT, RIGHT, encoder=encoder, method="integrated_jacobians", layer=2).adds_up


class Shift(nn.Module):
    """Subtracts a constant from the embedding, as the exact models of the 2024 paper subtract their reference's."""

    def __init__(self, by: dict[int, Tensor]) -> None:
        super().__init__()
        self.by = by

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        shift = self.by.get(features["input_ids"].shape[1], next(iter(self.by.values())))
        return {**features, "sentence_embedding": features["sentence_embedding"] - shift}


def shifted_encoder() -> whyalike.Encoder:
    plain = tiny_encoder("bert", similarity="cosine")
    by = {}
    for text in (LEFT, RIGHT):
        (batch,) = plain.batches(plain.read([text]), 100)
        ids = batch.features["input_ids"].clone()
        ids[:, 1:-1] = plain.reader.tokenizer.pad_token_id
        by[batch.length] = plain.run({**batch.features, "input_ids": ids}, 0)[0]
    plain.model.append(Shift(by))
    return whyalike.load_encoder(plain.model, similarity="cosine")


def test_a_shifted_encoder_needs_no_terms_with_integrated_jacobians() -> None:
    method = whyalike.IntegratedJacobians(tolerance=1e-8)
    e = whyalike.explain(LEFT, RIGHT, encoder=shifted_encoder(), method=method)
    assert e.matrix.sum() == pytest.approx(e.score, abs=1e-6)
    assert abs(e.left_terms).max() < 1e-6
    assert abs(e.constant) < 1e-6


@pytest.mark.parametrize(("family", "found"), [("bert", False), ("llama", True), ("t5", True)])
def test_from_a_reference_at_zero_the_matrix_alone_is_the_score(family: str, found: bool) -> None:
    # A random BERT ends in a normalisation whose bias may keep every embedding from zero; the result says how near it came.
    encoder = tiny_encoder(family)
    method = whyalike.IntegratedJacobians(layer=2, reference="null", tolerance=1e-3)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)
    sizes = [side.reference_size for side in e.measured.values()]
    assert (max(sizes) < 1e-3) == found
    rests = [side.reference_size + side.error * (1 + side.reference_size) for side in e.measured.values()]
    assert abs(float(e.matrix.sum()) - e.score) <= rests[0] + rests[1] + rests[0] * rests[1] + 1e-9
    assert e.adds_up
    assert len(null_reference._SOLVED[encoder]) == 2  # found once for each length
    with pytest.raises(BadInput, match="never zero"):
        whyalike.IntegratedJacobians(reference="null", normalize="path")


def test_a_constant_that_a_module_subtracts_is_shared_too() -> None:
    e = whyalike.explain(LEFT, RIGHT, encoder=shifted_encoder(), layer=0)
    assert e.matrix.sum() == pytest.approx(e.score, abs=1e-10)
    assert e.background == 0
    apart = whyalike.BiLRP(layer=0, biases="apart")
    with_shift, without = (
        whyalike.contributions([LEFT], encoder=each, method=apart)[0]
        for each in (shifted_encoder(), tiny_encoder("bert"))
    )
    np.testing.assert_allclose(with_shift.tokens, without.tokens, atol=1e-12)
    assert np.linalg.norm(with_shift.remainder - without.remainder) > 0.1


class Constant(nn.Module):
    """Adds a constant by an operation that nobody knows as a bias."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.lerp(x, torch.full_like(x, 0.5), 0.25)


def test_a_constant_that_cannot_be_shared_is_the_background() -> None:
    e = whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder("bert", dense=Constant()), layer=0)
    assert e.adds_up
    assert abs(e.background) > 1e-3
    assert e.background == pytest.approx(e.score - e.matrix.sum())


def test_wiring_finds_gated_products_and_unused_projections_by_itself() -> None:
    found = {}
    for family in ("bert", "qwen3"):
        encoder = tiny_encoder(family)
        found[family] = encoder.wiring(0)
    assert found["bert"] == Wiring(frozenset(), frozenset({0, 1, 6, 7, 12, 13, 18}))  # queries, keys, and the pooler
    assert len(tiny_encoder("deberta").wiring(0).biased) == 9  # in each of three blocks: of the values, of two norms
    assert found["qwen3"].gated == {0, 1, 2}
