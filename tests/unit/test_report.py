"""The report: findings from small fixed tables, the page, the model card."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.analysis_corpus import LABELS, PAIRS, make_corpus
from tests.families import tiny_encoder
from whyalike.analysis.corpus import Corpus
from whyalike.analysis.model_findings import ModelFinding, findings
from whyalike.analysis.profile import Negation, Opposites, People, Profile, Ranks, Share, Words, is_sure
from whyalike.analysis.report import Report, overview, report
from whyalike.analysis.section import Column, Section, View
from whyalike.language.taggers import tagger
from whyalike.render import page, views
from whyalike.render.model_card import as_text, model_card
from whyalike.render.report import to_report


def share(*values: float) -> Share:
    return Share.mean(values)


KINDS = [
    {"kind": "nouns", "share": 0.5, "share_of_pairs": 0.1, "weight": 5.0, "count": 10},
    {"kind": "verbs", "share": 0.2, "share_of_pairs": 0.05, "weight": 4.0, "count": 5},
    {"kind": "words of two different kinds", "share": 0.3, "share_of_pairs": 0.85, "weight": 0.4, "count": 85},
]
FULL = Profile(
    kinds=KINDS,
    nouns=share(0.4, 0.6),
    identical=share(0.3, 0.3),
    special=share(0.05, 0.05),
    size=share(1.2, 1.4),
    background=share(0.0, 0.0),
    cut=share(0.0, 0.0),
    score=share(0.6, 0.6),
    tokens=256,
    words=Words(3, ("guitar", "stage"), ("people", "thing"), 4.0),
    negation=Negation(moved=share(0.1, 0.2), harmless=share(0.1, 0.1), score=share(0.8, 0.9)),
    opposites=Opposites(synonyms=share(0.8, 0.9), opposites=share(0.75, 0.8), confused=share(0.0, 1.0)),
    people=People(
        Ranks(np.array([0.1, 0.4, 0.6, 0.9, 1.0]), np.array([0.0, 0.5, 0.4, 0.9, 1.0])),
        share(0.0, 0.0, 0.0, 1.0),
        {"level": "0.0 to 0.2", "error": 0.04, "too_high": 0.2},
    ),
)
NOTHING = replace(FULL, words=None, negation=None, opposites=None, people=None)


def by_topic(**profiles: Profile) -> dict[str, ModelFinding]:
    return {each.topic: each for each in findings(profiles)[0]}


GOLDEN = {
    "negation": (
        "tiny hardly reads negation",
        "An added “not” (“The door is not open”) moves a sentence, on the way to an unrelated one, by 15%; a "
        "harmless “now” by "
        "10%. A sentence and its own negation score 0.85.",
    ),
    "opposites": (
        "Opposites look alike to tiny",
        "Two sentences that differ in one word of opposite meaning (“This house is old / young”) score 0.78 on "
        "average, with a "
        "synonym in its place 0.85. The opposite scores at least as high as the synonym in 50% of 2 cases.",
    ),
    "people": (
        "tiny agrees with people well",
        "Rank correlation with human scores over 5 pairs: 0.90 (1: the same order as people, 0: no relation). "
        "25% of the pairs "
        "stand far from their place in people's order (by more than 30% of all pairs). On a scale from 0 to 1, "
        "scores are "
        "farthest off where people score 0.0 to 0.2 (there 0.20 too high).",
    ),
    "kinds": (
        "tiny matches nouns most",
        "Pairs of two nouns give 50% of what raises the scores but are only 10% of all word pairs: such a pair "
        "gives 5.0 times "
        "as much as the average pair. Pairs of other content words of one kind (verbs) give 4.0 times as much.",
    ),
    "identical": (
        "tiny matches different words more than identical ones",
        "Words that stand in both texts, paired with themselves, give 30% of what raises the scores. The rest "
        "comes from pairs "
        "of different words.",
    ),
    "words": (
        "“guitar” weighs most, “people” least",
        "Of content words that stand in both texts of a pair at least 3 times, these add to the score: most "
        "“guitar”, “stage”; "
        "least “people”, “thing”.",
    ),
    "parts": (
        "Word pairs can be read as shares of the score",
        "Without their signs, the parts of a score sum to 1.3 times the score (1: nothing cancels out). 5% of "
        "what raises the "
        "scores involves special tokens such as [CLS], which are no words.",
    ),
}


@pytest.mark.parametrize("topic", GOLDEN)
def test_the_sentences_of_one_model(topic: str) -> None:
    found = by_topic(tiny=FULL)[topic]
    assert (found.headline, found.sentence) == GOLDEN[topic]


LITTLE = [{**KINDS[0], "weight": 5.0}, {**KINDS[1], "share": 0.05, "weight": 1.0}]
HALF_READ = Negation(moved=share(0.3, 0.5), harmless=share(0.1, 0.1), score=share(0.6, 0.7))
READ = Negation(
    moved=share(0.6, 0.5), harmless=share(0.1, 0.1), score=share(0.4, 0.5), chosen=share(1.0, 1.0), chance=1 / 3
)
TOLD_APART = Opposites(synonyms=share(0.8, 0.9), opposites=share(0.5, 0.5), confused=share(0.0, 0.0))
REVERSED = People(Ranks(np.arange(4.0), np.arange(4.0)[::-1]), share(1.0), None)


@pytest.mark.parametrize(
    ("profile", "topic", "headline", "warns"),
    [
        (replace(FULL, kinds=LITTLE), "kinds", "tiny matches little but nouns", True),
        (replace(FULL, negation=HALF_READ), "negation", "tiny partly reads negation", True),
        (replace(FULL, negation=READ), "negation", "tiny reads negation", False),
        (replace(FULL, opposites=TOLD_APART), "opposites", "tiny tells opposites from synonyms", False),
        (replace(FULL, people=REVERSED), "people", "tiny agrees with people little", True),
        (replace(FULL, identical=share(0.7)), "identical", "tiny relies mostly on identical words", True),
        (
            replace(FULL, identical=share(0.45)),
            "identical",
            "tiny matches identical and different words about equally",
            False,
        ),
        (replace(FULL, size=share(400.0)), "parts", "Read single word pairs of tiny with care", True),
        (replace(FULL, special=share(0.5)), "parts", "Read single word pairs of tiny with care", True),
        (replace(FULL, background=share(0.5)), "parts", "Read single word pairs of tiny with care", True),
        (replace(FULL, cut=share(0.0, 1.0)), "cut", "Some texts are not read to their end", True),
    ],
)
def test_a_headline_follows_from_the_numbers(profile: Profile, topic: str, headline: str, warns: bool) -> None:
    found = by_topic(tiny=profile)[topic]
    assert (found.headline, found.warns) == (headline, warns)


def test_what_warns_comes_first_and_what_is_missing_has_its_reason() -> None:
    found, missing = findings({"tiny": FULL})
    assert [each.topic for each in found] == ["negation", "opposites", "kinds", "people", "identical", "words", "parts"]
    assert not missing
    found, missing = findings({"tiny": NOTHING})
    assert [each.topic for each in found] == ["kinds", "identical", "parts"]
    assert [re.split(" was | were ", reason)[0] for reason in missing] == [
        "Negation",
        "Agreement with people",
        "Opposites",
        "Which words weigh most",
    ]


def many(value: float, spread: float = 0.05) -> Share:
    return Share.mean([value - spread, value + spread] * 20)


def test_the_sentences_of_two_models_say_where_they_differ() -> None:
    one = replace(FULL, nouns=many(0.6), identical=many(0.3), negation=Negation(many(0.1), many(0.1), many(0.9)))
    other = replace(FULL, nouns=many(0.4), identical=many(0.3), negation=Negation(many(0.3), many(0.1), many(0.7)))
    found = by_topic(small=one, large=other)
    assert found["negation"].differs
    assert found["negation"].headline == "large reads negation better than small"
    assert found["negation"].sentence == (
        "An added “not” (“The door is not open”) moves a sentence, on the way to an unrelated one, by 10% with "
        "small and 30% with "
        "large; a harmless “now” by 10% and 10%. A sentence and its own negation score 0.90 and 0.70."
    )
    assert found["kinds"].headline == "small leans on nouns more than large"
    assert found["kinds"].sentence == (
        "Pairs of two nouns give 60% with small and 40% with large of what raises the scores; such a pair gives "
        "5.0 and 5.0 times "
        "as much as the average pair."
    )
    assert not found["identical"].differs
    assert found["identical"].headline == "Both models match different words more than identical ones"
    assert list(found)[:2] == ["negation", "kinds"]  # sure differences first


def test_a_difference_is_sure_only_where_samples_agree_on_it() -> None:
    noise = np.random.default_rng(1).normal(size=40)
    assert is_sure(many(0.6), many(0.4))
    assert not is_sure(Share.mean(noise), Share.mean(noise[::-1]))
    assert not is_sure(share(0.1), share(0.9))  # of one item nothing can be drawn
    same = Ranks(np.arange(40.0), np.arange(40.0))
    assert is_sure(same, Ranks(noise, np.arange(40.0)))


def test_a_name_with_braces_is_a_name() -> None:
    assert by_topic(**{"{less}": FULL})["negation"].headline == "{less} hardly reads negation"


def view(*models: str) -> View:
    rows = [{"word": "cat", "n": 3, "share": 0.25}, {"word": "<b>", "n": 1, "share": 0.01}]
    columns = (Column("share", "share of all", "share", "what it is"), Column("n", "times", "count"))
    return View("Words", (Column("word", "word"),), columns, {model: rows[: 2 - at] for at, model in enumerate(models)})


def test_two_models_stand_beside_each_other_in_one_table() -> None:
    assert views.joined(view("a", "b"))[1] == {"word": "<b>", "share a": 0.01, "share b": None, "n a": 1, "n b": None}
    shown = views.table(view("a", "b"), "words")
    assert '<th scope="colgroup" colspan="2">share of all</th>' in shown
    assert shown.count('<th scope="col">a</th><th scope="col">b</th>') == 2
    assert "<td>25%</td><td>25%</td><td>3</td><td>3</td>" in shown
    assert "&lt;b&gt;</th><td>1.0%</td><td>–</td><td>1</td><td>–</td>" in shown
    assert "Share of all: what it is." in shown
    assert "colgroup" not in views.table(view("a"), "words")


def made(sections: Sequence[Section] = (), **profiles: Profile) -> Report:
    found, missing = findings(profiles)
    return Report(
        models=dict.fromkeys(profiles, "0123456789abcdef"),
        pairs=60,
        scored=True,
        description="bilrp",
        headlines=tuple(found[:5]),
        others=tuple(found[5:]),
        missing=tuple(missing),
        overview=overview(profiles),
        sections=tuple(sections),
    )


def test_a_finding_links_to_its_evidence_and_nothing_empty_is_shown() -> None:
    full = Section("negation", "Negation", ("It is so.",), {"tiny": [{"a": 1}]})
    empty = Section("roles", "Syntactic roles", (), {"tiny": []})
    shown = to_report(made([full, empty], tiny=FULL), data="ours", card="")
    assert '<p>Evidence: <a href="#negation">Negation</a></p>' in shown
    assert '<h2 id="negation">' in shown
    assert 'id="roles"' not in shown
    assert not re.search(r"<(ul|div|p|table|nav)[^>]*></\1>", shown.replace('<div id="copied"', ""))
    linked = set(re.findall(r'href="#([\w-]+)"', shown))
    assert linked <= set(re.findall(r'id="([\w-]+)"', shown)) | {"roles"}


def test_fewer_findings_say_why() -> None:
    shown = to_report(made(tiny=NOTHING), data="ours", card="")
    assert ">Three findings</h2>" in shown
    assert "<h3>Not measured</h3>" in shown
    assert "the data has no human scores" in shown


def test_headings_come_in_order_and_the_page_reaches_for_nothing(tmp_path: Path) -> None:
    study = make_corpus(tiny_encoder("bert"), tmp_path)
    shown = to_report(report(study), data="ours", card="")
    own = re.sub(r"<script>.*?</script>", "", shown, flags=re.DOTALL)
    levels = [int(level) for level in re.findall(r"<h(\d)", own)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert '<html lang="en">' in own
    assert 'class="skip" href="#content"' in own
    assert "default-src 'none'" in own
    captions = re.findall(r'<figure class="chart"><div id="[^"]+"></div>(.*?)</figure>', own)
    assert captions
    assert all(re.fullmatch("<figcaption>.+</figcaption>", each) for each in captions)
    anchors = re.findall(r'\bid="([^"]+)"', own)
    assert set(re.findall(r'href="#([^"]+)"', own)) <= set(anchors)


HOSTILE = "<img src=x onerror=alert(1)> | `dog` *dog* [x](javascript:1)"


def test_hostile_texts_and_names_are_shown_as_they_are(tmp_path: Path) -> None:
    encoder = tiny_encoder("bert")
    pairs = [*PAIRS, (HOSTILE, HOSTILE), (f"It is not {HOSTILE}", HOSTILE)]
    study = Corpus(pairs, {"<b>m</b>": encoder}, tmp_path, tagger("english"), [*LABELS, 1.0, 0.5], progress=False)
    found = report(study)
    card = model_card(found, data="</pre><script>x", command="whyalike report --data '```'")
    shown = to_report(found, data=HOSTILE, card=card)
    own = re.sub(r"<script>.*?</script>", "", shown, flags=re.DOTALL)
    assert "<img" not in own
    assert "<b>m" not in shown
    assert "</pre><script>" not in shown
    assert "\\<b\\>m\\</b\\>" in card
    assert "````\nwhyalike report --data '```'\n````" in card


def test_markdown_shows_a_text_as_it_is() -> None:
    assert as_text("a *b* _c_ | <i>\n[d](e) `f`") == r"a \*b\* \_c\_ \| \<i\> \[d\](e) \`f\`"


def test_the_model_card_of_two_models() -> None:
    other = replace(FULL, people=None, nouns=share(0.25, 0.25))
    card = model_card(made(small=FULL, large=other), data="ours", command="whyalike report --data ours")
    assert card.startswith(
        "## What small and large find alike\n\nEvery similarity score was split into the parts that pairs of "
        "words add to it, "
        "with whyalike, over 60 pairs of texts of ours with human scores.\n\n1. **"
    )
    assert len(re.findall(r"^\d\. \*\*.+\.\*\* .+\.$", card, re.MULTILINE)) == 5
    assert "| measured | which is | small | large |\n| --- | --- | --- | --- |\n" in card
    assert "| pairs of two nouns | share of what raises the scores | 50% | 25% |" in card
    assert "| agreement with people | rank correlation, 1: the same order | 0.90 | – |" in card
    assert card.endswith("To measure it again:\n\n```\nwhyalike report --data ours\n```\n")
    assert "small (0123456789ab), large (0123456789ab)" in card


def test_one_report_compares_two_models(tmp_path: Path) -> None:
    encoders = {"one": tiny_encoder("bert"), "two": tiny_encoder("bert", seed=1)}
    study = Corpus(PAIRS, encoders, tmp_path, tagger("english"), LABELS, progress=False)
    found = report(study)
    shown = to_report(found, data="ours", card=model_card(found, data="ours", command="whyalike report"))
    assert "<h1>one and two: what they find alike, compared</h1>" in shown
    assert '<th scope="colgroup" colspan="2">' in shown
    for section in found.sections:
        for each in section.views:
            assert set(each.rows) <= {"one", "two"}
    (chart,) = next(each for each in found.sections if each.name == "kinds").charts(page.chart_tools()).values()
    colours = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert colours["domain"] == ["one", "two"]
    assert len(set(colours["range"])) == 2
