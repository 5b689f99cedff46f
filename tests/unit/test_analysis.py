"""Every analysis with tables checked by hand."""

from __future__ import annotations

import copy
import json
import re
import sys
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import whyalike
from tests.analysis_corpus import LABELS, PAIRS, make_corpus
from tests.families import LEFT, RIGHT, tiny_encoder
from whyalike.analysis import ANALYSES
from whyalike.analysis import interactions as module
from whyalike.analysis.adjectives import TRIPLETS, adjectives, attributions_to_adjectives
from whyalike.analysis.corpus import Corpus
from whyalike.analysis.failures import failures
from whyalike.analysis.interactions import Interactions, interactions
from whyalike.analysis.kinds import by_kind
from whyalike.analysis.languages import BilingualCorpus, languages
from whyalike.analysis.lexical import by_word, lexical
from whyalike.analysis.models import errors_by_level, models, strongest
from whyalike.analysis.negated_sentences import PROBES, every_negation, simple_negations
from whyalike.analysis.negation import (
    Choice,
    attributions_to_not,
    choose,
    negation,
    probe,
    read_choices,
    what_misled,
)
from whyalike.analysis.parts_of_speech import by_tags, parts_of_speech
from whyalike.analysis.profile import shares_by_pair
from whyalike.analysis.references import embeddings_and_references, references
from whyalike.analysis.report import report
from whyalike.analysis.roles import by_roles, roles
from whyalike.cli import app
from whyalike.errors import BadInput
from whyalike.language.taggers import tagger
from whyalike.language.words import NamedTagger, reads_english
from whyalike.methods.method import Options
from whyalike.render.analysis import save
from whyalike.render.report import to_report


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert")


@pytest.fixture
def study(encoder: whyalike.Encoder, tmp_path: Path) -> Corpus:
    return make_corpus(encoder, tmp_path / "study")


COLUMNS = ("pair", "left", "left_at", "left_pos", "left_role", "right", "right_at", "right_pos", "right_role", "value")
# pair, left word with place, class and role, right word likewise, value
BY_HAND = [
    (0, "Cats", 0, "NOUN", "nsubj", "cats", 0, "NOUN", "nsubj", 0.5),
    (0, "Cats", 0, "NOUN", "nsubj", "sleep", 1, "VERB", "root", 0.1),
    (0, "run", 1, "VERB", "root", "cats", 0, "NOUN", "nsubj", -0.2),
    (0, "run", 1, "VERB", "root", "sleep", 1, "VERB", "root", 0.3),
    (0, "[CLS]", -1, "[CLS]", "", "[CLS]", -1, "[CLS]", "", 0.05),
    (1, "cats", 0, "NOUN", "nsubj", "cats", 0, "NOUN", "nsubj", 0.1),
    (1, "cats", 0, "NOUN", "nsubj", "now", 1, "ADV", "advmod", 0.0),
    (1, "[CLS]", -1, "[CLS]", "", "[CLS]", -1, "[CLS]", "", 0.15),
]


@pytest.fixture
def by_hand(tmp_path: Path) -> Interactions:
    pl.DataFrame(BY_HAND, schema=list(COLUMNS), orient="row").write_parquet(tmp_path / "words-00000000.parquet")
    pairs = [
        {"pair": 0, "left": "Cats run", "right": "cats sleep", "score": 0.8, "label": 0.5},
        {"pair": 1, "left": "cats", "right": "cats now", "score": 0.2, "label": 0.3},
    ]
    pl.DataFrame(pairs).write_parquet(tmp_path / "pairs-00000000.parquet")
    return Interactions(tmp_path, {"model": {"similarity": "cosine"}, "pairs": 2})


