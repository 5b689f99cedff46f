"""Words taken away and put back: what is gone is as if it had never been, and a good order is told from a bad one."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import whyalike
from tests.evaluation_pairs import PAIRS, with_matrix
from tests.families import tiny_encoder
from whyalike.errors import BadInput, UnknownName
from whyalike.evaluate import perturbation
from whyalike.evaluate.measure import Case
from whyalike.evaluate.perturbation import EmbeddingPerturbation, ScorePerturbation


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert")


def test_putting_back_the_tokens_an_embedding_needs_brings_it_back_sooner(encoder: whyalike.Encoder) -> None:
    # The order a search finds by trying every token must beat its own reverse.
    case = Case(0, *PAIRS[0])
    e = whyalike.explain(*PAIRS[0], encoder=encoder)
    readings = encoder.read(PAIRS[0])
    totals = []
    for reading in readings:
        alone = np.eye(len(reading.ids), dtype=bool)
        whole = perturbation.embeddings_with(encoder, reading, np.ones((1, len(alone)), dtype=bool), "replace")
        totals.append(-np.linalg.norm(perturbation.embeddings_with(encoder, reading, alone, "replace") - whole, axis=1))
    good = np.add.outer(totals[0], totals[1])
    rows = EmbeddingPerturbation().rows(case, {"good": with_matrix(e, good), "bad": with_matrix(e, -good)}, encoder)
    assert rows[0]["area"] < rows[1]["area"]
    assert rows[0]["curve"][-1] == pytest.approx(0, abs=1e-9)  # all is back
    assert rows[0]["curve"][0] == rows[1]["curve"][0]
    assert len(rows[0]["curve"]) == 26
    assert "by the mask token" in EmbeddingPerturbation().notes(encoder)[0]


def test_the_area_is_that_of_the_order_whichever_it_is(encoder: whyalike.Encoder) -> None:
    text = "old man plays"
    e = whyalike.explain(text, text, encoder=encoder)
    reading = encoder.read([text])[0]
    own = reading.side.own
    assert len(own) == 3
    order_of = {"".join(map(str, order)): order for order in permutations(range(3))}

    def literal(order: tuple[int, ...]) -> float:
        distances = []
        for step in range(26):
            kept = np.zeros((2, len(reading.ids)), dtype=bool)
            kept[1] = True
            for place in order[: round(round(step * 0.04 * 3, 9))]:
                kept[0, own[place]] = True
            some, whole = perturbation.embeddings_with(encoder, reading, kept, "replace")
            distances.append(np.linalg.norm(some - whole))
        return float(np.mean(distances))

    found = {}
    for name, order in order_of.items():
        totals = np.zeros(len(reading.ids))
        totals[[own[place] for place in order]] = (3, 2, 1)
        found[name] = with_matrix(e, np.add.outer(totals, totals))
    found["constant"] = with_matrix(e, np.ones_like(e.matrix))
    areas = {row["subject"]: row["area"] for row in EmbeddingPerturbation().rows(Case(0, text, text), found, encoder)}
    expected = {name: literal(order) for name, order in order_of.items()}
    assert {name: areas[name] for name in expected} == pytest.approx(expected)
    assert (
        min(expected.values()) <= areas["constant"] <= max(expected.values())
    )  # an order drawn by chance for each text


def test_tokens_taken_away_are_as_if_they_had_never_been(encoder: whyalike.Encoder) -> None:
    whole, shorter = encoder.read(["the old man plays guitar", "the man guitar"])
    kept = np.array([[True, True, False, True, False, True, True], [True] * 7])
    found = perturbation.embeddings_with(encoder, whole, kept, "delete")
    expected = [
        perturbation.embeddings_with(encoder, each, np.ones((1, len(each.ids)), dtype=bool), "delete")[0]
        for each in (shorter, whole)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    nothing = perturbation.embeddings_with(encoder, whole, np.zeros((1, 7), dtype=bool), "replace")
    masked = encoder.read(["[MASK] [MASK] [MASK] [MASK] [MASK]"])[0]
    np.testing.assert_allclose(
        nothing, perturbation.embeddings_with(encoder, masked, np.ones((1, 7), dtype=bool), "replace")
    )


def test_the_order_found_by_search_beats_its_reverse(encoder: whyalike.Encoder) -> None:
    case = Case(0, *PAIRS[0])
    e = whyalike.explain(*PAIRS[0], encoder=encoder, unit="word")
    look = perturbation.PerturbedPair(case, encoder, "delete", 0.1)
    order = look.greedy_order(e, back=False)
    value = np.zeros_like(e.matrix)
    for side, mine in enumerate(order):
        for place, unit in enumerate(mine):
            value[(unit, slice(None)) if side == 0 else (slice(None), unit)] += 100 - place
    rows = {
        row["subject"]: row
        for row in ScorePerturbation(greedy=1)
        .prepare([], [case])
        .rows(case, {"good": with_matrix(e, value), "bad": with_matrix(e, -value)}, encoder)
    }
    assert rows["good"]["comprehensiveness_rows"] == pytest.approx(rows["greedy search"]["comprehensiveness_rows"])
    assert rows["good"]["comprehensiveness_rows"] > rows["bad"]["comprehensiveness_rows"]
    assert rows["greedy search"]["sufficiency_rows"] <= rows["bad"]["sufficiency_rows"]
    assert set(order[0]) == {n for n, kind in enumerate(e.left.kinds) if kind == "text"}


@pytest.mark.parametrize("pair", PAIRS[:3])
def test_few_orders_drawn_by_chance_beat_the_search(encoder: whyalike.Encoder, pair: tuple[str, str]) -> None:
    e = whyalike.explain(*pair, encoder=encoder, unit="word")
    look = perturbation.PerturbedPair(Case(0, *pair), encoder, "delete", 0.1)
    best = look.measured(e, "rows", {back: look.greedy_order(e, back=back) for back in (False, True)})
    chance = np.random.default_rng(0)
    drawn = []
    for _ in range(50):
        order = tuple(list(chance.permutation(side.own)) for side in (e.left, e.right))
        drawn.append(look.measured(e, "rows", {False: order, True: order}))
    assert np.mean([row["comprehensiveness_rows"] <= best["comprehensiveness_rows"] + 1e-12 for row in drawn]) > 0.7
    assert np.mean([row["sufficiency_rows"] >= best["sufficiency_rows"] - 1e-12 for row in drawn]) > 0.7


def test_the_search_is_made_on_pairs_from_all_over() -> None:
    cases = [Case(n, "a", "b") for n in range(100)]
    assert ScorePerturbation(greedy=3).prepare([], cases)._searched == {0, 50, 99}
    assert ScorePerturbation().prepare([], cases)._searched == frozenset()


def test_words_that_do_as_well_are_searched_from_left_to_right() -> None:
    encoder = tiny_encoder("bert")
    for text in ("The dog runs in the old house.", "A child plays the piano.", "Someone walks over the river."):
        case = Case(0, text, text)  # every word beside itself has a score of 1, but for rounding
        e = whyalike.explain(text, text, encoder=encoder, method="random").by_word()
        left, right = perturbation.PerturbedPair(case, encoder, "delete", 0.1).greedy_order(e, back=True)
        assert (left[0], right[0]) == (e.left.own[0], e.right.own[0])


def test_words_without_a_difference_come_by_chance_not_from_left_to_right(encoder: whyalike.Encoder) -> None:
    text = "the old man plays the guitar and a dog runs"
    e = whyalike.explain(text, text, encoder=encoder, unit="word")
    constant = replace(e, matrix=np.ones_like(e.matrix))
    for kind in ("rows", "pairs"):
        left, right = perturbation.orders(constant, kind)
        assert sorted(left) == sorted(right) == e.left.own
        assert left != e.left.own
        assert perturbation.orders(constant, kind) == (left, right)


def test_an_explanation_in_words_ranks_the_tokens_of_a_word_in_a_row(encoder: whyalike.Encoder) -> None:
    text = "guitar walksing"
    tokens, words = (whyalike.explain(text, text, encoder=encoder, unit=unit) for unit in ("token", "word"))
    assert (tokens.left.own, words.left.own) == ([1, 2, 3], [1, 2])
    assert perturbation.token_order(tokens.left, words.left, [2, 1], [1, 2, 3]) == [2, 3, 1]
    assert perturbation.token_order(tokens.left, tokens.left, [3, 1, 2], [1, 2, 3]) == [3, 1, 2]
    assert perturbation.token_order(tokens.left, words.left, [2], [0, 1, 2, 3, 4]) == [2, 3, 0, 1, 4]
    rows = EmbeddingPerturbation().rows(Case(0, text, text), {"tokens": tokens, "words": words}, encoder)
    assert rows[0]["curve"][0] == rows[1]["curve"][0]
    assert rows[1]["curve"][-1] == pytest.approx(0, abs=1e-9)


def test_what_the_paper_leaves_open_can_be_chosen(encoder: whyalike.Encoder) -> None:
    case, e = Case(0, *PAIRS[0]), whyalike.explain(*PAIRS[0], encoder=encoder)
    areas = {
        name: EmbeddingPerturbation(**options).rows(case, {"bilrp": e}, encoder)[0]["area"]
        for name, options in {
            "default": {},
            "down": {"rounding": "down"},
            "up": {"rounding": "up"},
            "unit": {"scale": "unit"},
            "ranked": {"special_tokens": "ranked"},
        }.items()
    }
    assert areas["up"] < areas["default"] < areas["down"]  # the sooner a token is back, the nearer
    assert len({round(area, 9) for area in areas.values()}) == 5
    for options in ({"rounding": "even"}, {"scale": "log"}, {"special_tokens": "gone"}):
        with pytest.raises(UnknownName):
            EmbeddingPerturbation(**options)  # type: ignore[arg-type]


def test_orders_follow_totals_terms_and_pairs(encoder: whyalike.Encoder) -> None:
    e = whyalike.explain("man plays", "dog runs", encoder=encoder, unit="word")
    matrix = np.zeros((4, 4))
    matrix[1, 1], matrix[1, 2], matrix[2, 2] = 2.0, 2.0, 3.0
    found = replace(e, matrix=matrix, left_terms=np.array([0, 0, 9.0, 0]), right_terms=np.zeros(4))
    assert perturbation.orders(found, "rows") == ([1, 2], [2, 1])
    assert perturbation.orders(found, "rows_and_terms") == ([2, 1], [2, 1])
    assert perturbation.orders(found, "pairs") == ([2, 1], [2, 1])


@pytest.mark.parametrize("options", [{"step": 0.0}, {"step": 0.6}, {"removal": "mask"}])
def test_parameters_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises((BadInput, UnknownName)):
        ScorePerturbation(**options)


def test_a_prompt_is_always_there(encoder: whyalike.Encoder) -> None:
    (reading,) = encoder.reader.read(["man plays"], prompt="a dog ")
    kept = np.zeros((1, reading.length), dtype=bool)
    (shorter,) = encoder.read(["a dog"])
    found = perturbation.embeddings_with(encoder, reading, kept, "delete")
    whole = np.ones((1, shorter.length), dtype=bool)
    np.testing.assert_allclose(found, perturbation.embeddings_with(encoder, shorter, whole, "delete"))
