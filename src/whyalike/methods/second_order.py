"""Second-order methods: each text is split into contributions, and any pair is a product of two texts' contributions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, TypeVar, final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.tokens import Reading
from whyalike.encoders.transformer import TOKENS_TOGETHER, Batch, TransformerEncoder
from whyalike.methods.cache import ContributionCache, TextKey
from whyalike.methods.method import Method, Options, TextPairs, does_not_add_up, to_numpy
from whyalike.results.contributions import ROUNDING, Contributions, Products
from whyalike.results.explanation import Explanation
from whyalike.results.one_sided import OneSided
from whyalike.results.pairing import explain_parts, explain_products, no_states, vectors_brought, vectors_of
from whyalike.results.records import NOTHING_MEASURED, Measured
from whyalike.results.sides import Side, Unit, group

BAR = "{l_bar}{bar}| [{elapsed}<{remaining}]"
PAIRS_TOGETHER = 256  # pairs that explain_pairs reads before it answers the first
PULL, PULLED_THROUGH = 1.5, 3.0  # cost of pulling one vector back through a text, and of preparing it, in pushed units
KeyPair = tuple[TextKey, TextKey]
Part = TypeVar("Part")
Vectors = Float[np.ndarray, "_ dim"]
BatchVectors = Float[Tensor, "vectors batch dim"]


@dataclass(frozen=True, slots=True, eq=False)
class BatchUnits:
    """A batch split into units: a side per text, and for each unit a mask over the tokens. Texts may have fewer units."""

    sides: list[Side]
    masks: Float[Tensor, "units batch tokens"]


@dataclass(frozen=True, slots=True, eq=False)
class BatchContributions:
    """The contributions of each unit of a batch, the embeddings, and what was measured per text."""

    units: Float[Tensor, "units batch space"]
    embedding: Float[Tensor, "batch dim"]
    middle: Float[Tensor, "batch tokens hidden"]  # states in the middle of the model
    measured: Sequence[Measured] = ()  # one per text, or none
    terms: Int[Tensor, "dim"] | None = None  # the vocabulary terms that the columns are, where they are not all


@dataclass(frozen=True, slots=True, eq=False)
class BatchProducts:
    """The products of a batch's units with vectors, the embeddings, and the states in the middle of the model."""

    values: Float[Tensor, "vectors units batch"]
    embedding: Float[Tensor, "batch dim"]
    middle: Float[Tensor, "batch tokens hidden"]


@dataclass(frozen=True, slots=True, eq=False)
class Partner:
    """The text on the other side of a pair, and on which side it is."""

    part: Contributions
    is_left: bool


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """One text against a fixed direction: ``⟨c_i, towards⟩`` per token."""

    tokens: Float[Tensor, "tokens"]
    embedding: Float[Tensor, "dim"]
    measured: Measured = NOTHING_MEASURED