def test_parts_of_speech_by_hand(by_hand: Interactions) -> None:
    found = {(row["first"], row["second"]): row for row in by_tags(by_hand).rows(named=True)}
    nouns = found["NOUN", "NOUN"]
    assert (nouns["count"], nouns["total"], nouns["mean"], nouns["positive_share"]) == (2, 0.6, 0.3, 1.0)
    mixed = found["NOUN", "VERB"]  # in no order: 0.1 one way, -0.2 the other
    assert mixed["count"] == 2
    assert mixed["positive"] == pytest.approx(0.1)
    assert mixed["negative"] == pytest.approx(-0.2)
    assert mixed["negative_share"] == pytest.approx(-0.2 / 0.6)
    assert mixed["mean_positive_share"] == pytest.approx(0.05 / 0.3)  # NOUN–NOUN and VERB–VERB have a mean of 0.3
    assert found["[CLS]", "[CLS]"]["total"] == pytest.approx(0.2)


def test_roles_by_hand(by_hand: Interactions) -> None:
    found = by_roles(by_hand, top=0.5).rows(named=True)  # two of four word pairs of the first, one of two of the second
    assert [(row["first"], row["second"], row["count"]) for row in found] == [
        ("nsubj", "nsubj", 2),
        ("root", "root", 1),
    ]
    assert found[0]["share"] == pytest.approx(2 / 3)
    with pytest.raises(BadInput, match="top is a share"):
        by_roles(by_hand, top=0)


def test_words_that_meet_themselves_by_hand(by_hand: Interactions) -> None:
    found = {row["word"]: row for row in by_word(by_hand, least=2).rows(named=True)}
    assert found["cats"]["mean"] == pytest.approx(0.3)
    assert found["cats"]["deviation"] == pytest.approx(np.std([0.5, 0.1], ddof=1))
    assert found["cats"]["rank"] == 1
    assert found["[CLS]"]["rank"] == 2
    assert by_word(by_hand, least=3).is_empty()


def test_errors_and_strongest_words_by_hand(by_hand: Interactions) -> None:
    found = errors_by_level(by_hand).rows(named=True)
    assert [(row["level"], row["pairs"]) for row in found] == [("0.2 to 0.4", 1), ("0.4 to 0.6", 1)]
    assert found[1]["error"] == pytest.approx(0.09)
    assert found[0]["too_high"] == pytest.approx(-0.1)
    assert strongest(by_hand, "highest", 2).rows() == [("cats", "cats", 0.5, 1), ("run", "sleep", 0.3, 1)]
    assert strongest(by_hand, "lowest", 1).rows() == [("cats", "cats", 0.1, 1)]


def test_kinds_of_words_by_hand(by_hand: Interactions) -> None:
    found = {row["kind"]: row for row in by_kind(by_hand).rows(named=True)}
    assert found["nouns"]["share"] == pytest.approx(0.6)  # 0.6 of 1.0 between words
    assert found["nouns"]["share_of_pairs"] == pytest.approx(2 / 6)
    assert found["nouns"]["weight"] == pytest.approx(0.6 * 3)
    assert found["verbs"]["share"] == pytest.approx(0.3)
    assert found["words of two different kinds"]["share"] == pytest.approx(0.1)


def test_sums_of_each_pair_by_hand(by_hand: Interactions) -> None:
    found = shares_by_pair(by_hand)
    expected = {
        "positive": [0.95, 0.25],
        "special": [0.05, 0.15],
        "between_words": [0.9, 0.1],
        "nouns": [0.5, 0.1],
        "identical": [0.5, 0.1],  # whatever the case of the letters
        "size": [1.15, 0.25],
    }
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, err_msg=name)


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("He is not tall.", "He is tall."),
        ("Not bad at all.", "bad at all."),
        ("He isn't tall.", None),
        ("It is not, and not ever.", None),
        ("There is no way it is not true.", None),
        ("A knot is noted.", None),
        ("Is it not", None),
        ("He asks whether or not it rains.", None),
        ("Not only that, it rains.", None),
    ],
)
def test_a_simple_not_is_taken_out(text: str, without: str | None) -> None:
    assert [each.without for each in simple_negations([text])] == ([] if without is None else [without])


