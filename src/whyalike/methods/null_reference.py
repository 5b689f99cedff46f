"""A reference that lies at zero: hidden states ``r`` with ``e(r) = 0``, solved for.

With such a reference nothing is left for the terms and the constant: the matrix of integrated Jacobians alone sums to the
score, for a model off the shelf, where the Siamese paper fine-tunes one for it. Found by Levenberg–Marquardt from the padding
reference: of all small steps that make the embedding smaller, the shortest. It depends on the layer and the number of tokens
alone, so it is found once for both.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from whyalike.methods.tangents import States, jacobian_at

TOLERANCE = 1e-4  # of the padding reference's embedding
MOST_STEPS = 40
PATIENCE = 5  # steps in a row that gain less than 2 %: there may be no zero nearby


def null_states(
    states: States, start: Float[Tensor, "1 tokens hidden"], positions: str
) -> Float[Tensor, "1 tokens hidden"]:
    """States near ``start`` whose embedding is (almost) zero; how near is told by embedding them."""
    kept, key = states.encoder.nulls, (states.layer, start.shape[1], positions)
    if key not in kept:
        kept[key] = _solve(states, start)
    return kept[key]


def _solve(states: States, start: Float[Tensor, "1 tokens hidden"]) -> Float[Tensor, "1 tokens hidden"]:
    point, damping, slow = start.clone(), 1e-3, 0
    value = _embed(states, point)
    goal = TOLERANCE * float(value.norm())
    for _ in range(MOST_STEPS):
        if float(value.norm()) <= goal or slow >= PATIENCE:
            break
        jacobian = jacobian_at(states, point).flatten(1)
        gram = jacobian @ jacobian.T
        scale = float(gram.diagonal().mean())
        while damping < 1e6:
            damped = gram + damping * scale * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
            step = -(jacobian.T @ torch.linalg.solve(damped, value)).view_as(point)
            tried = _embed(states, point + step)
            if tried.norm() < value.norm():
                slow = slow + 1 if tried.norm() > 0.98 * value.norm() else 0
                point, value, damping = point + step, tried, damping / 10
                break
            damping *= 10
        else:
            break  # no step makes it smaller
    return point


def _embed(states: States, point: Float[Tensor, "1 tokens hidden"]) -> Float[Tensor, "dim"]:
    with torch.no_grad():
        return states.embed(point, lambda: None)[0]
