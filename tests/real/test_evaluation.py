"""Every measure on five real pairs with the embedded model, and the public sets of alignments as they lie on disk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import whyalike
from whyalike.data.alignments import SETS, read_alignments
from whyalike.data.truth import Truth
from whyalike.evaluate import Case, Evaluation, cases_of, evaluate, spread_evenly
from whyalike.evaluate.perturbation import ScorePerturbation

pytestmark = pytest.mark.real
PAIRS_OF_SETS = {"multimwa-mtref-dev": 800, "edinburgh": 714, "ists-headlines": 756}


@pytest.fixture(scope="module")
def five(stsb: list[tuple[str, str, float]]) -> list[Case]:
    return spread_evenly(cases_of([row[:2] for row in stsb], [row[2] for row in stsb]), 5)


def judged(
    measure: Any, cases: list[Case], encoder: whyalike.Encoder, *subjects: str
) -> tuple[Evaluation, dict[str, Any]]:
    found = evaluate(measure, cases, encoder=encoder, subjects=subjects, progress=False)
    return found, {line["subject"]: line for line in found.table}


def test_a_search_beats_chance_and_bilrp_stands_between(minilm: whyalike.Encoder, five: list[Case]) -> None:
    _, lines = judged(ScorePerturbation(greedy=5), five, minilm, "bilrp", "random")
    assert lines["greedy search"]["faithfulness"] > lines["bilrp"]["faithfulness"] > lines["random"]["faithfulness"]


def test_the_embedding_is_back_when_all_tokens_are(minilm: whyalike.Encoder, five: list[Case]) -> None:
    found, lines = judged("perturbation_embedding", five, minilm, "bilrp", "bti", "random")
    curves = {case.number: [row["curve"] for row in found.rows if row["case"] == case.number] for case in five}
    for number in curves:
        assert all(curve[-1] == pytest.approx(0, abs=1e-5) for curve in curves[number])
        assert np.ptp([curve[0] for curve in curves[number]]) < 1e-9  # all begin with nothing but masks
    assert lines["bilrp"]["area"] < lines["random"]["area"]
    assert found.notes == ("A removed token is replaced by the mask token.",)


def test_relevance_is_conserved_without_biases(minilm: whyalike.Encoder, five: list[Case]) -> None:
    apart = "bilrp@0,biases=apart"
    _, lines = judged("conservation", five, minilm, "bilrp", apart, "hessian_product")
    assert lines["bilrp"]["matrix_off"] < 1e-5 < lines[apart]["matrix_off"]
    assert lines[f"{apart}, biases zero"]["matrix_off"] < 1e-5
    for name in ("bilrp", f"{apart}, biases zero"):
        assert lines[name]["correlation_of_texts"] == pytest.approx(1, abs=1e-4)
    assert lines["hessian_product, biases zero"]["matrix_off"] > 1e-2
    assert all(line["all_parts_off"] < 1e-5 for line in lines.values())


def test_who_knows_the_truth_is_told_from_chance(minilm: whyalike.Encoder, five: list[Case]) -> None:
    def same_words(left: str, right: str) -> Truth:
        spans = [
            [(found.group().casefold(), found.span()) for found in re.finditer(r"\w+", text)] for text in (left, right)
        ]
        return Truth(left, right, tuple((a, b) for one, a in spans[0] for other, b in spans[1] if one == other))

    cases = [Case(case.number, case.left, case.right, truth=same_words(case.left, case.right)) for case in five]
    _, lines = judged("ground_truth", cases, minilm, "exact_match", "bilrp", "random")
    assert lines["exact_match"]["cosine"] > 0.8  # it also matches full stops, which are no words
    assert lines["exact_match"]["cosine"] > lines["bilrp"]["cosine"] > lines["random"]["cosine"]


def test_only_what_reads_the_weights_reacts_to_them(minilm: whyalike.Encoder, five: list[Case]) -> None:
    _, lines = judged("randomization", five[:1], minilm, "bilrp", "exact_match")
    assert lines["exact_match, all weights"]["spearman"] == pytest.approx(1)
    assert lines["exact_match, all weights"]["reacts"] is False
    assert lines["bilrp, all weights"]["reacts"] is True


def test_an_explanation_agrees_with_itself_spread_more_than_with_chance(
    minilm: whyalike.Encoder, five: list[Case]
) -> None:
    _, lines = judged("agreement", five, minilm, "bilrp", "bilrp+equal", "random")
    assert lines["bilrp ~ bilrp+equal"]["spearman"] > 0.5 > lines["bilrp ~ random"]["spearman"]


def test_positive_and_negative_sums_are_the_matrix(minilm: whyalike.Encoder, five: list[Case]) -> None:
    found, lines = judged("balance", five, minilm, "bilrp")
    matrices = [whyalike.explain(case.left, case.right, encoder=minilm).matrix for case in five]
    sums = [row["positive"] + row["negative"] for row in found.rows]
    assert sums == pytest.approx([matrix.sum() for matrix in matrices], abs=1e-5)
    assert lines["bilrp"]["positive"] > 0 > lines["bilrp"]["negative"]


def test_sts_is_spearmans(minilm: whyalike.Encoder, five: list[Case]) -> None:
    found, (line,) = judged("sts", five, minilm)[0], judged("sts", five, minilm)[1].values()
    predicted = [row["predicted"] for row in found.rows]
    assert line["spearman"] == pytest.approx(spearmanr(predicted, [case.score for case in five]).statistic)


def test_people_agree_more_with_aligned_words_than_with_chance(minilm: whyalike.Encoder, data: Path) -> None:
    aligned = read_alignments(data / "multimwa/mtref-dev.tsv")[:5]
    cases = [Case(number, *each.pair, aligned=each) for number, each in enumerate(aligned)]
    _, lines = judged("human", cases, minilm, "bilrp@5", "bilrp@5+aligned", "exact_match", "random")
    precision = {name: line["average_precision"] for name, line in lines.items()}
    assert precision["bilrp@5+aligned"] > precision["bilrp@5"] > precision["random"]
    assert precision["exact_match"] > precision["random"]


@pytest.mark.parametrize("name", SETS)
def test_every_set_of_alignments_is_read(name: str, data: Path) -> None:
    found = read_alignments(data / SETS[name])
    assert len(found) == PAIRS_OF_SETS.get(name, len(found)) > 100
    assert all(
        each.gold().sum() == len(each.sure | each.possible) for each in found
    )  # every link is of words there are
    if name.startswith("ists"):
        assert {"EQUI", "SIMI"} <= {chunk.kind for each in found for chunk in each.chunks}


def test_chunks_of_people_are_judged_by_kind_and_score(minilm: whyalike.Encoder, data: Path) -> None:
    aligned = spread_evenly(
        [Case(n, *each.pair, aligned=each) for n, each in enumerate(read_alignments(data / SETS["ists-images"]))], 20
    )
    _, lines = judged("human", aligned, minilm, "bilrp@5+aligned", "random")
    assert lines["bilrp@5+aligned"]["mean_EQUI"] > lines["random"]["mean_EQUI"]
    assert lines["bilrp@5+aligned"]["chunks_by_human_score"] > 0