def test_what_not_adds_is_its_row(encoder: whyalike.Encoder) -> None:
    (found,) = simple_negations(["the dog is not old"])
    (row,) = attributions_to_not([found], encoder, "bilrp", None, progress=False)
    e = whyalike.explain("the dog is not old", "the dog is old", encoder=encoder).by_word()
    number = e.left.labels.index("not")
    assert row["value"] == pytest.approx(e.matrix[number].sum())
    assert row["relative"] == pytest.approx(abs(e.matrix[number].sum()) / abs(e.score))
    assert row["of_attributions"] == pytest.approx(abs(e.matrix[number].sum()) / abs(e.matrix.sum()))


def test_test_sentences_are_compared_with_not_with_now_and_with_each_other(encoder: whyalike.Encoder) -> None:
    row = probe(encoder)[0]
    plain = [text.replace("{}", "") for text in PROBES]
    own, *others = (encoder.record.score(encoder.embed(plain[:1])[0], each) for each in encoder.embed(plain))
    negated, harmless = encoder.embed(["The door is not open.", "The door is now open."])
    score = encoder.record.score
    door = encoder.embed(["The door is open."])[0]
    assert row["sentence"] == plain[0] == "The door is open."
    assert row["with_not"] == pytest.approx(score(door, negated) / own)
    assert row["with_now"] == pytest.approx(score(door, harmless) / own)
    assert row["unrelated"] == pytest.approx(np.mean(others) / own)
    assert len(others) == 19


def test_every_not_between_spaces_counts_as_often_as_it_comes() -> None:
    texts = ["No, it is not old.", "Not old.", "It is not, no.", "No, it is not old."]
    assert [(each.without, each.text[each.start : each.end]) for each in every_negation(texts)] == [
        ("No, it is old.", "not"),
        ("No, it is old.", "not"),
    ]


