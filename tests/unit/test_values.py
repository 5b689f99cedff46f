"""Sides, explanations and files: small things that must hold."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder
from tests.reference import slow
from whyalike.errors import BadInput, DamagedFile, MismatchedParts, UnknownName, UnknownVersion
from whyalike.language.words import sentence_spans, word_spans
from whyalike.results.pairing import SHARPNESS, explain_parts
from whyalike.results.sides import Unit, group


@pytest.fixture(scope="module")
def e() -> whyalike.Explanation:
    return whyalike.explain(LEFT + " He sings.", RIGHT, encoder=tiny_encoder("bert", dtype=torch.float32))


def test_merging_tokens_into_words_keeps_every_total(e: whyalike.Explanation) -> None:
    for merged in (e.by_word(), e.by_sentence(), e.by_word().by_sentence()):
        assert merged.matrix.sum() == pytest.approx(e.matrix.sum(), abs=1e-12)
        assert merged.left_terms.sum() == pytest.approx(e.left_terms.sum(), abs=1e-12)
        assert merged.adds_up
    np.testing.assert_allclose(e.by_word().by_sentence().matrix, e.by_sentence().matrix, atol=1e-12)


def test_words_are_the_texts_own_and_special_tokens_stay_visible(e: whyalike.Explanation) -> None:
    assert e.left.words == ("The", "old", "man", "plays", "guitar", ".", "He", "sings", ".")
    assert e.by_word().left.tokens == (
        "[CLS]",
        "The",
        "old",
        "man",
        "plays",
        "guitar",
        ".",
        "He",
        "sings",
        ".",
        "[SEP]",
    )
    assert e.by_sentence().left.tokens == ("[CLS]", "The old man plays guitar.", "He sings.", "[SEP]")
    assert e.by_sentence().left.kinds == ("special", "text", "text", "special")


def test_a_word_of_several_tokens_is_one_unit() -> None:
    encoder = tiny_encoder("bert")
    side = encoder.read(["Someone unplays singer's music"])[0].side
    assert side.words == ("Someone", "unplays", "singer's", "music")
    assert side.tokens[2:5] == ("un", "##n", "##o") or "[UNK]" in side.tokens  # whatever the pieces, the words stay


def test_sentences_cannot_be_split_again(e: whyalike.Explanation) -> None:
    with pytest.raises(BadInput, match="cannot be split into words"):
        e.by_sentence().by_word()
    with pytest.raises(UnknownName, match="no unit 'letter'. Known: token, word, sentence"):
        group(e.left, "letter")  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["equal", "proportional"])
def test_spreading_makes_the_matrix_alone_sum_to_the_score(e: whyalike.Explanation, how: str) -> None:
    spread = e.spread(how)  # type: ignore[arg-type]
    assert spread.matrix.sum() == pytest.approx(e.score, abs=1e-7)
    assert not spread.left_terms.any()
    assert spread.constant == 0
    assert spread.method.parameters["spread"] == how
    assert spread.adds_up


def test_spreading_equals_sharing_the_remainder_among_the_contributions() -> None:
    encoder = tiny_encoder("bert")
    parts = whyalike.contributions([LEFT, RIGHT], encoder=encoder)
    shared = [
        replace(part, tokens=part.tokens + part.remainder / len(part.tokens), remainder=0 * part.remainder)
        for part in parts
    ]
    np.testing.assert_allclose(explain_parts(*parts).spread().matrix, explain_parts(*shared).matrix, atol=1e-12)


@pytest.mark.parametrize("unit", ["token", "word"])
def test_an_aligned_view_shares_each_total_out_among_partners(unit: Unit) -> None:
    parts = whyalike.contributions([LEFT, RIGHT], encoder=tiny_encoder("bert"), unit=unit)
    plain, aligned = explain_parts(*parts), explain_parts(*parts, aligned=True)
    np.testing.assert_allclose(aligned.matrix, slow.aligned_matrix(*parts, sharpness=SHARPNESS), atol=1e-10)
    assert aligned.matrix.sum() == pytest.approx(plain.matrix.sum())
    assert aligned.adds_up
    assert aligned.method.parameters["aligned"]
    np.testing.assert_array_equal(aligned.left_terms, plain.left_terms)
    np.testing.assert_allclose(explain_parts(*reversed(parts), aligned=True).matrix, aligned.matrix.T, atol=1e-12)


def test_a_text_aligned_with_itself_has_its_total_on_the_diagonal() -> None:
    parts = whyalike.contributions(["the man plays guitar"] * 2, encoder=tiny_encoder("bert"), unit="word")
    aligned = explain_parts(*parts, aligned=True)
    assert list(np.abs(aligned.matrix).argmax(1)) == list(range(len(aligned.left)))


def test_matched_words_are_not_aligned_again() -> None:
    with pytest.raises(BadInput, match="nothing to align"):
        whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder("bert"), method="bti", aligned=True)


def test_top_pairs_are_the_largest_cells_in_order(e: whyalike.Explanation) -> None:
    pairs = e.top_pairs(5, special_tokens=True)
    assert [pair.value for pair in pairs] == sorted(e.matrix.ravel(), reverse=True)[:5]
    assert all(e.matrix[pair.left_index, pair.right_index] == pair.value for pair in pairs)
    assert all(pair.kinds == ("text", "text") for pair in e.top_pairs(5))
    assert len(e.top_pairs(10**6, special_tokens=True)) == e.matrix.size
    assert e.top_pairs(0) == []


def test_swapping_twice_gives_the_same(e: whyalike.Explanation) -> None:
    np.testing.assert_array_equal(e.swapped().swapped().matrix, e.matrix)


def test_an_explanation_reads_back_as_it_was(e: whyalike.Explanation, tmp_path: Path) -> None:
    back = whyalike.load(whyalike.save(e, tmp_path / "e.json"))
    np.testing.assert_array_equal(back.matrix, e.matrix)
    assert back.to_dict() == e.to_dict()
    assert back.by_word().left.tokens == e.by_word().left.tokens


@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (lambda text: text[: len(text) // 2], DamagedFile, "is not JSON"),
        (lambda text: "[1, 2]", DamagedFile, "not a whyalike result"),
        (
            lambda text: text.replace('"version": 1', '"version": 99'),
            UnknownVersion,
            "has version 99; this release reads",
        ),
        (lambda text: text.replace('"left_terms"', '"left_trems"'), DamagedFile, "damaged: 'left_terms' is missing"),
        (lambda text: text.replace('"constant": ', '"constant": 1'), DamagedFile, "states a residual"),
        (
            lambda text: text.replace('"matrix": [[', '"matrix": [[1, '),
            DamagedFile,
            "damaged: 'matrix' should be .* finite numbers",
        ),
        (lambda text: text.replace('"score": ', '"score": 9'), DamagedFile, "states a residual"),
        (lambda text: text.replace('"constant": ', '"constant": NaN, "was": '), DamagedFile, "NaN is not a number"),
        (lambda text: text.replace('"residual"', '"residue"'), DamagedFile, "damaged: 'residual' is missing"),
        (lambda text: text.replace('"special"', '"strange"'), DamagedFile, "do not fit"),
        (
            lambda text: text.replace('"unit": "token"', '"unit": "letter"'),
            DamagedFile,
            "'unit' of 'left' should be one of token, word, phrase, sentence; got 'letter'",
        ),
        (
            lambda text: text.replace('"layer": 0', '"depth": 0'),
            DamagedFile,
            "damaged: 'layer' of 'parameters' of 'method' is missing",
        ),
        (lambda text: "\udcff".encode("utf-8", "surrogateescape").decode("latin1"), DamagedFile, "is not JSON"),
    ],
)
def test_a_damaged_file_is_refused(
    e: whyalike.Explanation, tmp_path: Path, damage: object, error: type[Exception], message: str
) -> None:
    path = whyalike.save(e, tmp_path / "e.json")
    path.write_text(damage(path.read_text()))  # type: ignore[operator]
    with pytest.raises(error, match=message):
        whyalike.load(path)


def test_saving_over_a_file_leaves_no_scrap(e: whyalike.Explanation, tmp_path: Path) -> None:
    for _ in range(2):
        whyalike.save(e, tmp_path / "e.json")
    assert [path.name for path in tmp_path.iterdir()] == ["e.json"]


def test_json_holds_plain_numbers(e: whyalike.Explanation) -> None:
    assert json.loads(json.dumps(e.to_dict()))["score"] == e.score


def test_parts_of_different_methods_or_models_do_not_mix() -> None:
    encoder = tiny_encoder("bert")
    (one,) = whyalike.contributions([LEFT], encoder=encoder)
    (deeper,) = whyalike.contributions([RIGHT], encoder=encoder, layer=1)
    (other,) = whyalike.contributions([RIGHT], encoder=tiny_encoder("gpt2"))
    with pytest.raises(MismatchedParts, match="different methods"):
        explain_parts(one, deeper)
    with pytest.raises(MismatchedParts, match="different models"):
        explain_parts(one, other)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_word_and_sentence_spans_cover_every_visible_character_in_order(text: str) -> None:
    for spans in (word_spans(text), sentence_spans(text)):
        covered = "".join(text[start:end] for start, end in spans)
        assert "".join(covered.split()) == "".join(text.split())
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
