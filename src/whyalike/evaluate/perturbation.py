"""Is the explanation faithful? What happens to the model when words are taken away, or put back, in the order it gives.

Two questions. **Embedding** (BiLRP paper, 4.3 and appendix B): tokens are put back into an all-mask sequence by falling sum of
their pairs; how soon does the text's own embedding return? **Score**, the one to judge by: words are taken from both texts, or
put back into both; how soon does the *similarity of the pair* fall, or return? (Comprehensiveness and sufficiency for pairs.)

What the paper leaves open are options of the measure. Where nothing is said: special tokens always stay; a token that is not
there yet is the mask token (the unknown or padding token where a tokenizer has none; the result says which); after a share
``s`` of the steps, ``round(s·n)`` of ``n`` tokens are back; distances are of the embeddings before any normalisation, and the
area is their mean over all steps and both texts. An explanation in words ranks all tokens of a word in a row.
Differs from the paper: where a tokenizer has no mask token, it has a token of its own.

For the score, words are *deleted*: two texts full of mask tokens are alike, so that replacing words would raise the score. Two
empty texts are alike too, which is why no more than half of the words are taken away, and nothing is measured before the
first word is back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float

from whyalike.data.tables import evenly
from whyalike.encoders.encoder import Embeddings, Encoder
from whyalike.encoders.tokens import Reading
from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.encoders.twin import Features
from whyalike.errors import BadInput, unknown
from whyalike.evaluate.measure import Case, Measure, Row, means
from whyalike.evaluate.subjects import Subject
from whyalike.methods.cache import ContributionCache
from whyalike.results.explanation import Explanation
from whyalike.results.sides import Side

Trial = tuple[int | None, int | None]  # a word of the left text, of the right, or of each
Order = list[int]  # indices of a side's own units, the most important first
SIDES: tuple[Literal["left", "right"], Literal["left", "right"]] = ("left", "right")
ORDERS = ("rows", "rows_and_terms", "pairs")
SEARCH = "greedy search"
DIGITS = 6  # of a score that are no rounding: words that do as well are searched from left to right
ROWS_TOGETHER = 256
ROUNDING: dict[str, Callable[[float], int]] = {"nearest": round, "down": math.floor, "up": math.ceil}
Removal = Literal["delete", "replace"]
STAYING = ("special", "prompt", "expansion", "skipped")  # kinds of tokens that are no part of the text, or of no weight


def replacement(encoder: Encoder) -> tuple[str, int]:
    """What a word becomes when it is taken away."""
    tokenizer = encoder.transformer.reader.tokenizer
    for name in ("mask", "unk", "pad"):
        number = getattr(tokenizer, f"{name}_token_id")
        if number is not None:
            return name, int(number)
    raise BadInput(
        f"The tokenizer of {encoder.record.name!r} has no mask, unknown or padding token to put in a word's place."
    )


def _replaced(encoder: Encoder) -> str:
    return f"A removed token is replaced by the {replacement(encoder)[0]} token."


def embeddings_with(
    encoder: Encoder,
    reading: Reading,
    kept: Bool[np.ndarray, "rows tokens"],
    removal: Removal,
    staying: Sequence[str] = STAYING,
) -> Embeddings:
    """The embedding of a text with only some of its tokens, for each row; tokens of the ``staying`` kinds are always there."""
    inside = encoder.transformer
    (batch,) = inside.batches([reading], 1)
    always = np.array([kind in staying for kind in reading.side.kinds])
    kept, places = np.unique(kept | always, axis=0, return_inverse=True)
    found: dict[int, Float[np.ndarray, "*dim"]] = {}
    # Rows of one length go together: deleted tokens leave no gap, replaced ones do not change the length.
    lengths = kept.sum(1) if removal == "delete" else np.full(len(kept), kept.shape[1])
    for length in np.unique(lengths):
        numbers = np.flatnonzero(lengths == length)
        for start in range(0, len(numbers), ROWS_TOGETHER):
            some = numbers[start : start + ROWS_TOGETHER]
            features = _features(inside, batch, torch.as_tensor(kept[some], device=inside.device), removal)
            for number, row in zip(some.tolist(), inside.run(features, inside.layers)[0].double().cpu(), strict=True):
                left = reading if removal == "replace" else _with_some(reading, kept[number])
                found[number] = inside.places(left, row).scorable(row.numpy())
    embeddings = [found[place] for place in places.tolist()]
    return embeddings if encoder.record.kind == "multi-vector" else np.array(embeddings)


def _with_some(reading: Reading, kept: Bool[np.ndarray, "tokens"]) -> Reading:
    """What is left of a reading's scored tokens where some tokens were deleted."""
    return reading if reading.scored is None else replace(reading, scored=reading.scored[kept])


