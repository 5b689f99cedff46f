"""First-order differentiation: the gradient of a pair's similarity at each side's embeddings, or at a layer's states.

Each text is run once; one backward pass then gives the gradients of both sides, since each side's is taken with the other
held. A feature vector is the mean of a text's own tokens as in BTI's equation (1), or the model's own embedding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.lookups import WordLookup
from whyalike.encoders.tokens import Reading
from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.encoders.twin import Pass, tile
from whyalike.errors import unknown
from whyalike.methods.first_order import Combine, FirstOrder, TextSaliency, check_matching, min_max
from whyalike.methods.method import to_numpy
from whyalike.results.records import NOTHING_MEASURED, Measured, Similarity

Site = int | Literal["embeddings"]  # a layer, or token + position embeddings before any normalisation
Pooling = Literal["words", "model"]
VANISHING = 32  # a gradient of fewer units in the last place than this is rounding, not direction


@dataclass(frozen=True, slots=True, eq=False)
class TextPass:
    """One text in one pass that can be differentiated at a site."""

    encoder: TransformerEncoder
    batch: Batch  # of one text
    site: Site
    pooling: Pooling
    leaf: Float[Tensor, "1 tokens width"]  # what to differentiate at
    positions: Float[Tensor, "#1 tokens width"] | None  # what the model adds to it, where the site is the embeddings
    blocks: list[object]  # what the blocks before the site gave
    outputs: Float[Tensor, "1 tokens hidden"]  # the contextual vector of each token
    embedding: Float[Tensor, "1 dim"]

    @property
    def reading(self) -> Reading:
        return self.batch.readings[0]

    @property
    def states(self) -> Float[Tensor, "1 tokens width"]:
        """What stands at the site. Equation (2): token + position embeddings, without the segment's."""
        return self.leaf.detach() if self.positions is None else self.leaf.detach() + self.positions.detach()

    def without_graph(self) -> TextPass:
        """The same, with nothing kept to differentiate it by."""
        return replace(self, outputs=self.outputs.detach(), embedding=self.embedding.detach())

    @property
    def feature(self) -> Float[Tensor, "1 space"]:
        return self._feature(self.outputs, self.embedding)

    def again(self, points: Float[Tensor, "rows tokens width"]) -> Float[Tensor, "rows space"]:
        """The feature vectors when other states stand at the site."""
        features = tile(dict(self.batch.features), len(points), 1)
        if self.site == "embeddings":
            words = points if self.positions is None else points - self.positions.detach()
            current = Pass(0)
            with WordLookup(self.encoder, lambda found: words):
                embedding = self.encoder.twin.run(features, current)
        else:
            current = Pass(int(self.site), points, tile(self.blocks, len(points), 1))
            embedding = self.encoder.twin.run(features, current)
        assert current.token_outputs is not None
        return self._feature(current.token_outputs, embedding)

    def _feature(
        self, outputs: Float[Tensor, "rows tokens hidden"], embedding: Float[Tensor, "rows dim"]
    ) -> Float[Tensor, "rows space"]:
        if self.pooling == "model":
            return _at_least_single(embedding)
        own = torch.as_tensor(own_tokens(self.reading), device=outputs.device)  # Eq. (1): without CLS, SEP and prompt
        return _at_least_single(outputs[:, own]).sum(1) / max(1, int(own.sum()))


def run_text(encoder: TransformerEncoder, reading: Reading, site: Site, pooling: Pooling) -> TextPass:
    """A pass over one text that can be differentiated at the site."""
    (batch,) = encoder.batches([reading], 1)
    leaves: list[Tensor] = []

    def cut_off(words: Tensor) -> Tensor:
        leaves.append(words.detach().requires_grad_())
        return leaves[-1]

    with torch.enable_grad():
        positions = None
        if site == "embeddings":
            current, words = Pass(0), WordLookup(encoder, cut_off)
            with words:
                embedding = encoder.twin.run(batch.features, current)
            words.check()
            positions = words.positions
        else:
            current = Pass(encoder.check_layer(site), leaf=True)
            embedding = encoder.twin.run(batch.features, current)
            assert current.observed is not None
            leaves.append(current.observed)
    assert current.token_outputs is not None
    if positions is not None and positions.ndim == 2:
        positions = positions[None]
    return TextPass(
        encoder, batch, site, pooling, leaves[0], positions, current.outputs, current.token_outputs, embedding
    )


