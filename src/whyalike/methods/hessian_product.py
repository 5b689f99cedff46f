"""Hessian × Product, the BiLRP paper's baseline: gradient × input, for both sides at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.methods.second_order import BatchContributions, BatchUnits, Totals, TransformerMethod
from whyalike.methods.tangents import jacobian_products, pull_one, states_at


@dataclass(frozen=True, slots=True)
class HessianProduct(TransformerMethod):
    """``c_i = J(x) · x_i``: the mixed second derivative of the dot product times both inputs.

    Its remainder ``e − Σ c_i`` is large: that it does not conserve is the paper's finding about it.
    """

    name: ClassVar[str] = "hessian_product"
    title: ClassVar[str] = "curvature at the input (Hessian × product)"
    summary: ClassVar[str] = "plain Jacobian times input; leaves a large background"
    paper: ClassVar[str] = "Vasileiou & Eberle 2024, baseline H×P"
    adds_up: ClassVar[bool] = True
    layer: int | None = 0

    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        states, embedding = states_at(encoder, batch, self.layer_in(encoder))
        vectors = jacobian_products(states, states.hidden, states.hidden, units.masks, budget)
        return BatchContributions(vectors, embedding, states.middle)

    def totals(self, encoder: TransformerEncoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        states, embedding = states_at(encoder, batch, self.layer_in(encoder))
        gradient = pull_one(states, states.hidden, towards[None])
        return Totals((gradient * states.hidden).sum(-1)[0], embedding[0])