def _features(
    encoder: TransformerEncoder, batch: Batch, kept: Bool[torch.Tensor, "rows tokens"], removal: Removal
) -> Features:
    rows = {
        name: value.expand(len(kept), -1) if isinstance(value, torch.Tensor) and value.ndim == 2 else value
        for name, value in batch.features.items()
    }
    if removal == "replace":
        return {**rows, "input_ids": torch.where(kept, rows["input_ids"], replacement(encoder)[1])}
    return {
        name: value[kept].unflatten(0, (len(kept), -1))
        if isinstance(value, torch.Tensor) and value.ndim == 2
        else value
        for name, value in rows.items()
    }


def _check_step(step: float, most: float) -> None:
    if not 0 < step <= most:
        raise BadInput(f"step is a share of the words, above 0 and at most {most:g}; got {step!r}.")


def orders(e: Explanation, kind: str, units: Sequence[Sequence[int]] | None = None) -> tuple[Order, Order]:
    """Each side's own units (or those given), most important first: by their totals, or by the strongest pair they stand in.

    What an explanation gives the same value stands in an order drawn by chance, the same for all explanations of that size.
    """
    mine = (e.left.own, e.right.own) if units is None else units
    chance = np.random.default_rng(e.matrix.shape)
    if kind == "pairs":
        cells = np.lexsort((chance.permutation(e.matrix.size), -e.matrix.ravel()))
        ranked = [each.tolist() for each in np.unravel_index(cells, e.matrix.shape)]
    else:
        terms = kind == "rows_and_terms"
        totals = (e.matrix.sum(1) + terms * e.left_terms, e.matrix.sum(0) + terms * e.right_terms)
        ranked = [np.lexsort((chance.permutation(len(total)), -total)).tolist() for total in totals]
    left, right = ([n for n in dict.fromkeys(order) if n in own] for order, own in zip(ranked, mine, strict=True))
    return left, right


def token_order(tokens: Side, units: Side, order: Order, ranked: Sequence[int]) -> Order:
    """An order of units as one of tokens: all tokens of a unit in a row. Tokens to rank that are in none of them come last."""
    member = _members(tokens, units)
    found = [int(token) for unit in order for token in np.flatnonzero(member[:, unit])]
    return [token for token in dict.fromkeys([*found, *ranked]) if token in ranked]


def kept_after(
    reading: Reading, e: Explanation, side: Literal["left", "right"], order: Order, counts: Sequence[int], *, back: bool
) -> Bool[np.ndarray, "steps tokens"]:
    """Which tokens are there when so many units were put back (or taken away)."""
    units = getattr(e, side)
    member = _members(reading.side, units)
    rows = []
    for count in counts:
        named = np.zeros(len(units), dtype=bool)
        named[order[:count]] = True
        touched = (member & named[None]).any(1)
        rows.append(touched if back else ~touched)
    return np.array(rows)


def _members(tokens: Side, units: Side) -> Bool[np.ndarray, "tokens units"]:
    """Which of the explanation's units each token of the text belongs to, by characters; special tokens are their own."""
    found = np.zeros((len(tokens), len(units)), dtype=bool)
    starts, ends = units.offsets[units.own].T
    for number in tokens.own:
        start, end = tokens.offsets[number]
        found[number, units.own] = (starts < end) & (start < ends) | ((starts == start) & (ends == end))
    special = [[n for n, kind in enumerate(side.kinds) if kind == "special"] for side in (tokens, units)]
    if len(special[0]) == len(special[1]):
        found[special[0], special[1]] = True
    return found