def similarity(
    left: Float[Tensor, "rows dim"], right: Float[Tensor, "#rows dim"], how: Similarity
) -> Float[Tensor, "rows"]:
    """Of feature vectors, as the model compares embeddings."""
    products = (left * right).sum(-1)
    if how == "dot":
        return products
    return products / (left.norm(dim=-1).clamp_min(1e-12) * right.norm(dim=-1).clamp_min(1e-12))


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """The gradient of a pair's similarity at one side's site (eq. 3), and why it is zero, where it is."""

    at_tokens: Float[Tensor, "tokens width"]
    vanishes: Literal["same direction", "no words"] | None

    @property
    def measured(self) -> Measured:
        return Measured(gradient_vanishes=self.vanishes)


def gradients(left: TextPass, right: TextPass) -> tuple[float, Gradient, Gradient]:
    """The pair's similarity and its gradients, in one backward pass.

    Between texts with the same feature vector the cosine is at its maximum: its gradient is zero, and what a computer finds
    is rounding. That is told apart here, before it is scaled up to look like an answer.
    """
    with torch.enable_grad():
        features = [left.feature, right.feature]
        score = similarity(features[0], features[1], left.encoder.record.similarity)
        towards = torch.autograd.grad(score.sum(), features, retain_graph=True)
        lengths = [max(float(each.detach().norm()), 1e-30) for each in towards]
        # Unit vectors go back through the model, so that half precision does not lose them on the way.
        unit = [each / length for each, length in zip(towards, lengths, strict=True)]
        found = torch.autograd.grad(features, [left.leaf, right.leaf], grad_outputs=unit)
    sizes = [float(feature.detach().norm()) for feature in features]
    least = VANISHING * torch.finfo(score.dtype).eps * float(score.detach().abs())
    gone: list[Literal["same direction", "no words"] | None] = [
        "no words" if min(sizes) == 0 else "same direction" if length * size <= least else None
        for length, size in zip(lengths, sizes, strict=True)
    ]
    first, second = (
        Gradient(torch.zeros_like(each[0]) if why else _at_least_single(each[0]) * length, why)
        for each, length, why in zip(found, lengths, gone, strict=True)
    )
    return float(score.detach()), first, second


def saliency_from_gradients(
    encoder: TransformerEncoder,
    readings: tuple[Reading, Reading],
    site: Site,
    pooling: Pooling,
    saliency: Callable[[TextPass, Gradient], TextSaliency],
) -> tuple[float, tuple[TextSaliency, TextSaliency]]:
    """Runs both texts, takes the gradients of their similarity, and makes each side's saliency from its own."""
    left, right = (run_text(encoder, reading, site, pooling) for reading in readings)
    score, first, second = gradients(left, right)
    return score, (saliency(left, first), saliency(right, second))


def text_saliency(
    text: TextPass, saliency: Float[Tensor, "tokens"], measured: Measured = NOTHING_MEASURED
) -> TextSaliency:
    """A text with its tokens' saliency scaled to [0, 1], and their contextual vectors."""
    return TextSaliency(
        saliency=min_max(to_numpy(saliency), own_tokens(text.reading)),
        vectors=to_numpy(text.outputs[0]),
        embedding=to_numpy(text.embedding[0]),
        measured=measured,
    )


@dataclass(frozen=True, slots=True)
class GradientMethod(FirstOrder):
    """A first-order method whose saliency comes from gradients of the pair's similarity."""

    layer: Site = "embeddings"
    combine_vectors: Combine = "mean"
    combine_saliency: Combine = "max"
    top_k: int | None = 2
    pooling: Pooling = "words"

    def check(self, encoder: Encoder) -> None:
        check_gradient_method(self, encoder.transformer)


def check_gradient_method(method: GradientMethod, encoder: TransformerEncoder) -> None:
    """Refuses parameters that all gradient methods have."""
    check_matching(method)
    layer = method.layer
    if isinstance(layer, str) and layer != "embeddings":
        raise unknown("layer", layer, ("embeddings (before any normalisation)", f"0 to {encoder.layers}"))
    if layer != "embeddings":
        encoder.check_layer(layer)
    if method.pooling not in get_args(Pooling):
        raise unknown("pooling", method.pooling, get_args(Pooling))


def own_tokens(reading: Reading) -> Bool[np.ndarray, "tokens"]:
    """Which tokens are the text's own."""
    return np.array([kind == "text" for kind in reading.side.kinds], dtype=bool)


def _at_least_single(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
