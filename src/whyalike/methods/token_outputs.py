"""Token outputs: the states handed to the pooling, each with its share of the embedding (xsbert's decomposition)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.methods.second_order import BatchContributions, BatchUnits, TransformerMethod
from whyalike.methods.tangents import pooled_contributions


@dataclass(frozen=True, slots=True)
class TokenOutputs(TransformerMethod):
    """``c_i`` is token i's last state times its pooling weight; the remainder is what follows adds (a Dense bias), often 0.

    With a ``layer`` the states there are pooled as if they were the last; the remainder is what the later blocks add.
    """

    name: ClassVar[str] = "token_outputs"
    title: ClassVar[str] = "last layer only (token outputs)"
    summary: ClassVar[str] = "last hidden state times pooling weight; ignores earlier layers"
    paper: ClassVar[str] = "Möller et al. 2023, xsbert"
    adds_up: ClassVar[bool] = True
    layer: int | None = None

    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        embedding, current = encoder.run(batch.features, self.layer_in(encoder))
        states = current.token_outputs if self.layer is None else current.observed
        assert states is not None
        assert current.middle is not None
        vectors = pooled_contributions(encoder, batch.features, states, units.masks, budget)
        return BatchContributions(vectors, embedding, current.middle)
