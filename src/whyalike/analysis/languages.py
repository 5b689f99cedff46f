"""The same pairs in two languages, and mixed: what is lost on the way (BiLRP paper, section 5.2, Figures 4 and 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import pl
from whyalike.analysis.parts_of_speech import by_tags
from whyalike.analysis.section import Row, Section
from whyalike.api import explain
from whyalike.data.tables import evenly
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.language.words import Tagger
from whyalike.methods import Method
from whyalike.methods.spec import MethodSpec
from whyalike.statistics import rank_correlation

CHANGES = 10
TURNS = {"positive": "what raises scores", "negative": "what lowers scores"}
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, eq=False)
class BilingualCorpus:
    """The same scored pairs, row by row, in two languages, and models to try: monolingual ones, and one that reads both."""

    pairs: Mapping[str, Pairs]  # by language, two of them
    labels: Sequence[float]
    taggers: Mapping[str, Tagger]
    multi: Encoder
    mono: Mapping[str, Encoder]  # by language; may be empty
    folder: Path
    method: str | Method | MethodSpec = "bilrp"
    layer: int | None = None
    explained: int | None = None  # how many pairs, spread evenly; None: all
    progress: bool = True

    def __repr__(self) -> str:
        return f"BilingualCorpus({len(self.labels):,} pairs, {', '.join(self.pairs)}, {self.description})"

    @property
    def description(self) -> str:
        return self.corpus_of(next(iter(self.sides))).description

    @property
    def request(self) -> dict[str, Any]:
        """What tells a run over this corpus from another."""
        models = {"both": self.multi, **self.mono}
        return {
            "models": {name: asdict(encoder.record) for name, encoder in models.items()},
            "settings": {name: self.corpus_of(name).request for name in self.sides},
        }

    def __post_init__(self) -> None:
        if len(self.pairs) != 2 or len({len(pairs) for pairs in self.pairs.values()}) != 1:
            raise BadInput("Give the same pairs, row by row, in two languages.")

    @property
    def settings(self) -> dict[str, Pairs]:
        """Each language by itself, and the left texts of the first with the right texts of the second."""
        first, second = self.pairs.values()
        mixed = [(a[0], b[1]) for a, b in zip(first, second, strict=True)]
        return dict(zip(self.sides, (first, second, mixed), strict=True))

    @property
    def sides(self) -> dict[str, tuple[str, str]]:
        """The languages of each setting's two sides."""
        one, other = self.pairs
        return {f"{left}–{right}": (left, right) for left, right in ((one, one), (other, other), (one, other))}

    def corpus_of(self, setting: str) -> Corpus:
        one, other = (self.taggers[language] for language in self.sides[setting])
        pairs = self.settings[setting]
        numbers = evenly(len(pairs), self.explained)
        return Corpus(
            pairs=[pairs[number] for number in numbers],
            labels=[self.labels[number] for number in numbers],
            encoders={"both": self.multi},
            folder=self.folder / f"setting-{list(self.sides).index(setting)}",
            tagger=(one, other),
            method=self.method,
            layer=self.layer,
            progress=self.progress,
        )


def correlations(corpus: BilingualCorpus) -> list[Row]:
    """Rank correlation with people: each model on each setting it can be asked about."""
    rows: list[Row] = []
    for setting, pairs in corpus.settings.items():
        one, other = corpus.sides[setting]
        asked = {"multilingual": corpus.multi} | (
            {"monolingual": corpus.mono[one]} if one == other and one in corpus.mono else {}
        )
        for name, encoder in asked.items():
            left, right = (encoder.embed([pair[side] for pair in pairs]) for side in (0, 1))
            scores = [encoder.record.score(a, b) for a, b in zip(left, right, strict=True)]
            rows.append({"setting": setting, "model": name, "spearman": rank_correlation(scores, corpus.labels)})
    return rows


