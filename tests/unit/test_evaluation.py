"""Every measure with known answers: the perfect explainer gets the perfect score, the reversed one the worst."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.table import Table
from typer.testing import CliRunner

import whyalike
from tests.evaluation_pairs import PAIRS, with_matrix
from tests.families import tiny_encoder, tiny_model, tokenizer
from whyalike.cli import app, main
from whyalike.data.alignments import Aligned
from whyalike.data.truth import Truth
from whyalike.errors import BadInput, DamagedFile, UnknownName
from whyalike.evaluate.agreement import Agreement, Sts, compared
from whyalike.evaluate.measure import Case
from whyalike.evaluate.measures import MEASURES
from whyalike.evaluate.perturbation import ScorePerturbation
from whyalike.evaluate.randomization import drawn_anew, without_biases
from whyalike.evaluate.run import ROWS, cases_of, evaluate, spread_evenly
from whyalike.evaluate.subjects import Subject, make_subject
from whyalike.evaluate.sums import Balance, Conservation, GroundTruth
from whyalike.methods.second_order import TransformerMethod
from whyalike.render.evaluation import picture, save, to_html

SUBJECTS = ["bilrp", "bilrp+equal", "bilrp@2+aligned", "token_outputs", "contextual_cosine@2", "exact_match", "random"]


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert")


def test_conservation_and_balance_are_sums(encoder: whyalike.Encoder) -> None:
    apart = make_subject("bilrp@0,biases=apart")
    e = whyalike.explain(*PAIRS[0], encoder=encoder, method=apart.method or "")
    row, bare = Conservation().prepare([apart], []).rows(Case(0, *PAIRS[0]), {apart.name: e}, encoder)
    assert row["matrix"] + row["left_terms"] + row["right_terms"] + row["constant"] == pytest.approx(e.score)
    assert row["all_parts_off"] < 1e-9 < row["matrix_off"]
    assert bare["subject"] == "bilrp@0,biases=apart, biases zero"
    assert bare["control"]
    assert bare["matrix_off"] < 1e-9
    assert bare["relevance"] == pytest.approx(bare["activation"])
    assert row["relevance"] != pytest.approx(row["activation"])
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
    assert turned["spearman"] == turned["pearson"] == pytest.approx(-1)
    assert turned["top_3"] == 0
    assert compared(e, with_matrix(e, 0 * e.matrix))["spearman"] is None
    few = whyalike.explain("old man", "dog", encoder=encoder)
    assert compared(few, few)["top_3"] is None  # of two cells the top three say nothing
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


def test_what_is_not_drawn_anew_is_shared_and_biases_can_be_left_out(encoder: whyalike.Encoder) -> None:
    first, second = (dict(strange.model.named_parameters()) for _, strange in drawn_anew(encoder, 0)[:2])
    assert {name.split("layer.")[1][0] for name in first if first[name] is not second[name]} == {"1"}
    own = dict(encoder.model.named_parameters())
    for name, parameter in without_biases(encoder).model.named_parameters():
        assert parameter.any() != name.endswith("bias")
        assert parameter is not own[name]
        assert own[name].any()


def test_a_method_that_does_not_react_to_the_weights_fails(encoder: whyalike.Encoder) -> None:
    cases = cases_of(PAIRS[:2])
    table = evaluate("randomization", cases, encoder=encoder, subjects=["bilrp", "exact_match"], progress=False).table
    reacts = {line["subject"]: line["reacts"] for line in table if "reacts" in line}
    assert reacts == {"bilrp, all weights": True, "exact_match, all weights": False}


def test_who_always_says_the_same_of_all_words_does_not_react(encoder: whyalike.Encoder) -> None:
    cases = cases_of([("the dog", "a cat")])  # no word is shared: exact match is zero throughout
    table = evaluate("randomization", cases, encoder=encoder, subjects=["exact_match"], progress=False).table
    assert [line["reacts"] for line in table if "reacts" in line] == [False]


def test_sts_is_the_models_own_correlation(encoder: whyalike.Encoder) -> None:
    scores = [whyalike.explain(*pair, encoder=encoder).score for pair in PAIRS]
    (line,) = evaluate("sts", cases_of(PAIRS, scores), encoder=encoder, progress=False).table
    assert (line["spearman"], line["pearson"]) == pytest.approx((1, 1))
    (line,) = evaluate("sts", cases_of(PAIRS, [-score for score in scores]), encoder=encoder, progress=False).table
    assert (line["spearman"], line["pearson"]) == pytest.approx((-1, -1))
    (line,) = evaluate("sts", cases_of(PAIRS, [3.0] * len(PAIRS)), encoder=encoder, progress=False).table
    assert (line["spearman"], line["pearson"]) == (None, None)
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
    assert all(part.row_count == len(found.table) for part in picture(found).renderables if isinstance(part, Table))
    assert {path.name for path in save(found, tmp_path / "out").written} == {
        "result.json",
        "rows.parquet",
        "report.html",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MEASURES[name].load(), "rows", lambda *args: pytest.fail("computed again"))
        again = evaluate(name, some, encoder=encoder, subjects=SUBJECTS, folder=tmp_path / "out", progress=False)
    assert list(again.rows) == json.loads(json.dumps(found.rows))


def test_rounding_is_no_difference(encoder: whyalike.Encoder) -> None:
    found = evaluate("balance", cases_of(PAIRS), encoder=encoder, subjects=["bilrp"], progress=False)
    again = [{**row, "subject": "again", "positive": row["positive"] + 1e-9} for row in found.rows]
    (line,) = replace(found, rows=(*found.rows, *again)).significance()
    assert line["p"] is None


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
    with pytest.raises(BadInput, match="with different settings: subjects was"):
        evaluate("balance", cases, encoder=encoder, subjects=["random"], folder=tmp_path / "out", progress=False)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/download.part").write_text("x")
    with pytest.raises(BadInput, match="holds something else"):
        evaluate("balance", cases, encoder=encoder, subjects=["random"], folder=tmp_path / "full", progress=False)
    assert (tmp_path / "full/download.part").is_file()  # somebody's own


def test_chance_does_not_know_that_two_texts_are_one(encoder: whyalike.Encoder) -> None:
    text = "a b c d e f g h i j k l m n o p q r s t"
    words = tuple(text.split())
    links = frozenset((n, n) for n in range(len(words)))
    case = Case(0, text, text, aligned=Aligned(words, words, links))
    found = evaluate("human", [case], encoder=encoder, subjects=["random", "exact_match"], progress=False)
    values = {line["subject"]: line["average_precision"] for line in found.table}
    assert values["random"] < 0.3
    assert values["exact_match"] == 1


def test_a_damaged_line_is_named(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    cases = cases_of(PAIRS[:3])
    evaluate("balance", cases, encoder=encoder, subjects=["random"], folder=tmp_path, progress=False)
    lines = (tmp_path / ROWS).read_text().splitlines()
    for damaged in (lines[1][:-2], "3", "{}"):
        (tmp_path / ROWS).write_text("\n".join([lines[0], damaged, lines[2]]) + "\n")
        with pytest.raises(DamagedFile, match=r"Line 2 of .*rows.jsonl is damaged"):
            evaluate("balance", cases, encoder=encoder, subjects=["random"], folder=tmp_path, progress=False)


def test_files_that_lack_an_extra_are_named(
    encoder: whyalike.Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = evaluate("balance", cases_of(PAIRS[:2]), encoder=encoder, subjects=["random"], progress=False)
    for name in ("altair", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    saved = save(found, tmp_path)
    assert [path.name for path in saved.written] == ["result.json"]
    assert "whyalike[tables]" in str(saved.left_out["rows.parquet"])
    assert "whyalike[plots]" in str(saved.left_out["report.html"])


def test_a_folder_is_not_taken_up_with_other_pairs(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    evaluate("balance", cases_of(PAIRS[:2]), encoder=encoder, subjects=["random"], folder=tmp_path, progress=False)
    with pytest.raises(BadInput, match="holds a run with different data"):
        evaluate("balance", cases_of(PAIRS[2:4]), encoder=encoder, subjects=["random"], folder=tmp_path, progress=False)


def test_a_folder_is_not_taken_up_with_another_question(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    cases = cases_of(PAIRS[:1])
    mine = [Subject("mine", whyalike.BiLRP(layer=layer)) for layer in (0, 2)]
    evaluate("balance", cases, encoder=encoder, subjects=mine[:1], folder=tmp_path / "a", progress=False)
    with pytest.raises(BadInput, match="with different settings: subjects_in_full was"):
        evaluate("balance", cases, encoder=encoder, subjects=mine[1:], folder=tmp_path / "a", progress=False)
    words = Aligned(("dog",), ("cat",), frozenset({(0, 0)}))
    for aligned, message in ((words, None), (replace(words, possible=frozenset({(0, 0)})), "different data")):
        arguments: dict[str, Any] = {"encoder": encoder, "subjects": ["exact_match"], "progress": False}
        if message is None:
            evaluate("human", [Case(0, "dog", "cat", aligned=aligned)], folder=tmp_path / "b", **arguments)
        else:
            with pytest.raises(BadInput, match=message):
                evaluate("human", [Case(0, "dog", "cat", aligned=aligned)], folder=tmp_path / "b", **arguments)


def test_a_folder_is_not_taken_up_with_an_edited_function(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    def make(value: float) -> Any:
        def mine(left: str, right: str) -> Any:
            return np.full((len(whyalike.split_words(left)), len(whyalike.split_words(right))), value)

        return mine

    def run(function: Any) -> None:
        evaluate("balance", PAIRS[:1], encoder=encoder, subjects=[function], folder=tmp_path, progress=False)

    run(make(1.0))
    run(make(1.0))  # the same code, another object
    with pytest.raises(BadInput, match="with different settings: subjects_in_full was"):
        run(make(2.0))


def test_a_file_of_pairs_can_be_named(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    rows = ["left\tright", *("\t".join(pair) for pair in PAIRS[:4])]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows))
    found = evaluate("balance", tmp_path / "pairs.tsv", encoder=encoder, subjects=["random"], pairs=2, progress=False)
    assert found.request["pairs"] == 2


def test_what_cannot_be_judged_is_refused_before_the_work(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    def judge(measure: str, cases: list[Case], *subjects: str | Subject, folder: Path | None = None) -> None:
        evaluate(measure, cases, encoder=encoder, subjects=subjects, folder=folder, progress=False)

    cases = cases_of(PAIRS[:2])
    with pytest.raises(BadInput, match="same number"):
        judge("balance", cases + cases, "random")
    with pytest.raises(BadInput, match="at least one method"):
        judge("balance", cases)
    with pytest.raises(BadInput, match="same name"):
        judge("balance", cases, "random", "random")
    with pytest.raises(BadInput, match="at least two subjects"):
        judge("agreement", cases, "random")
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInput, match="is a file"):
        judge("balance", cases, "random", folder=tmp_path / "file")
    with pytest.raises(BadInput, match="2 pairs, but 1 scores"):
        cases_of(PAIRS[:2], [1.0])


def test_what_was_cut_or_left_out_is_said(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    cases = cases_of([("the dog " * 60, "a cat runs"), ("dog", "cat"), PAIRS[0]])
    for _ in range(2):  # also when it is taken up again
        found = evaluate("perturbation", cases, encoder=encoder, subjects=["random"], folder=tmp_path, progress=False)
        cut, none = found.notes
        assert cut.startswith("1 of 3 pairs are longer than the model reads")
        assert none.startswith("1 of 3 pairs were skipped")
    assert found.table[0]["pairs"] == 2
    assert "longer than the model reads" in to_html(found)
    assert found.to_dict()["notes"] == [cut, none]


def test_a_good_order_found_by_search_is_no_subject(encoder: whyalike.Encoder) -> None:
    measure = ScorePerturbation(greedy=2)
    found = evaluate(measure, cases_of(PAIRS), encoder=encoder, subjects=["bilrp", "random"], progress=False)
    assert {line["subject"]: line["pairs"] for line in found.table} == {"bilrp": 5, "random": 5, "greedy search": 2}
    assert [(line["one"], line["other"]) for line in found.significance()] == [("bilrp", "random")]
    there = {row["case"] for row in found.rows if row["subject"] == "greedy search"}
    for line in found.table:  # each beside the search on the same pairs
        own = [row["faithfulness"] for row in found.rows if row["subject"] == line["subject"] and row["case"] in there]
        assert line["faithfulness_where_searched"] == pytest.approx(np.mean(own))


def test_the_rows_of_a_table_have_all_columns(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    import pyarrow.parquet

    found = evaluate("conservation", cases_of(PAIRS[:1]), encoder=encoder, subjects=["bilrp"], progress=False)
    save(found, tmp_path)
    assert pyarrow.parquet.read_table(tmp_path / "rows.parquet")["control"].to_pylist() == [None, True]


def test_every_model_is_judged_by_itself(encoder: whyalike.Encoder) -> None:
    other = tiny_encoder("bert", seed=1)
    cases = cases_of(PAIRS[:2], [0.1, 0.9])
    for name in ("perturbation", "perturbation_embedding", "randomization", "sts"):
        subjects = ["token_outputs"]
        both = evaluate(name, cases, encoder=encoder, others={"b": other}, subjects=subjects, progress=False)
        alone = evaluate(name, cases, encoder=other, subjects=subjects, progress=False)
        beside = [line for line in both.table if line["subject"].endswith(" on b")]
        assert [line.keys() for line in beside] == [line.keys() for line in alone.table]
        for line, expected in zip(beside, alone.table, strict=True):
            assert {**line, "subject": ""} == {**expected, "subject": ""}


def maskless_encoder(longest: int) -> whyalike.Encoder:
    """A tiny encoder whose tokenizer has no mask token, and reads so many tokens."""
    known = tokenizer()
    bare = type(known)(tokenizer_object=known.backend_tokenizer, pad_token="[PAD]", model_max_length=longest)
    return whyalike.load_encoder(tiny_model("bert"), tokenizer=bare, pooling="mean")


def test_models_that_read_different_words_are_compared_on_those_of_both(encoder: whyalike.Encoder) -> None:
    short = maskless_encoder(8)
    cases = cases_of([("the dog runs over the river and the child walks", "a cat walks in the house")])
    found = evaluate("agreement", cases, encoder=encoder, others={"b": short}, subjects=["bilrp"], progress=False)
    assert found.table[0]["pairs"] == 1
    assert found.notes == ("1 of 1 pairs are longer than the model reads; only what it read was evaluated.",)


def test_what_is_said_of_one_model_only_names_it(encoder: whyalike.Encoder) -> None:
    other = maskless_encoder(48)
    measure, cases = "perturbation_embedding", cases_of(PAIRS[:1])
    found = evaluate(measure, cases, encoder=encoder, others={"b": other}, subjects=["random"], progress=False)
    first, second = found.notes
    assert first.endswith(f"{encoder.record.name}: A removed token is replaced by the mask token.")
    assert second == "b: A removed token is replaced by the pad token."


def test_a_result_states_what_methods_state_of_their_error(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    subjects = ["integrated_jacobians@2,tolerance=0.3", "integrated_jacobians@2,tolerance=0.3+equal", "bilrp"]
    subjects += ["integrated_jacobians@2:null"]
    for _ in range(2):  # also when it is taken up again
        found = evaluate(
            "balance", cases_of(PAIRS[:2]), encoder=encoder, subjects=subjects, folder=tmp_path, progress=False
        )
        both, null, size = found.notes
        assert both.startswith(f"{subjects[0]}, {subjects[1]}: integration error")
        assert null.startswith("integrated_jacobians@2:null: integration error")
        assert size.startswith("integrated_jacobians@2:null: norm of the null reference's embedding")


def test_sts_says_which_pairs_it_cut(encoder: whyalike.Encoder) -> None:
    cases = cases_of([("the dog " * 60, "a cat runs"), PAIRS[0]], [0.1, 0.9])
    assert evaluate("sts", cases, encoder=encoder, progress=False).notes[0].startswith("1 of 2 pairs are longer")


def test_cases_are_spread_over_all_of_the_data() -> None:
    cases = cases_of([(f"{n}", "x") for n in range(1379)])
    for count in (1, 200, 1000, 1379, 5000):
        chosen = spread_evenly(cases, count)
        assert len(chosen) == min(count, 1379)
        assert [case.number for case in chosen] == list(range(len(chosen)))
        assert count == 1 or chosen[-1].left == "1378"
    with pytest.raises(BadInput, match="should be above 0"):
        spread_evenly(cases, 0)


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
        ("bilrp+twice", "no view 'twice'"),
        ("bilrp:pad", "bilrp has no reference"),
        ("bilrp,steps=3", "bilrp has no steps"),
        ("bilrp,layer", "should be NAME"),
        ("random+equal", "does not apply"),
        ("random,seed=-1", "seed should be a whole number"),
        ("bilrp@2,layer=3", "twice"),
        ("exact_match@3", "exact_match has no layer"),
    ],
)
def test_subjects_that_are_none_are_refused(text: str, message: str) -> None:
    with pytest.raises((BadInput, UnknownName), match=message):
        make_subject(text)
    assert make_subject("integrated_jacobians@2:mask+equal").method == whyalike.IntegratedJacobians(
        layer=2, reference="mask"
    )
    assert make_subject(
        "integrated_jacobians@2,tolerance=0.05,normalize=path+equal"
    ).method == whyalike.IntegratedJacobians(layer=2, tolerance=0.05, normalize="path")


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
    (tmp_path / "corpus.txt").write_text("a man plays\nthe dog runs\n")
    (tmp_path / "vectors.txt").write_text("man 1 0\ndog 0.5 0.5\nplays 0 1\n")
    fitted = ["--corpus", str(tmp_path / "corpus.txt"), "--vectors", str(tmp_path / "vectors.txt")]
    found = run("balance", *common, "--method", "tfidf_vectors", "--method", "random", *fitted, "--json")
    assert [line["subject"] for line in json.loads(found)["table"]] == ["tfidf_vectors", "random"]
    with pytest.raises(BadInput, match="are for tfidf_vectors"):
        run("balance", *common, "--method", "random", *fitted)
    with pytest.raises(UnknownName, match="no measure 'taste'"):
        run("taste", *common)
    with pytest.raises(BadInput, match="The number of pairs should be above 0"):
        run("balance", "--data", str(tmp_path / "pairs.tsv"), "--column", "left=q", "--pairs", "0")
    with pytest.raises(UnknownName, match="no setting 'speed'"):
        run("perturbation", *common, "--set", "speed=1")
    with pytest.raises(UnknownName, match="no setting 'bilrp.step'"):
        run("perturbation", *common, "--set", "bilrp.step=0.2")
    (tmp_path / "latin.jsonl").write_bytes("{'left': 'caf\xe9'}".encode("latin-1"))
    for arguments, message in (
        (["sts", *common, "--method", "bilrp"], "--method has no effect on sts"),
        (["human", "--data", str(tmp_path / "links.tsv"), "--column", "left=q"], "--column has no effect on human"),
        (["balance", "--data", "edinburgh", "--column", "left=q"], "--column has no effect on edinburgh"),
        (["rating", *common, "--json"], "--json has no effect on rating"),
        (["rating", *common, "--model", "a", "--model", "b"], "a second --model has no effect on rating"),
        (["ground_truth", "--data", str(tmp_path / "links.tsv")], "Line 1 of links.tsv is no truth"),
        (["ground_truth", "--data", str(tmp_path / "latin.jsonl")], "latin.jsonl is not UTF-8"),
        (["perturbation", *common, "--set", "greedy=2.5"], "greedy should be a whole number, as in greedy=0; got 2.5"),
        (["perturbation", *common, "--set", "step=None"], "step should be a number, as in step=0.1; got None"),
        (["randomization", *common, "--set", "seed=True"], "seed should be a whole number"),
        (["conservation", *common, "--set", "without_biases=1"], "without_biases should be True or False"),
        (["human", "--data", str(tmp_path / "links.tsv"), "--method", "contextual_cosine"], "Name it, as in"),
    ):
        with pytest.raises(BadInput, match=message):
            run(*arguments)


def test_where_nothing_can_be_said_of_any_pair_the_result_says_so(tmp_path: Path) -> None:
    (tmp_path / "links.tsv").write_text("a man plays\tsomeone plays\t\n")  # no link to find
    command = ["evaluate", "human", "--data", str(tmp_path / "links.tsv"), "--method", "exact_match"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert done.exit_code == 0
    for text in (done.stdout, (tmp_path / "out/report.html").read_text(encoding="utf-8")):
        assert "1 of 1 pairs were skipped" in text


def test_a_text_that_cannot_be_read_is_named_before_any_work(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    cases = cases_of([*PAIRS, ("a man", "a \ud800 dog")])
    with pytest.raises(BadInput, match=f"Pair {len(cases)}: A text has characters that are not Unicode text"):
        evaluate("balance", cases, encoder=encoder, subjects=["random"], folder=tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("measure", ["balance", "rating"])
def test_a_folder_that_cannot_be_made_is_told_in_one_line(
    measure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pairs.csv").write_text("left,right\na man,a dog\n")
    out = tmp_path / "pairs.csv" / "out"
    words = ["evaluate", measure, "--data", str(tmp_path / "pairs.csv"), "--method", "random", "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["whyalike", *words])
    with pytest.raises(SystemExit, match="1"):
        main()
    assert f"whyalike: {out} cannot be written: Not a directory. Give a file or folder" in capsys.readouterr().err


def test_exact_match_has_no_contributions_to_conserve(encoder: whyalike.Encoder) -> None:
    found = evaluate("conservation", cases_of(PAIRS[:3]), encoder=encoder, subjects=["exact_match"], progress=False)
    assert [line["correlation_of_texts"] for line in found.table] == [None, None]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts of every computation of contributions."""
    calls: list[list[str]] = []
    original = TransformerMethod.of_readings

    def counted(method: TransformerMethod, encoder: Any, readings: Any, options: Any) -> list[whyalike.Contributions]:
        calls.extend([[reading.side.text for reading in readings]] if readings else [])
        return original(method, encoder, readings, options)

    monkeypatch.setattr(TransformerMethod, "of_readings", counted)
    return calls


