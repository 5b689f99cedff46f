"""What is measured of one model over a corpus, as numbers that can be compared with another model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from jaxtyping import Float, Int

from whyalike.analysis.adjectives import attributions_of
from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import exact_sum, pl
from whyalike.analysis.interactions import Interactions
from whyalike.analysis.kinds import KINDS, by_kind
from whyalike.analysis.lexical import by_word
from whyalike.analysis.models import errors_by_level
from whyalike.analysis.negation import Choice, picks_of, probe
from whyalike.analysis.section import Row
from whyalike.statistics import rank_correlation

OFTEN = (10, 5, 3)  # occurrences from which a word counts: the first of them that enough words reach
ENOUGH_WORDS = 10
DRAWS = 1000
SURE = 0.95
FAR = 0.3  # of all pairs: how far apart two ranks of a pair are, to be called far apart


class Statistic(Protocol):
    """A number over items, which can be computed again of some of them."""

    def __len__(self) -> int: ...
    def of(self, items: Int[np.ndarray, "drawn"]) -> float: ...


Same = TypeVar("Same", bound=Statistic)


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """The sum of parts over the sum of wholes; a mean where every whole is one."""

    parts: Float[np.ndarray, "items"]
    wholes: Float[np.ndarray, "items"]

    @classmethod
    def mean(cls, values: Sequence[float] | Float[np.ndarray, "items"]) -> Share:
        return cls(np.asarray(values, dtype=np.float64), np.ones(len(values)))

    def __len__(self) -> int:
        return len(self.parts)

    def of(self, items: Int[np.ndarray, "drawn"]) -> float:
        whole = float(self.wholes[items].sum())
        return float(self.parts[items].sum()) / whole if whole else 0.0

    @property
    def value(self) -> float:
        return self.of(np.arange(len(self)))


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """How far scores and human scores put pairs in the same order."""

    scores: Float[np.ndarray, "items"]
    labels: Float[np.ndarray, "items"]

    def __len__(self) -> int:
        return len(self.scores)

    def of(self, items: Int[np.ndarray, "drawn"]) -> float:
        return rank_correlation(self.scores[items], self.labels[items])

    @property
    def value(self) -> float:
        return self.of(np.arange(len(self)))


def is_sure(one: Same, other: Same) -> bool:
    """Whether one is larger or smaller in at least 95 % of 1,000 samples of the same items, drawn with replacement."""
    if len(one) != len(other) or len(one) < 2:
        return False
    generator = np.random.default_rng(0)
    drawn = generator.integers(0, len(one), (DRAWS, len(one)))
    gaps = np.array([one.of(items) - other.of(items) for items in drawn])
    low, high = np.nanquantile(gaps, [(1 - SURE) / 2, (1 + SURE) / 2])
    return bool(low > 0 or high < 0)


@dataclass(frozen=True, slots=True, eq=False)
class Negation:
    """How far *not* moves a sentence, as a share of the way to an unrelated one; and *now*, which changes little, beside it."""

    moved: Share
    harmless: Share
    score: Share  # of a sentence with itself negated
    chosen: Share | None = None  # right paraphrases, where they were asked for
    chance: float = 0.0  # of a right one


@dataclass(frozen=True, slots=True, eq=False)
class Opposites:
    """Scores of sentences that differ in one adjective."""

    synonyms: Share
    opposites: Share
    confused: Share  # triplets in which the opposite scores at least as high as the synonym


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Agreement with human scores, and where the score is farthest from them."""

    ranks: Ranks
    far: Share  # pairs whose two ranks lie far apart
    worst: Row | None  # level, error and too_high; None where scores have no scale of their own


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Words that add most and least to the score when both texts have them."""

    least: int  # occurrences
    most: tuple[str, ...]
    fewest: tuple[str, ...]
    gap: float  # mean of the first over the mean of the last


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One model's numbers. What there was no material for is None."""

    kinds: Sequence[Row]
    nouns: Share
    identical: Share
    special: Share
    size: Share  # of all parts without their signs, as a multiple of the score
    background: Share
    cut: Share
    score: Share
    tokens: int | None  # the model reads
    error: float | None = None  # of an integration, the largest
    rounding: float = 0.0
    words: Words | None = None
    negation: Negation | None = None
    opposites: Opposites | None = None
    people: People | None = None


