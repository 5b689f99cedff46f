"""Where models err, and what they match when they find texts alike or not (BiLRP paper, section 5.3, Figure 5)."""

from __future__ import annotations

import math
from typing import Any

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import exact_sum, in_no_order, pl
from whyalike.analysis.interactions import Interactions
from whyalike.analysis.section import Column, Row, Section, View, model_colour
from whyalike.statistics import rank_correlation

LEVELS = 5
QUARTER = 0.25
SHOWN = 5


def errors_by_level(table: Interactions) -> pl.DataFrame:
    """Mean squared error, and mean signed error, at each level of human similarity."""
    level = (pl.col("label") * LEVELS).floor().clip(0, LEVELS - 1).cast(pl.Int32)
    gap = pl.col("score") - pl.col("label")
    return (
        table.pairs.filter(pl.col("label").is_not_null())
        .with_columns(level=level, gap=gap)
        .group_by("level")
        .agg(
            pairs=pl.len(), error=exact_sum(pl.col("gap") ** 2) / pl.len(), too_high=exact_sum(pl.col("gap")) / pl.len()
        )
        .sort("level")
        .collect()
        .with_columns(pl.col("level").map_elements(_level, return_dtype=pl.String))
    )


def _level(number: int) -> str:
    return f"{number / LEVELS:.1f} to {(number + 1) / LEVELS:.1f}"


def strongest(table: Interactions, quarter: str, count: int = SHOWN) -> pl.DataFrame:
    """The strongest pairs of words, in no order, each once, in the quarter of pairs the model finds most (least) alike."""
    pairs = table.pairs.select("pair", "score").collect()
    edge = pairs["score"].quantile(1 - QUARTER if quarter == "highest" else QUARTER, "linear")
    inside = pairs.filter(pl.col("score") >= edge if quarter == "highest" else pl.col("score") <= edge)["pair"]
    words = table.words.filter(
        (pl.col("left_at") >= 0) & (pl.col("right_at") >= 0) & pl.col("pair").is_in(inside.cast(pl.Int32).implode())
    )
    both = in_no_order(pl.col("left").str.to_lowercase(), pl.col("right").str.to_lowercase())
    return (
        words.group_by(*both)
        .agg(value=pl.col("value").max(), seen=pl.len())
        .sort(["value", "first", "second"], descending=[True, False, False])
        .head(count)
        .collect(engine="streaming")
    )


def models(corpus: Corpus) -> Section:
    tables = corpus.tables()
    cosine = {name: table for name, table in tables.items() if table.similarity == "cosine"}
    errors = {name: errors_by_level(table) for name, table in cosine.items()}  # a dot product has no scale to err on
    says: list[str] = []
    shown: dict[str, list[Row]] = {}
    for name, table in tables.items():
        known = table.pairs.filter(pl.col("label").is_not_null()).select("score", "label").collect()
        ranks = rank_correlation(known["score"], known["label"])
        if not math.isnan(ranks):
            says.append(f"{name}: rank correlation with human scores {ranks:.3f} (1: the same order).")
        if name in errors and not errors[name].is_empty():
            worst = errors[name].sort("error", descending=True).row(0, named=True)
            way = "too high" if worst["too_high"] > 0 else "too low"
            says.append(
                f"{name} is farthest off on pairs that people score {worst['level']}, where its score is "
                f"{abs(worst['too_high']):.2f} {way} on average."
            )
            shown[f"{name}: error by level"] = errors[name].rows(named=True)
        for quarter in ("highest", "lowest") if len(corpus.pairs) >= 4 else ():
            found = strongest(table, quarter)
            listed = "; ".join(f"“{row['first']}” with “{row['second']}”" for row in found.rows(named=True))
            much = "most" if quarter == "highest" else "least"
            says.append(
                f"{name}: in the quarter of pairs it finds {much} alike, the strongest word pairs are {listed}."
            )
            shown[f"{name}: {quarter} quarter"] = found.rows(named=True)
    return Section(
        "models",
        "Agreement with people, and what drives scores" if corpus.labels else "What drives scores",
        tuple(says),
        shown,
        lambda altair: _charts(altair, errors),
        explained="Human scores are brought to 0…1, and pairs are grouped by them. The error is the squared "
        "difference of the "
        "model's score and the human score, so it depends on the model's scale as well as on its judgement; the rank "
        "correlation does not."
        if any(not frame.is_empty() for frame in errors.values())
        else "",
        views=_views(tables, errors, shown),
    )


def _views(
    tables: dict[str, Interactions], errors: dict[str, pl.DataFrame], shown: dict[str, list[Row]]
) -> tuple[View, ...]:
    by_level = View(
        "Error by human score",
        (Column("level", "people score"),),
        (
            Column("error", "mean squared error", "number"),
            Column("too_high", "too high by", "signed", "mean of the model's score minus the human score"),
            Column("pairs", "pairs", "count"),
        ),
        {name: frame.rows(named=True) for name, frame in errors.items() if not frame.is_empty()},
    )
    quarters = [
        View(
            f"Strongest word pairs in the quarter of pairs with the {quarter} scores",
            (Column("first", "word"), Column("second", "with")),
            (Column("value", "adds at most", "signed"), Column("seen", "times", "count")),
            {name: shown[key] for name in tables if (key := f"{name}: {quarter} quarter") in shown},
        )
        for quarter in ("highest", "lowest")
    ]
    return tuple(view for view in (by_level, *quarters) if view.rows)


def _charts(altair: Any, errors: dict[str, pl.DataFrame]) -> dict[str, Any]:
    rows = [{"model": name, **row} for name, frame in errors.items() for row in frame.rows(named=True)]
    if not rows:
        return {}
    return {
        "errors": altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("level:O", title="human score", axis=altair.Axis(labelAngle=0)),
            y=altair.Y("error:Q", title="mean squared error"),
            color=model_colour(altair, list(errors)),
            tooltip=["model:N", "level:O", "error:Q", "too_high:Q", "pairs:Q"],
        )
        .properties(
            width=420, height=240, description="Mean squared difference between score and human score, by human score."
        )
    }