def changes(corpus: BilingualCorpus) -> dict[str, list[Row]]:
    """Per monolingual setting: the classes whose accumulated relevance the mixed setting changes most, by sign."""
    found = {}
    for setting in corpus.settings:
        (table,) = corpus.corpus_of(setting).tables().values()
        found[setting] = by_tags(table).select("first", "second", positive="positive_share", negative="negative_share")
    *mono, mixed = corpus.settings
    rows = {}
    for setting in mono:
        joined = (
            found[setting]
            .join(found[mixed], on=["first", "second"], how="full", coalesce=True, suffix="_mixed")
            .fill_null(0.0)
        )
        for sign in ("positive", "negative"):
            gap = (pl.col(f"{sign}_mixed") - pl.col(sign)).alias("change")
            rows[f"{TURNS[sign]}, {setting} to {mixed}"] = (
                joined.select("first", "second", alone=sign, mixed=f"{sign}_mixed", change=gap)
                .sort([pl.col("change").abs(), "first", "second"], descending=[True, False, False])
                .head(CHANGES)
                .rows(named=True)
            )
    return rows


def languages(corpus: BilingualCorpus, *, example: int | None = None) -> Section:
    """``example`` is the pair to show in all three settings; the one with the highest label where it is None."""
    if example is not None and not 0 <= example < len(corpus.labels):
        raise BadInput(f"There is no pair {example}; they are counted from 0 to {len(corpus.labels) - 1}.")
    known = correlations(corpus)
    changed = changes(corpus)
    number = int(np.argmax(corpus.labels)) if example is None else example
    pictures = {
        f"{setting}, human score {corpus.labels[number]:.2f}": explain(
            *pairs[number], encoder=corpus.multi, method=corpus.method, layer=corpus.layer, truncate=True
        ).by_word()
        for setting, pairs in corpus.settings.items()
    }
    says = [
        "Rank correlation with human scores (1: the same order): "
        + ", ".join(f"{row['setting']} ({row['model']}) {row['spearman']:.3f}" for row in known)
        + "."
    ]
    for name, rows in changed.items():
        if rows and name.startswith(TURNS["positive"]):
            says.append(
                f"{name}: these parts of speech change most: "
                + ", ".join(f"{r['first']}–{r['second']} {r['change']:+.2f}" for r in rows[:4])
                + "."
            )
    return Section(
        "languages",
        "Languages",
        tuple(says),
        {"correlation with people": known, **changed},
        lambda altair: {
            "correlation": _bars(altair, known),
            **{f"change-{n}": _changes(altair, name, rows) for n, (name, rows) in enumerate(changed.items())},
        },
        pictures,
        explained="The same pairs are read in one language, in the other, and mixed: the left text in one, the "
        "right in the other. "
        "Compared are agreement with people, and which parts of speech raise or lower scores, as a share of the "
        "largest.",
    )


def _bars(altair: Any, rows: Sequence[Row]) -> Any:
    return (
        altair.Chart(altair.Data(values=[dict(row) for row in rows]))
        .mark_bar()
        .encode(
            x=altair.X("setting:N", title=None, axis=altair.Axis(labelAngle=0)),
            xOffset="model:N",
            y=altair.Y("spearman:Q", title="rank correlation with people"),
            color=altair.Color("model:N", title=None),
        )
        .properties(width=300, height=220, description="Rank correlation with human scores, by language.")
    )


def _changes(altair: Any, title: str, rows: Sequence[Row]) -> Any:
    values = [
        {"classes": f"{row['first']}–{row['second']}", "setting": setting, "relevance": row[setting]}
        for row in rows
        for setting in ("alone", "mixed")
    ]
    return (
        altair.Chart(altair.Data(values=values))
        .mark_bar()
        .encode(
            y=altair.Y("classes:N", sort=[value["classes"] for value in values], title=None),
            yOffset="setting:N",
            x=altair.X("relevance:Q", title="share of the largest"),
            color=altair.Color("setting:N", title=None),
        )
        .properties(
            width=300,
            height=max(120, 28 * len(rows)),
            title=title,
            description=f"{title}: the parts of speech that change most, alone and mixed.",
        )
    )
