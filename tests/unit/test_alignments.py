"""Human word alignments: read from every format, and who agrees with them in all scores one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whyalike
from tests.evaluation_pairs import with_matrix
from tests.families import tiny_encoder
from whyalike.data.alignments import Aligned, Chunks, in_words, membership, read_alignments
from whyalike.errors import BadInput, UnknownName
from whyalike.evaluate.human import Human
from whyalike.evaluate.measure import Case
from whyalike.evaluate.subjects import make_subject

ALIGNED = Aligned(
    ("the", "old", "man", "plays", "guitar", "."),
    ("a", "man", "plays", "the", "piano", "."),
    frozenset({(0, 3), (2, 1), (3, 2), (5, 5)}),
)


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert")


def judged(encoder: whyalike.Encoder, matrix: np.ndarray, case: Case | None = None) -> dict[str, Any]:
    """The human measure of a matrix in the alignment's own words."""
    e = whyalike.explain(*ALIGNED.pair, encoder=encoder, unit="word")
    whole = np.zeros_like(e.matrix)
    whole[1:-1, 1:-1] = matrix
    case = case or Case(0, *ALIGNED.pair, aligned=ALIGNED)
    (row,) = Human().rows(case, {"it": with_matrix(e, whole)}, encoder)
    return row


def test_who_agrees_with_people_in_all_scores_one(encoder: whyalike.Encoder) -> None:
    gold = ALIGNED.gold()
    perfect, reversed_, constant = (judged(encoder, matrix) for matrix in (gold, 1 - gold, np.ones_like(gold)))
    for name in ("average_precision", "precision_at_links", "first_partner", "reciprocal_rank"):
        assert perfect[name] == 1
        assert reversed_[name] <= constant[name] < 1
    assert reversed_["precision_at_links"] == 0
    assert reversed_["reciprocal_rank"] < constant["reciprocal_rank"]
    assert reversed_["first_partner"] == 0 < constant["first_partner"]
    assert constant["average_precision"] == pytest.approx(gold.mean())  # chance
    assert constant["reciprocal_rank"] == pytest.approx(sum(1 / rank for rank in range(1, 7)) / 6)  # any of six places
    rows = [judged(encoder, gold, Case(n, *ALIGNED.pair, aligned=ALIGNED)) for n in (0, 1)]
    (line,) = Human().table(rows)
    assert line["f1"] == 1
    for matrix, f1 in ((1 - gold, 0), (np.ones_like(gold), 2 * gold.sum() / (gold.size + gold.sum()))):
        others = [judged(encoder, matrix, Case(n, *ALIGNED.pair, aligned=ALIGNED)) for n in (0, 1)]
        assert Human().table(others)[0]["f1"] == pytest.approx(f1)
    assert Human().table(rows[:1])[0]["f1"] is None  # nothing to test the threshold on


def test_words_with_several_partners_do_not_spoil_a_perfect_score(encoder: whyalike.Encoder) -> None:
    many = replace(ALIGNED, sure=frozenset({(0, 3), (0, 0), (1, 0), (2, 1), (5, 5)}))
    case = Case(0, *many.pair, aligned=many)
    row = judged(encoder, many.gold(), case)
    assert all(
        row[name] == 1 for name in ("average_precision", "precision_at_links", "first_partner", "reciprocal_rank")
    )
    nothing = judged(encoder, np.zeros((6, 6)), case)
    assert nothing["precision_at_links"] == pytest.approx(5 / 36)  # chance, wherever the links stand


def test_baselines_speak_of_the_alignments_own_words(encoder: whyalike.Encoder) -> None:
    aligned = Aligned(("old-young", "man"), ("old-house", "man"), frozenset())
    (e,) = make_subject("exact_match").explanations([aligned.pair], encoder)
    assert in_words(e, aligned).tolist() == [[0, 0], [0, 1]]
    (e,) = make_subject("contextual_cosine@0").explanations([("man man-man", "man man-man")], encoder)
    cosines = in_words(e, Aligned(("man", "man-man"), ("man", "man-man"), frozenset()))
    assert cosines[1, 1] <= 1.2 * cosines[0, 0]  # three units are not three times as alike


def test_kinds_of_chunks_are_told_apart(encoder: whyalike.Encoder) -> None:
    chunks = (Chunks((2,), (1,), "EQUI", 5.0), Chunks((4,), (4,), "SIMI", 3.0), Chunks((1,), (4,), "OPPO", 4.0))
    case = Case(0, *ALIGNED.pair, aligned=replace(ALIGNED, chunks=chunks))
    matrix = np.zeros((6, 6))
    matrix[2, 1], matrix[4, 4] = 1.0, 0.5
    row = judged(encoder, matrix, case)
    (line,) = Human().table([row])
    assert line["EQUI_above_SIMI"] == line["EQUI_above_OPPO"] == 1
    assert line["mean_EQUI"] > line["mean_SIMI"] > line["mean_OPPO"]


def test_an_explanation_in_the_words_of_an_alignment_keeps_its_sum(encoder: whyalike.Encoder) -> None:
    words = ("don", "'", "t-guitars", "unmaner", ",and", "🎸🎸", "x")
    aligned = Aligned(words, ("a", "man's", "piano."), frozenset())
    for unit in ("token", "word"):
        e = whyalike.explain(*aligned.pair, encoder=encoder, unit=unit)  # type: ignore[arg-type]
        for side, those in ((e.left, aligned.left), (e.right, aligned.right)):
            own = np.array([kind == "text" for kind in side.kinds])
            np.testing.assert_allclose(membership(side, those).sum(1), own)
        inner = e.matrix[np.ix_(*([kind == "text" for kind in side.kinds] for side in (e.left, e.right)))]
        assert in_words(e, aligned).sum() == pytest.approx(inner.sum())


