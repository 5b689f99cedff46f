"""The finding in words: each rule on a matrix of a few numbers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

import whyalike
from tests.families import tiny_encoder
from tests.unit.test_golden_pictures import explanation, matched
from whyalike.encoders import score_range
from whyalike.encoders.score_range import SENTENCES, measure_range, score_range_of
from whyalike.render.scene import scene_of
from whyalike.results.explanation import Explanation
from whyalike.results.files import explanation_from_dict
from whyalike.results.finding import Group, level_of
from whyalike.results.records import ScoreRange

RANGE = ScoreRange(unrelated=0.15, related=0.25, same=0.7)


def made(cells: dict[tuple[str, str], float], left: str, right: str, **changes: float) -> Explanation:
    """An explanation with these cells and zeros elsewhere; ``special`` lies between [CLS] and [CLS]."""
    e = explanation(left, right)
    matrix = np.zeros_like(e.matrix)
    for (one, other), value in cells.items():
        matrix[e.left.labels.index(one), e.right.labels.index(other)] = value
    matrix[0, 0] = changes.get("special", 0.0)
    background = changes.get("background", 0.0)
    zeros = np.zeros_like(e.left_terms), np.zeros_like(e.right_terms)
    score = float(matrix.sum()) + background
    return replace(e, matrix=matrix, left_terms=zeros[0], right_terms=zeros[1], constant=background, score=score)


def test_the_strongest_groups_are_named_with_their_shares() -> None:
    cells = {("guitar", "music"): 0.2, ("stage", "music"): 0.04, ("stage", "crowd"): 0.06, ("man", "Someone"): 0.1}
    e = made(cells, "A man plays guitar on stage.", "Someone makes music for a crowd.")
    assert e.sentence == (
        "0.400: mostly guitar ↔ music (50 %), man ↔ Someone (25 %) and stage ↔ crowd, music (25 %); nothing speaks against it."
    )


def test_neighbours_of_one_group_are_written_together_and_equal_words_once() -> None:
    cells = {("plays", "music"): 0.2, ("guitar", "music"): 0.3}
    assert made(cells, "A man plays guitar.", "Some music.").finding.groups[0].label == "plays guitar ↔ music"
    e = explanation("Wine, red wine.", "Wine of wine.")
    wines = [e.left.labels.index("Wine"), e.left.labels.index("wine")], [e.right.labels.index("Wine"), 3]
    matrix = np.zeros_like(e.matrix)
    matrix[np.ix_(*wines)] = 0.1
    nothing = np.zeros_like(e.left_terms), np.zeros_like(e.right_terms)
    e = replace(e, matrix=matrix, left_terms=nothing[0], right_terms=nothing[1], constant=0.0, score=0.4)
    assert e.finding.groups == (Group(("Wine ×2",), ("Wine ×2",), pytest.approx(0.4)),)
    (line, *_) = scene_of(e).pairs
    assert (line.left, line.right, line.value, line.times, line.share) == ("Wine", "Wine", pytest.approx(0.4), 4, 1.0)


def test_what_speaks_against_is_named_by_how_much_it_is() -> None:
    texts = "A man does not play.", "A man plays."
    cells = {("man", "man"): 0.5, ("not", "plays"): -0.1}
    assert "; against it not ↔ plays (−25 %)." in made(cells, *texts).sentence
    assert made({**cells, ("not", "plays"): -0.03}, *texts).sentence.endswith("; little speaks against it.")
    assert made({**cells, ("not", "plays"): -0.005}, *texts).sentence.endswith("; nothing speaks against it.")
    many = {(left, right): -0.01 for left in ("A", "does", "not", "play") for right in ("A", "plays", ".")}
    assert "; small pairs that lower it sum to −32 %." in made({("man", "man"): 0.5, **many}, *texts).sentence


def test_special_tokens_and_background_are_named_where_they_count() -> None:
    texts, cells = ("A man.", "A man."), {("man", "man"): 0.5}
    assert made(cells, *texts, special=0.02).sentence.endswith("nothing speaks against it.")
    assert "; pairs with special tokens add 17 %." in made(cells, *texts, special=0.1).sentence
    assert "; the background adds −25 %." in made(cells, *texts, background=-0.1).sentence


def test_a_score_near_zero_is_said_to_cancel() -> None:
    e = made({("man", "dog"): 0.1, ("man", "."): -0.1}, "A man.", "A dog.")
    assert e.sentence == (
        "0.000: what raises it (+0.100) and what lowers it (−0.100) cancel; "
        "the largest are man ↔ dog (+0.100) and man ↔ . (−0.100)."
    )


def test_parts_far_larger_than_the_score_are_given_as_values() -> None:
    e = made({("man", "man"): 2.0, ("man", "."): -1.5}, "A man.", "A man.")
    assert "man ↔ man (+2.000)" in e.sentence
    assert "%" not in e.sentence


def test_a_score_of_many_small_pairs_is_said_to_be_spread() -> None:
    words = [f"w{number}" for number in range(16)]
    cells = {(one, other): 0.0025 for one in words for other in words}
    text = " ".join(words)
    assert made(cells, text, text).sentence == "0.640: many small pairs; nothing speaks against it."
    said = made({**cells, ("w1", "w1"): 0.0725}, text, text).sentence
    assert said == "0.710: spread over many pairs; the largest is w1 ↔ w1 (10 %); nothing speaks against it."
    said = made({**cells, ("w1", "w1"): 0.0325, ("w5", "w5"): 0.0225}, text, text).sentence
    assert said.startswith("0.690: spread over many pairs; the largest are w1 ↔ w1 (5 %) and w5 ↔ w5 (3 %); ")


def test_methods_that_do_not_add_up_claim_no_shares() -> None:
    assert matched().sentence == (
        "0.500: the strongest pairs are gloves ↔ Gloves (+0.810) and Warm ↔ warm (+0.400). "
        "These values do not add up to the score."
    )


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (0.1, "not alike"),
        (0.15, "slightly alike"),
        (0.25, "moderately alike"),
        (0.69, "moderately alike"),
        (0.7, "very alike"),
    ],
)
def test_the_level_is_read_off_the_models_own_scores(score: float, level: str) -> None:
    assert level_of(score, RANGE) == level


def test_no_level_is_claimed_for_other_scripts_or_where_nothing_is_known() -> None:
    def level(left: str, right: str, known: ScoreRange | None) -> str | None:
        e = explanation(left, right)
        return replace(e, model=replace(e.model, score_range=known)).finding.level

    assert level("A man.", "A dog.", RANGE) is not None
    assert level("A man.", "A dog.", None) is None
    assert level("A man.", "الرجل يعزف", RANGE) is None


def test_the_range_of_scores_is_measured_on_our_sentences_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYALIKE_CACHE", str(tmp_path))
    encoder = whyalike.load_encoder(whyalike.load_encoder().model)  # one that was not asked yet
    known = score_range_of(encoder)
    assert known is not None
    assert known.unrelated < known.related < known.same
    texts = [group[0] for group in SENTENCES]
    scores = [whyalike.explain(one, other, encoder=encoder).score for one, other in pairwise(texts)]
    assert sum(score > known.unrelated for score in scores) <= 2
    e = whyalike.explain("A man plays guitar.", "Someone makes music.", encoder=encoder)
    assert e.model.score_range == known
    again = explanation_from_dict(e.to_dict(), "memory")
    assert again.model.score_range == known
    assert again.sentence == e.sentence
    monkeypatch.setattr(score_range, "measure_range", pytest.fail)
    assert score_range_of(whyalike.load_encoder(encoder.model)) == known  # read from the file
    assert len(list((tmp_path / "score-ranges-1").iterdir())) == 1


def test_a_model_that_tells_nothing_apart_claims_nothing() -> None:
    encoder = tiny_encoder("bert", dtype=torch.float32)
    measured = measure_range(encoder)
    ordered = measured.unrelated < measured.related < measured.same
    assert (score_range_of(encoder) is not None) == ordered


def test_a_contrast_says_which_ranks_higher_and_why() -> None:
    c = whyalike.contrast("guitar music", "A man plays the guitar.", "A man plays chess.")
    assert c.sentence.startswith(f"A scores higher by {c.difference:.3f} ({c.a.score:.3f} against ")
    assert "mostly because of guitar (+" in c.sentence
    other = c.swapped().sentence
    assert other.startswith(f"B scores higher by {c.difference:.3f}")
    assert "mostly because of guitar (+" in other
