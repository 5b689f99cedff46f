"""Tables of experiments that are put together of several runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import whyalike
from experiments.evaluation.by_totals import ByTotals
from experiments.evaluation.people import README, written
from experiments.evaluation.run import tell
from experiments.evaluation.together import together
from tests.evaluation_pairs import PAIRS
from tests.families import tiny_encoder
from whyalike.evaluate.perturbation import ScorePerturbation
from whyalike.evaluate.run import cases_of, evaluate
from whyalike.evaluate.subjects import make_subject


def test_runs_put_together_are_one_run(tmp_path: Path) -> None:
    encoder, subjects = tiny_encoder("bert"), ["bilrp", "integrated_jacobians@1", "random"]
    cases = cases_of(PAIRS)
    for folder, some in {"all": subjects, "one": subjects[:1], "rest": subjects[1:]}.items():
        evaluate("balance", cases, encoder=encoder, subjects=some, folder=tmp_path / folder, progress=False)
    once = together([tmp_path / "all"], encoder)
    both = together([tmp_path / "one", tmp_path / "rest"], encoder)
    assert both.table == once.table
    assert both.significance() == once.significance()
    assert both.notes == once.notes
    assert any("integrated_jacobians@1" in note for note in both.notes)
    assert both.request["subjects_in_full"] == once.request["subjects_in_full"]
    assert both.request["runs"] == ["one", "rest"]


def test_runs_put_together_keep_their_parameters(tmp_path: Path) -> None:
    encoder, measure = tiny_encoder("bert"), ScorePerturbation(removal="replace")
    found = evaluate(
        measure, cases_of(PAIRS[:2]), encoder=encoder, subjects=["random"], folder=tmp_path, progress=False
    )
    assert together([tmp_path], encoder).notes == found.notes
    assert "replaced by" in found.notes[0]


def test_runs_over_other_pairs_are_not_put_together(tmp_path: Path) -> None:
    encoder = tiny_encoder("bert")
    for folder, pairs in {"one": PAIRS[:2], "other": PAIRS[1:3]}.items():
        evaluate(
            "balance", cases_of(pairs), encoder=encoder, subjects=["bilrp"], folder=tmp_path / folder, progress=False
        )
    with pytest.raises(SystemExit, match="data is"):
        together([tmp_path / "one", tmp_path / "other"], encoder)
    rows = tmp_path / "other" / "rows.jsonl"
    rows.write_text(rows.read_text().splitlines()[0] + "\n")
    with pytest.raises(SystemExit, match="has 1 of 2 pairs"):
        together([tmp_path / "other"], encoder)


def test_of_a_run_that_did_not_end_the_finished_pairs_can_be_judged(tmp_path: Path) -> None:
    encoder = tiny_encoder("bert")
    for folder, some in {"one": ["bilrp"], "other": ["random"]}.items():
        evaluate("balance", cases_of(PAIRS), encoder=encoder, subjects=some, folder=tmp_path / folder, progress=False)
    rows = tmp_path / "other" / "rows.jsonl"
    rows.write_text(
        "".join(rows.read_text().splitlines(keepends=True)[:2]) + '{"case": 2, "ro'
    )  # killed while it wrote
    found = together([tmp_path / "one", tmp_path / "other"], encoder, finished=True)
    assert [line["pairs"] for line in found.table] == [2, 2]
    assert (found.request["finished"], found.request["pairs"]) == (2, len(PAIRS))
    first = evaluate("balance", cases_of(PAIRS[:2]), encoder=encoder, subjects=["bilrp", "random"], progress=False)
    assert found.table == first.table


def test_totals_give_the_order_of_the_matrix() -> None:
    encoder, case = tiny_encoder("bert"), cases_of(PAIRS)[3]
    name = "integrated_jacobians@0,tolerance=1e-06"
    subjects = [make_subject(name), make_subject(f"{name}+equal")]
    found = {each.name: each.explanations([(case.left, case.right)], encoder)[0] for each in subjects}
    *by_matrix, apart, spread = ByTotals(tolerance=1e-6).rows(case, found, encoder)
    assert by_matrix[0]["curve"] != by_matrix[1]["curve"]  # else the two orders would not be told apart
    assert [row["subject"] for row in (apart, spread)] == [name, f"{name}+equal"]
    assert [row["curve"] for row in (apart, spread)] == [pytest.approx(row["curve"]) for row in by_matrix]


def test_a_result_does_not_say_where_a_model_lies(tmp_path: Path) -> None:
    encoder = whyalike.load_encoder(tiny_encoder("bert").model, name="/home/someone/models/tiny")
    found = evaluate("balance", cases_of(PAIRS[:1]), encoder=encoder, subjects=["random"], progress=False)
    tell(found, tmp_path / "result.json")
    written = json.loads((tmp_path / "result.json").read_text())
    assert written["request"]["model"] == written["request"]["models"][""]["name"] == "tiny"


def test_the_tables_of_agreement_with_people_are_what_the_results_say() -> None:
    text = README.read_text(encoding="utf-8")
    assert written(text) == text
