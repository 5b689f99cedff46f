"""A twin of the user's model: it shares every parameter and buffer, but its forward pass is ours to bend.

The user's model is never touched, so there is nothing to undo. What a pass reads or puts in place is held in a context
variable, so threads do not see each other's passes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from whyalike.encoders.gates import wrap_activation
from whyalike.encoders.vocabulary import ActiveTerms, restrict_decoder
from whyalike.errors import UnsupportedModel

Features = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Pass:
    """One forward pass: which hidden states to read, what to put in their place.

    ``layer`` k means the input of block k; k = number of blocks means the output of the last one.
    """

    layer: int
    hidden: Tensor | None = None  # put in place of the states at ``layer``
    skipped: list[Any] | None = None  # what the blocks before ``layer`` gave in an earlier pass: they need not run
    when_reached: Callable[[], None] = lambda: None  # called when the states at ``layer`` are read
    terms: ActiveTerms | None = None  # a sparse model's terms to compute; None: the whole vocabulary
    leaf: bool = False  # whether the states at ``layer`` are cut off from what made them, to be differentiated at
    observed: Tensor | None = None  # the states at ``layer``
    outputs: list[Any] = field(default_factory=list)  # what the blocks before ``layer`` gave in this pass
    middle: Tensor | None = (
        None  # the states in the middle of the model, where words are told apart best by their meaning
    )
    token_outputs: Tensor | None = None  # what the transformer hands to the pooling
    calls: int = 0

    def enter(self, hidden: Tensor) -> Tensor:
        self.when_reached()
        self.observed = hidden if self.hidden is None else self.hidden
        self.observed = self.observed.detach().requires_grad_() if self.leaf else self.observed
        return self.observed


_PASS: ContextVar[Pass | None] = ContextVar("whyalike_pass", default=None)


def _active_terms() -> ActiveTerms | None:
    current = _PASS.get()
    return None if current is None else current.terms


class Twin:
    """The modules of a model up to the embedding before any final normalisation, run pass by pass.

    ``embedding`` takes it from the features that the last module gives, a row per text.
    """

    def __init__(
        self,
        modules: Iterable[nn.Module],
        probe: Features,
        layers: int,
        embedding: Callable[[Features], Tensor],
        *,
        vocabulary: bool = False,
    ) -> None:
        self.stages = _sharing_copy(nn.ModuleList(modules)).eval()
        self.embedding = embedding
        for module in self.stages.modules():
            wrap_activation(module)
            _without_fused_attention(module)
        self.layers = layers
        for block in find_blocks(self.stages, lambda: self._run(probe), layers):
            block.forward = partial(self._run_block, block.forward)
        if vocabulary:
            restrict_decoder(self.stages[0].auto_model, _active_terms)  # type: ignore[arg-type]

    def run(self, features: Features, current: Pass) -> Float[Tensor, "batch dim"]:
        """The embedding of each row, the pass's states put in place."""
        token = _PASS.set(current)
        try:
            features = self.stages[0](dict(features))
            current.token_outputs = features.get("token_embeddings")
            for module in list(self.stages)[1:]:
                features = module(features)
        finally:
            _PASS.reset(token)
        return self.embedding(features)

    def pool(
        self, features: Features, token_outputs: Float[Tensor, "batch tokens hidden"]
    ) -> Float[Tensor, "batch dim"]:
        """The embedding made from given states in place of the transformer's output."""
        after = {**features, "token_embeddings": token_outputs}
        for module in list(self.stages)[1:]:
            after = module(after)
        return self.embedding(after)

    def _run(self, features: Features) -> Features:
        features = dict(features)
        for module in self.stages:
            features = module(features)
        return features

    def _run_block(self, forward: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        current = _PASS.get()
        if current is None:
            return forward(*args, **kwargs)
        index = current.calls
        current.calls += 1
        last = index == self.layers - 1 and current.layer == self.layers
        if index == current.layer:
            args, kwargs = _replace_state(args, kwargs, current.enter(_state(args, kwargs)))
        if index == self.layers // 2:
            current.middle = _state(args, kwargs)
        output = (
            current.skipped[index]
            if index < current.layer and current.skipped is not None
            else forward(*args, **kwargs)
        )
        if index < current.layer:
            current.outputs.append(output)
        if last:
            state = current.enter(output[0] if isinstance(output, tuple) else output)
            output = (state, *output[1:]) if isinstance(output, tuple) else state
        return output


def tile(tree: Any, times: int, batch: int) -> Any:
    """Every tensor with ``batch`` rows repeated: all rows, then all rows again, ``times`` times."""

    def repeat(leaf: Any) -> Any:
        if isinstance(leaf, Tensor) and leaf.ndim and leaf.shape[0] == batch:
            return leaf.repeat(times, *[1] * (leaf.ndim - 1))
        return leaf

    return tree_map(repeat, tree) if times != 1 else tree


def find_blocks(root: nn.Module, run: Callable[[], Any], layers: int) -> list[nn.Module]:
    """The transformer's blocks: the outermost list of modules that are called ``layers`` times in all in one pass.

    A list as long as the model is deep is the usual case; where blocks are shared (ALBERT) the calls count.
    """
    lists = [module for module in root.modules() if isinstance(module, nn.ModuleList) and module is not root]
    calls: dict[int, int] = {}

    def count(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if _state(args, kwargs) is not None:
            calls[id(module)] = calls.get(id(module), 0) + 1

    members = {id(member): member for found in lists for member in found}
    handles = [member.register_forward_pre_hook(count, with_kwargs=True) for member in members.values()]
    try:
        with torch.no_grad():
            run()
    finally:
        for handle in handles:
            handle.remove()
    for found in lists:
        if layers and sum(calls.get(id(member), 0) for member in found) == layers:
            return list(found)
    raise UnsupportedModel(
        f"No list of blocks that runs {layers} times was found in {type(root[0]).__name__}. "  # type: ignore[index]
        "Expected a transformer whose configuration states its number of layers. "
        "Models without blocks (static embeddings, bags of words) need no explanation of this kind."
    )


def _state(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    found = args[0] if args else kwargs.get("hidden_states")
    return found if isinstance(found, Tensor) and found.ndim == 3 else None


def _replace_state(
    args: tuple[Any, ...], kwargs: dict[str, Any], state: Tensor
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ((state, *args[1:]), kwargs) if args else (args, {**kwargs, "hidden_states": state})


def _sharing_copy(model: nn.ModuleList) -> nn.ModuleList:
    """New module objects over the very same parameter and buffer dictionaries, tokenizers and processors."""
    memo: dict[int, Any] = {}
    for module in model.modules():
        shared = [module._parameters, module._buffers]
        shared += [
            getattr(module, name) for name in ("processor", "tokenizer", "input_formatter") if hasattr(module, name)
        ]
        memo.update({id(value): value for value in shared})
    return copy.deepcopy(model, memo)


def _without_fused_attention(module: nn.Module) -> None:
    """Flash and flex kernels hide the attention probabilities; the twin computes the same with torch's own function."""
    config = getattr(module, "config", None)
    chosen = getattr(config, "_attn_implementation", None)
    if config is not None and chosen not in (None, "eager", "sdpa"):
        config._attn_implementation = "sdpa"
