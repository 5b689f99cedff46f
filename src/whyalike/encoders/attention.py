"""Attention spelled out: the probabilities that torch's fused kernels hide."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.overrides import TorchFunctionMode


class ExplicitAttention(TorchFunctionMode):
    """Spells attention out, since torch's fused kernels have no forward-mode derivative."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is F.scaled_dot_product_attention:
            query, key, value, *rest = args
            probabilities = attention_probabilities(query, key, *rest, **(kwargs or {}))
            return probabilities @ repeat_heads(value, query)
        return function(*args, **(kwargs or {}))


def attention_probabilities(
    query: Float[Tensor, "*batch heads left hidden"],
    key: Float[Tensor, "*batch fewer right hidden"],
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Float[Tensor, "*batch heads left right"]:
    """What `F.scaled_dot_product_attention` multiplies the values with."""
    key = repeat_heads(key, query)
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else scores + attn_mask
    return scores.softmax(-1)


def repeat_heads(x: Tensor, query: Tensor) -> Tensor:
    """Grouped-query attention: keys and values shared by several heads."""
    return x if x.shape[-3] == query.shape[-3] else x.repeat_interleave(query.shape[-3] // x.shape[-3], -3)
