"""Which parts of speech a model compares (BiLRP paper, Figures 3 and 9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import exact_sum, in_no_order, pl
from whyalike.analysis.interactions import Interactions
from whyalike.analysis.section import Section
from whyalike.colours import NEGATIVE, POSITIVE, rgb

SHOWN = 14  # classes in a chart
ENOUGH = 20  # word pairs, for a mean to be shown


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
            says.append(f"{name} gives no two words a positive relevance in these pairs.")
            continue
        top = frame.head(3).rows(named=True)
        listed = ", ".join(f"{row['first']}–{row['second']} {row['positive'] / whole:.0%}" for row in top)
        says.append(f"{name} compares mostly {listed} of all positive relevance.")
        same = float(frame.filter(pl.col("first") == pl.col("second"))["positive"].sum()) / whole
        says.append(f"{name}: {same:.0%} of its positive relevance is between words of the same class.")
    return Section(
        "parts_of_speech",
        "Parts of speech",
        tuple(says),
        {name: frame.rows(named=True) for name, frame in found.items()},
        lambda altair: {
            f"{number}-{kind}": _chart(altair, frame, f"{name}: {kind} relevance", kind)
            for number, (name, frame) in enumerate(found.items())
            for kind in ("summed", "mean")
        },
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
    step = 30
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
            .mark_point(shape=shape, size=(step - 2) ** 2, filled=True, opacity=1)
            .encode(
                x=altair.X("second:N", sort=classes, title=None, axis=altair.Axis(labelAngle=-45)),
                y=altair.Y("first:N", sort=classes, title=None),
                color=altair.Color(
                    "value:Q",
                    scale=altair.Scale(
                        domain=[0, 1 if column == "up" else -1], range=["#ffffff", rgb(colour)], interpolate="rgb"
                    ),
                    legend=altair.Legend(title="positive" if column == "up" else "negative", gradientLength=80),
                ),
                tooltip=["first:N", "second:N", altair.Tooltip("value:Q", format="+.3f"), "pairs:Q"],
            )
        )
    chart = altair.layer(*layers).resolve_scale(color="independent")
    return chart.properties(width=step * len(classes), height=step * len(classes), title=title)
