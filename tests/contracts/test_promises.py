"""What every method promises on every encoder."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import whyalike
from tests.embedding_functions import embed_words
from tests.families import FAMILIES, LEFT, RIGHT, tiny_encoder, tiny_model, tokenizer
from whyalike.encoders.twin import Twin
from whyalike.methods.integrated_jacobians import double_precision
from whyalike.methods.second_order import SecondOrder

THIRD = "The dog runs under the old house."
VECTORS = {word: np.random.default_rng(0).normal(size=4) for word in f"{LEFT} {RIGHT} {THIRD}".lower().split()}
DENSE = {name: method for name, method in whyalike.METHODS.items() if "dense" in method.kinds}
SECOND_ORDER = [name for name, method in DENSE.items() if issubclass(method, SecondOrder) and method.unit == "token"]
ADDING_UP = [name for name, method in DENSE.items() if method.adds_up]
LAYERED = [name for name in ADDING_UP if name in SECOND_ORDER]  # those that look at the states of a layer
REMOVING = [name for name in ADDING_UP if name not in LAYERED]


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert", dtype=torch.float32, pooling=("mean", "max"))


def ready(name: str) -> Any:
    """A method by name, with what it needs."""
    if name == "contextual_cosine":
        return "contextual_cosine@1"
    return whyalike.TfidfVectors.fit([LEFT, RIGHT, THIRD], VECTORS) if name == "tfidf_vectors" else name


def snapshot(model: Any) -> tuple[dict[str, bytes], list[Any]]:
    weights = {key: value.numpy().tobytes() for key, value in model.state_dict().items()}
    shape = [
        (
            name,
            type(module),
            sorted(vars(module)),
            module.training,
            len(module._forward_hooks),
            len(module._forward_pre_hooks),
        )
        for name, module in model.named_modules()
    ]
    return weights, shape


@pytest.mark.parametrize("family", FAMILIES)
def test_score_and_embeddings_are_the_models_own(family: str) -> None:
    encoder = tiny_encoder(family, normalize=True, dtype=torch.float32)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder)
    own = encoder.model.encode([LEFT, RIGHT])
    np.testing.assert_allclose(encoder.embed([LEFT, RIGHT]), own, atol=1e-6)
    assert e.score == pytest.approx(float(own[0] @ own[1]), abs=1e-6)


@pytest.mark.parametrize("family", ["bert", "qwen3", "modernbert"])
def test_half_precision_models_are_explained_as_well_as_they_compute(family: str) -> None:
    model = tiny_model(family).to(torch.bfloat16)
    e = whyalike.explain(LEFT, RIGHT, encoder=whyalike.load_encoder(model, tokenizer=tokenizer(), pooling="mean"))
    exact = whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder(family))
    assert e.matrix.dtype == np.float64
    assert e.adds_up
    assert np.corrcoef(e.matrix.ravel(), exact.matrix.ravel())[0, 1] > 0.98


@pytest.mark.parametrize("method", DENSE)
def test_swapping_the_texts_transposes_the_matrix(method: str, encoder: whyalike.Encoder) -> None:
    one, other = (
        whyalike.explain(*pair, encoder=encoder, method=ready(method)) for pair in ((LEFT, RIGHT), (RIGHT, LEFT))
    )
    np.testing.assert_allclose(one.swapped().matrix, other.matrix, atol=1e-12)
    np.testing.assert_allclose(one.swapped().left_terms, other.left_terms, atol=1e-12)
    assert one.score == pytest.approx(other.score, abs=1e-12)


@pytest.mark.parametrize("method", DENSE)
def test_same_input_same_output_and_batching_changes_nothing(method: str, encoder: whyalike.Encoder) -> None:
    pairs, chosen = [(LEFT, RIGHT), (THIRD, RIGHT), (LEFT, LEFT), (RIGHT, THIRD)], ready(method)
    together = list(whyalike.explain_pairs(pairs, encoder=encoder, method=chosen))
    alone = [whyalike.explain(*pair, encoder=encoder, method=chosen) for pair in pairs]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.matrix, other.matrix, atol=2e-6)
        assert (one.left.text, one.right.text) == (other.left.text, other.right.text)
    again = whyalike.explain(*pairs[0], encoder=encoder, method=chosen)
    np.testing.assert_array_equal(again.matrix, alone[0].matrix)


def test_a_text_in_many_pairs_is_explained_once(encoder: whyalike.Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    original = whyalike.BiLRP.of_readings

    def counting(self: Any, encoder: Any, readings: Any, options: Any) -> Any:
        seen.extend(reading.side.text for reading in readings)
        return original(self, encoder, readings, options)

    whyalike.explain(LEFT, RIGHT, encoder=encoder)  # which also chooses the layer
    monkeypatch.setattr(whyalike.BiLRP, "of_readings", counting)
    list(whyalike.explain_pairs([(LEFT, RIGHT), (LEFT, THIRD), (THIRD, LEFT)], encoder=encoder))
    assert sorted(seen) == sorted([LEFT, RIGHT, THIRD])


@pytest.mark.parametrize("layer", [0, 1, 2, 3])
@pytest.mark.parametrize("method", LAYERED)
def test_adds_up_at_every_layer_and_unit(method: str, layer: int, encoder: whyalike.Encoder) -> None:
    for unit in ("token", "word", "sentence"):
        e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method, layer=layer, unit=unit)  # type: ignore[arg-type]
        assert e.adds_up
        assert e.left.unit == unit


@pytest.mark.parametrize("method", REMOVING)
@pytest.mark.parametrize("unit", ["word", "sentence"])
@pytest.mark.parametrize("kind", ["bert", "function"])
def test_methods_without_layers_add_up_in_every_unit(kind: str, unit: Any, method: str) -> None:
    found = tiny_encoder("bert", dtype=torch.float32) if kind == "bert" else whyalike.load_encoder(embed_words)
    for texts in ((LEFT, RIGHT), (f"{LEFT} {RIGHT}", THIRD), (LEFT, LEFT)):
        e = whyalike.explain(*texts, encoder=found, method=method, unit=unit)
        assert e.adds_up
        assert e.left.unit == unit
        assert e.score == pytest.approx(float(found.record.score(*found.embed(texts))), abs=1e-6)


@pytest.mark.parametrize("method", SECOND_ORDER)
@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_one_tangent_per_unit_equals_the_sum_over_its_tokens(method: str, unit: Any, encoder: whyalike.Encoder) -> None:
    text = "The old man plays guitar. A dog runs! Someone sings."
    coarse = whyalike.contributions([text], encoder=encoder, method=method, unit=unit)[0]
    fine = whyalike.contributions([text], encoder=encoder, method=method)[0].by(unit)
    assert coarse.side.tokens == fine.side.tokens
    np.testing.assert_allclose(coarse.tokens, fine.tokens, atol=1e-4)


@pytest.mark.parametrize("method", ADDING_UP)
def test_the_one_sided_view_equals_row_sums_plus_left_terms(method: str, encoder: whyalike.Encoder) -> None:
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method).by_word()
    one = whyalike.explain_against(LEFT, RIGHT, encoder=encoder, method=method, unit="word")
    np.testing.assert_allclose(one.values, e.one_sided().values, atol=1e-5)
    assert one.other.text == RIGHT
    assert one.measured == e.measured["left"]
    assert one.background == pytest.approx(e.one_sided().background, abs=1e-5)
    assert one.score == pytest.approx(e.score, abs=1e-6)


@pytest.mark.parametrize("method", LAYERED)
def test_reverse_mode_gives_the_same(method: str) -> None:
    wide, narrow = (tiny_encoder("bert", similarity="dot") for _ in range(2))
    narrow.model.truncate_dim = 3  # fewer dimensions than tokens: backward passes are cheaper
    reverse = whyalike.load_encoder(narrow.model, similarity="dot")
    for text in (LEFT, RIGHT):
        many, few = (
            whyalike.contributions([text], encoder=each, method=method, layer=1)[0] for each in (wide, reverse)
        )
        np.testing.assert_allclose(few.tokens, many.tokens[:, :3], atol=2e-2 if "integrated" in method else 1e-10)


def test_a_small_memory_budget_changes_nothing(encoder: whyalike.Encoder) -> None:
    for method in ("bilrp", "hessian_product", "integrated_jacobians", "token_outputs"):
        roomy, tight = (
            whyalike.contributions([RIGHT], encoder=encoder, method=method, budget=budget)[0] for budget in (2**30, 1)
        )
        np.testing.assert_allclose(tight.tokens, roomy.tokens, atol=1e-5)


@pytest.mark.parametrize("method", DENSE)
def test_the_model_is_as_it_was_after_success(method: str) -> None:
    encoder = tiny_encoder("bert")
    encoder.model.train()
    before = snapshot(encoder.model)
    layer = None if method in ("tfidf_vectors", "contextual_cosine", "exact_match", *REMOVING) else 1
    whyalike.explain(LEFT, RIGHT, encoder=encoder, method=ready(method), layer=layer)
    assert snapshot(encoder.model) == before


def test_the_model_is_as_it_was_after_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = tiny_encoder("bert")
    before, right = snapshot(encoder.model), whyalike.explain(LEFT, RIGHT, encoder=encoder)
    calls = 0
    original = Twin._run_block

    def failing(self: Twin, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise MemoryError("in the middle of a pass")
        return original(self, *args, **kwargs)

    for block in encoder.twin.stages.modules():
        if "forward" in vars(block) and getattr(block.forward, "func", None) == encoder.twin._run_block:
            block.forward = type(block.forward)(failing, encoder.twin, *block.forward.args)
    with pytest.raises(MemoryError):
        whyalike.explain(LEFT, RIGHT, encoder=encoder)
    assert snapshot(encoder.model) == before
    np.testing.assert_array_equal(whyalike.explain(LEFT, RIGHT, encoder=encoder).matrix, right.matrix)


def test_threads_with_different_methods_on_one_encoder_do_not_disturb_each_other() -> None:
    encoder = tiny_encoder("bert")
    jobs = [
        ("bilrp", 0),
        ("integrated_jacobians", 1),
        ("hessian_product", 0),
        ("bilrp", 2),
        ("token_outputs", None),
        ("bti", None),
    ] * 3
    pairs = [(LEFT, RIGHT), (THIRD, RIGHT), (RIGHT, LEFT)]

    def run(job: tuple[str, int | None]) -> list[np.ndarray]:
        found = whyalike.explain_pairs(pairs, encoder=encoder, method=job[0], layer=job[1])
        return [e.matrix for e in found]

    expected = [run(job) for job in jobs]
    plain = encoder.embed([LEFT])
    results: dict[int, Any] = {}

    def work(number: int) -> None:
        results[number] = run(jobs[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(jobs))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        np.testing.assert_array_equal(encoder.model.encode([LEFT]), plain)  # the user's model, in the user's thread
    for thread in threads:
        thread.join()
    for number, matrices in enumerate(expected):
        for one, other in zip(results[number], matrices, strict=True):
            np.testing.assert_array_equal(one, other)


def test_where_float32_misses_the_tolerance_steep_pieces_are_followed_in_float64() -> None:
    encoder = tiny_encoder("bert", dtype=torch.float32)
    method = whyalike.IntegratedJacobians(tolerance=1e-9, max_steps=300)
    before = {key: value.clone() for key, value in encoder.model.state_dict().items()}
    e, exact = (
        whyalike.explain(LEFT, RIGHT, encoder=each, method=method) for each in (encoder, double_precision(encoder))
    )
    for measured in e.measured.values():
        assert 0 < measured.steps_in_float64 <= measured.steps
        assert measured.error < 3e-8
    np.testing.assert_allclose(e.matrix, exact.matrix, atol=1e-6)
    assert e.adds_up
    one = whyalike.explain_against(LEFT, RIGHT, encoder=encoder, method=method)
    np.testing.assert_allclose(one.values, e.one_sided().values, atol=1e-5)
    assert all(torch.equal(value, before[key]) for key, value in encoder.model.state_dict().items())
    quick = whyalike.explain(LEFT, RIGHT, encoder=encoder, method=whyalike.IntegratedJacobians(tolerance=1e-2))
    assert quick.measured["left"].steps_in_float64 is None


@pytest.fixture
def pulled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that another one is pulled through."""
    found: list[str] = []
    original = whyalike.BiLRP.products

    def counting(self: Any, encoder: Any, readings: Any, *args: Any, **options: Any) -> Any:
        found.extend(reading.side.text for reading in readings)
        return original(self, encoder, readings, *args, **options)

    monkeypatch.setattr(whyalike.BiLRP, "products", counting)
    return found


