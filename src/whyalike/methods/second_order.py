"""Second-order methods: each text is split into contributions, and any pair is a product of two texts' contributions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from tqdm import tqdm

from whyalike.encoders.encoder import Batch, Encoder
from whyalike.encoders.tokens import Reading
from whyalike.methods.cache import ContributionCache, TextKey
from whyalike.methods.method import Method, Options, TextPairs, does_not_add_up, to_numpy
from whyalike.results.contributions import ROUNDING, Contributions, Products
from whyalike.results.explanation import Explanation
from whyalike.results.one_sided import OneSided
from whyalike.results.pairing import explain_parts, explain_products, vectors_of
from whyalike.results.records import NOTHING_MEASURED, Measured
from whyalike.results.sides import Side, Unit, group

TOKENS_TOGETHER = 512  # texts of one length share a pass up to this many tokens
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


@dataclass(frozen=True, slots=True, eq=False)
class BatchProducts:
    """The products of a batch's units with vectors, the embeddings, and the states in the middle of the model."""

    values: Float[Tensor, "vectors units batch"]
    embedding: Float[Tensor, "batch dim"]
    middle: Float[Tensor, "batch tokens hidden"]


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """One text against a fixed direction: ``⟨c_i, towards⟩`` per token."""

    tokens: Float[Tensor, "tokens"]
    embedding: Float[Tensor, "dim"]
    measured: Measured = NOTHING_MEASURED


