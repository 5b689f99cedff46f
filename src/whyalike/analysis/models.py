"""Where models err, and what they match when they find texts alike or not (BiLRP paper, section 5.3, Figure 5)."""

from __future__ import annotations

import math
from typing import Any

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import exact_sum, in_no_order, pl
from whyalike.analysis.interactions import Interactions
from whyalike.analysis.section import Row, Section
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
            says.append(f"{name}: rank correlation with people {ranks:.3f}.")
        if name in errors and not errors[name].is_empty():
            worst = errors[name].sort("error", descending=True).row(0, named=True)
            way = "too high" if worst["too_high"] > 0 else "too low"
            says.append(
                f"{name} errs most at human similarity {worst['level']}, "
                f"where it is {way} by {abs(worst['too_high']):.2f} on average."
            )
            shown[f"{name}: error by level"] = errors[name].rows(named=True)
        for quarter in ("highest", "lowest") if len(corpus.pairs) >= 4 else ():
            found = strongest(table, quarter)
            listed = ", ".join(f"{row['first']}–{row['second']}" for row in found.rows(named=True))
            much = "most" if quarter == "highest" else "least"
            says.append(f"{name}: in the quarter it finds {much} alike, the strongest are {listed}.")
            shown[f"{name}: {quarter} quarter"] = found.rows(named=True)
    return Section("models", "Models beside each other", tuple(says), shown, lambda altair: _charts(altair, errors))


def _charts(altair: Any, errors: dict[str, pl.DataFrame]) -> dict[str, Any]:
    rows = [{"model": name, **row} for name, frame in errors.items() for row in frame.rows(named=True)]
    if not rows:
        return {}
    return {
        "errors": altair.Chart(altair.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=altair.X("level:O", title="human similarity", axis=altair.Axis(labelAngle=0)),
            y=altair.Y("error:Q", title="mean squared error"),
            color=altair.Color("model:N", sort=list(errors), title=None),
            tooltip=["model:N", "level:O", "error:Q", "too_high:Q", "pairs:Q"],
        )
        .properties(width=420, height=260)
    }
