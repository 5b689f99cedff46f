"""All differentiation, in one place: how directions at a layer become directions of the embedding.

A direction is a change of the hidden states of one unit (token, word, sentence) of one text. Three ways to push n of them
through an encoder, all linear in the direction:

- `frozen_contributions`, frozen gates: record the gates once, then run the directions as ordinary rows (no autograd);
- `push_directions`, the true Jacobian in forward mode, n directions beside one plain pass;
- `pull_directions`, reverse mode: one backward pass per embedding dimension, when there are fewer of them.

`pull_products` gives the products of all units' images with a few directions of the embedding, by one backward pass each.

Rows are laid out round after round: all texts of a batch with their first direction, then all with their second, …
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import forward_ad
from torch.func import jvp, vmap

from whyalike.encoders.attention import ExplicitAttention
from whyalike.encoders.frozen import record, record_pooling
from whyalike.encoders.gates import Biases, Detached, Gates, Wiring
from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.encoders.twin import Features, Pass, tile

GIBIBYTE = 2**30
_FORWARD_MODE = threading.Lock()  # torch's forward mode has one level for the whole process

Directions = Float[Tensor, "units batch tokens hidden"]
UnitVectors = Float[Tensor, "units batch dim"]
Points = Float[Tensor, "batch tokens hidden"]
Masks = Float[Tensor, "units batch tokens"]


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """Hidden states of a batch at a layer, and what is needed to run on from there."""

    encoder: TransformerEncoder
    features: Features
    layer: int
    hidden: Float[Tensor, "batch tokens hidden"]
    before: list[object]  # outputs of the blocks before the layer
    middle: Float[Tensor, "texts tokens hidden"]  # states in the middle of the model
    normalize: bool = False  # whether the map ends in the unit sphere (normalize="path")

    def embed(self, hidden: Float[Tensor, "rows tokens hidden"], when_reached: Callable[[], None]) -> Tensor:
        """The embedding of any number of rounds of states."""
        batch = len(self.hidden)
        rounds = len(hidden) // batch
        current = Pass(self.layer, hidden, tile(self.before, rounds, batch), when_reached)
        embedding = self.encoder.twin.run(tile(dict(self.features), rounds, batch), current)
        return F.normalize(embedding, dim=-1) if self.normalize else embedding


@dataclass(frozen=True, slots=True, eq=False)
class FrozenContributions:
    """What each unit of a batch adds with the gates held, and what the recording pass gives besides."""

    vectors: UnitVectors
    embedding: Float[Tensor, "batch dim"]
    middle: Float[Tensor, "batch tokens hidden"]
    terms: Int[Tensor, "dim"] | None = None  # the vocabulary terms that the columns are, where they are not all


def states_at(
    encoder: TransformerEncoder, batch: Batch, layer: int, normalize: bool = False
) -> tuple[States, Float[Tensor, "batch dim"]]:
    """A plain pass: the states at the layer, and the embedding."""
    embedding, current = encoder.run(batch.features, layer)
    assert current.observed is not None
    assert current.middle is not None
    embedding = F.normalize(embedding, dim=-1) if normalize else embedding
    return States(
        encoder, batch.features, layer, current.observed, current.outputs, current.middle, normalize
    ), embedding


def directions_of(change: Points, masks: Masks) -> Directions:
    """The change of each unit alone."""
    return change * masks[..., None]


def frozen_contributions(
    encoder: TransformerEncoder,
    batch: Batch,
    layer: int,
    masks: Masks,
    budget: int,
    biases: Biases = "shared",
) -> FrozenContributions:
    """``J_frozen · x_unit`` for every unit of every text; and the embeddings and the states in the middle of the model, which
    the recording pass gives anyway. Of a sparse model, at the terms that are active in a text of the batch.
    """
    wiring = encoder.wiring(layer, biases)
    if len(masks) > encoder.output.width(batch.length):  # a backward pass costs about as much as a replayed row
        states, embedding = states_at(encoder, batch, layer)
        vectors = pull_directions(states, states.hidden, masks, budget, frozen=wiring)
        return FrozenContributions(vectors, embedding, states.middle)
    terms = encoder.active_terms()
    with torch.inference_mode():
        recording = record(encoder.twin, batch.features, layer, wiring, terms)
        at_once = rounds_at_once(encoder, recording.hidden, budget)
        vectors = recording.replay_units(masks, at_once)
    assert recording.middle is not None
    return FrozenContributions(vectors, recording.embedding, recording.middle, None if terms is None else terms.numbers)


def jacobian_products(states: States, points: Points, change: Points, masks: Masks, budget: int) -> UnitVectors:
    """``J(point) · change_unit`` for every unit, forward or reverse, whichever is cheaper."""
    if len(masks) > states.encoder.output.width(states.hidden.shape[1]):
        return pull_directions(states, points, masks, budget, change=change)
    return push_directions(states, points, change, masks, budget)


def pooled_contributions(
    encoder: TransformerEncoder, features: Features, states: Points, masks: Masks, budget: int
) -> UnitVectors:
    """What each unit of the states that are pooled adds to the embedding, the gates after the transformer held."""
    with torch.no_grad():
        recording = record_pooling(encoder.twin, features, states)
        return recording.replay_units(masks, rounds_at_once(encoder, states, budget))


def push_directions(states: States, points: Points, change: Points, masks: Masks, budget: int) -> UnitVectors:
    """``J(point) · direction`` in forward mode: the points are run once, all their directions beside them."""

    def embed(hidden: Tensor) -> Tensor:
        return states.embed(hidden, lambda: None)

    def image(direction: Tensor) -> Tensor:
        return jvp(embed, (points,), (direction,))[1]

    at_once = rounds_at_once(states.encoder, points, budget, tokens=TANGENT_TOKENS)
    with _FORWARD_MODE, torch.no_grad(), ForwardMode():
        return torch.cat([vmap(image)(directions_of(change, some)) for some in masks.split(at_once)])


class ForwardMode(ExplicitAttention):
    """Fused attention spelled out, and linear maps pushed forward by their own map.

    Torch adds the input times the weight's tangent, which is zero but multiplied all the same: a third of all work where
    there is one direction.
    """

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is F.linear:
            return _pushed_linear(*args, **(kwargs or {}))
        return super().__torch_function__(function, types, args, kwargs)


def _pushed_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    primal, tangent = forward_ad.unpack_dual(input)
    value = F.linear(primal, weight, bias)
    return value if tangent is None else forward_ad.make_dual(value, F.linear(tangent, weight))


def pull_directions(
    states: States,
    points: Points,
    masks: Masks,
    budget: int = GIBIBYTE,
    *,
    change: Float[Tensor, "batch tokens hidden"] | None = None,
    frozen: Wiring | None = None,
) -> UnitVectors:
    """The same images by one backward pass per embedding dimension: cheaper where dimensions are few and units many."""
    size = states.encoder.output.width(points.shape[1])
    every = torch.eye(size, dtype=points.dtype, device=points.device)[:, None].expand(size, len(points), size)
    products, _ = pull_products(states, points, every, masks, budget, change=change, frozen=frozen)
    return products.permute(1, 2, 0)


def pull_products(
    states: States,
    points: Points,
    towards: Float[Tensor, "directions batch dim"],
    masks: Masks,
    budget: int,
    *,
    change: Float[Tensor, "batch tokens hidden"] | None = None,
    frozen: Wiring | None = None,
) -> tuple[Float[Tensor, "directions units batch"], Float[Tensor, "batch dim"]]:
    """``⟨direction, image of unit⟩`` for all units, by one backward pass per direction, some at once; and the embeddings."""
    change = points if change is None else change
    at_once = max(1, rounds_at_once(states.encoder, points, budget // 3))
    with torch.enable_grad(), ExplicitAttention() if frozen is None else Gates(Detached(), frozen) as mode:
        leaf = points.detach().clone().requires_grad_()
        embedding = states.embed(leaf, mode.start if isinstance(mode, Gates) else lambda: None)
        products = []
        for some in towards.to(embedding.dtype).split(at_once):
            (gradients,) = torch.autograd.grad(embedding, leaf, some, retain_graph=True, is_grads_batched=True)
            products.append(torch.einsum("kbth,bth,ubt->kub", gradients, change, masks))
    return torch.cat(products).detach(), embedding.detach()


def jacobian_at(states: States, point: Float[Tensor, "1 tokens hidden"]) -> Float[Tensor, "dim tokens hidden"]:
    """The whole Jacobian of one text's embedding: one backward pass per dimension, as many at once as vmap takes."""
    with torch.enable_grad(), ExplicitAttention():
        leaf = point.detach().clone().requires_grad_()
        embedding = states.embed(leaf, lambda: None)[0]
        every = torch.eye(len(embedding), dtype=embedding.dtype, device=embedding.device)
        pieces = [
            torch.autograd.grad(embedding, leaf, some, retain_graph=True, is_grads_batched=True)[0]
            for some in every.split(64)
        ]
    return torch.cat(pieces)[:, 0].detach()