def test_the_most_similar_sentence_is_chosen(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    choices = [Choice(LEFT, ("dog", LEFT, "house"), 1), Choice(RIGHT, (RIGHT, "the", "a"), 2)]
    assert choose(choices, encoder) == [1, 0]
    path = tmp_path / "choices.jsonl"
    path.write_text(json.dumps({"input": "a", "sentences": ["b"], "label": 3}), encoding="utf-8")
    for bad in (path.read_text(), "[1", "3", '{"input": "a", "sentences": ["b"], "label": "x"}'):
        path.write_text(bad, encoding="utf-8")
        with pytest.raises(BadInput, match="Row 1 of choices.jsonl"):
            read_choices(path)
    with pytest.raises(BadInput, match="There is no file"):
        read_choices(tmp_path / "nowhere")


def test_adjectives_are_compared_at_their_place(encoder: whyalike.Encoder) -> None:
    rows = attributions_to_adjectives(encoder, "bilrp", None, progress=False)
    assert len(rows) == 2 * len(TRIPLETS) == 46
    row = next(row for row in rows if (row["anchor"], row["other"]) == ("old", "young"))
    e = whyalike.explain("This house is old.", "This house is young.", encoder=encoder).by_word()
    assert row["kind"] == "opposite"
    assert row["value"] == pytest.approx(e.matrix[e.left.labels.index("old"), e.right.labels.index("young")])
    with pytest.raises(BadInput, match="one place"):
        attributions_to_adjectives(encoder, "bilrp", None, template="no place")


def test_references_are_those_of_integrated_jacobians(encoder: whyalike.Encoder) -> None:
    own, neutral = embeddings_and_references(encoder, [LEFT, "dog"], "pad", "own", progress=False)
    method = whyalike.IntegratedJacobians(layer=encoder.layers)
    parts = method.contributions(encoder, [LEFT, "dog"], Options())
    for number, part in enumerate(parts):
        np.testing.assert_allclose(own[number], part.embedding, atol=1e-9)
        np.testing.assert_allclose(neutral[number], part.remainder, atol=1e-6)


SECTIONS = {
    "parts_of_speech": parts_of_speech,
    "roles": roles,
    "negation": lambda study: negation(study, choices=[Choice(RIGHT, (RIGHT, LEFT), 1)]),
    "adjectives": adjectives,
    "lexical": lambda study: lexical(study, 1),
    "models": models,
    "references": references,
}


@pytest.mark.parametrize("name", SECTIONS)
def test_every_analysis_gives_sentences_tables_and_charts(name: str, study: Corpus, tmp_path: Path) -> None:
    section = SECTIONS[name](study)
    assert section.name == name
    assert section.says
    assert any(section.tables.values())
    written = save(section, tmp_path / "out", "<b>tiny</b>").written
    kinds = {path.suffix for path in written}
    assert kinds == {".json", ".parquet", ".html", ".svg", ".png"}
    page = (tmp_path / "out" / f"{name}.html").read_text(encoding="utf-8")
    assert "<b>tiny</b>" not in page
    assert all(escape(sentence) in page for sentence in section.says)
    assert json.loads(written[0].read_text(encoding="utf-8"))["says"] == list(section.says)
    for result in (section, study, next(iter(study.tables().values()))):
        assert "\n" not in repr(result)
        assert len(repr(result)) < 300


def test_two_models_are_shown_beside_each_other(study: Corpus, tmp_path: Path) -> None:
    other = tiny_encoder("bert", seed=1)
    both = Corpus(PAIRS, {**study.encoders, "second": other}, tmp_path / "two", study.tagger, LABELS, progress=False)
    assert {name.split(":")[0] for name in lexical(both, 1).tables} == {"tiny", "second", "tiny beside second"}
    assert list(roles(both).tables) == ["tiny", "second"]


def test_languages_are_compared_alone_and_mixed(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    study = BilingualCorpus(
        pairs={"english": PAIRS, "german": [(right, left) for left, right in PAIRS]},
        labels=LABELS,
        taggers={"english": tagger("english"), "german": tagger("german")},
        multi=encoder,
        mono={"english": encoder},
        folder=tmp_path,
        progress=False,
    )
    assert study.settings["english–german"][0] == (LEFT, LEFT)
    assert repr(study).startswith("BilingualCorpus(")
    assert len(repr(study)) < 300
    section = languages(study)
    rows = section.tables["correlation with people"]
    assert [(row["setting"], row["model"]) for row in rows] == [
        ("english–english", "multilingual"),
        ("english–english", "monolingual"),
        ("german–german", "multilingual"),
        ("english–german", "multilingual"),
    ]
    assert rows[0]["spearman"] == rows[1]["spearman"] == pytest.approx(rows[2]["spearman"])
    tables = {setting: by_tags(study.corpus_of(setting).tables()["both"]) for setting in study.settings}
    shares = {
        setting: {(row["first"], row["second"]): row["positive_share"] for row in table.rows(named=True)}
        for setting, table in tables.items()
    }
    for row in section.tables["what raises scores, german–german to english–german"]:
        classes = row["first"], row["second"]
        alone, mixed = (shares[setting].get(classes, 0.0) for setting in ("german–german", "english–german"))
        assert (row["alone"], row["mixed"], row["change"]) == pytest.approx((alone, mixed, mixed - alone))
    assert {path.name for path in tmp_path.iterdir()} == {"setting-0", "setting-1", "setting-2"}
    assert len(section.pictures) == 3
    save(section, tmp_path / "out", "two languages")


def test_what_misled_is_the_sum_over_negation_words(encoder: whyalike.Encoder) -> None:
    (row,) = what_misled([("the dog is not old", "the dog is old")], encoder, "bilrp", None, progress=False)
    e = whyalike.explain("the dog is not old", "the dog is old", encoder=encoder).by_word()
    assert row["negation"] == pytest.approx(e.matrix[e.left.labels.index("not")].sum())
    assert row["matrix"] == pytest.approx(e.matrix.sum())


def test_failures_are_where_ranks_part(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    scores = [whyalike.explain(*pair, encoder=encoder).score for pair in PAIRS]
    order = np.argsort(scores)
    labels = np.empty(len(PAIRS))
    labels[order] = np.linspace(1, 0, len(PAIRS))  # people say the reverse
    study = Corpus(PAIRS, {"tiny": encoder}, tmp_path, tagger("english"), labels.tolist(), progress=False)
    rows = failures(study).tables["tiny"]
    first = {kind: next(row["left"] for row in rows if row["kind"] == kind) for kind in ("too low", "too high")}
    assert first == {"too low": PAIRS[order[0]][0], "too high": PAIRS[order[-1]][0]}


def test_words_of_a_prompt_do_not_meet_themselves(tmp_path: Path) -> None:
    encoder = tiny_encoder("bert")
    model = copy.deepcopy(encoder.model)
    model.prompts, model.default_prompt_name = {"ask": "dog a "}, "ask"
    prompted = whyalike.load_encoder(model)
    table = interactions(
        [("dog runs", "the dog")], tmp_path, encoder=prompted, tagger=tagger("english"), progress=False
    )
    found = {row["word"]: row["count"] for row in by_word(table, 1).rows(named=True)}
    assert found == {"dog": 1, "[CLS]": 1, "[SEP]": 1}


def test_a_report_in_another_language_has_no_english_negation(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    pairs = [("Die Not ist not groß.", "Die Not ist groß."), *PAIRS]
    study = Corpus(pairs, {"tiny": encoder}, tmp_path, tagger("german"), progress=False)
    made = report(study)
    assert {"negation", "adjectives"}.isdisjoint(section.name for section in made.sections)
    assert [reason for reason in made.missing if "English" in reason] == [
        "Negation was not tested: its test sentences are English, and the corpus was tagged in another language.",
        "Opposites were not tested: the test sentences are English, and the corpus was tagged in another language.",
    ]
    assert reads_english(tagger("english"))
    assert not reads_english(NamedTagger("de_core_news_sm", tagger("english")))


def test_a_report_on_integrated_jacobians_says_their_error_and_their_references(
    encoder: whyalike.Encoder, tmp_path: Path
) -> None:
    method = whyalike.IntegratedJacobians(layer=2, steps=1)
    study = Corpus(PAIRS, {"tiny": encoder}, tmp_path, tagger("english"), LABELS, method, progress=False)
    made = report(study)
    (parts,) = [each for each in (*made.headlines, *made.others) if each.topic == "parts"]
    assert "The method's numerical error is at most" in parts.sentence
    assert "references" in {section.name for section in made.sections}
    assert study.description == "integrated_jacobians at layer 2 · steps 1"
    assert "integrated_jacobians at layer 2 · steps 1" in to_report(made, data="our own", card="")


def test_a_report_is_one_page_that_escapes_its_texts(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    pairs = [*PAIRS, ("<script>alert(1)</script> the dog", "the dog")]
    study = Corpus(pairs, {"tiny": encoder}, tmp_path, tagger("english"), [*LABELS, 0.0], progress=False)
    page = to_report(report(study), data="<i>our own</i>", card="<u>card</u>")
    for title in (
        "Five findings",
        "Parts of speech",
        "Syntactic roles",
        "Negation",
        "Largest disagreements with people",
    ):
        assert f">{title}</h2>" in page
    assert not re.search("<[iu]>", page)
    assert "<script>alert" not in page
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)  # without the bundle that draws
    assert not re.search(r"""(src|href)=["']?(http|//)|url\(|@import""", own)
    with pytest.raises(BadInput, match="Without human scores"):
        failures(Corpus(pairs, {"tiny": encoder}, tmp_path / "b", tagger("english"), progress=False))


def test_the_commands_analyse_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(
        "left,right,score\nThe dog runs.,A dog walks.,4\nA cat sleeps.,The dog runs.,1\nHe is not old.,He is old.,2\n"
    )
    common = ["--data", str(path), "--scores", "0:5", "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(app, ["analyze", "parts-of-speech", *common], catch_exceptions=False)
    assert "most of what raises the scores comes from" in ran.stdout
    assert (tmp_path / "out" / "parts_of_speech.html").is_file()
    ran = CliRunner().invoke(app, ["report", *common], catch_exceptions=False)
    assert "hardly reads negation" in ran.stdout
    assert (tmp_path / "out" / "report.html").is_file()
    card = (tmp_path / "out" / "model-card.md").read_text(encoding="utf-8")
    assert f"whyalike report --data {path} --out report --scores 0:5" in card


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["analyze", "adjectives", "--pairs", "3"], "--pairs has no effect on adjectives"),
        (["analyze", "references", "--layer", "3"], "--layer has no effect on references"),
        (["analyze", "sentiment"], "no analysis 'sentiment'. Known: parts-of-speech"),
        (["analyze", "roles", "--set", "least=3"], "no parameter of bilrp 'least'. Known: biases, layer"),
        (["analyze", "roles", "--set", "top=most"], "top should be a float"),
        (["analyze", "roles", "--scores", "five"], "should be the lowest and the highest"),
        (["analyze", "roles", "--pairs", "0"], "should be above 0"),
        (["analyze", "roles", "--tagger", "english", "--tagger", "english", "--tagger", "german"], "two sides; got 3"),
        (["analyze", "languages"], "needs --translated and two --tagger"),
        (["analyze", "adjectives"], "makes its own sentences"),
        (["analyze", "roles", "--choices"], "--choices has no effect on roles"),
        (["analyze", "roles", "--column", "score=points"], "no column 'points'"),
        (["analyze", "references", "--set", "positions=modle"], "no kind of positions 'modle'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("left,right,score\nThe dog runs.,A dog walks.,1\n")
    ran = CliRunner().invoke(app, [*arguments, "--data", str(path), "--out", str(tmp_path / "out")])
    assert message in str(ran.exception)


def test_every_analysis_is_listed_and_has_its_file() -> None:
    assert set(ANALYSES) == {*SECTIONS, "languages"}
    shared = {
        "frames",
        "interactions",
        "report",
        "section",
        "corpus",
        "profile",
        "model_findings",
        "kinds",
        "composition",
        "failures",
        "negated_sentences",
        "__init__",
    }
    assert {path.stem for path in Path(module.__file__).parent.glob("*.py")} == {*ANALYSES, *shared}
    documented = (Path(__file__).parents[2] / "docs/analysis.md").read_text(encoding="utf-8")
    assert all(f"| `{each.command}` |" in documented for each in ANALYSES.values())


def test_roles_need_a_parser_on_both_sides(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    both = (tagger("english"), tagger("german"))
    mixed = Corpus(PAIRS, {"tiny": encoder}, tmp_path, both, LABELS, progress=False)
    with pytest.raises(BadInput, match="gives no relations"):
        roles(mixed)
    assert "roles" not in {section.name for section in report(mixed).sections}


def test_one_pair_without_a_label_still_has_a_report(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    alone = Corpus([PAIRS[0]], {"org/tiny": encoder}, tmp_path, tagger("english"), progress=False)
    page = to_report(report(alone), data="one pair", card="")
    assert "nan" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL).lower()
    saved = save(parts_of_speech(alone), tmp_path / "out", "one")
    assert all(path.parent == tmp_path / "out" for path in saved.written)
    assert not saved.left_out


def test_a_page_that_lacks_an_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("left,right\nIt is not good,It is good\n")
    ran = CliRunner().invoke(
        app, ["analyze", "negation", "--data", str(pairs), "--out", str(tmp_path / "out")], catch_exceptions=False
    )
    assert "Written: " in ran.stderr
    assert "whyalike[plots]" in ran.stderr.split("No negation.html:")[1]


def test_texts_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("left,right\nIt is not [/b] good,It is good\nThe [bold] dog,A dog\n")
    ran = CliRunner().invoke(
        app, ["analyze", "negation", "--data", str(path), "--out", str(tmp_path / "out")], catch_exceptions=False
    )
    assert "[/b]" in ran.stdout