@dataclass(frozen=True, slots=True)
class EmbeddingPerturbation(Measure):
    """How soon a text's own embedding returns as its tokens are put back. Lower is better."""

    name: ClassVar[str] = "perturbation_embedding"
    headline: ClassVar[str] = "area"
    higher_is_better: ClassVar[bool | None] = False
    step: float = 0.04
    terms: bool = False  # whether a token's total has its term
    special_tokens: Literal["stay", "ranked"] = "stay"
    rounding: Literal["nearest", "down", "up"] = "nearest"  # of the number of tokens that are back
    scale: Literal["raw", "unit"] = "raw"  # of embeddings whose distance is taken

    def __post_init__(self) -> None:
        _check_step(self.step, 1.0)
        for name, known in (("special_tokens", ("stay", "ranked")), ("rounding", ROUNDING), ("scale", ("raw", "unit"))):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        readings = encoder.read_pair(case.left, case.right)
        rows: list[Row] = []
        for name, e in found.items():
            own = [self.ranked(side) for side in (e.left, e.right)]
            curves = [
                self.curve(encoder, reading, token_order(reading.side, units, order, self.ranked(reading.side)))
                for units, order, reading in zip(
                    (e.left, e.right), orders(e, ORDERS[self.terms], own), readings, strict=True
                )
            ]
            rows.append({"subject": name, **area(curves)})
        return rows

    def ranked(self, side: Side) -> list[int]:
        """The units of a side that are taken away and put back."""
        return [n for n, kind in enumerate(side.kinds) if kind not in self._staying]

    def curve(self, encoder: Encoder, reading: Reading, tokens: Order) -> Float[np.ndarray, "steps"]:
        """The distance to the text's own embedding after each step, its tokens put back in this order."""
        shares = np.arange(0, 1 + 1e-9, self.step)
        counts = [ROUNDING[self.rounding](round(share * len(tokens), 9)) for share in shares]
        kept = np.zeros((len(counts) + 1, len(reading.ids)), dtype=bool)
        for number, count in enumerate([*counts, len(tokens)]):
            kept[number, tokens[:count]] = True
        embeddings = embeddings_with(encoder, reading, kept, "replace", self._staying)
        embeddings = np.stack(list(embeddings)).reshape(len(kept), -1)
        if self.scale == "unit":
            embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
        return np.linalg.norm(embeddings[:-1] - embeddings[-1], axis=1)

    @property
    def _staying(self) -> tuple[str, ...]:
        return STAYING if self.special_tokens == "stay" else tuple(kind for kind in STAYING if kind != "special")

    def notes(self, encoder: Encoder) -> tuple[str, ...]:
        return (_replaced(encoder),)

    def table(self, rows: Sequence[Row]) -> list[Row]:
        return means(rows, ("area",))


def area(curves: Sequence[Float[np.ndarray, "steps"]]) -> Row:
    """The mean of both texts' curves, and its own mean."""
    curve = np.mean(curves, axis=0)
    return {"area": float(curve.mean()), "curve": curve.tolist()}


@dataclass(frozen=True, slots=True)
class ScorePerturbation(Measure):
    """How soon the pair's score falls as words are taken from both texts, and how soon it returns as they are put back.

    ``comprehensiveness`` is the mean fall of the score while the first half of the words is taken away (higher is better),
    ``sufficiency`` the mean distance to the score while words are put back (lower is better), for three orders: by a word's row
    or column of the matrix, the same with its term, and by the strongest pair it stands in. ``faithfulness`` is
    comprehensiveness minus sufficiency, by rows.
    """

    name: ClassVar[str] = "perturbation"
    headline: ClassVar[str] = "faithfulness"
    higher_is_better: ClassVar[bool | None] = True
    step: float = 0.1
    removal: Removal = "delete"
    greedy: int = 0  # on how many pairs, spread evenly, to search for a good order, trying every word at every step
    _searched: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        _check_step(self.step, 0.5)
        if self.removal not in ("delete", "replace"):
            raise unknown("removal", self.removal, ("delete", "replace"))

    def prepare(self, subjects: Sequence[Subject], cases: Sequence[Case]) -> ScorePerturbation:
        chosen = evenly(len(cases), self.greedy) if self.greedy else []
        return replace(self, _searched=frozenset(cases[index].number for index in chosen))

    def notes(self, encoder: Encoder) -> tuple[str, ...]:
        return (_replaced(encoder),) if self.removal == "replace" else ()

    def rows(
        self, case: Case, found: Mapping[str, Explanation], encoder: Encoder, cache: ContributionCache | None = None
    ) -> list[Row]:
        pair = PerturbedPair(case, encoder, self.removal, self.step)
        if any(len(reading.side.words) < 2 for reading in pair.readings):
            return []  # of one word nothing can be taken away but all
        rows: list[Row] = []
        for name, e in found.items():
            worded = e.by_word()
            row: Row = {"subject": name}
            for kind in ORDERS:
                order = orders(worded, kind)
                row |= pair.measured(worded, kind, {False: order, True: order})
            rows.append(row)
        if case.number in self._searched and found:
            worded = next(iter(found.values())).by_word()
            best = {back: pair.greedy_order(worded, back=back) for back in (False, True)}
            rows.append({"subject": SEARCH, "control": True, **pair.measured(worded, "rows", best)})
        for row in rows:
            row["faithfulness"] = row["comprehensiveness_rows"] - row["sufficiency_rows"]
        return rows

    def table(self, rows: Sequence[Row]) -> list[Row]:
        names = [f"{what}_{kind}" for what in ("comprehensiveness", "sufficiency") for kind in ORDERS]
        table = means(rows, ("faithfulness", *names))
        searched = {row["case"] for row in rows if row["subject"] == SEARCH}
        if searched:  # what the others reach on the same pairs
            there = means([row for row in rows if row["case"] in searched], ("faithfulness",))
            known = {line["subject"]: line["faithfulness"] for line in there}
            table = [{**line, "faithfulness_where_searched": known.get(line["subject"])} for line in table]
        return table