def test_alignments_are_read_from_every_format(tmp_path: Path) -> None:
    (tmp_path / "own.tsv").write_text("a man\tthe man plays\t1-1 0-0\n\n")
    assert read_alignments(tmp_path / "own.tsv") == [
        Aligned(("a", "man"), ("the", "man", "plays"), frozenset({(0, 0), (1, 1)}))
    ]
    (tmp_path / "spaces.tsv").write_text("10\u00a0000 men\u2028 of\tmany men\t0-0 1-1\n", encoding="utf-8")
    (found,) = read_alignments(tmp_path / "spaces.tsv")
    assert found.left == ("10\u00a0000", "men\u2028", "of")  # words are parted by blanks alone
    (tmp_path / "mwa.tsv").write_text("0\ta man\tN/A\tthe man\tN/A\t1\t1\t1-1\t0-0\t\n")
    (found,) = read_alignments(tmp_path / "mwa.tsv")
    assert (found.sure, found.possible) == ({(1, 1)}, {(0, 0)})
    assert found.gold().sum() == 2
    assert found.gold(possible=False).sum() == 1
    row = {"source": "a man", "target": "man", "sureAlign": "1-0", "possibleAlign": ""}
    (tmp_path / "e.json").write_text(json.dumps([row]))
    assert read_alignments(tmp_path / "e.json")[0].sure == {(1, 0)}
    (tmp_path / "i.wa").write_text(
        '<sentence id="1" status="">\n// a : man\n// man\n<source>\n1 a : \n2 : : \n3 man : \n</source>\n'
        "<translation>\n1 man : \n"
        "</translation>\n<alignment>\n1 3 <==> 1 // SPE1_FACT // 3 // a man <==> man \n2 <==> 0 // NOALI // NIL // : <==> - \n"
        "</alignment>\n</sentence>\n"
    )
    (found,) = read_alignments(tmp_path / "i.wa")
    assert found.left == ("a", ":", "man")
    assert found.chunks == (Chunks((0, 2), (0,), "SPE1", 3.0),)
    assert found.sure == {(0, 0), (2, 0)}


def test_a_mark_of_byte_order_belongs_to_no_word(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a man\ta man\t0-0 1-1\n", encoding="utf-8-sig")
    (tmp_path / "b.json").write_text(
        '[{"source": "a man", "target": "a man", "sureAlign": "0-0 1-1", "possibleAlign": ""}]', encoding="utf-8-sig"
    )
    for name in ("a.tsv", "b.json"):
        (found,) = read_alignments(tmp_path / name)
        assert found.left == found.right == ("a", "man")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\t0:0\n", "has the link '0:0'"),
        ("a\tb\t0-1\n", "links 0-1, but its texts have 1 and 1 words"),
        ("a\tb\n", "has 2 columns"),
        ("a\t \t\n", "has an empty text"),
        ("", "has no aligned pairs"),
    ],
)
def test_alignments_that_are_none_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(content)
    with pytest.raises(BadInput, match=message):
        read_alignments(tmp_path / "a.tsv")
    with pytest.raises(UnknownName, match="no file or set of alignments"):
        read_alignments("nothing")
    (tmp_path / "a.xml").write_text("x")
    with pytest.raises(BadInput, match="ends in '.xml'"):
        read_alignments(tmp_path / "a.xml")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"[1", "is not JSON"),
        ("a.json", b'{"rows": []}', "Pair 1 of a.json should have the texts"),
        ("a.json", b'[{"source": "a", "target": "b", "sureAlign": 3}]', "Pair 1 of a.json should have the texts"),
        ("a.tsv", b"caf\xe9\tcoffee\t0-0\n", "is not UTF-8"),
        ("a.wa", b"<sentence id='1'>\n<source>\n1 caf\xe9 :\n</source>\n</sentence>\n", "is not UTF-8"),
        (
            "a.wa",
            b"<sentence id='1'>\n<source>\n1 dog :\n</source>\n<translation>\n1 cat :\n</translation>\n"
            b"<alignment>\n1 <==> 7 // EQUI // 5 // dog <==> cat\n</alignment>\n</sentence>\n",
            "words together that it does not have",
        ),
        (
            "a.wa",
            b"<sentence id='1'>\n<source>\n1 dog :\n</source>\n<translation>\n</translation>\n</sentence>\n",
            "Sentence 1 of a.wa has no words",
        ),
        (
            "a.wa",
            b"<sentence id='1'>\n<source>\n1\n</source>\n<translation>\n1 cat :\n</translation>\n</sentence>\n",
            "Sentence 1 of a.wa has no words",
        ),
        (
            "a.wa",
            b"<sentence id='1'>\n<source>\n1 dog :\n</source>\n<translation>\n1 cat :\n</translation>\n"
            b"<alignment>\n1 <=> 1 // EQUI // 5 // dog <==> cat\n</alignment>\n</sentence>\n",
            "Sentence 1 of a.wa has the alignment '1 <=> 1",
        ),
    ],
)
def test_files_that_hold_no_alignments_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        read_alignments(tmp_path / name)