def test_views_of_one_method_look_at_the_same_contributions(encoder: whyalike.Encoder, asked: list[list[str]]) -> None:
    evaluate("balance", cases_of(PAIRS[:2]), encoder=encoder, subjects=["bilrp", "bilrp+equal", "bilrp+aligned"])
    assert asked == [[*PAIRS[0], PAIRS[1][1]]]  # one call, every text once
    (aligned,) = make_subject("bilrp+aligned").explanations(PAIRS[:1], encoder)
    direct = whyalike.explain(*PAIRS[0], encoder=encoder, unit="word", aligned=True)
    np.testing.assert_allclose(aligned.matrix, direct.matrix, atol=1e-12)


def test_a_text_that_comes_again_among_pairs_explained_together_is_explained_once(
    encoder: whyalike.Encoder, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whyalike.evaluate.run.TOGETHER", 3)
    query, *others = (f"a man {word}" for word in ("runs", "plays", "sings", "eats", "sleeps", "reads"))
    pairs = [(query, other) for other in others]
    found = evaluate("balance", cases_of(pairs), encoder=encoder, subjects=["bilrp"], progress=False)
    assert asked == [[query, *others[:3]], [query, *others[3:]]]
    for pair, row in zip(pairs, found.rows, strict=True):
        matrix = whyalike.explain(*pair, encoder=encoder).matrix
        assert row["positive"] + row["negative"] == pytest.approx(matrix.sum())


def test_pairs_may_be_a_data_frame(encoder: whyalike.Encoder) -> None:
    frame = pl.DataFrame({"left": [left for left, _ in PAIRS], "right": [right for _, right in PAIRS]})
    one, other = (
        evaluate("balance", each, encoder=encoder, subjects=["bilrp"], progress=False) for each in (frame, PAIRS)
    )
    assert one.table == other.table
    with pytest.raises(BadInput, match="Pair 2 should be two texts"):
        evaluate("balance", [PAIRS[0], "text"], encoder=encoder, subjects=["bilrp"], progress=False)
