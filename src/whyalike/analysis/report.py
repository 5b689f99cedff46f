"""A report about a model, or several, and a corpus: findings first, then the sections that show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whyalike.analysis.adjectives import adjectives
from whyalike.analysis.composition import composition
from whyalike.analysis.corpus import Corpus
from whyalike.analysis.failures import failures
from whyalike.analysis.kinds import kinds
from whyalike.analysis.lexical import lexical
from whyalike.analysis.model_findings import HEADLINES, ModelFinding, findings
from whyalike.analysis.models import models
from whyalike.analysis.negation import Choice, negation
from whyalike.analysis.parts_of_speech import parts_of_speech
from whyalike.analysis.profile import OFTEN, Profile, Ranks, Share, profiles
from whyalike.analysis.references import references
from whyalike.analysis.roles import has_roles, roles
from whyalike.analysis.section import Column, Row, Section, View
from whyalike.language.words import reads_english
from whyalike.methods import IntegratedJacobians
from whyalike.methods.spec import parse_method


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """``headlines`` are the findings that say most; ``others`` what else was found; ``missing`` what could not be, and why."""

    models: Mapping[str, str]  # by the name to show: the digest that tells two models of one name apart
    pairs: int
    scored: bool  # by people
    description: str  # how scores were explained
    headlines: tuple[ModelFinding, ...]
    others: tuple[ModelFinding, ...]
    missing: tuple[str, ...]
    overview: View
    sections: tuple[Section, ...]


def report(corpus: Corpus, *, choices: Sequence[Choice] = ()) -> Report:
    """All that this corpus has material for; ``choices`` are SemAntoNeg's, for the section on negation."""
    english = all(reads_english(each) for each in corpus.taggers)
    measured = profiles(corpus, choices=choices, english=english)
    found, missing = findings(measured)
    sections = [each for each in _sections(corpus, measured, choices, english) if not each.is_empty]
    return Report(
        models={name: encoder.record.fingerprint for name, encoder in corpus.encoders.items()},
        pairs=len(corpus.pairs),
        scored=corpus.labels is not None,
        description=corpus.description,
        headlines=tuple(found[:HEADLINES]),
        others=tuple(found[HEADLINES:]),
        missing=tuple(missing),
        overview=overview(measured),
        sections=tuple(sections),
    )


def _sections(
    corpus: Corpus, measured: Mapping[str, Profile], choices: Sequence[Choice], english: bool
) -> list[Section]:
    """In the order in which one reads them."""
    method = parse_method(corpus.method).method
    sections = [kinds(corpus), parts_of_speech(corpus)]
    if english:
        sections += [negation(corpus, choices=choices), adjectives(corpus)]
    least = min((each.words.least for each in measured.values() if each.words), default=OFTEN[-1])
    sections.append(lexical(corpus, least))
    if all(has_roles(table) for table in corpus.tables().values()):
        sections.append(roles(corpus))
    sections.append(models(corpus))
    if corpus.labels is not None:
        sections.append(failures(corpus))
    sections.append(composition(measured))
    if isinstance(method, IntegratedJacobians) and method.reference != "null":
        sections.append(references(corpus, reference=method.reference, positions=method.reference_positions))
    return sections


Measure = Callable[[Profile], str | None]


def _share(of: Callable[[Profile], Share | None]) -> Measure:
    return lambda profile: None if (found := of(profile)) is None else f"{found.value:.0%}"


def _number(of: Callable[[Profile], Share | Ranks | None]) -> Measure:
    return lambda profile: None if (found := of(profile)) is None else f"{found.value:.2f}".replace("-", "−")


RAISING = "share of what raises the scores"
OVERVIEW: Mapping[str, tuple[str, Measure]] = {
    "agreement with people": (
        "rank correlation, 1: the same order",
        _number(lambda each: each.people.ranks if each.people else None),
    ),
    "effect of an added “not”": (
        "share of the way to an unrelated sentence",
        _share(lambda each: each.negation.moved if each.negation else None),
    ),
    "effect of an added “now”": (
        "the same for a harmless word",
        _share(lambda each: each.negation.harmless if each.negation else None),
    ),
    "right paraphrases of negations": (
        "share of SemAntoNeg's questions",
        _share(lambda each: each.negation.chosen if each.negation else None),
    ),
    "score with a synonym": (
        "of two sentences that differ in one adjective",
        _number(lambda each: each.opposites.synonyms if each.opposites else None),
    ),
    "score with an opposite": (
        "likewise; should be clearly lower",
        _number(lambda each: each.opposites.opposites if each.opposites else None),
    ),
    "pairs of two nouns": (RAISING, _share(lambda each: each.nouns)),
    "identical words": (RAISING, _share(lambda each: each.identical)),
    "special tokens": (RAISING, _share(lambda each: each.special)),
    "size of the parts": ("as a multiple of the score, 1: nothing cancels out", _number(lambda each: each.size)),
    "mean score": ("of all pairs", _number(lambda each: each.score)),
}


def overview(measured: Mapping[str, Profile]) -> View:
    """The numbers behind the findings, a column per model; what was not measured of any model is left out."""
    rows: dict[str, list[Row]] = {}
    for name, profile in measured.items():
        known = [(what, meaning, of(profile)) for what, (meaning, of) in OVERVIEW.items()]
        rows[name] = [
            {"what": what, "meaning": meaning, "value": value} for what, meaning, value in known if value is not None
        ]
    return View(
        "The numbers behind the findings",
        (Column("what", "measured"), Column("meaning", "which is")),
        (Column("value", "value"),),
        rows,
    )
