"""Which words a model always, or never, matches with themselves (Siamese paper, section 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import exact_sum, pl
from whyalike.analysis.interactions import PROMPT, Interactions
from whyalike.analysis.section import Column, Row, Section, View, model_colour
from whyalike.errors import BadInput
from whyalike.statistics import rank_correlation

LEAST = 30  # occurrences
DENSITIES = 30
DRAWN = 500  # values of a word that its density is drawn from
RANKED = 20  # words of either model whose ranks are drawn side by side


def same_words(table: Interactions) -> pl.LazyFrame:
    """The attributions of every word that meets itself, whatever the case of its letters; special tokens as they are."""
    word, other = (
        pl.when(pl.col(f"{side}_at") < 0).then(pl.col(side)).otherwise(pl.col(side).str.to_lowercase())
        for side in ("left", "right")
    )
    words = table.words.with_columns(word=word, other=other)
    own = (pl.col("left_pos") != PROMPT) & (pl.col("right_pos") != PROMPT)
    return words.filter(own & (pl.col("word") == pl.col("other"))).select("word", "value", "left_pos")


def by_word(table: Interactions, least: int = LEAST) -> pl.DataFrame:
    """Mean and deviation of each word seen often enough, and its rank, the largest mean first."""
    value, count = pl.col("value"), pl.len()
    mean = exact_sum(value) / count
    spread = (exact_sum(value**2) - count * mean**2).clip(lower_bound=0)
    found = (
        same_words(table)
        .group_by("word")
        .agg(
            count=count,
            mean=mean,
            deviation=pl.when(count > 1).then((spread / (count - 1)).sqrt()),
            pos=pl.col("left_pos").mode().sort().first(),
        )
        .filter(pl.col("count") >= least)
        .sort(["mean", "word"], descending=[True, False])
        .collect(engine="streaming")
    )
    return found.with_columns(rank=pl.int_range(1, pl.len() + 1))


def lexical(corpus: Corpus, least: int = LEAST) -> Section:
    if least < 1:
        raise BadInput(f"least is a number of occurrences, at least 1; got {least!r}.")
    tables = corpus.tables()
    found = {name: by_word(table, least) for name, table in tables.items()}
    says: list[str] = []
    shown: dict[str, list[Row]] = {}
    for name, frame in found.items():
        if frame.is_empty():
            says.append(
                f"{name}: no word stands in both texts of a pair {least} times or more. Give more pairs, or a "
                "smaller least."
            )
            continue
        few = min(5, len(frame) // 2)
        most, fewest = (
            ", ".join(f"“{word}”" for word in part["word"].to_list()) or "none"
            for part in (frame.head(few), frame.tail(few))
        )
        says.append(
            f"{name}: {len(frame)} words stand in both texts of a pair at least {least} times. These add most to "
            "the score: "
            f"{most}; these least: {fewest}."
        )
        shown[name] = frame.rows(named=True)
    names = [name for name, frame in found.items() if not frame.is_empty()]
    for other in names[1:]:
        both = _joined(found, names[0], other)
        if len(both) > 2:
            ranks = rank_correlation(both["mean"], both["mean_other"])
            says.append(
                f"{names[0]} and {other} put the {len(both)} words they share in similar order to this degree: rank "
                f"correlation {ranks:.2f} (1: the same order)."
            )
            shown[f"{names[0]} beside {other}"] = both.rows(named=True)
    return Section(
        "lexical",
        "Identical words",
        tuple(says),
        shown,
        lambda altair: {
            **{f"ranks-{number}": _ranks(altair, found, names[0], other) for number, other in enumerate(names[1:], 1)},
            **{f"{number}": _densities(altair, tables[name], found[name], name) for number, name in enumerate(names)},
        },
        explained="Where both texts of a pair have the same word, the pair of the word with itself has a part in "
        "the score. "
        "Words with a large part decide; words with a small one hardly count, even where both texts have them. "
        "Special tokens "
        "such as [CLS] and [SEP] are listed too.",
        views=(
            View(
                f"Words that stand in both texts at least {least} times",
                (Column("word", "word"),),
                (
                    Column("mean", "adds on average", "signed", "mean part of the score"),
                    Column("deviation", "deviation", "number", "how much that varies from pair to pair"),
                    Column("count", "times", "count"),
                ),
                {name: frame.rows(named=True) for name, frame in found.items() if not frame.is_empty()},
            ),
        )
        if names
        else (),
    )


def _joined(found: Mapping[str, pl.DataFrame], one: str, other: str) -> pl.DataFrame:
    """The words both have, with their ranks and means."""
    both = found[one].join(found[other], on="word", suffix="_other")
    return both.select("word", "rank", "rank_other", "mean", "mean_other")


def _by_place(altair: Any) -> Any:
    """By number, not by a list of words: a word may be a quotation mark, which would end the list's own."""
    return altair.EncodingSortField("place", op="min")


def _ranks(altair: Any, found: Mapping[str, pl.DataFrame], one: str, other: str) -> Any:
    """The top words of either model with their ranks in both (Figure 10)."""
    both = _joined(found, one, other)
    top = both.filter((pl.col("rank") <= RANKED) | (pl.col("rank_other") <= RANKED)).sort("rank")
    points = [
        {"word": row["word"], "place": place, "model": name, "rank": row[rank]}
        for place, row in enumerate(top.rows(named=True))
        for name, rank in ((one, "rank"), (other, "rank_other"))
    ]
    words = altair.Chart(altair.Data(values=points)).encode(
        x=altair.X("rank:Q", title="rank, 1 adds most"),
        y=altair.Y("word:N", sort=_by_place(altair), title=None),
    )
    lines = words.mark_line(color="#bbb").encode(detail="word:N")
    dots = words.mark_point(filled=True, size=60, opacity=1).encode(
        color=model_colour(altair, list(found)), tooltip=["word:N", "model:N", "rank:Q"]
    )
    return (lines + dots).properties(
        width=420,
        title=f"the top {RANKED} words of either model",
        description=f"Ranks of the words that add most to the score, with {one} and with {other}.",
    )


def _densities(altair: Any, table: Interactions, frame: pl.DataFrame, name: str) -> Any:
    top = frame.head(DENSITIES)["word"].to_list()
    some = pl.int_range(pl.len()).over("word") < DRAWN
    words = same_words(table).filter(pl.col("word").is_in(top)).select("word", "value")
    found = words.collect(engine="streaming").filter(some).rows(named=True)
    values = [{**row, "place": top.index(row["word"])} for row in found]
    known = [float(row["value"]) for row in values]
    extent = [min(0.0, *known), max(known)]
    axis = altair.X("value:Q", title="added by the word paired with itself")
    return (
        altair.Chart(altair.Data(values=values), width=420, height=18)
        .transform_density("value", groupby=["word", "place"], as_=["value", "density"], extent=extent)
        .mark_area(line={"color": "#7f3b08"}, color="#b35806", opacity=0.5)
        .encode(x=axis, y=altair.Y("density:Q", axis=None), tooltip=["word:N"])
        .facet(
            row=altair.Row(
                "word:N", sort=_by_place(altair), title=None, header=altair.Header(labelAngle=0, labelAlign="left")
            ),
            spacing=0,
            title=f"{name}: the {len(top)} words with the largest mean",
        )
        .resolve_scale(y="independent")
        .properties(description=f"{name}: how the part of each word, paired with itself, varies from pair to pair.")
    )