def pull_one(
    states: States,
    points: Points,
    towards: Float[Tensor, "batch dim"],
    *,
    frozen: Wiring | None = None,
) -> Float[Tensor, "batch tokens hidden"]:
    """One backward pass: the gradient of ``⟨towards, e⟩`` at each row's point."""
    with torch.enable_grad(), _mode(frozen) as mode:
        leaf = points.detach().clone().requires_grad_()
        embedding = states.embed(leaf, mode.start if isinstance(mode, Gates) else lambda: None)
        (gradient,) = torch.autograd.grad((embedding * towards).sum(), leaf)
    return gradient


def _mode(frozen: Wiring | None) -> AbstractContextManager[object]:
    return nullcontext() if frozen is None else Gates(Detached(), frozen)


REPLAY_TOKENS, TANGENT_TOKENS = (
    2048,
    4096,
)  # tokens per pass that keep two cores busy and their caches warm; see benchmarks/


def rounds_at_once(encoder: TransformerEncoder, hidden: Points, budget: int, *, tokens: int = REPLAY_TOKENS) -> int:
    """How many rounds of these rows to run in one pass: enough to be fast, few enough for the memory budget."""
    batch, length, width = hidden.shape
    affordable = budget // bytes_per_token(encoder, length, width, hidden.element_size())
    return max(1, min(tokens, affordable) // (batch * length))


def rows_at_once(encoder: TransformerEncoder, hidden: Float[Tensor, "1 tokens hidden"], budget: int) -> int:
    """How many rows of this length to differentiate in one pass; each takes about three times what it takes to run."""
    return max(1, rounds_at_once(encoder, hidden, budget // 3))


def bytes_per_token(encoder: TransformerEncoder, tokens: int, width: int, item: int) -> int:
    """What one token of one row takes at the worst moment of a block: its states, its MLP, its rows of attention."""
    config = encoder.model[0].auto_model.config.get_text_config()
    inner = getattr(config, "intermediate_size", None) or 4 * width
    heads = getattr(config, "num_attention_heads", None) or max(1, width // 64)
    return item * (8 * width + 3 * inner + 4 * heads * tokens)
