"""Which kinds of words a model matches: nouns with nouns, verbs with verbs …, and how much that gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import exact_sum, pl
from whyalike.analysis.interactions import Interactions
from whyalike.analysis.section import Column, Row, Section, View, model_colour

# Classes of words that say something; of all others the report says what they have in all.
KINDS = {
    "NOUN": "nouns",
    "PROPN": "nouns",
    "VERB": "verbs",
    "ADJ": "adjectives",
    "ADV": "adverbs",
    "NUM": "numbers",
    "PRON": "pronouns",
}
OTHERS = "function words"
MIXED = "words of two different kinds"
NOUNS = "nouns"
CONTENT = ("verbs", "adjectives", "adverbs", "numbers")
SHARE = Column(
    "share",
    "share of what raises the score",
    "share",
    "of the sum of all word pairs that raise the score, the part of pairs of this kind",
)
OF_PAIRS = Column("share_of_pairs", "share of all word pairs", "share", "how common such pairs are")
WEIGHT = Column(
    "weight", "times the average pair", "times", "the first divided by the second: 1 means no more than any two words"
)


def by_kind(table: Interactions) -> pl.DataFrame:
    """What pairs of two words of one kind give, as a share of all that raises the score between words.

    ``weight`` is that share over their share of all word pairs: how much more such a pair gives than a pair of any two words.
    """
    kind = [
        pl.col(f"{side}_pos").replace_strict(KINDS, default=OTHERS, return_dtype=pl.String).alias(side)
        for side in ("left", "right")
    ]
    words = table.words.filter((pl.col("left_at") >= 0) & (pl.col("right_at") >= 0))
    found = (
        words.select(*kind, positive=pl.col("value").clip(lower_bound=0))
        .with_columns(kind=pl.when(pl.col("left") == pl.col("right")).then("left").otherwise(pl.lit(MIXED)))
        .group_by("kind")
        .agg(count=pl.len(), positive=exact_sum(pl.col("positive")))
        .collect(engine="streaming")
        .sort("kind")
    )
    share, pairs = (pl.col(name) / pl.col(name).sum() for name in ("positive", "count"))
    return (
        found.select("kind", "count", share=share.fill_nan(0.0), share_of_pairs=pairs)
        .with_columns(weight=pl.col("share") / pl.col("share_of_pairs"))
        .sort(["share", "kind"], descending=[True, False])
    )


def kinds(corpus: Corpus) -> Section:
    """A table over all models, and a chart of it."""
    found = {name: by_kind(table).rows(named=True) for name, table in corpus.tables().items()}
    says = []
    for name, rows in found.items():
        own = [row for row in rows if row["kind"] not in (MIXED, OTHERS)][:3]
        listed = "; ".join(
            f"{row['kind']} {row['share']:.0%} ({row['weight']:.1f} times the average pair)" for row in own
        )
        if own:
            says.append(f"{name}: two words of the same kind give most where both are {listed}.")
    return Section(
        "kinds",
        "Which kinds of words are matched",
        tuple(says),
        found,
        lambda altair: {"shares": _chart(altair, found)},
        explained="Every word of one text is paired with every word of the other. A pair raises the score, "
        "lowers it, or does "
        "nothing. Shown here: of all that raises the score, how much comes from two nouns, two verbs, and so on, "
        "and how "
        "common such pairs are.",
        views=(
            View(
                "Pairs of two words of one kind",
                (Column("kind", "both words are"),),
                (SHARE, OF_PAIRS, WEIGHT, Column("count", "pairs", "count")),
                found,
            ),
        ),
    )


def _chart(altair: Any, found: Mapping[str, Sequence[Row]]) -> Any:
    rows = [
        {"model": name, "kind": row["kind"], "share": row["share"], "pairs": row["share_of_pairs"]}
        for name, each in found.items()
        for row in each
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("kind:N", sort=list(dict.fromkeys(row["kind"] for row in rows)), title=None),
        yOffset=altair.YOffset("model:N", sort=list(found)),
        tooltip=["model:N", "kind:N", altair.Tooltip("share:Q", format=".1%"), altair.Tooltip("pairs:Q", format=".1%")],
    )
    axis = altair.Axis(format="%", tickCount=6)
    bars = base.mark_bar().encode(
        x=altair.X("share:Q", axis=axis, title="share of what raises the score"),
        color=model_colour(altair, list(found)),
    )
    common = base.mark_tick(thickness=3, color="#888").encode(x="pairs:Q")
    return (bars + common).properties(
        width=420,
        height=max(180, 26 * len(found) * len({row["kind"] for row in rows})),
        description="What pairs of two words of one kind add (bars), and how common such pairs are (grey marks).",
    )