def profiles(corpus: Corpus, *, choices: Sequence[Choice] = (), english: bool = True) -> dict[str, Profile]:
    """Every model's numbers; the English probes only where the corpus is English."""
    found = {}
    for name, table in corpus.tables().items():
        encoder = corpus.encoders[name]
        shares = shares_by_pair(table)
        pairs = table.pairs.collect()
        beside = (pairs["left_terms"] + pairs["right_terms"] + pairs["constant"]).abs().to_numpy()
        score = pairs["score"].abs().to_numpy()
        found[name] = Profile(
            kinds=by_kind(table).rows(named=True),
            nouns=Share(shares["nouns"], shares["between_words"]),
            identical=Share(shares["identical"], shares["between_words"]),
            special=Share(shares["special"], shares["positive"]),
            size=Share(shares["size"] + beside, score),
            background=Share(beside, score),
            cut=Share.mean((pairs["cut"] > 0).to_numpy().astype(float)),
            score=Share.mean(pairs["score"].to_numpy()),
            tokens=encoder.record.max_tokens,
            error=max(pairs["error"].drop_nulls().to_list(), default=None),
            rounding=float(pairs["residual"].abs().to_numpy().max()),
            words=weighty_words(table),
            negation=_negation(corpus, name, choices) if english else None,
            opposites=_opposites(attributions_of(corpus, encoder)) if english else None,
            people=_people(table),
        )
    return found


def shares_by_pair(table: Interactions) -> dict[str, Float[np.ndarray, "pairs"]]:
    """Sums over the word pairs of each pair of texts.

    ``positive``: all that raises the score; ``special``: of it, what touches no word; ``between_words``: the rest; of that,
    ``nouns`` (two nouns) and ``identical`` (a word with itself); ``size``: all parts without their signs.
    """
    value = pl.col("value")
    positive = value.clip(lower_bound=0)
    words = (pl.col("left_at") >= 0) & (pl.col("right_at") >= 0)
    nouns = [tag for tag, kind in KINDS.items() if kind == "nouns"]
    both_nouns = pl.col("left_pos").is_in(nouns) & pl.col("right_pos").is_in(nouns)
    same = pl.col("left").str.to_lowercase() == pl.col("right").str.to_lowercase()
    found = (
        table.words.group_by("pair")
        .agg(
            positive=exact_sum(positive),
            special=exact_sum(positive.filter(~words)),
            between_words=exact_sum(positive.filter(words)),
            nouns=exact_sum(positive.filter(words & both_nouns)),
            identical=exact_sum(positive.filter(words & same)),
            size=exact_sum(value.abs()),
        )
        .collect(engine="streaming")
    )
    ordered = table.pairs.select("pair").collect().with_columns(pl.col("pair").cast(pl.Int32))
    ordered = ordered.join(
        found.with_columns(pl.col("pair").cast(pl.Int32)), on="pair", how="left", maintain_order="left"
    )
    return {name: ordered[name].fill_null(0.0).to_numpy() for name in ordered.columns if name != "pair"}


def weighty_words(table: Interactions, shown: int = 5) -> Words | None:
    """Of words that say something: which add most and least where both texts have them."""
    for least in OFTEN:
        words = by_word(table, least)
        words = words.filter(pl.col("pos").is_in(list(KINDS)))
        if len(words) >= ENOUGH_WORDS:
            most, fewest = words.head(shown), words.tail(shown).reverse()
            low = float(fewest["mean"].to_numpy().mean())
            gap = float(most["mean"].to_numpy().mean()) / low if low > 0 else float("inf")
            return Words(least, tuple(most["word"].to_list()), tuple(fewest["word"].to_list()), gap)
    return None


def _negation(corpus: Corpus, name: str, choices: Sequence[Choice]) -> Negation:
    encoder = corpus.encoders[name]
    rows = probe(encoder)
    way = np.array([1 - row["unrelated"] for row in rows])
    picked = picks_of(corpus, encoder, choices)
    right = [float(pick == choice.right) for choice, pick in zip(choices, picked, strict=True)]
    return Negation(
        moved=Share(np.array([1 - row["with_not"] for row in rows]), way),
        harmless=Share(np.array([1 - row["with_now"] for row in rows]), way),
        score=Share.mean([row["with_not"] for row in rows]),
        chosen=Share.mean(right) if right else None,
        chance=float(np.mean([1 / len(choice.others) for choice in choices])) if right else 0.0,
    )


def _opposites(rows: Sequence[Row]) -> Opposites:
    synonyms, opposites = ([row["score"] for row in rows if row["kind"] == kind] for kind in ("synonym", "opposite"))
    confused = [float(other >= same) for same, other in zip(synonyms, opposites, strict=True)]
    return Opposites(Share.mean(synonyms), Share.mean(opposites), Share.mean(confused))


def _people(table: Interactions) -> People | None:
    known = table.pairs.filter(pl.col("label").is_not_null()).collect()
    ranks = Ranks(known["score"].to_numpy(), known["label"].to_numpy())
    if len(known) < 3 or np.isnan(ranks.value):
        return None
    gap = (known["score"].rank() - known["label"].rank()).abs().to_numpy() / len(known)
    worst = None
    if table.similarity == "cosine":  # a dot product has no scale to err on
        worst = errors_by_level(table).sort("error", descending=True).row(0, named=True)
    return People(ranks, Share.mean((gap > FAR).astype(float)), worst)
