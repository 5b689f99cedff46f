"""Taggers: words by character offsets, roles as Universal Dependencies names them, gold from CoNLL-U."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whyalike
from tests.families import tiny_encoder
from whyalike.errors import BadInput
from whyalike.language.conllu import read_conllu
from whyalike.language.relations import raise_to_parent, universal
from whyalike.language.taggers import LANGUAGES, tagger
from whyalike.language.words import Tagged, Tagger

TEXTS = {
    "english": "The cat doesn't sleep on the state-of-the-art sofa 🐱.",
    "german": "Die Katze schläft (noch) nicht im Haus.",
    "russian": "Кошка не спит на диване.",
    "chinese": "猫在沙发上睡觉。",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_are_the_texts_own_characters_in_order(language: str) -> None:
    text = TEXTS[language]
    (words,) = tagger(language)([text])
    assert all(text[word.start : word.end] == word.text for word in words)
    covered = [place for word in words for place in range(word.start, word.end)]
    assert covered == sorted(set(covered))  # every character once
    assert {place for place in covered if not text[place].isspace()} == {
        place for place, character in enumerate(text) if not character.isspace()
    }
    assert "NOUN" in {word.pos for word in words}
    assert tagger(language)([""]) == [[]]


@pytest.mark.parametrize(
    ("language", "word", "pos"),
    [
        ("english", "cat", "NOUN"),
        ("english", "n't", "PART"),
        ("german", "Katze", "NOUN"),
        ("german", "nicht", "PART"),
        ("german", ")", "PUNCT"),
        ("russian", "спит", "VERB"),
        ("chinese", "沙发", "NOUN"),
        ("chinese", "。", "PUNCT"),
    ],
)
def test_tags_are_universal(language: str, word: str, pos: str) -> None:
    (words,) = tagger(language)([TEXTS[language]])
    assert {each.text: each.pos for each in words}[word] == pos


def relations(text: str) -> dict[str, tuple[str, str]]:
    (words,) = tagger("english")([text])
    return {word.text: (word.relation, words[word.head].text if word.head >= 0 else "") for word in words}


def test_an_object_takes_its_prepositions_place() -> None:
    found = relations("The dog sleeps on the sofa of my sister.")
    assert found["dog"] == ("nsubj", "sleeps")
    assert found["sofa"] == ("obl", "sleeps")
    assert found["on"] == ("case", "sofa")
    assert found["sister"] == ("nmod", "sofa")
    assert found["sleeps"] == ("root", "")


def test_what_is_said_takes_the_copulas_place() -> None:
    found = relations("My sister is a doctor.")
    assert found["doctor"] == ("root", "")
    assert found["is"] == ("cop", "doctor")
    assert found["sister"] == ("nsubj", "doctor")
    assert relations("She wants to read.")["to"][0] == "mark"


def test_coordinated_and_compound_words_have_the_role_of_their_phrase() -> None:
    words = [
        Tagged(0, 4, "cats", "NOUN", "nsubj", 3),
        Tagged(5, 8, "and", "CCONJ", "cc", 2),
        Tagged(9, 13, "dogs", "NOUN", "conj", 0),
        Tagged(14, 18, "play", "VERB", "root", -1),
        Tagged(19, 23, "foot", "NOUN", "compound", 5),
        Tagged(24, 28, "ball", "NOUN", "obj", 3),
    ]
    assert raise_to_parent(words) == ["nsubj", "cc", "nsubj", "root", "obj", "obj"]
    circle = [Tagged(0, 1, "a", "X", "conj", 1), Tagged(1, 2, "b", "X", "conj", 0)]
    assert raise_to_parent(circle) == ["conj", "conj"]
    assert universal([Tagged(0, 2, "go", "VERB", "root", -1)]) == [Tagged(0, 2, "go", "VERB", "root", -1)]


GOLD = """# sent_id = 1
# text = Im Haus schläft sie.
1-2\tIm\t_\t_\t_\t_\t_\t_\t_\t_
1\tIn\tin\tADP\t_\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
3\tHaus\tHaus\tNOUN\t_\t_\t4\tobl:arg\t_\t_
4\tschläft\tschlafen\tVERB\t_\t_\t0\troot\t_\t_
5\tsie\tsie\tPRON\t_\t_\t4\tnsubj\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\t_\t_\t4\tpunct\t_\t_

