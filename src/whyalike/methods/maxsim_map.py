"""The plain MaxSim map: which vector of the document each vector of the query met, at the output tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.methods.second_order import BatchContributions, BatchUnits, TransformerMethod
from whyalike.methods.tangents import states_at
from whyalike.results.records import ModelKind


@dataclass(frozen=True, slots=True)
class MaxSimMap(TransformerMethod):
    """``c_i`` is token i's own output vector, in its own place: the matrix has ``⟨q_k, d_l(k)⟩`` at the winners, else 0.

    It adds up, and says where vectors met. An output vector has read the whole text, so it does not say what it is made of.
    """

    name: ClassVar[str] = "maxsim_map"
    title: ClassVar[str] = "which vector met which (MaxSim map)"
    summary: ClassVar[str] = "which output vectors of a late-interaction model met; ignores what they are made of"
    paper: ClassVar[str] = "Khattab & Zaharia 2020, ColBERT"
    adds_up: ClassVar[bool] = True
    kinds: ClassVar[frozenset[ModelKind]] = frozenset({"multi-vector"})
    layer: int | None = field(default=None, init=False)  # it is about the output, not about a layer

    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        states, embedding = states_at(encoder, batch, self.layer_in(encoder))
        vectors = embedding.unflatten(1, (batch.length, -1))
        placed = torch.einsum("ubt,btd->ubtd", units.masks, vectors).flatten(2)
        return BatchContributions(placed, embedding, states.middle)
