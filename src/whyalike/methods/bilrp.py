"""BiLRP (Vasileiou & Eberle 2024): contributions of the network with its gates held, biases among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.gates import Biases
from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.errors import unknown
from whyalike.methods.default_layer import LayerChoice, choose_layer
from whyalike.methods.second_order import (
    BatchContributions,
    BatchProducts,
    BatchUnits,
    BatchVectors,
    PullingMethod,
    Totals,
)
from whyalike.methods.tangents import frozen_contributions, pull_products, states_at
from whyalike.results.records import ModelKind


@dataclass(frozen=True, slots=True)
class BiLRP(PullingMethod):
    """``c_i = J_frozen(x) · x_i``. The frozen network is linear and equals the model at ``x``, so ``Σ c_i = e``.

    Differs from the paper: each unit takes its share of every bias, ``⟨z_i, z⟩/‖z‖²`` of the ``z`` that the bias is added to.
    With ``biases="apart"`` biases are dropped, as in the paper: this equals its sum of outer products of LRP relevances over
    the embedding dimensions (section 3.1, with the rules AH, LN and GA of section 3.2), and the remainder is what the
    biases add. Either way n rows are run forward instead of one backward pass per dimension.
    """

    name: ClassVar[str] = "bilrp"
    title: ClassVar[str] = "exact word shares (BiLRP)"
    summary: ClassVar[str] = "attention, normalisation, activation and bias gates held at their values"
    paper: ClassVar[str] = "Vasileiou & Eberle 2024"
    adds_up: ClassVar[bool] = True
    kinds: ClassVar[frozenset[ModelKind]] = frozenset({"dense", "multi-vector", "sparse"})
    layer: int | None = None  # None: the first layer at which the parts are of the size of the score
    biases: Biases = "shared"

    def __post_init__(self) -> None:
        if self.biases not in get_args(Biases):
            raise unknown("way to treat biases", self.biases, get_args(Biases))

    def layer_in(self, encoder: TransformerEncoder) -> int:
        return encoder.check_layer(self.layer) if self.layer is not None else self._choice(encoder).layer

    def choices(self, encoder: Encoder) -> dict[str, Any]:
        if self.layer is not None:
            return {}
        choice = self._choice(encoder.transformer)
        return {"layer": choice.layer, "layer_chosen": choice.reason}

    def _choice(self, encoder: TransformerEncoder) -> LayerChoice:
        """Also where biases are apart: it is the same model, and the two are then read at one layer."""
        return choose_layer(encoder, lambda layer: BiLRP(layer=layer))

    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        found = frozen_contributions(encoder, batch, self.layer_in(encoder), units.masks, budget, self.biases)
        return BatchContributions(found.vectors, found.embedding, found.middle, terms=found.terms)

    def batch_products(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, towards: BatchVectors, budget: int
    ) -> BatchProducts:
        layer = self.layer_in(encoder)
        states, embedding = states_at(encoder, batch, layer)
        wiring = encoder.wiring(layer, self.biases)
        values, _ = pull_products(states, states.hidden, towards, units.masks, budget, frozen=wiring)
        return BatchProducts(values, embedding, states.middle)

    def totals(self, encoder: TransformerEncoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        every = torch.eye(batch.length, dtype=towards.dtype, device=towards.device)[:, None]
        pulled = self.batch_products(encoder, batch, BatchUnits([], every), towards[None, None], budget)
        return Totals(pulled.values[0, :, 0], pulled.embedding[0])
