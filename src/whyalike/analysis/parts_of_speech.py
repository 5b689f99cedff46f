"""Which parts of speech a model compares (BiLRP paper, Figures 3 and 9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import exact_sum, in_no_order, pl
from whyalike.analysis.interactions import Interactions
from whyalike.analysis.section import Column, Section, View
from whyalike.colours import NEGATIVE, POSITIVE, rgb

SHOWN = 14  # classes in a chart
ENOUGH = 20  # word pairs, for a mean to be shown


TITLES = {"summed": "in sum", "mean": "on average"}
TAGS = {  # of Universal Dependencies, in plain words
    "NOUN": "noun",
    "PROPN": "proper noun",
    "VERB": "verb",
    "AUX": "auxiliary verb",
    "ADJ": "adjective",
    "ADV": "adverb",
    "NUM": "number",
    "PRON": "pronoun",
    "DET": "article",
    "ADP": "preposition",
    "CCONJ": "conjunction",
    "SCONJ": "conjunction",
    "PART": "particle",
    "PUNCT": "punctuation",
    "SYM": "symbol",
    "INTJ": "interjection",
}


def tag_name(tag: str) -> str:
    """A part of speech in plain words; special tokens and what we have no word for as they are."""
    return TAGS.get(tag, tag)


def by_tags(table: Interactions) -> pl.DataFrame:
    """One row per two classes, in no order: how many word pairs, and of their values the sum and the mean, by sign.

    Shares are of the largest sum (mean) of one sign, whichever it is, so that they lie between −1 and 1. A mean of few word
    pairs says little: its shares are null, unless all have few.
    """
    value = pl.col("value")
    found = (
        table.words.group_by(*in_no_order(pl.col("left_pos"), pl.col("right_pos")))
        .agg(
            count=pl.len(),
            total=exact_sum(value),
            positive=exact_sum(value.clip(lower_bound=0)),
            negative=exact_sum(value.clip(upper_bound=0)),
        )
        .collect(engine="streaming")
        .with_columns(
            mean=pl.col("total") / pl.col("count"),
            mean_positive=pl.col("positive") / pl.col("count"),
            mean_negative=pl.col("negative") / pl.col("count"),
        )
    )
    many = pl.col("count") >= (ENOUGH if (found["count"] >= ENOUGH).any() else 0)
    for names, which in ((("positive", "negative"), pl.lit(True)), (("mean_positive", "mean_negative"), many)):
        largest = float(np.abs(found.filter(which).select(names).to_numpy()).max()) or 1.0
        found = found.with_columns(pl.when(which).then(pl.col(name) / largest).alias(f"{name}_share") for name in names)
    return found.sort(["positive", "first", "second"], descending=[True, False, False])


def parts_of_speech(corpus: Corpus) -> Section:
    found = {name: by_tags(table) for name, table in corpus.tables().items()}
    says = []
    for name, frame in found.items():
        whole = float(frame["positive"].sum())
        if not whole:
            says.append(f"{name}: no word pair raises a score in these pairs.")
            continue
        top = frame.head(3).rows(named=True)
        listed = "; ".join(
            f"{tag_name(row['first'])} with {tag_name(row['second'])} {row['positive'] / whole:.0%}" for row in top
        )
        says.append(f"{name}: most of what raises the scores comes from {listed}.")
        same = float(frame.filter(pl.col("first") == pl.col("second"))["positive"].sum()) / whole
        says.append(f"{name}: {same:.0%} of what raises the scores comes from two words of the same part of speech.")
    return Section(
        "parts_of_speech",
        "Parts of speech",
        tuple(says),
        {name: frame.rows(named=True) for name, frame in found.items()},
        lambda altair: {
            f"{number}-{kind}": _chart(altair, frame, f"{name}: {TITLES[kind]}", kind)
            for number, (name, frame) in enumerate(found.items())
            for kind in ("summed", "mean")
        },
        explained="The same in detail, by parts of speech as the tagger writes them (NOUN, VERB, ADP: "
        "preposition, DET: article …), "
        "with special tokens as classes of their own. In each tile the upper left triangle is what such word "
        "pairs add, the "
        "lower right one what they take away, as a share of the largest. “In sum” favours common classes; “on average” "
        "shows how much a single pair counts.",
        views=(
            View(
                "Parts of speech",
                (Column("first", "part of speech"), Column("second", "with")),
                (
                    Column("positive", "adds in sum", "signed"),
                    Column("negative", "takes away in sum", "signed"),
                    Column("mean", "mean of a pair", "signed"),
                    Column("count", "pairs", "count"),
                ),
                {name: frame.rows(named=True) for name, frame in found.items()},
            ),
        ),
    )


def _chart(altair: Any, frame: pl.DataFrame, title: str, kind: str) -> Any:
    """A tile for every two classes: its upper triangle the positive part, its lower the negative one."""
    classes = (
        pl.concat([frame.select("positive", tag=pl.col(side)) for side in ("first", "second")])
        .group_by("tag")
        .agg(exact_sum(pl.col("positive")))
        .sort(["positive", "tag"], descending=[True, False])["tag"]
        .to_list()[:SHOWN]
    )
    columns = (
        ("positive_share", "negative_share") if kind == "summed" else ("mean_positive_share", "mean_negative_share")
    )
    values = frame.filter(pl.col("first").is_in(classes) & pl.col("second").is_in(classes)).select(
        "first", "second", "count", up=columns[0], down=columns[1]
    )
    mirrored = values.rename({"first": "second", "second": "first"}).filter(pl.col("first") != pl.col("second"))
    rows = pl.concat([values, mirrored.select(values.columns)])
    step = 24
    layers = []
    for column, shape, colour in (
        ("up", "M-1,-1L1,-1L-1,1Z", POSITIVE),
        ("down", "M1,1L1,-1L-1,1Z", NEGATIVE),
    ):
        points = [
            {"first": row["first"], "second": row["second"], "value": row[column], "pairs": row["count"]}
            for row in rows.rows(named=True)
            if row[column] is not None
        ]
        layers.append(
            altair.Chart(altair.Data(values=points))
            .mark_point(shape=shape, size=(step - 2) ** 2, filled=True)
            .encode(
                x=altair.X("second:N", sort=classes, title=None, axis=altair.Axis(labelAngle=-45)),
                y=altair.Y("first:N", sort=classes, title=None),
                color=altair.value(rgb(colour)),
                opacity=altair.Opacity(  # rather than shades from white: the page may be dark
                    "value:Q",
                    scale=altair.Scale(type="pow", exponent=0.5, domain=[0, 1 if column == "up" else -1], range=[0, 1]),
                    legend=None,
                ),
                tooltip=["first:N", "second:N", altair.Tooltip("value:Q", format="+.3f"), "pairs:Q"],
            )
        )
    return (
        altair.layer(*layers)
        .resolve_scale(opacity="independent")
        .properties(
            width=step * len(classes),
            height=step * len(classes),
            title=title,
            description=f"{title}: what pairs of two parts of speech add (orange) and take away (blue).",
        )
    )