class SecondOrder(Method):
    """A method that gives each text its contributions, whatever it is compared with."""

    units_are_sums: ClassVar[bool] = True  # whether a sentence's contribution is the sum of its words'

    @abstractmethod
    def of_readings(self, encoder: Encoder, readings: Sequence[Reading], options: Options) -> list[Contributions]:
        """One `Contributions` per reading, in order."""

    def remainder_of(
        self, tokens: Float[np.ndarray, "tokens *space"], embedding: Float[np.ndarray, "*dim"]
    ) -> Float[np.ndarray, "*space"]:
        """What is left of the embedding, in float64, so that also a model in half precision adds up. Rounding is nothing."""
        left = embedding - tokens.sum(0, dtype=np.float64) if self.adds_up else np.zeros(tokens.shape[1:])
        if np.linalg.norm(left) <= ROUNDING * np.linalg.norm(embedding):
            left = np.zeros_like(left)
        return left.astype(tokens.dtype)

    def texts_to_pull(
        self, pairs: Sequence[KeyPair], readings: Mapping[TextKey, Reading], units: Mapping[TextKey, int]
    ) -> frozenset[TextKey]:
        """Texts whose products are cheaper than their contributions: none, unless the method is a `PullingMethod`."""
        return frozenset()

    def products(
        self, encoder: Encoder, readings: Sequence[Reading], partners: Sequence[Partner], options: Options
    ) -> list[Products]:
        """The products of each reading with the contributions of its partner, for the texts that `texts_to_pull` names."""
        return []

    @final
    def contributions(self, encoder: Encoder, texts: Sequence[str], options: Options) -> list[Contributions]:
        readings = encoder.read(texts, prompt=options.prompts[0], truncate=options.truncate)
        return self.of_readings(encoder, readings, options)

    @final
    def explain_pairs(self, encoder: Encoder, pairs: TextPairs, options: Options) -> Iterator[Explanation]:
        if options.aligned and not encoder.record.has_states:
            raise no_states(encoder.record)
        remaining = iter(pairs)
        cache = ContributionCache(options.budget) if options.cache is None else options.cache
        while together := list(islice(remaining, PAIRS_TOGETHER)):
            keys = [(TextKey(left, options.prompts[0]), TextKey(right, options.prompts[1])) for left, right in together]
            yield from self._explain_together(encoder, keys, options, cache)

    def _explain_together(
        self, encoder: Encoder, pairs: Sequence[KeyPair], options: Options, cache: ContributionCache
    ) -> Iterator[Explanation]:
        """A shared cache holds the finest unit where every other is a sum of it; a text in it is not pulled through."""
        shared = options.cache is not None
        how = replace(options, unit=self.unit) if shared and self.units_are_sums else options
        kept_as = self if self.units_are_sums else (self, how.unit)
        needed = dict.fromkeys(key for pair in pairs for key in pair)
        known = {key: part for key in needed if (part := cache.get(encoder, kept_as, key)) is not None}
        readings = read_texts(encoder, [key for key in needed if key not in known], options.truncate)
        units = {key: len(group(reading.side, how.unit)[0]) for key, reading in readings.items()}
        units |= {key: len(part.side) for key, part in known.items()}
        # The terms of a sparse model stand between the contributions of both texts, so both are needed.
        pushes_all = shared or encoder.record.kind == "sparse"
        pulled = frozenset() if pushes_all else self.texts_to_pull(pairs, readings, units)
        pushed = [key for key in readings if key not in pulled]
        parts = self.of_readings(encoder, [readings[key] for key in pushed], how)
        for key, part in zip(pushed, parts, strict=True):
            known[key] = part
            cache.put(encoder, kept_as, key, part)
        sided = encoder.record.kind == "multi-vector"  # whether it matters which text is the left one
        through = [_through(pair, pulled, sided) for pair in pairs if {*pair} & pulled]
        through = list(dict.fromkeys(through))
        partners = [Partner(known[short], is_left) for short, _, is_left in through]
        pulls = self.products(encoder, [readings[long] for _, long, _ in through], partners, how)
        products = dict(zip(through, pulls, strict=True))
        for pair in pairs:
            if {*pair} & pulled:
                short, long, is_left = _through(pair, pulled, sided)
                found = products[short, long, is_left]
                e = explain_products(known[short], found, is_query=is_left, aligned=options.aligned)
                yield e if short == pair[0] else e.swapped()
            else:
                sides = [part.by(options.unit) if options.aligned else part for part in (known[key] for key in pair)]
                yield explain_parts(*sides, aligned=options.aligned).by(options.unit)


def _through(pair: KeyPair, pulled: frozenset[TextKey], sided: bool) -> tuple[TextKey, TextKey, bool]:
    """The text whose contributions are pulled, the one they are pulled through, and whether the first is the left one."""
    left, right = pair
    return (left, right, True) if right in pulled else (right, left, not sided)


