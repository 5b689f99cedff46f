"""The table all analyses read: every pair's rows sum to its matrix, and a killed run goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import whyalike
from tests.analysis_corpus import LABELS, PAIRS, make_corpus
from tests.families import tiny_encoder
from whyalike.analysis import interactions as module
from whyalike.analysis.corpus import Corpus
from whyalike.analysis.interactions import REQUEST, Interactions, interactions, read_interactions
from whyalike.errors import BadInput, DamagedFile
from whyalike.language.taggers import tagger
from whyalike.language.words import Tagged


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert")


@pytest.fixture
def study(encoder: whyalike.Encoder, tmp_path: Path) -> Corpus:
    return make_corpus(encoder, tmp_path / "study")


def test_every_pairs_rows_sum_to_its_matrix(study: Corpus, encoder: whyalike.Encoder) -> None:
    table = study.tables()["tiny"]
    sums = table.words.group_by("pair").agg(pl.col("value").sum()).sort("pair").collect()["value"].to_numpy()
    rows = table.pairs.sort("pair").collect()
    np.testing.assert_allclose(sums, rows["matrix"].to_numpy(), atol=1e-9)
    assert rows["label"].to_list() == LABELS
    assert rows["residual"].abs().max() < 1e-9
    for (left, right), row in zip(PAIRS, rows.rows(named=True), strict=True):
        e = whyalike.explain(left, right, encoder=encoder)
        assert row["score"] == pytest.approx(e.score)
        assert row["left_terms"] == pytest.approx(e.left_terms.sum())
    words = table.words.filter(pl.col("pair") == 2).collect()
    assert {"does", "n't"} <= set(words["left"])
    assert {"[CLS]", "[SEP]"} <= set(words["left_pos"])
    assert words.filter(pl.col("left") == "[CLS]")["left_at"].unique().to_list() == [-1]


def test_a_killed_run_goes_on_and_ends_with_the_same_rows(
    study: Corpus, encoder: whyalike.Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TOGETHER", 2)
    whole = study.tables()["tiny"].words.collect()

    def make() -> Interactions:
        return interactions(
            PAIRS, tmp_path / "b", encoder=encoder, tagger=tagger("english"), labels=LABELS, progress=False
        )

    real, written = module._write, []

    def dying(place: Path, start: int, *rest: Any) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(start)
        real(place, start, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_write", dying)
        with pytest.raises(KeyboardInterrupt):
            make()
    with pytest.raises(DamagedFile, match="pairs from 2 on are missing"):
        read_interactions(tmp_path / "b")
    asked: list[int] = []
    monkeypatch.setattr(module, "_write", lambda place, start, *rest: (asked.append(start), real(place, start, *rest)))
    assert make().words.collect().equals(whole)
    assert asked == [2]  # what was finished is not done again
    assert read_interactions(tmp_path / "b").request["pairs"] == len(PAIRS)


def test_a_table_is_not_taken_up_for_other_pairs(study: Corpus, encoder: whyalike.Encoder) -> None:
    folder = study.tables()["tiny"].folder
    with pytest.raises(BadInput, match="with different settings: pairs was 4, now 1"):
        interactions(PAIRS[:1], folder, encoder=encoder, tagger=tagger("english"))
    (folder / REQUEST).unlink()
    with pytest.raises(BadInput, match="holds something else"):
        interactions(PAIRS, folder, encoder=encoder, tagger=tagger("english"))
    with pytest.raises(BadInput, match="holds no table"):
        read_interactions(folder)
    with pytest.raises(BadInput, match="4 pairs, but 1 labels"):
        interactions(PAIRS, folder, encoder=encoder, tagger=tagger("english"), labels=[1.0])


def test_a_table_is_not_taken_up_with_another_tagger_or_pooling(study: Corpus, encoder: whyalike.Encoder) -> None:
    folder = study.tables()["tiny"].folder
    with pytest.raises(BadInput, match="taggers was"):
        interactions(PAIRS, folder, encoder=encoder, tagger=(tagger("english"), tagger("german")), labels=LABELS)
    other = whyalike.load_encoder(encoder.model)
    other.record = replace(encoder.record, pooling="cls")
    with pytest.raises(BadInput, match="model was"):
        interactions(PAIRS, folder, encoder=other, tagger=tagger("english"), labels=LABELS)


def test_words_the_model_did_not_read_have_no_rows(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    limit = encoder.limit()
    assert limit is not None
    long = " ".join(["dog"] * (limit + 20)) + " house"
    table = interactions([(long, "the house")], tmp_path, encoder=encoder, tagger=tagger("english"), progress=False)
    words = table.words.collect()
    assert "house" not in set(words["left"])
    assert "house" in set(words["right"])
    assert table.pairs.collect()["cut"].item() > 0
    assert words["value"].sum() == pytest.approx(table.pairs.collect()["matrix"].item())


def test_rows_are_written_some_at_a_time(study: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = study.tables()["tiny"].words.collect()
    monkeypatch.setattr(module, "ROWS_TOGETHER", 50)
    again = replace(study, folder=tmp_path / "again").tables()["tiny"]
    assert again.words.collect().equals(whole)


def test_a_damaged_state_is_named(study: Corpus) -> None:
    folder = study.tables()["tiny"].folder
    (folder / REQUEST).write_text("")
    with pytest.raises(DamagedFile, match="is damaged"):
        study.tables()


def test_taggers_without_a_name_are_told_apart(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    def marking(tag: str) -> Any:
        return lambda texts: [[Tagged(0, len(text), text, tag)] for text in texts]

    first, second = marking("A"), marking("B")
    for _ in range(2):  # the same one goes on
        interactions(PAIRS, tmp_path, encoder=encoder, tagger=first, progress=False)
    with pytest.raises(BadInput, match="taggers was"):
        interactions(PAIRS, tmp_path, encoder=encoder, tagger=second, progress=False)


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (lambda texts: [], "gave 0 lists of words for 4 texts"),
        (lambda texts: [[Tagged(0, 999, "x", "X")] for _ in texts], "does not lie in the text"),
    ],
)
def test_a_tagger_that_gives_no_words_of_the_text_is_refused(
    tag: Any, message: str, encoder: whyalike.Encoder, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message):
        interactions(PAIRS, tmp_path, encoder=encoder, tagger=tag, progress=False)


def test_gold_is_asked_for_all_texts_before_any_is_explained(
    encoder: whyalike.Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gold.conllu").write_text(f"# text = {PAIRS[0][0]}\n1\tThe\t_\tDET\t_\t_\t0\troot\t_\t_\n\n")
    monkeypatch.setattr(module, "_write", lambda *arguments: pytest.fail("work was done"))
    with pytest.raises(BadInput, match="has no annotation"):
        interactions(PAIRS, tmp_path / "t", encoder=encoder, tagger=tagger(tmp_path / "gold.conllu"), progress=False)


def test_labels_are_from_zero_to_one(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    for wrong in (4.0, None):
        with pytest.raises(BadInput, match="from 0 to 1; got"):
            interactions(PAIRS[:1], tmp_path, encoder=encoder, tagger=tagger("english"), labels=[wrong])  # type: ignore[list-item]


def test_what_a_kill_leaves_behind_does_no_harm(study: Corpus, encoder: whyalike.Encoder, tmp_path: Path) -> None:
    (tmp_path / "study/interactions-0").mkdir(parents=True)
    (tmp_path / "study/interactions-0/request.json.123.whyalike-part").write_text("{")
    table = study.tables()["tiny"]
    whole = table.words.collect()
    next(table.folder.glob("words-*")).unlink()
    with pytest.raises(DamagedFile, match="not finished"):
        read_interactions(table.folder)
    assert study.tables()["tiny"].words.collect().equals(whole)


def test_the_error_of_an_integration_is_kept(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    method = whyalike.IntegratedJacobians(layer=2, steps=1)
    table = interactions(PAIRS[:1], tmp_path, encoder=encoder, tagger=tagger("english"), method=method, progress=False)
    e = whyalike.explain(*PAIRS[0], encoder=encoder, method=method)
    assert table.pairs.collect()["error"].to_list() == [max(side.error for side in e.measured.values())]
