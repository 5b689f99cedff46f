"""Words taken away and put back: what is gone is as if it had never been, and a good order is told from a bad one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import whyalike
from tests.families import tiny_encoder
from tests.judged import PAIRS, with_matrix
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
    assert rows[0]["replacement"] == "mask"


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
    look = perturbation.Look(case, encoder, "delete", 0.1)
    order = look.greedy_order(e, back=False)
    value = np.zeros_like(e.matrix)
    for side, mine in enumerate(order):
        for place, unit in enumerate(mine):
            value[(unit, slice(None)) if side == 0 else (slice(None), unit)] += 100 - place
    rows = {
        row["subject"]: row
        for row in ScorePerturbation(greedy=1).rows(
            case, {"good": with_matrix(e, value), "bad": with_matrix(e, -value)}, encoder
        )
    }
    assert rows["good"]["comprehensiveness_rows"] == pytest.approx(rows["greedy search"]["comprehensiveness_rows"])
    assert rows["good"]["comprehensiveness_rows"] > rows["bad"]["comprehensiveness_rows"]
    assert rows["greedy search"]["sufficiency_rows"] <= rows["bad"]["sufficiency_rows"]
    assert set(order[0]) == {n for n, kind in enumerate(e.left.kinds) if kind == "text"}


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