class SecondOrder(Method):
    """A method that gives each text its contributions, whatever it is compared with."""

    layer: int | None

    @abstractmethod
    def batch_contributions(self, encoder: Encoder, batch: Batch, units: BatchUnits, budget: int) -> BatchContributions:
        """The contributions of one batch of equally long texts."""

    def totals(self, encoder: Encoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        """One text's products with a direction: of its contributions. Methods that know a cheaper way have their own."""
        found = self.batch_contributions(encoder, batch, split_into_units(batch, "token", encoder), budget)
        measured = found.measured[0] if found.measured else NOTHING_MEASURED
        return Totals(found.units[:, 0] @ towards, found.embedding[0], measured)

    def layer_in(self, encoder: Encoder) -> int:
        """The layer in this encoder. Methods without a layer use the last."""
        return encoder.check_layer(encoder.layers if self.layer is None else self.layer)

    def compared(self, embedding: Float[Tensor, "dim"]) -> Float[Tensor, "dim"]:
        """An embedding as the method compares it."""
        return embedding

    def texts_to_pull(
        self, pairs: Sequence[KeyPair], readings: Mapping[TextKey, Reading], units: Mapping[TextKey, int]
    ) -> frozenset[TextKey]:
        """Texts whose products are cheaper than their contributions: none, unless the method is a `PullingMethod`."""
        return frozenset()

    def products(
        self, encoder: Encoder, readings: Sequence[Reading], vectors: Sequence[Vectors], options: Options
    ) -> list[Products]:
        """The products of each reading with vectors of its own, for the texts that `texts_to_pull` names."""
        return []

    def check(self, encoder: Encoder) -> None:
        self.layer_in(encoder)

    @final
    def contributions(self, encoder: Encoder, texts: Sequence[str], options: Options) -> list[Contributions]:
        readings = encoder.read(texts, prompt=options.prompts[0], truncate=options.truncate)
        return self.of_readings(encoder, readings, options)

    @final
    def of_readings(self, encoder: Encoder, readings: Sequence[Reading], options: Options) -> list[Contributions]:
        """One `Contributions` per reading, in order. Texts of one length are computed together."""
        record = self.record(encoder)

        def compute(batch: Batch) -> Iterator[Contributions]:
            units = split_into_units(batch, options.unit, encoder)
            found = self.batch_contributions(encoder, batch, units, options.budget)
            for row, side in enumerate(units.sides):
                tokens, embedding = (to_numpy(x) for x in (found.units[: len(side), row], found.embedding[row]))
                yield Contributions(
                    side=side,
                    tokens=tokens,
                    remainder=self._remainder(tokens, embedding),
                    embedding=embedding,
                    states=to_numpy(units.masks[: len(side), row] @ found.middle[row]),
                    method=record,
                    model=encoder.record,
                    measured=found.measured[row] if found.measured else NOTHING_MEASURED,
                )

        return in_batches(encoder, readings, compute, options.progress)

    def _remainder(
        self, tokens: Float[np.ndarray, "tokens space"], embedding: Float[np.ndarray, "dim"]
    ) -> Float[np.ndarray, "space"]:
        """What is left of the embedding, in float64, so that also a model in half precision adds up. Rounding is nothing."""
        left = embedding - tokens.sum(0, dtype=np.float64) if self.adds_up else np.zeros(tokens.shape[1])
        if np.linalg.norm(left) <= ROUNDING * np.linalg.norm(embedding):
            left = np.zeros_like(left)
        return left.astype(tokens.dtype)

    @final
    def explain_pairs(self, encoder: Encoder, pairs: TextPairs, options: Options) -> Iterator[Explanation]:
        remaining = iter(pairs)
        cache = ContributionCache(options.budget) if options.cache is None else options.cache
        while together := list(islice(remaining, PAIRS_TOGETHER)):
            keys = [(TextKey(left, options.prompts[0]), TextKey(right, options.prompts[1])) for left, right in together]
            yield from self._explain_together(encoder, keys, options, cache)

    def _explain_together(
        self, encoder: Encoder, pairs: Sequence[KeyPair], options: Options, cache: ContributionCache
    ) -> Iterator[Explanation]:
        """A shared cache holds the finest unit, of which every other is a sum; a text in it is not pulled through."""
        shared = options.cache is not None
        how = replace(options, unit=self.unit) if shared else options
        needed = dict.fromkeys(key for pair in pairs for key in pair)
        known = {key: part for key in needed if (part := cache.get(encoder, self, key)) is not None}
        readings = read_texts(encoder, [key for key in needed if key not in known], options.truncate)
        units = {key: len(group(reading.side, how.unit)[0]) for key, reading in readings.items()}
        units |= {key: len(part.side) for key, part in known.items()}
        pulled = frozenset() if shared else self.texts_to_pull(pairs, readings, units)
        pushed = [key for key in readings if key not in pulled]
        parts = self.of_readings(encoder, [readings[key] for key in pushed], how)
        for key, part in zip(pushed, parts, strict=True):
            known[key] = part
            cache.put(encoder, self, key, part)
        through = list(dict.fromkeys(pair if pair[1] in pulled else pair[::-1] for pair in pairs if {*pair} & pulled))
        readings_of, vectors = (
            [readings[long] for _, long in through],
            [vectors_of(known[short]) for short, _ in through],
        )
        pulls = self.products(encoder, readings_of, vectors, how)
        products: dict[tuple[TextKey, TextKey], Products] = dict(zip(through, pulls, strict=True))
        for left, right in pairs:
            if (left, right) in products:
                yield explain_products(known[left], products[left, right], aligned=options.aligned)
            elif (right, left) in products:
                yield explain_products(known[right], products[right, left], aligned=options.aligned).swapped()
            else:
                sides = [part.by(options.unit) if options.aligned else part for part in (known[left], known[right])]
                yield explain_parts(*sides, aligned=options.aligned).by(options.unit)

    @final
    def explain_against(self, encoder: Encoder, text: str, other: str, options: Options) -> OneSided:
        if not self.adds_up:
            raise does_not_add_up(self)
        readings = [
            encoder.read([each], prompt=prompt, truncate=options.truncate)[0]
            for each, prompt in zip((text, other), options.prompts, strict=True)
        ]
        own, fixed = (next(encoder.batches([reading], 1)) for reading in readings)
        towards = self.compared(encoder.run(fixed.features, encoder.layers)[0][0])
        totals = self.totals(encoder, own, towards, options.budget)
        embeddings = to_numpy(totals.embedding), to_numpy(towards)
        score = encoder.record.score(*embeddings)
        values = to_numpy(totals.tokens).astype(float) / encoder.record.scale(*embeddings)
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


class PullingMethod(SecondOrder):
    """A method for which the products of a text's contributions with a few vectors cost one backward pass per vector.

    So a short text with a long one costs the units of the short one.
    """

    @abstractmethod
    def batch_products(
        self, encoder: Encoder, batch: Batch, units: BatchUnits, towards: BatchVectors, budget: int
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
        self, encoder: Encoder, readings: Sequence[Reading], vectors: Sequence[Vectors], options: Options
    ) -> list[Products]:
        record = self.record(encoder)

        def compute(batch: Batch) -> Iterator[Products]:
            units = split_into_units(batch, options.unit, encoder)
            own = [vectors[number] for number in batch.numbers]
            towards = units.masks.new_zeros(max(map(len, own)), len(own), encoder.record.dim)
            for row, each in enumerate(own):
                towards[: len(each), row] = torch.from_numpy(each)
            found = self.batch_products(encoder, batch, units, towards, options.budget)
            for row, side in enumerate(units.sides):
                yield Products(
                    side=side,
                    values=to_numpy(found.values[: len(own[row]), : len(side), row]),
                    embedding=to_numpy(found.embedding[row]),
                    states=to_numpy(units.masks[: len(side), row] @ found.middle[row]),
                    method=record,
                    model=encoder.record,
                )

        return in_batches(encoder, readings, compute, options.progress)


def in_batches(
    encoder: Encoder, readings: Sequence[Reading], compute: Callable[[Batch], Iterable[Part]], progress: bool
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


def split_into_units(batch: Batch, unit: Unit, encoder: Encoder) -> BatchUnits:
    """The batch's texts in units."""
    grouped = [group(reading.side, unit) for reading in batch.readings]
    masks = np.zeros((max(len(side) for side, _ in grouped), len(grouped), batch.length), dtype=np.float32)
    for row, (_, labels) in enumerate(grouped):
        masks[labels, row, np.arange(batch.length)] = 1
    dtype = next(encoder.twin.stages.parameters()).dtype
    return BatchUnits([side for side, _ in grouped], torch.from_numpy(masks).to(encoder.device, dtype))
