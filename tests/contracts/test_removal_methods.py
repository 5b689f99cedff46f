"""Methods that need embeddings alone equal their definitions, on encoders and on functions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whyalike
from tests.embedding_functions import Counting, embed_words
from tests.families import LEFT, RIGHT, tiny_encoder
from tests.reference.orders import leave_one_out_by_hand, shapley_by_orders, unit_length
from whyalike.methods.coalitions import (
    all_coalitions,
    exact_values,
    fewest,
    sample_coalitions,
    solve_sample,
)

TEXT = "A dog,  and  a cat!"  # 7 words, with spaces to keep
SENTENCES = "The man sings. A dog runs! Someone plays music on the hill. Is the house old?"
EXACT: dict[str, Any] = {"rtol": 0, "atol": 1e-10}
BY_DEFINITION = {"shapley": shapley_by_orders, "leave_one_out": leave_one_out_by_hand}


def function_encoder(**options: Any) -> whyalike.Encoder:
    return whyalike.load_encoder(embed_words, **options)


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """A text with the characters of some spans deleted."""
    return "".join(letter for place, letter in enumerate(text) if not any(a <= place < b for a, b in spans))


def game_of(encoder: whyalike.Encoder, part: whyalike.Contributions) -> Any:
    """``u(S)`` of a text, from the embeddings of texts cut by hand."""
    spans = [tuple(part.side.offsets[unit]) for unit in part.side.own]

    @cache
    def value(present: frozenset[int]) -> np.ndarray:
        gone = [span for number, span in enumerate(spans) if number not in present]
        text = without(part.side.text, gone) if present else ""
        vector = encoder.embed([text])[0]
        return unit_length(vector) if encoder.record.similarity == "cosine" else vector

    return len(spans), value


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt_neox", "function"])
@pytest.mark.parametrize("method", BY_DEFINITION)
def test_contributions_equal_the_definition(method: str, kind: str, similarity: Any) -> None:
    encoder = (
        function_encoder(similarity=similarity) if kind == "function" else tiny_encoder(kind, similarity=similarity)
    )
    (part,) = whyalike.contributions([TEXT], encoder=encoder, method=method)
    players, value = game_of(encoder, part)
    assert players == 7
    expected = BY_DEFINITION[method](players, value)
    np.testing.assert_allclose(part.tokens[part.side.own], expected, **EXACT)
    np.testing.assert_allclose(part.embedding, value(frozenset(range(players))), **EXACT)
    if method == "shapley":
        np.testing.assert_allclose(part.remainder, value(frozenset()), **EXACT)
        assert part.measured.error is None
        assert part.measured.embeddings == 2**players


@pytest.mark.parametrize("method", BY_DEFINITION)
def test_sentences_are_removed_as_wholes(method: str) -> None:
    encoder = function_encoder()
    (part,) = whyalike.contributions([SENTENCES], encoder=encoder, method=method, unit="sentence")
    players, value = game_of(encoder, part)
    assert players == 4
    np.testing.assert_allclose(part.tokens, BY_DEFINITION[method](players, value), **EXACT)
    words = whyalike.contributions([SENTENCES], encoder=encoder, method=method)[0].by("sentence")
    assert np.abs(words.tokens - part.tokens).max() > 0.01  # another question


@pytest.mark.parametrize("method", BY_DEFINITION)
def test_a_shared_cache_does_not_answer_for_another_unit(method: str) -> None:
    encoder, cache = function_encoder(), whyalike.ContributionCache(2**20)
    for unit in ("word", "sentence", "word"):
        how: dict[str, Any] = {"encoder": encoder, "method": method, "unit": unit}
        (shared,) = whyalike.explain_pairs([(SENTENCES, TEXT)], cache=cache, **how)
        np.testing.assert_array_equal(shared.matrix, whyalike.explain(SENTENCES, TEXT, **how).matrix)
    assert len(cache) == 4


@pytest.mark.parametrize("method", BY_DEFINITION)
def test_a_function_and_the_encoder_behind_it_are_explained_alike(method: str) -> None:
    encoder = tiny_encoder("bert", similarity="cosine")
    behind = whyalike.load_encoder(lambda texts: encoder.model.encode(texts), max_batch=500)
    inside, outside = (whyalike.explain(LEFT, RIGHT, encoder=each, method=method) for each in (encoder, behind))
    own = np.ix_(inside.left.own, inside.right.own)
    np.testing.assert_allclose(inside.matrix[own], outside.matrix, **EXACT)
    assert inside.matrix.sum() == pytest.approx(outside.matrix.sum(), abs=1e-10)  # special tokens have nothing
    assert inside.score == pytest.approx(
        float(encoder.model.similarity(*encoder.model.encode([LEFT, RIGHT]))), abs=1e-10
    )
    assert {name: each.embeddings for name, each in inside.measured.items()} == {
        name: each.embeddings for name, each in outside.measured.items()
    }


@pytest.mark.parametrize("method", BY_DEFINITION)
def test_a_prompt_is_one_unit(method: str) -> None:
    prompts = {"query": "Represent the question: "}
    text, asked = "A dog sings!", prompts["query"]
    encoder = function_encoder(prompts=prompts, similarity="dot")
    (part,) = whyalike.contributions([text], encoder=encoder, method=method, prompt="query")
    assert part.side.kinds == ("prompt", "text", "text", "text", "text")
    assert part.side.tokens[0] == "Represent the question:"
    spans = part.side.offsets[1:].tolist()

    def value(present: frozenset[int]) -> np.ndarray:
        if not present:
            return embed_words([""])[0]
        gone = [spans[number - 1] for number in range(1, 5) if number not in present]
        return embed_words([asked * (0 in present) + without(text, gone)])[0]

    np.testing.assert_allclose(part.tokens, BY_DEFINITION[method](5, value), **EXACT)
    tiny = tiny_encoder("bert")
    tiny.model.prompts = prompts
    (inside,) = whyalike.contributions([text], encoder=tiny, method=method, prompt="query")
    assert np.abs(inside.tokens[list(inside.side.kinds).index("prompt")]).max() > 0.01


@pytest.mark.parametrize("method", BY_DEFINITION)
def test_what_is_cut_never_comes_into_the_models_sight(method: str) -> None:
    long = " ".join(["The old man plays guitar."] * 12)
    encoder, method = tiny_encoder("bert"), f"{method},samples=256" if method == "shapley" else method
    (part,) = whyalike.contributions([long], encoder=encoder, method=method, truncate=True, unit="sentence")
    assert part.side.truncated
    read = long[: part.side.offsets[:, 1].max()]
    assert read.endswith("The old man plays")
    (alone,) = whyalike.contributions([read], encoder=encoder, method=method, unit="sentence")
    np.testing.assert_allclose(part.tokens, alone.tokens, **EXACT)


def test_a_whole_game_of_numbers_is_solved_from_any_sample_of_it() -> None:
    """A game without interactions: every sample gives the exact values, and an error of 0."""
    generator = np.random.default_rng(0)
    worth, start = generator.normal(size=(12, 5)), generator.normal(size=5)
    sample = sample_coalitions(12, 60, 60, generator)
    found, error = solve_sample(sample, sample.rows @ worth + start, start, worth.sum(0) + start)
    np.testing.assert_allclose(found, worth, **EXACT)
    assert error < 1e-12


def interacting_game(seed: int, players: int = 10) -> Any:
    """Vectors with interactions of every order."""
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(players, 16)), generator.normal(size=(16, 4))
    return lambda rows: np.tanh(0.5 * rows @ first) @ second


@pytest.mark.parametrize("players", [1, 2, 3, 7, 10])
def test_all_coalitions_give_what_least_squares_over_all_of_them_gives(players: int) -> None:
    game = interacting_game(players, players)
    rows = all_coalitions(players)
    assert len({row.tobytes() for row in rows}) == 2**players
    found = exact_values(game(rows))
    np.testing.assert_allclose(found.sum(0), (game(rows[-1:]) - game(rows[:1]))[0], **EXACT)
    if players <= 7:
        value = {frozenset(np.flatnonzero(row).tolist()): each for row, each in zip(rows, game(rows), strict=True)}
        np.testing.assert_allclose(found, shapley_by_orders(players, lambda present: value[present]), **EXACT)


def test_the_stated_error_is_the_true_one_and_falls_with_more_samples() -> None:
    """Over games and seeds: the root mean square of what is stated against that of what is true."""
    true: dict[int, list[float]] = {}
    stated: dict[int, list[float]] = {}
    for seed in range(30):
        game = interacting_game(seed)
        exact = exact_values(game(all_coalitions(10)))
        none, everyone = game(np.zeros((1, 10)))[0], game(np.ones((1, 10)))[0]
        for count in (40, 126, 400):
            sample = sample_coalitions(10, count, count, np.random.default_rng(seed))
            found, error = solve_sample(sample, game(sample.rows), none, everyone)
            np.testing.assert_allclose(found.sum(0), everyone - none, **EXACT)  # efficiency, whatever the sample
            true.setdefault(count, []).append(float(np.linalg.norm(found - exact) / np.linalg.norm(exact)))
            stated.setdefault(count, []).append(error)
    sizes = {count: [float(np.sqrt(np.mean(np.square(each[count])))) for each in (true, stated)] for count in true}
    for real, said in sizes.values():
        assert 0.75 < said / real < 1.35
    assert sizes[400][0] < sizes[126][0] / 1.5 < sizes[40][0] / 2


def test_more_samples_of_a_text_come_nearer_to_its_exact_values() -> None:
    encoder = function_encoder()
    exact = whyalike.contributions([RIGHT], encoder=encoder, method="shapley,samples=1024")[0]
    assert exact.measured.error is None
    off = []
    for samples in (64, 256, 600):
        part = whyalike.contributions([RIGHT], encoder=encoder, method=whyalike.Shapley(samples=samples))[0]
        assert part.measured.embeddings <= samples
        off.append(np.linalg.norm(part.tokens - exact.tokens) / np.linalg.norm(exact.tokens))
    assert off[2] < off[1] < off[0]


@pytest.mark.parametrize("tolerance", [0.3, 0.1, 0.02])
def test_samples_are_added_until_the_error_is_within_the_tolerance(tolerance: float) -> None:
    function = Counting()
    encoder = whyalike.load_encoder(function)
    method = whyalike.Shapley(tolerance=tolerance, samples=2000)
    (part,) = whyalike.contributions([f"{RIGHT} The dog runs."], encoder=encoder, method=method)
    assert part.measured.error is not None
    assert part.measured.error <= tolerance or part.measured.embeddings > 1000
    assert len(set(function.texts)) == len(function.texts)  # no round asks again
    assert part.measured.embeddings <= 2000


def test_a_missed_tolerance_is_stated() -> None:
    method = whyalike.Shapley(tolerance=1e-6, samples=100)
    e = whyalike.explain(LEFT, RIGHT, encoder=function_encoder(), method=method)
    assert e.measured["right"].error > 1e-6
    assert e.adds_up


def test_the_seed_decides_what_is_drawn() -> None:
    one, again, other = (
        whyalike.contributions([RIGHT], encoder=function_encoder(), method=f"shapley,samples=64,seed={seed}")[0].tokens
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-4


def test_too_few_samples_are_refused() -> None:
    assert fewest(11) == 40
    with pytest.raises(
        whyalike.errors.BadInput, match="has 11 units; sampling needs at least 40 embeddings; got samples=39"
    ):
        whyalike.explain("A man plays", f"{RIGHT} on", encoder=function_encoder(), method="shapley,samples=39")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"samples": 1}, "samples should be a whole number from 2 on; got 1"),
        ({"seed": -1}, "seed should be a whole number from 0 on; got -1"),
        ({"tolerance": 0.0}, "tolerance should be a positive number; got 0.0"),
    ],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(whyalike.errors.BadInput, match=said):
        whyalike.Shapley(**parameters)


@pytest.mark.parametrize("method", BY_DEFINITION)
def test_an_empty_text_may_count_as_zeros(method: str) -> None:
    function = Counting()
    encoder = whyalike.load_encoder(function)
    e = whyalike.explain("guitar", LEFT, encoder=encoder, method=f"{method},empty=zero")
    assert "" not in function.texts
    assert e.adds_up
    if method == "shapley":
        assert not e.has_background
    (part,) = whyalike.contributions(["guitar"], encoder=encoder, method=f"{method},empty=zero")
    np.testing.assert_allclose(part.tokens[0], part.embedding, **EXACT)
    assert part.measured.embeddings == 1
    wrong = whyalike.METHODS[method]()
    object.__setattr__(wrong, "empty", "blank")
    with pytest.raises(whyalike.errors.UnknownName, match="way to embed the empty text 'blank'. Known: text, zero"):
        whyalike.explain("guitar", LEFT, encoder=encoder, method=wrong)


@pytest.mark.parametrize("method", BY_DEFINITION)
def test_tokens_and_layers_are_refused(method: str) -> None:
    with pytest.raises(whyalike.errors.BadInput, match="explains words, not tokens"):
        whyalike.explain(LEFT, RIGHT, encoder=function_encoder(), method=method, unit="token")
    with pytest.raises(whyalike.errors.BadInput, match="has no layer"):
        whyalike.explain(LEFT, RIGHT, encoder=function_encoder(), method=method, layer=1)


@pytest.mark.parametrize("method", BY_DEFINITION)
def test_results_are_saved_and_read_back(method: str, tmp_path: Path) -> None:
    encoder = function_encoder()
    parts = whyalike.contributions([LEFT, RIGHT], encoder=encoder, method=method)
    whyalike.save(parts, tmp_path / "parts.safetensors")
    again = whyalike.load(tmp_path / "parts.safetensors")
    e = whyalike.explain_parts(*again)
    np.testing.assert_array_equal(e.matrix, whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method).matrix)
    assert again[0].measured == parts[0].measured
    assert again[0].model == encoder.record
    with pytest.raises(whyalike.errors.BadInput, match="gives no hidden states to align words by"):
        whyalike.explain_parts(*again, aligned=True)


def test_a_picture_says_how_it_was_made() -> None:
    from whyalike.render.scene import scene_of

    notes = scene_of(whyalike.explain(LEFT, RIGHT, encoder=function_encoder(), method="shapley")).notes
    assert "The left text: 64 embeddings of it with words removed." in notes
    assert any("The right text: 128 embeddings of it with words removed, sampling error" in note for note in notes)
