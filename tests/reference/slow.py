"""Each paper's formula, literal and slow: one backward pass per embedding dimension, one outer product each.

Nothing here uses the production engine: hidden states are put in place with a hook on the model itself, and the LRP rules
are written again as a short list of detached quantities.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from sentence_transformers.sentence_transformer.modules import Normalize
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from whyalike.encoders.encoder import Encoder
from whyalike.results.contributions import Contributions


class SlowEncoder:
    """The user's own model, its states at a layer read and replaced with a hook that counts block calls."""

    def __init__(
        self, encoder: Encoder, text: str, layer: int, ids: Tensor | None = None, normalize: bool = False
    ) -> None:
        self.model, self.layers, self.layer, self.normalize = encoder.model, encoder.layers, layer, normalize
        self.features = dict(self.model.preprocess([text]))
        if ids is not None:
            self.features["input_ids"] = ids
        self.hidden = self.run(None)[1].detach()

    def blocks(self) -> list[nn.Module]:
        lists = [m for m in self.model[0].auto_model.modules() if isinstance(m, nn.ModuleList)]
        exact = [found for found in lists if len(found) == self.layers]
        return list(exact[0] if exact else lists[0])

    def run(self, hidden: Tensor | None) -> tuple[Tensor, Tensor]:
        calls, seen = 0, []

        def before(module: nn.Module, args: Any, kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls - 1 != self.layer:
                return None
            seen.append(args[0] if args else kwargs["hidden_states"])
            if hidden is None:
                return None
            return ((hidden, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": hidden})

        def after(module: nn.Module, args: Any, output: Any) -> Any:
            if calls != self.layers or self.layer != self.layers:
                return None
            seen.append(output[0] if isinstance(output, tuple) else output)
            if hidden is None:
                return None
            return (hidden, *output[1:]) if isinstance(output, tuple) else hidden

        handles = [block.register_forward_pre_hook(before, with_kwargs=True) for block in self.blocks()]
        handles += [block.register_forward_hook(after) for block in self.blocks()]
        try:
            embedding = self.finish(self.model[0](dict(self.features)))
        finally:
            for handle in handles:
                handle.remove()
        return (embedding / embedding.norm() if self.normalize else embedding), seen[0]

    def finish(self, features: dict[str, Any]) -> Tensor:
        """The embedding, made of what the transformer gives."""
        for module in list(self.model)[1:]:
            features = features if isinstance(module, Normalize) else module(features)
        return features["sentence_embedding"][0]

    def jacobian_product(
        self, point: Tensor, change: Tensor, rules: Callable[[], AbstractContextManager[Any]] = nullcontext
    ) -> np.ndarray:
        """Rows: tokens. Column m: the gradient of embedding dimension m at the point, times the change, per token."""
        leaf = point.detach().clone().requires_grad_()
        with rules():
            embedding, _ = self.run(leaf)
        columns = []
        for dimension in range(len(embedding)):
            (gradient,) = torch.autograd.grad(embedding[dimension], leaf, retain_graph=True)
            columns.append((gradient * change).sum(-1)[0].numpy())
        return np.stack(columns, 1)


class Rules(TorchFunctionMode):
    """The rules AH, LN and GA of the BiLRP paper's section 3.2, and their like for other building blocks, as `.detach()`.

    With ``shared`` each token also takes its share of every bias.
    """

    def __init__(self, gated: bool, shared: bool = False) -> None:
        super().__init__()
        self.gated, self.shared = gated, shared

    def plus(self, z: Tensor, bias: Tensor | None) -> Tensor:
        if bias is None:
            return z
        return shared_bias(z, bias) if self.shared else z + bias

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function in (F.softmax, torch.softmax, Tensor.softmax, torch.rsqrt, Tensor.rsqrt, torch.sqrt):
            return function(*args, **kwargs).detach()
        if function is F.layer_norm:
            x, weight, bias = args[0], kwargs["weight"], kwargs["bias"]
            eps = kwargs["eps"]
            centred = x - x.mean(-1, keepdim=True)
            y = centred / torch.sqrt(eps + centred.pow(2).mean(-1, keepdim=True)).detach()
            return self.plus(y if weight is None else y * weight, bias)
        if self.shared and function is F.linear:
            x, weight, bias = (*args, *kwargs.values(), None)[:3]
            return self.plus(x @ weight.T, bias)
        if self.shared and function is torch.addmm:
            bias, x, weight = args
            return self.plus(x @ weight, bias)
        if (
            self.shared and function in (torch.add, Tensor.add, Tensor.__add__) and _is_bias(args[1])
        ):  # DeBERTa's, of norms and of values
            return self.plus(args[0], args[1])
        if function is F.scaled_dot_product_attention:
            query, key, value = args[:3]
            mask = kwargs.get("attn_mask", args[3] if len(args) > 3 else None)
            heads = query.shape[1] // key.shape[1]
            key, value = (x.repeat_interleave(heads, 1) for x in (key, value))
            scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * (kwargs.get("scale") or query.shape[-1] ** -0.5)
            if kwargs.get("is_causal"):
                scores = scores + torch.full(scores.shape[-2:], -torch.inf, dtype=scores.dtype).triu(1)
            if mask is not None:
                scores = torch.where(mask, scores, -torch.inf) if mask.dtype == torch.bool else scores + mask
            return torch.einsum("bhqk,bhkd->bhqd", scores.exp().div(scores.exp().sum(-1, keepdim=True)).detach(), value)
        if function in (F.gelu, F.silu, F.relu, torch.relu):
            x = args[0]
            y = function(x, *args[1:], **{k: v for k, v in kwargs.items() if k != "inplace"})
            return y.detach() if self.gated else x * (y / x).detach()
        if function is torch.tanh:
            # Inside tanh-GELU the tanh is the gate; as the activation of a Dense layer it is taken as x · (tanh x / x).
            x = args[0]
            return x * (function(x) / x).detach() if x.shape[-1] == 12 else function(x).detach()
        return function(*args, **kwargs)


def shared_bias(z: Tensor, bias: Tensor) -> Tensor:
    """``z + b``, where b is ``b · ⟨z, ẑ⟩`` with ``ẑ = z/‖z‖²`` held: one vector after the other."""
    rows = []
    for vector, own in zip(z.reshape(-1, z.shape[-1]), bias.expand(z.shape).reshape(-1, z.shape[-1]), strict=True):
        held = (vector / sum(entry * entry for entry in vector.tolist())).detach()
        rows.append(vector + own * sum(entry * gate for entry, gate in zip(vector, held, strict=True)))
    return torch.stack(rows).reshape(z.shape)


def _is_bias(x: Any) -> bool:
    heads = isinstance(x, Tensor) and x.ndim == 4 and x.shape[0] == x.shape[2] == 1
    return heads or (isinstance(x, nn.Parameter) and x.ndim == 1)


def bilrp_by_loops(encoder: Encoder, text: str, layer: int, gated: bool, shared: bool = False) -> np.ndarray:
    """LRP relevance of every token for every embedding dimension: section 3.1."""
    slow = SlowEncoder(encoder, text, layer)
    return slow.jacobian_product(slow.hidden, slow.hidden, lambda: Rules(gated, shared))


def hessian_product_by_loops(encoder: Encoder, text: str, layer: int) -> np.ndarray:
    slow = SlowEncoder(encoder, text, layer)
    return slow.jacobian_product(slow.hidden, slow.hidden)


def integrated_jacobians_by_loops(
    encoder: Encoder, text: str, layer: int, nodes: Any, weights: Any, normalize: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Equation (3) with given nodes; the reference is [CLS] [PAD] … [SEP] with the positions the model gives it."""
    slow = SlowEncoder(encoder, text, layer, normalize=normalize)
    tokenizer = encoder.reader.tokenizer
    ids = slow.features["input_ids"].clone()
    ids[:, 1:-1] = tokenizer.pad_token_id
    start = SlowEncoder(encoder, text, layer, ids).hidden
    change = slow.hidden - start
    total = sum(w * slow.jacobian_product(start + a * change, change) for a, w in zip(nodes, weights, strict=True))
    return total, slow.run(start)[0].detach().numpy()


def pair_by_outer_products(left: np.ndarray, right: np.ndarray, scale: float) -> np.ndarray:
    """BiLRP's factored form: the sum over embedding dimensions of one outer product each."""
    total = np.zeros((len(left), len(right)))
    for dimension in range(left.shape[1]):
        total += np.outer(left[:, dimension], right[:, dimension])
    return total / scale


def aligned_matrix(left: Contributions, right: Contributions, sharpness: float) -> np.ndarray:
    """Each row's total shared out by softmax of cosines of states over its columns, each column's over its rows; their mean."""
    n, m, scale = len(left.tokens), len(right.tokens), left.model.scale(left.embedding, right.embedding)
    dots = [[float(left.tokens[i] @ right.tokens[j]) / scale for j in range(m)] for i in range(n)]
    near = [
        [
            float(left.states[i] @ right.states[j] / np.linalg.norm(left.states[i]) / np.linalg.norm(right.states[j]))
            for j in range(m)
        ]
        for i in range(n)
    ]
    found = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            share = np.exp(sharpness * near[i][j]) / sum(np.exp(sharpness * near[i][k]) for k in range(m))
            other = np.exp(sharpness * near[i][j]) / sum(np.exp(sharpness * near[k][j]) for k in range(n))
            found[i, j] = (share * sum(dots[i]) + other * sum(dots[k][j] for k in range(n))) / 2
    return found
