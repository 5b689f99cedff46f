"""One page about a model and a corpus: what it matches, what it ignores, where it and people part ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whyalike.analysis.adjectives import adjectives
from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import exact_sum, pl
from whyalike.analysis.interactions import Interactions
from whyalike.analysis.lexical import by_word, lexical
from whyalike.analysis.models import models
from whyalike.analysis.negation import Choice, negation, simple_negations
from whyalike.analysis.parts_of_speech import parts_of_speech
from whyalike.analysis.references import references
from whyalike.analysis.roles import has_roles, roles
from whyalike.analysis.section import Section
from whyalike.api import explain
from whyalike.colours import POSITIVE, rgb
from whyalike.errors import BadInput
from whyalike.language.words import reads_english
from whyalike.methods import IntegratedJacobians
from whyalike.methods.spec import parse_method

# Classes of words that say something; of all others the report says what they have in all.
FAMILIES = {
    "NOUN": "nouns",
    "PROPN": "nouns",
    "VERB": "verbs",
    "ADJ": "adjectives",
    "ADV": "adverbs",
    "NUM": "numbers",
    "PRON": "pronouns",
}
OTHERS = "function words and the rest"
NOUNS = "nouns"
CONTENT = ("verbs", "adjectives", "adverbs", "numbers")
ALONE = 2.0  # a family that counts so many times as much as the others is said to be matched alone
FAILURES = 4  # of each kind
ENOUGH = 100  # pairs of words of a family, to say that they do not count
FEW = 10  # occurrences from which a word counts in the report


def by_family(table: Interactions) -> pl.DataFrame:
    """The positive relevance between words of one family, as a share of all between words, beside its share of word pairs.

    ``weight`` is the one divided by the other: how much more such a pair counts than a pair of any two words.
    """
    family = [
        pl.col(f"{side}_pos").replace_strict(FAMILIES, default=OTHERS, return_dtype=pl.String).alias(side)
        for side in ("left", "right")
    ]
    words = table.words.filter((pl.col("left_at") >= 0) & (pl.col("right_at") >= 0))
    found = (
        words.select(*family, positive=pl.col("value").clip(lower_bound=0))
        .with_columns(
            family=pl.when(pl.col("left") == pl.col("right")).then("left").otherwise(pl.lit("different families"))
        )
        .group_by("family")
        .agg(count=pl.len(), positive=exact_sum(pl.col("positive")))
        .collect(engine="streaming")
        .sort("family")
    )
    share, pairs = (pl.col(name) / pl.col(name).sum() for name in ("positive", "count"))
    return (
        found.select("family", "count", relevance=share.fill_nan(0.0), word_pairs=pairs)
        .with_columns(weight=pl.col("relevance") / pl.col("word_pairs"))
        .sort(["relevance", "family"], descending=[True, False])
    )


def at_a_glance(corpus: Corpus) -> Section:
    """What to remember of the whole report."""
    says, tables = [], {}
    for name, table in corpus.tables().items():
        frame = by_family(table)
        says.append(_verdict(name, frame))
        for row in frame.filter(pl.col("family").is_in(CONTENT) & (pl.col("count") >= ENOUGH)).rows(named=True):
            if row["weight"] < 1:
                says.append(
                    f"{name}: two {row['family']} count no more than any two words ({row['weight']:.1f} times)."
                )
        words = by_word(table, FEW)
        words = words.filter(pl.col("pos").is_in(list(FAMILIES)))
        if len(words) > 2 * FEW:
            most, least = (", ".join(part["word"].to_list()) for part in (words.head(6), words.tail(6).reverse()))
            says.append(
                f"{name}: words matched with themselves at least {FEW} times: highest mean attribution {most}; lowest {least}."
            )
        parts = ("matrix", "left_terms", "right_terms", "constant", "residual", "cut", "error")
        pairs = table.pairs.select(parts).collect()
        rest = (pl.col("left_terms") + pl.col("right_terms") + pl.col("constant")).mean()
        matrix, other, largest = pairs.select(pl.col("matrix").mean(), rest, pl.col("residual").abs().max()).row(0)
        says.append(
            f"{name}: all pairs sum to {matrix:.2f} on average, the background to {other:.2f}; at most {largest:.1e} is "
            f"rounding error. {_special(table):.0%} of the positive relevance is of pairs with a special token."
        )
        if errors := pairs["error"].drop_nulls().to_list():
            says.append(
                f"{name}: integration errs by {max(errors):.1%} of a text at most; the background makes up for it."
            )
        if cut := int((pairs["cut"] > 0).sum()):
            says.append(f"{name} did not read all of {cut} pairs: their texts are longer than it reads.")
        tables[name] = frame.rows(named=True)
    return Section(
        "at_a_glance", "At a glance", tuple(says), tables, lambda altair: {"families": _families(altair, tables)}
    )


def _special(table: Interactions) -> float:
    """The share of positive relevance in which a special token, or what is no word, has a part."""
    positive, beside = pl.col("value").clip(lower_bound=0), (pl.col("left_at") < 0) | (pl.col("right_at") < 0)
    whole, part = (
        table.words.select(exact_sum(positive), part=exact_sum(positive.filter(beside)))
        .collect(engine="streaming")
        .row(0)
    )
    return float(part) / float(whole) if whole else 0.0


def _verdict(name: str, frame: pl.DataFrame) -> str:
    """What is matched, and how much more than other content words; both by how much a pair of one kind counts."""
    known = {row["family"]: row for row in frame.filter(pl.col("family").is_in([NOUNS, *CONTENT])).rows(named=True)}
    if not sum(row["relevance"] for row in known.values()):
        return f"{name}: no two content words of one kind meet with a positive relevance in these pairs."
    first = max(known, key=lambda family: float(known[family]["relevance"]))
    others = [row for family, row in known.items() if family != first]
    share = f"{known[first]['relevance']:.0%} of the positive relevance between words"
    counts = f"two {first} count {known[first]['weight']:.1f} times as much as any two words"
    if not others:
        return f"{name} matches {first}: {share}; {counts}."
    weight = sum(row["relevance"] for row in others) / sum(row["word_pairs"] for row in others)
    rest = f"two other content words of one kind {weight:.1f} times"
    if known[first]["weight"] > ALONE * weight:
        return f"{name} matches little but {first} ({share}): {counts}, {rest}."
    return f"{name} matches {first} ({share}) and other content words: {counts}, {rest}."


def failures(corpus: Corpus) -> Section:
    """The pairs whose ranks by the model and by people lie furthest apart, explained."""
    if corpus.labels is None:
        raise BadInput("Without human scores there are no failures to show. Give scored pairs.")
    says, tables, pictures = [], {}, {}
    for name, table in corpus.tables().items():
        pairs = table.pairs.collect()
        gap = (pairs["score"].rank() - pairs["label"].rank()).to_numpy() / len(pairs)
        order = np.argsort(gap)
        chosen = {"too low": order[:FAILURES], "too high": order[::-1][:FAILURES]}
        rows: list[dict[str, Any]] = []
        for kind, numbers in chosen.items():
            for number in numbers:
                row = pairs.row(int(number), named=True)
                if (gap[number] > 0) != (kind == "too high"):
                    continue
                rows.append({"kind": kind, **{key: row[key] for key in ("score", "label", "left", "right")}})
                e = explain(
                    row["left"],
                    row["right"],
                    encoder=corpus.encoders[name],
                    method=corpus.method,
                    layer=corpus.layer,
                    truncate=True,
                ).by_word()
                pictures[
                    f"{name}, {kind}: score {row['score']:.2f}, people {row['label']:.2f} (pair {row['pair']})"
                ] = e
        tables[name] = rows
        far = float(np.mean(np.abs(gap) > 0.3))
        says.append(
            f"{name}: for {far:.0%} of the pairs, model rank and human rank differ by more than 30 percentile points."
        )
    return Section("failures", "Largest disagreements with human scores", tuple(says), tables, pictures=pictures)


def report(corpus: Corpus, *, choices: Sequence[Choice] = ()) -> list[Section]:
    """All sections this corpus has material for; ``choices`` are SemAntoNeg's, for the section on negation."""
    method, taggers = (
        parse_method(corpus.method).method,
        corpus.tagger if isinstance(corpus.tagger, tuple) else (corpus.tagger,),
    )
    english = all(reads_english(each) for each in taggers)
    sections = [at_a_glance(corpus), parts_of_speech(corpus)]
    if all(has_roles(table) for table in corpus.tables().values()):
        sections.append(roles(corpus))
    sections.append(lexical(corpus, FEW))
    if english and (choices or simple_negations(corpus.texts)):
        sections.append(negation(corpus, choices=choices))
    if english:
        sections.append(adjectives(corpus))
    sections.append(models(corpus))
    if isinstance(method, IntegratedJacobians) and method.reference != "null":
        sections.append(references(corpus, reference=method.reference, positions=method.reference_positions))
    if corpus.labels is not None:
        sections.append(failures(corpus))
    return sections


def _families(altair: Any, tables: dict[str, list[dict[str, Any]]]) -> Any:
    rows = [
        {"model": name, "family": row["family"], "what": what, "share": row[column]}
        for name, found in tables.items()
        for row in found
        for what, column in (("of the positive relevance", "relevance"), ("of all word pairs", "word_pairs"))
    ]
    order = list(dict.fromkeys(row["family"] for row in rows))
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_bar()
        .encode(
            y=altair.Y("family:N", sort=order, title=None),
            yOffset=altair.YOffset("what:N", sort="descending"),
            x=altair.X("share:Q", axis=altair.Axis(format="%"), title="between words of one family"),
            color=altair.Color(
                "what:N", title=None, sort="descending", scale=altair.Scale(range=[rgb(POSITIVE), "#c8c8c8"])
            ),
            column=altair.Column("model:N", title=None),
            tooltip=["family:N", "what:N", altair.Tooltip("share:Q", format=".1%")],
        )
        .properties(width=360, height=220)
    )
