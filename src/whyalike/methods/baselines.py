"""Baselines that make no claim to add up: products of hidden states, their cosines, and random values."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.errors import BadInput
from whyalike.methods.second_order import BatchContributions, BatchUnits, TransformerMethod
from whyalike.methods.tangents import states_at
from whyalike.results.records import Cells, ModelKind
from whyalike.results.sides import Unit


@dataclass(frozen=True, slots=True)
class TokenEmbeddings(TransformerMethod):
    """``c_i`` is the hidden state of token i itself, so the matrix holds products of states (BiLRP paper, baseline (i))."""

    name: ClassVar[str] = "token_embeddings"
    title: ClassVar[str] = "word embeddings only"
    summary: ClassVar[str] = "products of the hidden states themselves; no claim to add up"
    paper: ClassVar[str] = "Vasileiou & Eberle 2024, baseline"
    adds_up: ClassVar[bool] = False
    layer: int | None = 0

    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        states, embedding = states_at(encoder, batch, self.layer_in(encoder))
        vectors = torch.einsum("ubt,bth->ubh", units.masks, states.hidden)
        return BatchContributions(vectors, embedding, states.middle)


@dataclass(frozen=True, slots=True)
class ContextualCosine(TransformerMethod):
    """``c_i`` is the hidden state of word i, scaled to length 1: the matrix ranks pairs by cosine, as BERTScore does.

    Values are divided by ``Z`` like those of every method.
    """

    name: ClassVar[str] = "contextual_cosine"
    title: ClassVar[str] = "cosine of word states"
    needs_more: ClassVar[bool] = True
    summary: ClassVar[str] = "cosines of hidden states, as in BERTScore; needs a layer; no claim to add up"
    paper: ClassVar[str] = "baseline"
    adds_up: ClassVar[bool] = False
    unit: ClassVar[Unit] = "word"
    cells: ClassVar[Cells] = "means"
    layer: int | None = None

    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        states, embedding = states_at(encoder, batch, self.layer_in(encoder))
        vectors = torch.einsum("ubt,bth->ubh", units.masks, states.hidden)
        return BatchContributions(torch.nn.functional.normalize(vectors, dim=-1), embedding, states.middle)

    def check(self, encoder: Encoder) -> None:
        if self.layer is None:
            raise BadInput("contextual_cosine compares the states of a layer. Name it, as in contextual_cosine@3.")
        self.layer_in(encoder.transformer)


@dataclass(frozen=True, slots=True)
class Random(TransformerMethod):
    """``c_i`` is a random vector, fixed by the seed and the text, of the embedding's length divided by √n."""

    name: ClassVar[str] = "random"
    title: ClassVar[str] = "random values, for comparison"
    summary: ClassVar[str] = "chance, the same for the same text and seed; no claim to add up"
    paper: ClassVar[str] = "baseline of all three papers"
    adds_up: ClassVar[bool] = False
    kinds: ClassVar[frozenset[ModelKind]] = frozenset({"dense", "multi-vector", "sparse"})
    layer: int | None = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int) or self.seed < 0:
            raise BadInput(f"A seed should be a whole number from 0 on; got {self.seed!r}.")

    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        states, embedding = states_at(encoder, batch, self.layer_in(encoder))
        shape = batch.length, embedding.shape[-1]
        drawn = [self._draw(reading.prompt + reading.side.text, shape) for reading in batch.readings]
        tokens = torch.as_tensor(np.stack(drawn), dtype=embedding.dtype, device=embedding.device)
        tokens = tokens * (embedding.norm(dim=-1) / (batch.length * embedding.shape[-1]) ** 0.5)[:, None, None]
        vectors = torch.einsum("ubt,btd->ubd", units.masks, tokens)
        return BatchContributions(vectors, embedding, states.middle)

    def _draw(self, text: str, shape: tuple[int, int]) -> Float[np.ndarray, "tokens dim"]:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        generator = np.random.default_rng([self.seed, int.from_bytes(digest[:8])])
        return generator.standard_normal(shape)
