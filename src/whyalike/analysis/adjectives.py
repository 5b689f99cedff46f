"""Synonyms and opposites in one sentence (Siamese paper, section 5.3, Figure 9; triplets of its Table 2).

Differs from the paper: a word's attributions are the sum of its tokens', not their mean, as everywhere here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.section import Column, Row, Section, View
from whyalike.api import explain_pairs
from whyalike.colours import NEGATIVE, POSITIVE, rgb
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.methods import Method
from whyalike.methods.spec import MethodSpec

TEMPLATE = "This house is {}."
TRIPLETS = tuple(  # anchor, synonym, opposite: Möller, Nikolaev & Padó 2024, Table 2
    tuple(line.split())
    for line in (
        "beautiful pretty ugly",
        "ugly hideous beautiful",
        "small little big",
        "big huge small",
        "gigantic enormous tiny",
        "tiny minuscule enormous",
        "old elderly young",
        "young youthful old",
        "difficult hard easy",
        "simple easy difficult",
        "thorough comprehensive erroneous",
        "faulty erroneous thorough",
        "dirty messy clean",
        "clean tidy dirty",
        "heavy massive light",
        "common normal unusual",
        "untypical unusual normal",
        "boring dull interesting",
        "exciting interesting boring",
        "calm peaceful hectic",
        "chaotic hectic calm",
        "balanced equal uneven",
        "unequal uneven balanced",
    )
)


def attributions_to_adjectives(
    encoder: Encoder,
    method: str | Method | MethodSpec,
    layer: int | None,
    *,
    template: str = TEMPLATE,
    progress: bool = True,
) -> list[Row]:
    """The attribution of each anchor with its synonym, and with its opposite, all else alike."""
    if template.count("{}") != 1:
        raise BadInput(f"The template should have one place {{}} for the adjective; got {template!r}.")
    kinds = [
        (anchor, other, kind)
        for anchor, *others in TRIPLETS
        for other, kind in zip(others, ("synonym", "opposite"), strict=True)
    ]
    pairs = [(template.replace("{}", anchor), template.replace("{}", other)) for anchor, other, _ in kinds]
    start = template.index("{}")
    rows = []
    for (anchor, other, kind), e in zip(
        kinds, explain_pairs(pairs, encoder=encoder, method=method, layer=layer, progress=progress), strict=True
    ):
        one, two = (
            side.shares([(start, start + len(word))])[:, 0] for side, word in ((e.left, anchor), (e.right, other))
        )
        rows.append(
            {"anchor": anchor, "other": other, "kind": kind, "value": float(one @ e.matrix @ two), "score": e.score}
        )
    return rows


def _rows(corpus: Corpus, encoder: Encoder, templates: Sequence[str]) -> list[Row]:
    return [
        row
        for template in templates
        for row in attributions_to_adjectives(
            encoder, corpus.method, corpus.layer, template=template, progress=corpus.progress
        )
    ]


def attributions_of(corpus: Corpus, encoder: Encoder) -> list[Row]:
    """A model's rows, kept in the folder of the corpus."""
    return corpus.compute_rows("adjectives", encoder, [TEMPLATE], partial(_rows, corpus, encoder))


def adjectives(corpus: Corpus) -> Section:
    """Needs no pairs: the sentences are made from the triplets."""
    found = {name: attributions_of(corpus, encoder) for name, encoder in corpus.encoders.items()}
    says = []
    for name, rows in found.items():
        values = {
            kind: np.array([row["value"] for row in rows if row["kind"] == kind]) for kind in ("synonym", "opposite")
        }
        lower = float(np.mean(values["opposite"] < values["synonym"]))
        says.append(
            f"{name}: two synonyms add {values['synonym'].mean():+.3f} to the score on average, two opposites "
            f"{values['opposite'].mean():+.3f}; opposites add less in {lower:.0%} of {len(values['synonym'])} "
            "cases, and lower "
            f"the score in {np.mean(values['opposite'] < 0):.0%}."
        )
    return Section(
        "adjectives",
        "Synonyms and opposites",
        tuple(says),
        dict(found),
        lambda altair: {str(number): _chart(altair, rows, name) for number, (name, rows) in enumerate(found.items())},
        explained="“This house is old.” is compared with itself, once with a synonym (“elderly”) and once with "
        "an opposite "
        "(“young”) in the place of “old”. All else is the same, so the difference is the model's own view of the "
        "two words.",
        views=(
            View(
                "Adjectives in one sentence",
                (Column("anchor", "word"), Column("other", "instead"), Column("kind", "which is")),
                (
                    Column("score", "score", "number", "of the two sentences"),
                    Column("value", "added by the two words", "signed", "the word pair's part of the score"),
                ),
                found,
            ),
        ),
    )


def _chart(altair: Any, rows: list[Row], name: str) -> Any:
    return (
        altair.Chart(altair.Data(values=[dict(row) for row in rows]))
        .mark_bar(opacity=0.55, binSpacing=0)
        .encode(
            x=altair.X("value:Q", bin=altair.Bin(maxbins=24), title="added to the score by the two adjectives"),
            y=altair.Y("count()", stack=None, title="pairs"),
            color=altair.Color(
                "kind:N",
                scale=altair.Scale(domain=["synonym", "opposite"], range=[rgb(POSITIVE), rgb(NEGATIVE)]),
                title=None,
            ),
        )
        .properties(
            width=360,
            height=200,
            title=name,
            description=f"{name}: what two synonyms and what two opposites add to the score of the same sentence.",
        )
    )