class TransformerMethod(SecondOrder):
    """A second-order method that looks at the hidden states of a transformer."""

    layer: int | None

    @abstractmethod
    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        """The contributions of one batch of equally long texts."""

    def totals(self, encoder: TransformerEncoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        """One text's products with a direction: of its contributions. Methods that know a cheaper way have their own."""
        found = self.batch_contributions(encoder, batch, split_into_units(batch, "token", encoder), budget)
        measured = found.measured[0] if found.measured else NOTHING_MEASURED
        return Totals(found.units[:, 0] @ towards, found.embedding[0], measured)

    def layer_in(self, encoder: TransformerEncoder) -> int:
        """The layer in this encoder. Methods without a layer use the last."""
        return encoder.check_layer(encoder.layers if self.layer is None else self.layer)

    def compared(self, embedding: Float[Tensor, "dim"]) -> Float[Tensor, "dim"]:
        """An embedding as the method compares it."""
        return embedding

    def check(self, encoder: Encoder) -> None:
        self.layer_in(encoder.transformer)

    @final
    def of_readings(self, encoder: Encoder, readings: Sequence[Reading], options: Options) -> list[Contributions]:
        """One `Contributions` per reading, in order. Texts of one length are computed together."""
        record, inside = self.record(encoder), encoder.transformer

        def compute(batch: Batch) -> Iterator[Contributions]:
            units = split_into_units(batch, options.unit, inside)
            found = self.batch_contributions(inside, batch, units, options.budget)
            for row, side in enumerate(units.sides):
                tokens, embedding = (to_numpy(x) for x in (found.units[: len(side), row], found.embedding[row]))
                places = inside.places(batch.readings[row], found.embedding[row], found.terms)
                tokens, embedding = (places.take(each) for each in (tokens, embedding))
                yield Contributions(
                    side=side,
                    tokens=tokens,
                    remainder=self.remainder_of(tokens, embedding),
                    embedding=embedding,
                    states=to_numpy(units.masks[: len(side), row] @ found.middle[row]),
                    method=record,
                    model=encoder.record,
                    measured=found.measured[row] if found.measured else NOTHING_MEASURED,
                    terms=places.terms,
                )

        return in_batches(inside, readings, compute, options.progress)

    @final
    def explain_against(self, encoder: Encoder, text: str, other: str, options: Options) -> OneSided:
        if not self.adds_up:
            raise does_not_add_up(self)
        inside = encoder.transformer
        readings = [
            encoder.read([each], prompt=prompt, truncate=options.truncate)[0]
            for each, prompt in zip((text, other), options.prompts, strict=True)
        ]
        own, fixed = (next(inside.batches([reading], 1)) for reading in readings)
        towards = self.compared(inside.run(fixed.features, inside.layers)[0][0])
        fixed_embedding = inside.places(readings[1], towards).scorable(to_numpy(towards))
        if encoder.record.kind != "dense":  # which numbers meet depends on this text too
            row = inside.run(own.features, inside.layers)[0][0]
            direction = inside.places(readings[0], row).towards(to_numpy(row), fixed_embedding)
            towards = torch.as_tensor(direction, dtype=row.dtype, device=row.device)
        totals = self.totals(inside, own, towards, options.budget)
        own_embedding = inside.places(readings[0], totals.embedding).scorable(to_numpy(totals.embedding))
        score = encoder.record.score(own_embedding, fixed_embedding)
        values = to_numpy(totals.tokens).astype(float) / encoder.record.scale(own_embedding, fixed_embedding)
        whole = OneSided(
            side=readings[0].side,
            values=values,
            background=score - float(values.sum()),
            score=score,
            other=readings[1].side,
            method=self.record(encoder),
            model=encoder.record,
            measured=totals.measured,
        )
        return whole.by(options.unit)


class PullingMethod(TransformerMethod):
    """A method for which the products of a text's contributions with a few vectors cost one backward pass per vector.

    So a short text with a long one costs the units of the short one.
    """

    @abstractmethod
    def batch_products(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, towards: BatchVectors, budget: int
    ) -> BatchProducts:
        """The products of one batch of equally long texts."""

    @final
    def texts_to_pull(
        self, pairs: Sequence[KeyPair], readings: Mapping[TextKey, Reading], units: Mapping[TextKey, int]
    ) -> frozenset[TextKey]:
        """The texts through which it is cheaper to pull the contributions of all their partners than to push their own units.

        Costs are in tokens run through the model. No two partners are both pulled through: one of them gives the contributions.
        """
        partners: dict[TextKey, set[TextKey]] = {key: set() for key in readings}
        for left, right in pairs:
            for key, other in ((left, right), (right, left)):
                if key in partners:
                    partners[key].add(other)
        saved = {}
        for key, others in partners.items():
            if key not in others:
                pulls = sum(PULL * (units[other] + 1) + PULLED_THROUGH for other in others)
                saved[key] = readings[key].length * (units[key] - pulls)
        chosen: set[TextKey] = set()
        for key in sorted(saved, key=lambda key: -saved[key]):
            if saved[key] > 0 and not partners[key] & chosen:
                chosen.add(key)
        return frozenset(chosen)

    @final
    def products(
        self, encoder: Encoder, readings: Sequence[Reading], partners: Sequence[Partner], options: Options
    ) -> list[Products]:
        record, inside = self.record(encoder), encoder.transformer

        def compute(batch: Batch) -> Iterator[Products]:
            units = split_into_units(batch, options.unit, inside)
            own = self._vectors_at(inside, batch, [partners[number] for number in batch.numbers])
            towards = units.masks.new_zeros(max(map(len, own)), len(own), inside.output.width(batch.length))
            for row, each in enumerate(own):
                towards[: len(each), row] = torch.from_numpy(each)
            found = self.batch_products(inside, batch, units, towards, options.budget)
            for row, side in enumerate(units.sides):
                places = inside.places(batch.readings[row], found.embedding[row])
                yield Products(
                    side=side,
                    values=to_numpy(found.values[: len(own[row]), : len(side), row]),
                    embedding=places.take(to_numpy(found.embedding[row])),
                    states=to_numpy(units.masks[: len(side), row] @ found.middle[row]),
                    method=record,
                    model=encoder.record,
                )

        return in_batches(inside, readings, compute, options.progress)

    def _vectors_at(self, encoder: TransformerEncoder, batch: Batch, partners: Sequence[Partner]) -> list[Vectors]:
        """Each partner's vectors, where they meet those of the text: that depends on the text in a late-interaction model."""
        if encoder.record.kind != "multi-vector":
            return [vectors_of(partner.part) for partner in partners]
        rows, width = encoder.run(batch.features, encoder.layers)[0], encoder.output.width(batch.length)
        found = []
        for row, reading, partner in zip(rows, batch.readings, partners, strict=True):
            places = encoder.places(reading, row)
            brought = vectors_brought(partner.part, places.take(to_numpy(row)), is_query=partner.is_left)
            found.append(places.put(brought, width))
        return found


def in_batches(
    encoder: TransformerEncoder, readings: Sequence[Reading], compute: Callable[[Batch], Iterable[Part]], progress: bool
) -> list[Part]:
    """What ``compute`` gives for each reading, in their order; readings of one length are computed together.

    Short texts come first. So the bar counts the square of a text's length, which is about what it costs.
    """
    found: dict[int, Part] = {}
    costs = [reading.length**2 for reading in readings]
    how = {"bar_format": BAR, "smoothing": 0, "delay": 2, "disable": None if progress else True, "leave": False}
    with tqdm(total=sum(costs), desc=f"{len(readings)} texts", **how) as bar:
        for batch in encoder.batches(readings, TOKENS_TOGETHER):
            found |= zip(batch.numbers, compute(batch), strict=True)
            bar.update(sum(costs[number] for number in batch.numbers))
    return [found[number] for number in range(len(readings))]


def read_texts(encoder: Encoder, keys: Sequence[TextKey], truncate: bool) -> dict[TextKey, Reading]:
    """Each text as the model reads it with its prompt."""
    found: dict[TextKey, Reading] = {}
    for prompt in dict.fromkeys(key.prompt for key in keys):
        own = [key for key in keys if key.prompt == prompt]
        found |= zip(own, encoder.read([key.text for key in own], prompt=prompt, truncate=truncate), strict=True)
    return found


def split_into_units(batch: Batch, unit: Unit, encoder: TransformerEncoder) -> BatchUnits:
    """The batch's texts in units."""
    grouped = [group(reading.side, unit) for reading in batch.readings]
    masks = np.zeros((max(len(side) for side, _ in grouped), len(grouped), batch.length), dtype=np.float32)
    for row, (_, labels) in enumerate(grouped):
        masks[labels, row, np.arange(batch.length)] = 1
    dtype = next(encoder.twin.stages.parameters()).dtype
    return BatchUnits([side for side, _ in grouped], torch.from_numpy(masks).to(encoder.device, dtype))
