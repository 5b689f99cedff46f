"""Words of scripts written without spaces, with a segmenter and without one."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest

import whyalike
from tests.families import tiny_encoder
from whyalike.errors import BadInput
from whyalike.evaluate.rating import prepare
from whyalike.evaluate.run import cases_of
from whyalike.language import segmenter
from whyalike.language.segmenter import segmentation, segmenter_of
from whyalike.language.words import split_words, word_spans
from whyalike.methods.tfidf_vectors import Frequencies
from whyalike.render.scene import notes_of

WITHOUT = patch.object(segmenter, "_icu", lambda: None)
CHINESE = "一个男人在舞台上弹吉他。"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CHINESE, "一个 男人 在 舞台 上 弹 吉他 。"),
        ("ステージのギター。", "ステージ の ギター 。"),
        ("ผู้ชายเล่นกีตาร์บนเวที", "ผู้ชาย เล่น กีตาร์ บน เวที"),
        ("ຜູ້ຊາຍຫຼິ້ນກີຕາ", "ຜູ້ຊາຍ ຫຼິ້ນ ກີຕາ"),
        ("iPhone手机和3D打印机，很好！", "iPhone 手机 和 3D 打印 机 ， 很好 ！"),
        ("食べる𠮷", "食べる 𠮷"),  # the last is two units of UTF-16
    ],
)
def test_scripts_without_spaces_are_split_into_words(text: str, words: str) -> None:
    assert split_words(text) == words.split()


@pytest.mark.parametrize(
    "text",
    ["A man plays guitar, doesn't he?", "Мужчина играет.", "رجل يعزف.", "איש מנגן.", "남자가 연주한다", "naïve 🐱", ""],
)
def test_other_scripts_need_no_segmenter(text: str) -> None:
    with patch.object(segmenter, "_split", side_effect=AssertionError):
        words = word_spans(text)
    assert segmenter_of(text) == ""
    with WITHOUT:
        assert words == word_spans(text)


def test_without_icu_words_are_single_characters_and_the_result_says_so() -> None:
    encoder = tiny_encoder()
    with WITHOUT:
        assert split_words("吉他。") == ["吉", "他", "。"]
        e = whyalike.explain(CHINESE, "A man plays guitar.", encoder=encoder, unit="word")
    assert (e.left.segmenter, e.right.segmenter) == ("characters", "")
    (note,) = [note for note in notes_of(e) if "single characters" in note]
    assert note.startswith("The left text")
    assert "whyalike[languages]" in note
    assert not [note for note in notes_of(e.by_sentence()) if "single characters" in note]


def test_a_result_names_its_segmenter_also_from_a_file(tmp_path: Path) -> None:
    e = whyalike.explain(CHINESE, "A man plays guitar.", encoder=tiny_encoder(), unit="word")
    assert e.left.segmenter.startswith("ICU ")
    e.save(tmp_path / "e.json")
    given = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
    assert "segmenter" not in given["right"]  # a file of before is read as it was
    back = whyalike.load(tmp_path / "e.json")
    assert (back.left.segmenter, back.right.segmenter) == (e.left.segmenter, "")
    assert not [note for note in notes_of(e) if "single characters" in note]


def test_a_run_with_other_words_is_another_run(tmp_path: Path) -> None:
    def study(left: str, folder: str) -> None:
        cases = cases_of([(left, "A man plays guitar.")])
        prepare(cases, tmp_path / folder, encoder=tiny_encoder(), subjects=["exact_match"], progress=False)

    for text, folder in ((CHINESE, "chinese"), ("A dog runs.", "english")):
        study(text, folder)
    with WITHOUT:
        study("A dog runs.", "english")
        with pytest.raises(BadInput, match="segmenter"):
            study(CHINESE, "chinese")


def test_a_corpus_with_other_words_is_another_corpus() -> None:
    with_words, english = (Frequencies.of([text]) for text in (CHINESE, "A dog runs."))
    with WITHOUT:
        assert Frequencies.of([CHINESE]).digest != with_words.digest
        assert Frequencies.of(["A dog runs."]).digest == english.digest


def test_the_segmentation_of_many_texts_is_stated_once() -> None:
    assert segmentation(["A dog runs.", CHINESE]) == {"segmenter": segmenter_of(CHINESE)}
    assert segmentation(["A dog runs."]) == {}
