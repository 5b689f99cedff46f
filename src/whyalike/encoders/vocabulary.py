"""The last map of a sparse model, from states to the whole vocabulary, restricted to the terms that matter.

A text gives weight to some hundred of 30,000 terms, and a term that no token has a positive logit for stays at zero when the
gates are held. So what is replayed computes the other columns only: the cost of the vocabulary is paid once per text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.overrides import handle_torch_function, has_torch_function

from whyalike.errors import UnsupportedModel

if TYPE_CHECKING:
    from whyalike.encoders.gates import Gates

SMALLEST = 1e-30  # ‖z‖² below which there is no direction to share a bias by


@dataclass(slots=True, eq=False)
class ActiveTerms:
    """The terms for which a token of the batch has a positive logit. Found by the first pass that is given it."""

    numbers: Int[Tensor, "terms"] | None = None

    def find(self, logits: Float[Tensor, "batch tokens vocabulary"]) -> Int[Tensor, "terms"]:
        if self.numbers is None:
            self.numbers = (logits > 0).flatten(0, -2).any(0).nonzero()[:, 0]
        return self.numbers


def project_onto_terms(hidden: Tensor, weight: Tensor, bias: Tensor | None, active: ActiveTerms) -> Tensor:
    """``hidden @ weight.T + bias``, the columns of the active terms. Visible to a mode as one function."""
    if has_torch_function((hidden,)):
        return handle_torch_function(project_onto_terms, (hidden,), hidden, weight, bias, active)
    numbers = active.numbers if active.numbers is not None else active.find(F.linear(hidden, weight, bias))
    return F.linear(hidden, weight[numbers], None if bias is None else bias[numbers])


def project_frozen(
    gates: Gates, function: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, active: ActiveTerms
) -> Tensor:
    """The same with its bias as a gate, shared by the map onto the whole vocabulary: ``⟨z_i, ẑ⟩ = ⟨h_i, Wᵀẑ⟩``."""
    gates.linears += 1
    if active.numbers is None:
        active.find(F.linear(hidden, weight, bias))
    numbers = active.numbers
    projected = F.linear(hidden, weight[numbers])
    if bias is None:
        return projected
    if gates.wiring.biases == "apart":
        return projected + bias[numbers] if gates.keeper.keeps_biases else projected
    gate = gates.keeper.keep(lambda: _direction(hidden, weight))
    shares = (hidden.unflatten(0, (-1, gate.shape[0])) * gate).sum(-1, keepdim=True).flatten(0, 1)
    return projected.addcmul(shares, bias[numbers])


def _direction(hidden: Tensor, weight: Tensor) -> Tensor:
    z = F.linear(hidden, weight)
    return (z / z.square().sum(-1, keepdim=True).clamp_min(SMALLEST)) @ weight


def restrict_decoder(model: nn.Module, active: Callable[[], ActiveTerms | None]) -> None:
    """Lets the module that maps onto the vocabulary compute the active terms only, in passes that have some."""
    find: Any = getattr(model, "get_output_embeddings", lambda: None)
    decoder = find()
    if not isinstance(decoder, nn.Linear):
        raise UnsupportedModel(
            f"{type(model).__name__} has no linear map onto its vocabulary (found {type(decoder).__name__}), so its terms "
            "cannot be told. Expected a masked language model, as SPLADE models are."
        )
    decoder.forward = partial(_run, decoder, decoder.forward, active)  # type: ignore[method-assign]


def _run(
    decoder: nn.Linear, forward: Callable[[Tensor], Tensor], active: Callable[[], ActiveTerms | None], hidden: Tensor
) -> Tensor:
    terms = active()
    return forward(hidden) if terms is None else project_onto_terms(hidden, decoder.weight, decoder.bias, terms)