def _counts(shares: Float[np.ndarray, "steps"], words: int, back: bool) -> list[int]:
    """How many words are put back (at least one), or taken away (at least one, at most half)."""
    most = words if back else words // 2
    return [min(max(1, round(share * words)), most) for share in shares]


class PerturbedPair:
    """A pair whose words can be taken away. What was looked at once is remembered."""

    def __init__(self, case: Case, encoder: Encoder, removal: Removal, step: float) -> None:
        self.encoder, self.removal = encoder, removal
        self.shares = {False: np.arange(step, 0.5 + 1e-9, step), True: np.arange(step, 1 - 1e-9, step)}
        self.readings = encoder.read_pair(case.left, case.right)
        self.known_embeddings: list[dict[bytes, np.ndarray]] = [{}, {}]
        self.whole = self._score(*(np.ones(len(reading.ids), dtype=bool) for reading in self.readings))

    def measured(self, e: Explanation, kind: str, order: Mapping[bool, tuple[Order, Order]]) -> Row:
        """The fall of the score while words are taken away, and the distance to it while they are put back."""
        gone, back = (self.scores(e, order[each], self.shares[each], back=each) for each in (False, True))
        return {
            f"comprehensiveness_{kind}": float(np.mean(self.whole - gone)),
            f"sufficiency_{kind}": float(np.mean(np.abs(self.whole - back))),
            f"curve_gone_{kind}": gone.tolist(),
            f"curve_back_{kind}": back.tolist(),
        }

    def scores(
        self, e: Explanation, order: tuple[Order, Order], shares: Float[np.ndarray, "steps"], *, back: bool
    ) -> Float[np.ndarray, "steps"]:
        kept = [
            kept_after(reading, e, side, mine, _counts(shares, len(mine), back), back=back)
            for reading, side, mine in zip(self.readings, SIDES, order, strict=True)
        ]
        self._remember(kept)
        return np.array([self._score(left, right) for left, right in zip(*kept, strict=True)])

    def greedy_order(self, e: Explanation, *, back: bool) -> tuple[Order, Order]:
        """The order found by trying every word at every step that is measured, the best one first: what an order can reach."""
        chosen: tuple[Order, Order] = ([], [])
        rest = (e.left.own, e.right.own)
        for goals in zip(*(_counts(self.shares[back], len(mine), back) for mine in rest), strict=True):
            while wanting := [n for n in (0, 1) if len(chosen[n]) < goals[n]]:
                trials: list[Trial] = [(unit, None) for unit in rest[0]] if 0 in wanting else []
                trials += [(None, unit) for unit in rest[1]] if 1 in wanting else []
                if back and not any(chosen):  # of two empty texts nothing can be said: the first words come together
                    trials = list(product(*rest))
                kept = [[self._with(e, chosen, trial, side, back) for trial in trials] for side in (0, 1)]
                self._remember([np.array(rows) for rows in kept])
                scores = [self._score(left, right) for left, right in zip(*kept, strict=True)]
                gaps = [abs(self.whole - score) if back else score for score in scores]
                first = int(np.argmin(np.round(gaps, DIGITS)))
                for side, unit in enumerate(trials[first]):
                    if unit is not None:
                        chosen[side].append(unit)
                        rest[side].remove(unit)
        return chosen[0] + rest[0], chosen[1] + rest[1]

    def _with(
        self, e: Explanation, chosen: tuple[Order, Order], trial: Trial, side: int, back: bool
    ) -> Bool[np.ndarray, "tokens"]:
        added = trial[side]
        order = chosen[side] if added is None else [*chosen[side], added]
        return kept_after(self.readings[side], e, SIDES[side], order, [len(order)], back=back)[0]

    def _remember(self, kept: list[np.ndarray]) -> None:
        for reading, rows, known in zip(self.readings, kept, self.known_embeddings, strict=True):
            fresh = {row.tobytes(): row for row in rows if row.tobytes() not in known}
            if fresh:
                found = embeddings_with(self.encoder, reading, np.array(list(fresh.values())), self.removal)
                known |= zip(fresh, found, strict=True)

    def _score(self, left: np.ndarray, right: np.ndarray) -> float:
        self._remember([left[None], right[None]])
        embeddings = [known[row.tobytes()] for known, row in zip(self.known_embeddings, (left, right), strict=True)]
        return self.encoder.record.score(*embeddings)
