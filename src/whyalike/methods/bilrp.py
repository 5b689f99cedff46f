"""BiLRP (Vasileiou & Eberle 2024): contributions of the network with its gates held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from whyalike.encoders.encoder import Batch, Encoder
from whyalike.methods.second_order import Cut, Images, SecondOrder, Totals
from whyalike.methods.tangents import frozen_images, pull_one, states_at


@dataclass(frozen=True, slots=True)
class BiLRP(SecondOrder):
    """``c_i = J_frozen(x) · x_i``; the remainder is what the biases add, ``e − Σ c_i``.

    Equals the paper's sum of outer products of LRP relevances over the embedding dimensions (its section 3.1, with the
    rules AH, LN and GA of section 3.2), without one backward pass per dimension: n rows are run forward instead.
    """

    name: ClassVar[str] = "bilrp"
    summary: ClassVar[str] = "attention, normalisation and activation gates held at their values"
    paper: ClassVar[str] = "Vasileiou & Eberle 2024"
    adds_up: ClassVar[bool] = True
    layer: int | None = 0

    def images(self, encoder: Encoder, batch: Batch, cut: Cut, budget: int) -> Images:
        units, embedding = frozen_images(encoder, batch, self.layer_in(encoder), cut.masks, budget)
        return Images(units, embedding, [{} for _ in batch.readings])

    def totals(self, encoder: Encoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        layer = self.layer_in(encoder)
        states, embedding = states_at(encoder, batch, layer)
        gradient = pull_one(states, states.hidden, towards[None], frozen=encoder.wiring(layer))
        return Totals((gradient * states.hidden).sum(-1)[0], embedding[0], {})
