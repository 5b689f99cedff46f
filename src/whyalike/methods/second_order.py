"""Second-order methods: each text falls apart into contributions, and any pair is a product of two of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from tqdm import tqdm

from whyalike.encoders.encoder import Batch, Encoder
from whyalike.encoders.tokens import Reading
from whyalike.explanation import ROUNDING, Contributions, Measured, Products
from whyalike.methods.method import Method, to_numpy
from whyalike.methods.tangents import GIBIBYTE
from whyalike.sides import Side, Unit, group

TOKENS_TOGETHER = 512  # texts of one length share a pass up to this many tokens


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """What a method found for one batch: each unit's contribution, the embedding, and what it measured per text."""

    units: Float[Tensor, "units batch space"]
    embedding: Float[Tensor, "batch dim"]
    middle: Float[Tensor, "batch tokens hidden"]  # states in the middle of the model
    measured: list[Measured]


@dataclass(frozen=True, slots=True, eq=False)
class Pulled:
    """The products of a batch's units with vectors, the embeddings, and the states in the middle of the model."""

    values: Float[Tensor, "vectors units batch"]
    embedding: Float[Tensor, "batch dim"]
    middle: Float[Tensor, "batch tokens hidden"]


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """One text against a fixed direction: ``⟨c_i, towards⟩`` per token."""

    tokens: Float[Tensor, "tokens"]
    embedding: Float[Tensor, "dim"]
    measured: Measured


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A batch cut into units: a side per text, and for each unit a mask over the tokens. Texts may have fewer units."""

    sides: list[Side]
    masks: Float[Tensor, "units batch tokens"]


class SecondOrder(Method):
    """A method that gives each text its contributions, whatever it is compared with."""

    layer: int | None

    @abstractmethod
    def images(self, encoder: Encoder, batch: Batch, cut: Cut, budget: int) -> Images:
        """The contributions of one batch of equally long texts."""

    @abstractmethod
    def totals(self, encoder: Encoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        """One text's products with a direction; without its contributions where that is cheaper."""

    @final
    def contributions(
        self,
        encoder: Encoder,
        texts: Sequence[str],
        *,
        unit: Unit = "token",
        prompt: str | None = None,
        truncate: bool = False,
        budget: int = GIBIBYTE,
        progress: bool = False,
    ) -> list[Contributions]:
        """One `Contributions` per text, in order."""
        return self.of_readings(
            encoder, encoder.read(texts, prompt=prompt, truncate=truncate), unit=unit, budget=budget, progress=progress
        )

    @final
    def of_readings(
        self,
        encoder: Encoder,
        readings: Sequence[Reading],
        *,
        unit: Unit = "token",
        budget: int = GIBIBYTE,
        progress: bool = False,
    ) -> list[Contributions]:
        """One `Contributions` per reading, in order. Texts of one length are computed together."""
        found: dict[int, Contributions] = {}
        record = self.record(encoder)
        with tqdm(total=len(readings), unit="text", delay=2, disable=None if progress else True, leave=False) as bar:
            for batch in encoder.batches(readings, TOKENS_TOGETHER):
                cut = cut_into(batch, unit, encoder)
                images = self.images(encoder, batch, cut, budget)
                for row, number in enumerate(batch.numbers):
                    side = cut.sides[row]
                    tokens, embedding = (to_numpy(x) for x in (images.units[: len(side), row], images.embedding[row]))
                    found[number] = Contributions(
                        side=side,
                        tokens=tokens,
                        remainder=self._remainder(tokens, embedding),
                        embedding=embedding,
                        states=to_numpy(cut.masks[: len(side), row] @ images.middle[row]),
                        method=record,
                        model=encoder.record,
                        measured=images.measured[row],
                    )
                bar.update(len(batch.readings))
        return [found[number] for number in range(len(readings))]

    def _remainder(
        self, tokens: Float[np.ndarray, "tokens space"], embedding: Float[np.ndarray, "dim"]
    ) -> Float[np.ndarray, "space"]:
        """What is left, taken in float64, so that also a model in half precision adds up. Mere rounding is nothing."""
        left = embedding - tokens.sum(0, dtype=np.float64) if self.adds_up else np.zeros(tokens.shape[1])
        if np.linalg.norm(left) <= ROUNDING * np.linalg.norm(embedding):
            left = np.zeros_like(left)
        return left.astype(tokens.dtype)

    def check(self, encoder: Encoder) -> None:
        self.layer_in(encoder)

    def layer_in(self, encoder: Encoder) -> int:
        """The layer in this encoder; methods without one of their own look at the last."""
        return encoder.check_layer(encoder.layers if self.layer is None else self.layer)


class Pulling(SecondOrder):
    """A method to which the products of a text's contributions with a few vectors cost one backward pass per vector.

    So a short text against a long one costs the units of the short one: see `front_door.explain_pairs`.
    """

    @abstractmethod
    def pull(
        self, encoder: Encoder, batch: Batch, cut: Cut, towards: Float[Tensor, "vectors batch dim"], budget: int
    ) -> Pulled:
        """The products of one batch of equally long texts."""

    @final
    def products(
        self,
        encoder: Encoder,
        readings: Sequence[Reading],
        vectors: Sequence[Float[np.ndarray, "_ dim"]],
        *,
        unit: Unit = "token",
        budget: int = GIBIBYTE,
        progress: bool = False,
    ) -> list[Products]:
        """The products of each reading with vectors of its own."""
        found: dict[int, Products] = {}
        record = self.record(encoder)
        with tqdm(total=len(readings), unit="text", delay=2, disable=None if progress else True, leave=False) as bar:
            for batch in encoder.batches(readings, TOKENS_TOGETHER):
                cut = cut_into(batch, unit, encoder)
                own = [vectors[number] for number in batch.numbers]
                towards = cut.masks.new_zeros(max(map(len, own)), len(own), encoder.record.dim)
                for row, each in enumerate(own):
                    towards[: len(each), row] = torch.from_numpy(each)
                pulled = self.pull(encoder, batch, cut, towards, budget)
                for row, number in enumerate(batch.numbers):
                    side = cut.sides[row]
                    found[number] = Products(
                        side=side,
                        values=to_numpy(pulled.values[: len(own[row]), : len(side), row]),
                        embedding=to_numpy(pulled.embedding[row]),
                        states=to_numpy(cut.masks[: len(side), row] @ pulled.middle[row]),
                        method=record,
                        model=encoder.record,
                    )
                bar.update(len(batch.readings))
        return [found[number] for number in range(len(readings))]


def totals_by_images(
    method: SecondOrder, encoder: Encoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int
) -> Totals:
    """`Method.totals` from the contributions themselves, for methods to which they cost next to nothing."""
    images = method.images(encoder, batch, cut_into(batch, "token", encoder), budget)
    return Totals(images.units[:, 0] @ towards, images.embedding[0], images.measured[0])


def cut_into(batch: Batch, unit: Unit, encoder: Encoder) -> Cut:
    """The batch's texts in units."""
    grouped = [group(reading.side, unit) for reading in batch.readings]
    masks = np.zeros((max(len(side) for side, _ in grouped), len(grouped), batch.length), dtype=np.float32)
    for row, (_, labels) in enumerate(grouped):
        masks[labels, row, np.arange(batch.length)] = 1
    dtype = next(encoder.twin.stages.parameters()).dtype
    return Cut([side for side, _ in grouped], torch.from_numpy(masks).to(encoder.device, dtype))
