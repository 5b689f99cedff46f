"""Every measure with known answers: the perfect explainer gets the perfect score, the reversed one the worst."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder
from whyalike.cli import app
from whyalike.errors import BadInput, UnknownName
from whyalike.evaluate import perturbation
from whyalike.evaluate.agreement import Agreement, Sts, compared, drawn_anew
from whyalike.evaluate.alignments import Aligned, Chunks, in_words, membership, read_alignments
from whyalike.evaluate.human import Human
from whyalike.evaluate.measure import Case
from whyalike.evaluate.page import picture, save, to_html
from whyalike.evaluate.perturbation import EmbeddingPerturbation, ScorePerturbation
from whyalike.evaluate.run import MEASURES, ROWS, cases_of, evaluate, spread_evenly
from whyalike.evaluate.subjects import subject
from whyalike.evaluate.sums import Balance, Conservation, GroundTruth
from whyalike.truth import Truth

TEXTS = [
    LEFT,
    RIGHT,
    "The dog runs.",
    "A child plays the piano in the old house.",
    "Someone is not ugly, and walks over the river.",
]
PAIRS = [(TEXTS[n], TEXTS[(n + 1) % len(TEXTS)]) for n in range(len(TEXTS))]
SUBJECTS = ["bilrp", "bilrp+equal", "token_outputs", "contextual_cosine@2", "exact_match", "random"]


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert")


def with_matrix(e: whyalike.Explanation, matrix: np.ndarray) -> whyalike.Explanation:
    return replace(e, matrix=matrix, left_terms=0 * e.left_terms, right_terms=0 * e.right_terms, constant=0.0)


ALIGNED = Aligned(
    ("the", "old", "man", "plays", "guitar", "."),
    ("a", "man", "plays", "the", "piano", "."),
    frozenset({(0, 3), (2, 1), (3, 2), (5, 5)}),
)


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
    assert reversed_["first_partner"] == constant["first_partner"] == 0
    assert constant["average_precision"] == pytest.approx(gold.mean())  # chance
    assert constant["reciprocal_rank"] == pytest.approx(1 / 3.5)  # the middle of six that are tied
    rows = [judged(encoder, gold, Case(n, *ALIGNED.pair, aligned=ALIGNED)) for n in (0, 1)]
    (line,) = Human().table(rows)
    assert line["f1"] == 1
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
    (e,) = subject("exact_match").explanations([aligned.pair], encoder)
    assert in_words(e, aligned).tolist() == [[0, 0], [0, 1]]
    (e,) = subject("contextual_cosine@0").explanations([("man man-man", "man man-man")], encoder)
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


def test_conservation_and_balance_are_sums(encoder: whyalike.Encoder) -> None:
    e = whyalike.explain(*PAIRS[0], encoder=encoder)
    (row,) = Conservation().rows(Case(0, *PAIRS[0]), {"bilrp": e}, encoder)
    assert row["matrix"] + row["left_terms"] + row["right_terms"] + row["constant"] == pytest.approx(e.score)
    assert row["all_parts_off"] < 1e-9 < row["matrix_off"]
    (row,) = Balance().rows(Case(0, *PAIRS[0]), {"bilrp": e}, encoder)
    assert row["positive"] + row["negative"] == pytest.approx(e.matrix.sum())
    assert row["negative"] < 0 < row["positive"]


def test_who_gives_the_truth_scores_one(encoder: whyalike.Encoder) -> None:
    truth = Truth("the man plays", "a man", (((4, 7), (2, 5)),))
    e = whyalike.explain("the man plays", "a man", encoder=encoder)
    gold = truth.matrix(e.left, e.right)
    found = {"truth": with_matrix(e, 3 * gold), "reverse": with_matrix(e, -gold), "nothing": with_matrix(e, 0 * gold)}
    rows = GroundTruth().rows(Case(0, "", "", truth=truth), found, encoder)
    assert [row["cosine"] for row in rows] == pytest.approx([1, -1, 0])
    assert GroundTruth().rows(Case(0, "", "", truth=truth._replace(matches=())), found, encoder) == []


def test_agreement_of_the_same_is_one(encoder: whyalike.Encoder) -> None:
    e = whyalike.explain(*PAIRS[0], encoder=encoder)
    assert all(value == pytest.approx(1) for value in compared(e, e).values())
    turned = compared(e, with_matrix(e, -e.matrix))
    assert turned["spearman"] == pytest.approx(-1)
    assert compared(e, with_matrix(e, 0 * e.matrix))["spearman"] is None
    sparse = [np.zeros_like(e.by_word().matrix) for _ in range(2)]
    sparse[0][1, 1], sparse[1][2, 2] = 1, 1
    assert compared(*(with_matrix(e.by_word(), matrix) for matrix in sparse))["top_10"] == 0  # zeros are no agreement
    rows = Agreement().rows(Case(0, *PAIRS[0]), {"a": e, "b": e, "c": e}, encoder)
    assert [row["subject"] for row in rows] == ["a ~ b", "a ~ c", "b ~ c"]


def test_weights_are_drawn_anew_from_the_top_and_the_model_stays(encoder: whyalike.Encoder) -> None:
    before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
    stages = drawn_anew(encoder, 0)
    assert [name for name, _ in stages] == ["last 1", "last 2", "last 3", "all weights"]
    changed = []
    for _, strange in stages:
        state = strange.model.state_dict()
        changed.append({name for name in before if not np.array_equal(before[name].numpy(), state[name].numpy())})
    assert all(one < other for one, other in pairwise(changed))
    assert {name.split("layer.")[1][0] for name in changed[0]} == {"2"}
    assert any("embeddings" in name for name in changed[-1] - changed[-2])
    for name, tensor in encoder.model.state_dict().items():
        assert np.array_equal(before[name].numpy(), tensor.numpy())


def test_a_method_that_does_not_react_to_the_weights_fails(encoder: whyalike.Encoder) -> None:
    cases = cases_of(PAIRS[:2])
    table = evaluate("randomization", cases, encoder=encoder, subjects=["bilrp", "exact_match"], progress=False).table
    reacts = {line["subject"]: line["reacts"] for line in table if "reacts" in line}
    assert reacts == {"bilrp, all weights": True, "exact_match, all weights": False}


def test_sts_is_the_models_own_correlation(encoder: whyalike.Encoder) -> None:
    scores = [whyalike.explain(*pair, encoder=encoder).score for pair in PAIRS]
    (line,) = evaluate("sts", cases_of(PAIRS, scores), encoder=encoder, progress=False).table
    assert (line["spearman"], line["pearson"]) == pytest.approx((1, 1))
    with pytest.raises(BadInput, match="needs scored pairs"):
        Sts().rows(Case(0, "a", "b"), {}, encoder)


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_runs_over_every_subject_and_draws(name: str, encoder: whyalike.Encoder, tmp_path: Path) -> None:
    truth = [Truth(left, right, (((0, 3), (0, 1)),)) for left, right in PAIRS]
    words = [Aligned(tuple(left.split()), tuple(right.split()), frozenset({(0, 0)})) for left, right in PAIRS]
    cases = [Case(n, *words[n].pair, 0.1 * n, words[n], truth[n]) for n in range(len(PAIRS))]
    some = cases[:2] if name == "randomization" else cases
    found = evaluate(name, some, encoder=encoder, subjects=SUBJECTS, folder=tmp_path / "out", progress=False)
    assert found.table
    assert all(line.get(found.headline) is None or np.isfinite(line[found.headline]) for line in found.table)
    json.dumps(found.to_dict(), allow_nan=False)
    assert picture(found).row_count == len(found.table)
    assert {path.name for path in save(found, tmp_path / "out")} == {"result.json", "rows.parquet", "report.html"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MEASURES[name], "rows", lambda *args: pytest.fail("computed again"))
        again = evaluate(name, some, encoder=encoder, subjects=SUBJECTS, folder=tmp_path / "out", progress=False)
    assert list(again.rows) == json.loads(json.dumps(found.rows))


def test_a_page_works_alone_and_escapes_names(encoder: whyalike.Encoder) -> None:
    found = evaluate("balance", cases_of(PAIRS[:3]), encoder=encoder, subjects=["bilrp"], progress=False)
    name = "</script><script>alert(1)</script>"
    rows = tuple({**row, "subject": name} for row in found.rows)
    nasty = replace(found, rows=rows, table=({**found.table[0], "subject": name},))
    page = to_html(nasty)
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'src="http' not in page
    assert page.count("<body>") >= 1


def test_a_killed_evaluation_goes_on(
    encoder: whyalike.Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = cases_of(PAIRS)
    whole = evaluate("balance", cases, encoder=encoder, subjects=["bilrp"], progress=False)
    original, seen = Balance.rows, []

    def dying(self: Any, case: Case, *args: Any) -> Any:
        seen.append(case.number)
        if len(seen) == 4:
            raise KeyboardInterrupt
        return original(self, case, *args)

    monkeypatch.setattr(Balance, "rows", dying)
    with pytest.raises(KeyboardInterrupt):
        evaluate("balance", cases, encoder=encoder, subjects=["bilrp"], folder=tmp_path / "out", progress=False)
    with (tmp_path / "out" / ROWS).open("a") as out:
        out.write('{"case": 3, "rows": [{"subj')  # killed while it was written
    again = evaluate("balance", cases, encoder=encoder, subjects=["bilrp"], folder=tmp_path / "out", progress=False)
    assert seen == [0, 1, 2, 3, 3, 4]
    assert again.table == whole.table
    with pytest.raises(BadInput, match="holds another evaluation: subjects was"):
        evaluate("balance", cases, encoder=encoder, subjects=["random"], folder=tmp_path / "out", progress=False)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("x")
    with pytest.raises(BadInput, match="holds something else"):
        evaluate("balance", cases, encoder=encoder, subjects=["random"], folder=tmp_path / "full", progress=False)


def test_a_folder_is_not_taken_up_with_other_pairs(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    evaluate("balance", cases_of(PAIRS[:2]), encoder=encoder, subjects=["random"], folder=tmp_path, progress=False)
    with pytest.raises(BadInput, match="holds another evaluation: data was"):
        evaluate("balance", cases_of(PAIRS[2:4]), encoder=encoder, subjects=["random"], folder=tmp_path, progress=False)


def test_every_model_is_judged_by_itself(encoder: whyalike.Encoder) -> None:
    other = tiny_encoder("bert", seed=1)
    cases = cases_of(PAIRS[:2], [0.1, 0.9])
    for name in ("perturbation", "perturbation_embedding", "randomization", "sts"):
        subjects = ["token_outputs"]
        both = evaluate(name, cases, encoder=encoder, others={"b": other}, subjects=subjects, progress=False)
        alone = evaluate(name, cases, encoder=other, subjects=subjects, progress=False)
        beside = [line for line in both.table if line["subject"].endswith(" on b")]
        assert [line[both.headline] for line in beside] == [line[both.headline] for line in alone.table]


def test_cases_are_spread_over_all_of_the_data() -> None:
    cases = cases_of([(f"{n}", "x") for n in range(1379)])
    for count in (1, 200, 1000, 1379, 5000):
        chosen = spread_evenly(cases, count)
        assert len(chosen) == min(count, 1379)
        assert [case.number for case in chosen] == list(range(len(chosen)))
        assert count == 1 or chosen[-1].left == "1378"
    with pytest.raises(BadInput, match="should be above 0"):
        spread_evenly(cases, 0)


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


def test_significance_is_wilcoxons(encoder: whyalike.Encoder) -> None:
    from scipy.stats import wilcoxon

    found = evaluate("balance", cases_of(PAIRS), encoder=encoder, subjects=["bilrp", "random"], progress=False)
    (line,) = found.significance()
    values = {name: [row["positive"] for row in found.rows if row["subject"] == name] for name in ("bilrp", "random")}
    assert line["p"] == line["p_adjusted"] == wilcoxon(np.subtract(values["bilrp"], values["random"])).pvalue
    three = evaluate(
        "balance", cases_of(PAIRS), encoder=encoder, subjects=["bilrp", "random", "token_outputs"], progress=False
    )
    lines = sorted(three.significance(), key=lambda each: each["p"])
    assert lines[0]["p_adjusted"] == pytest.approx(min(1, 3 * lines[0]["p"]))
    assert all(each["p_adjusted"] >= each["p"] for each in lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bilrp@", "should be NAME"),
        ("magic", "no method 'magic'"),
        ("bilrp+twice", "no way to spread 'twice'"),
        ("bilrp:pad", "bilrp has no reference"),
        ("random+equal", "nothing to spread"),
    ],
)
def test_subjects_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises((BadInput, UnknownName), match=message):
        subject(text)
    assert subject("integrated_jacobians@2:mask+equal").method == whyalike.IntegratedJacobians(
        layer=2, reference="mask"
    )


def test_the_command_evaluates_a_file(tmp_path: Path) -> None:
    rows = "".join(f"{left}\t{right}\t{n}\n" for n, (left, right) in enumerate(PAIRS))
    (tmp_path / "pairs.tsv").write_text("q\tright\tscore\n" + rows)
    common = ["--data", str(tmp_path / "pairs.tsv"), "--column", "left=q", "--pairs", "2"]

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["evaluate", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "token_outputs" in run("balance", *common, "--method", "token_outputs", "--out", str(tmp_path / "out"))
    assert (tmp_path / "out/report.html").exists()
    assert json.loads(run("sts", *common, "--json"))["table"][0]["pairs"] == 2
    (tmp_path / "links.tsv").write_text("a man plays\tsomeone plays\t2-1\n")
    found = run("human", "--data", str(tmp_path / "links.tsv"), "--method", "exact_match", "--json")
    assert json.loads(found)["table"][0]["average_precision"] == 1
    with pytest.raises(UnknownName, match="no measure 'taste'"):
        run("taste", *common)
    with pytest.raises(BadInput, match="The number of pairs should be above 0"):
        run("balance", "--data", str(tmp_path / "pairs.tsv"), "--column", "left=q", "--pairs", "0")
    with pytest.raises(UnknownName, match="no setting 'speed'"):
        run("perturbation", *common, "--set", "speed=1")
