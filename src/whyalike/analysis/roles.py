"""Which syntactic roles the strongest attributions join (Siamese paper, Figure 6).

Differs from the paper: a word's attributions are the sum of its tokens', not their mean, as everywhere here.
"""

from __future__ import annotations

from typing import Any

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import in_no_order, pl
from whyalike.analysis.interactions import Interactions
from whyalike.analysis.section import Column, Section, View, model_colour
from whyalike.errors import BadInput

TOP = 0.1
SHOWN = 16


ROLES = {  # of Universal Dependencies, in plain words
    "nsubj": "subject",
    "obj": "object",
    "iobj": "indirect object",
    "obl": "adverbial phrase",
    "nmod": "noun attribute",
    "root": "main word",
    "amod": "adjective",
    "advmod": "adverb",
    "det": "article",
    "case": "preposition",
    "aux": "auxiliary verb",
    "cop": "copula",
    "mark": "conjunction",
    "cc": "and/or",
    "punct": "punctuation",
    "nummod": "number",
    "ccomp": "clause",
    "xcomp": "open clause",
    "advcl": "adverbial clause",
    "acl": "clause on a noun",
    "nsubjpass": "subject of a passive",
    "auxpass": "passive auxiliary",
}


def role_name(role: str) -> str:
    """A role in plain words; the parser's own name where we have none."""
    return ROLES.get(role.partition(":")[0], role)


def has_roles(table: Interactions) -> bool:
    """Whether the tagger was a parser."""
    found = table.words.select((pl.col(f"{side}_role") != "").any() for side in ("left", "right")).collect(
        engine="streaming"
    )
    return all(found.row(0))


def by_roles(table: Interactions, top: float = TOP) -> pl.DataFrame:
    """Among each pair's strongest share of word pairs: how often two roles meet, in no order."""
    if not 0 < top <= 1:
        raise BadInput(f"top is a share of a pair's attributions, above 0 and at most 1; got {top!r}.")
    if not has_roles(table):
        raise BadInput("The tagger gives no relations between words. Use a parser, such as the tagger 'english'.")
    roles_met = in_no_order(pl.col("left_role"), pl.col("right_role"))
    rank = pl.col("value").rank("ordinal", descending=True).over("pair")
    counts = []
    for words in table.files:  # ranks are within a pair, and a pair is in one file
        own = words.filter((pl.col("left_at") >= 0) & (pl.col("right_at") >= 0))
        strongest = own.filter(rank <= (pl.len().over("pair") * top).ceil())
        counts.append(strongest.group_by(*roles_met).agg(count=pl.len()).collect(engine="streaming"))
    found = pl.concat(counts).group_by("first", "second").agg(pl.col("count").sum())
    return (
        found.with_columns(share=pl.col("count") / pl.col("count").sum())
        .sort(["count", "first", "second"], descending=[True, False, False])
        .with_columns(rank=pl.int_range(1, pl.len() + 1))
    )


def roles(corpus: Corpus, top: float = TOP) -> Section:
    found = {name: by_roles(table, top) for name, table in corpus.tables().items()}
    says = []
    for name, frame in found.items():
        listed = "; ".join(
            f"{role_name(row['first'])} with {role_name(row['second'])} {row['share']:.1%}"
            for row in frame.head(4).rows(named=True)
        )
        same = frame.filter(pl.col("first") == pl.col("second"))["share"].sum()
        says.append(
            f"{name}: of the strongest {top:.0%} of word pairs most join {listed}. In {same:.0%} both words have "
            "the same role."
        )
    return Section(
        "roles",
        "Syntactic roles",
        tuple(says),
        {name: frame.rows(named=True) for name, frame in found.items()},
        lambda altair: {"shares": _chart(altair, found)},
        explained="A parser gives every word its role in its sentence: subject, object, main word … Counted "
        "here: which two roles "
        f"the strongest {top:.0%} of the word pairs of each pair of texts join.",
        views=(
            View(
                "Roles joined by the strongest word pairs",
                (Column("first", "role"), Column("second", "and role")),
                (Column("share", "share of the strongest pairs", "share"), Column("count", "pairs", "count")),
                {
                    name: [
                        {**row, "first": role_name(row["first"]), "second": role_name(row["second"])}
                        for row in frame.rows(named=True)
                    ]
                    for name, frame in found.items()
                },
            ),
        ),
    )


def _chart(altair: Any, found: dict[str, pl.DataFrame]) -> Any:
    rows = [
        {"roles": f"{role_name(row['first'])} – {role_name(row['second'])}", "share": row["share"], "model": name}
        for name, frame in found.items()
        for row in frame.rows(named=True)
    ]
    order = list(dict.fromkeys(row["roles"] for row in sorted(rows, key=lambda row: -float(row["share"]))))[:SHOWN]
    shown = [row for row in rows if row["roles"] in order]
    return (
        altair.Chart(altair.Data(values=shown))
        .mark_bar()
        .encode(
            y=altair.Y("roles:N", sort=order, title=None, axis=altair.Axis(labelLimit=260)),
            yOffset=altair.YOffset("model:N", sort=list(found)),
            x=altair.X("share:Q", axis=altair.Axis(format="%", tickCount=6), title="share of the strongest word pairs"),
            color=model_colour(altair, list(found)),
            tooltip=["roles:N", "model:N", altair.Tooltip("share:Q", format=".2%")],
        )
        .properties(
            width=400,
            height=max(200, 18 * len(order) * len(found)),
            description="Which two syntactic roles the strongest word pairs join.",
        )
    )