LONG = " ".join([f"The old man plays guitar near the {place}, and a dog runs." for place in ("river", "hill")])


@pytest.mark.parametrize("biases", ["shared", "apart"])
@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_a_short_text_is_pulled_through_a_long_one_to_the_same_result(
    biases: Any, unit: Any, pulled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, method = tiny_encoder("bert"), whyalike.BiLRP(layer=1, biases=biases)
    pairs = [("a man", LONG), (LONG, "a man"), ("a dog", LONG), ("a dog", f"{LONG} Someone sings."), ("a man", "a dog")]
    found = {}
    for cost in (0.01, 1e9):
        monkeypatch.setattr("whyalike.methods.second_order.PULL", cost)
        monkeypatch.setattr("whyalike.methods.second_order.PULLED_THROUGH", cost)
        for aligned in (False, True):
            found[cost, aligned] = list(
                whyalike.explain_pairs(pairs, encoder=encoder, method=method, unit=unit, aligned=aligned)
            )
    assert set(pulled) == {LONG, f"{LONG} Someone sings."}
    for aligned in (False, True):
        for cheap, dear in zip(found[0.01, aligned], found[1e9, aligned], strict=True):
            for name in ("matrix", "left_terms", "right_terms", "constant", "score"):
                np.testing.assert_allclose(getattr(cheap, name), getattr(dear, name), atol=1e-10, err_msg=name)
            assert (cheap.left.tokens, cheap.right.tokens) == (dear.left.tokens, dear.right.tokens)
            assert cheap.method == dear.method
            assert cheap.adds_up


def test_the_cheaper_way_is_taken_and_a_text_in_many_pairs_is_not_pulled_through(
    encoder: whyalike.Encoder, pulled: list[str]
) -> None:
    long = LONG[:150]
    list(whyalike.explain_pairs([("a man", long), (long, long)], encoder=encoder, layer=0))
    list(whyalike.explain_pairs([(LEFT, RIGHT)], encoder=encoder, layer=0))
    list(whyalike.explain_pairs([(f"a man {word}", long) for word in "abcdefg"], encoder=encoder, layer=0))
    assert not pulled
    whyalike.contrast("a man", long, LEFT, encoder=encoder, layer=0)
    assert pulled == [long]
