"""Two baselines that make no claim to add up: products of the states themselves, and chance."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whyalike.encoders.encoder import Batch, Encoder
from whyalike.errors import BadInput
from whyalike.methods.second_order import Cut, Images, SecondOrder, Totals, totals_by_images
from whyalike.methods.tangents import states_at


@dataclass(frozen=True, slots=True)
class TokenEmbeddings(SecondOrder):
    """``c_i`` is the hidden state of token i itself, so the matrix holds products of states (BiLRP paper, baseline (i)).

    With ``normalize`` a unit's state has length 1, and the matrix ranks pairs by contextual cosine, as BERTScore compares
    them (divided by ``Z`` like every matrix).
    """

    name: ClassVar[str] = "token_embeddings"
    summary: ClassVar[str] = "products of the hidden states themselves; no claim to add up"
    paper: ClassVar[str] = "Vasileiou & Eberle 2024, baseline"
    adds_up: ClassVar[bool] = False
    layer: int | None = 0
    normalize: bool = False

    def images(self, encoder: Encoder, batch: Batch, cut: Cut, budget: int) -> Images:
        states, embedding = states_at(encoder, batch, self.layer_in(encoder))
        units = torch.einsum("ubt,bth->ubh", cut.masks, states.hidden)
        units = torch.nn.functional.normalize(units, dim=-1) if self.normalize else units
        return Images(units, embedding, states.middle, [{} for _ in batch.readings])

    def totals(self, encoder: Encoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        return totals_by_images(self, encoder, batch, towards, budget)


@dataclass(frozen=True, slots=True)
class Random(SecondOrder):
    """``c_i`` is a random vector, fixed by the seed and the text, of the embedding's length divided by √n."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "chance, the same for the same text and seed; no claim to add up"
    paper: ClassVar[str] = "baseline of all three papers"
    adds_up: ClassVar[bool] = False
    layer: int | None = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int) or self.seed < 0:
            raise BadInput(f"A seed should be a whole number from 0 on; got {self.seed!r}.")

    def images(self, encoder: Encoder, batch: Batch, cut: Cut, budget: int) -> Images:
        states, embedding = states_at(encoder, batch, self.layer_in(encoder))
        drawn = [self._draw(reading.prompt + reading.side.text, batch.length, encoder) for reading in batch.readings]
        tokens = torch.as_tensor(np.stack(drawn), dtype=embedding.dtype, device=embedding.device)
        tokens = tokens * (embedding.norm(dim=-1) / (batch.length * embedding.shape[-1]) ** 0.5)[:, None, None]
        units = torch.einsum("ubt,btd->ubd", cut.masks, tokens)
        return Images(units, embedding, states.middle, [{} for _ in batch.readings])

    def totals(self, encoder: Encoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        return totals_by_images(self, encoder, batch, towards, budget)

    def _draw(self, text: str, tokens: int, encoder: Encoder) -> Float[np.ndarray, "tokens dim"]:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        generator = np.random.default_rng([self.seed, int.from_bytes(digest[:8])])
        return generator.standard_normal((tokens, encoder.record.dim))