"""


def test_gold_words_that_share_characters_share_their_span(tmp_path: Path) -> None:
    path = tmp_path / "gold.conllu"
    path.write_text(GOLD, encoding="utf-8")
    (words,) = tagger(path)(["Im Haus schläft sie."])
    assert [(word.start, word.end) for word in words] == [(0, 2), (0, 2), (3, 7), (8, 15), (16, 19), (19, 20)]
    assert words[2] == Tagged(3, 7, "Haus", "NOUN", "obl", 3)
    side = tiny_encoder("bert").read(["Im Haus schläft sie."])[0].side
    shares = side.shares([(word.start, word.end) for word in words])
    own = [index for index, kind in enumerate(side.kinds) if kind == "text"]
    np.testing.assert_allclose(shares[own].sum(1), 1.0)
    np.testing.assert_allclose(shares[own[0], :2], 0.5)
    with pytest.raises(BadInput, match="no annotation of the text 'Other'"):
        tagger(path)(["Other"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOLD.replace("4\tschl", "x\tschl"), "the number of a word is 'x'"),
        ("1\tIn\n\n", "Sentence 1 of gold.conllu has no '# text ='"),
        (GOLD.replace("\tHaus\tHaus", "\tHof\tHof"), "'Hof' is not in its text"),
    ],
)
def test_damaged_gold_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "gold.conllu"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        read_conllu(path)


def test_a_tagger_that_is_none_names_those_there_are() -> None:
    with pytest.raises(BadInput, match="no tagger or spaCy pipeline 'klingon'. Known: english, german"):
        tagger("klingon")
    with pytest.raises(BadInput, match="There is no file"):
        tagger("nowhere.conllu")


PIECES = st.sampled_from(
    ["don't", "state-of-the-art", "🐱👍🏽", "猫", "naïve", "it's", "unbelievably", "(so)", "3.5%", "x"]
)


@settings(max_examples=40, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=6), st.sampled_from(["english", "german", "chinese"]))
def test_every_token_is_shared_out_once_among_words(pieces: list[str], language: str) -> None:
    """With the embedded model's own pieces: *unbelievably* is several, an emoji is [UNK], 猫 stands alone."""
    text = " ".join(pieces)
    side = _embedded().read([text])[0].side
    (words,) = _named(language)([text])
    shares = side.shares([(word.start, word.end) for word in words])
    covered = np.zeros(len(text), dtype=int)
    for word in words:
        covered[word.start : word.end] += 1
    assert covered.max() == 1  # no character is in two words
    for number in side.own:
        start, end = side.offsets[number]
        assert shares[number].sum() == pytest.approx(float(covered[start:end].any()))
    for column, word in enumerate(words):
        inside = [n for n in side.own if shares[n, column] > 0]
        read = np.zeros(len(text), dtype=int)
        for start, end in {tuple(side.offsets[n]) for n in inside}:
            read[start:end] += 1
        written = [place for place in range(word.start, word.end) if not text[place].isspace()]
        assert (read[written] == 1).all(), (word, read)  # every character of a word is read exactly once


def test_a_long_word_is_several_pieces_of_one_word() -> None:
    side = _embedded().read(["unbelievably"])[0].side
    assert len(side.own) > 1
    np.testing.assert_allclose(side.shares([(0, 12)])[side.own, 0], 1.0)


@cache
def _embedded() -> whyalike.Encoder:
    return whyalike.load_encoder()


@cache
def _named(language: str) -> Tagger:
    return tagger(language)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("In the house.", {"house": "root", "In": "case"}),
        ("The cat is on the mat.", {"mat": "root", "is": "cop", "cat": "nsubj", "on": "case"}),
        ("A man in a red shirt and with a hat.", {"shirt": "nmod", "hat": "conj"}),
        ("There is a cat on the mat.", {"is": "root", "cat": "nsubj"}),
    ],
)
def test_a_preposition_hands_its_place_on_to_its_object(text: str, roles: dict[str, str]) -> None:
    (words,) = _named("english")([text])
    found = {word.text: word.relation for word in words}
    assert {word: found[word] for word in roles} == roles
