"""The gradient baselines of the BTI paper: plain gradients, and gradients integrated from embeddings of zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.tokens import Reading
from whyalike.errors import BadInput
from whyalike.methods.first_order import PairSaliency, TextSaliency
from whyalike.methods.quadrature import cheapest_rule
from whyalike.methods.saliency import (
    Gradient,
    GradientMethod,
    TextPass,
    check_gradient_method,
    run_text,
    saliency_from_gradients,
    similarity,
    text_saliency,
)
from whyalike.methods.tangents import rows_at_once
from whyalike.results.records import Measured


@dataclass(frozen=True, slots=True)
class Gradients(GradientMethod):
    """Vanilla gradients: a token is as salient as the gradient of the similarity at its embedding is long."""

    name: ClassVar[str] = "gradients"
    title: ClassVar[str] = "gradient saliency, matched"
    summary: ClassVar[str] = "salient words by the length of the gradient, matched as bti does"
    paper: ClassVar[str] = "Malkiel et al. 2022, baseline VG"

    def text_saliencies(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> PairSaliency:
        def saliency(text: TextPass, gradient: Gradient) -> TextSaliency:
            return text_saliency(text, gradient.at_tokens.norm(dim=-1), gradient.measured)

        return saliency_from_gradients(encoder.transformer, (left, right), self.layer, self.pooling, saliency)


@dataclass(frozen=True, slots=True)
class IntegratedGradients(GradientMethod):
    """Gradient × embedding, integrated from embeddings of zero, the other text held: ``E_i · ∫ g_i(αE) dα``, summed per token.

    The sum over the tokens is what the similarity gains on the way, so the true error of the *total* is known: the user gives
    a ``tolerance``, the result states ``steps`` and ``error``. A model that normalises its embeddings first sees hardly any
    difference between E and αE until α is nearly 0: most of the way is flat there, and the steps gather at its beginning.
    """

    name: ClassVar[str] = "integrated_gradients"
    title: ClassVar[str] = "integrated-gradient saliency, matched"
    summary: ClassVar[str] = "salient words by gradients integrated from zero embeddings, matched as bti does"
    paper: ClassVar[str] = "Malkiel et al. 2022, baseline IG"
    tolerance: float = 0.05
    max_steps: int = 300

    def text_saliencies(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> PairSaliency:
        pair = [
            run_text(encoder.transformer, reading, self.layer, self.pooling).without_graph()
            for reading in (left, right)
        ]
        features = [text.feature for text in pair]
        score = similarity(features[0], features[1], encoder.record.similarity)
        first = self._integrate(pair[0], features[1], budget)
        second = self._integrate(pair[1], features[0], budget)
        return float(score), (first, second)

    def _integrate(self, text: TextPass, other: Float[torch.Tensor, "1 dim"], budget: int) -> TextSaliency:
        path = PathFromZero(text, other, budget, {})
        rule = cheapest_rule(path.speed, path.value, self.tolerance, self.max_steps)
        total = torch.as_tensor(rule.weights @ path.at_tokens(rule.nodes))
        return text_saliency(text, total, Measured(steps=len(rule.nodes), rule=rule.name, error=rule.error))

    def check(self, encoder: Encoder) -> None:
        check_gradient_method(self, encoder.transformer)
        numbers = isinstance(self.tolerance, int | float) and isinstance(self.max_steps, int)
        if not numbers or not self.tolerance > 0 or self.max_steps < 4:
            raise BadInput(
                f"tolerance should be positive and max_steps at least 4; got {self.tolerance!r} and {self.max_steps!r}."
            )


@dataclass(frozen=True, slots=True, eq=False)
class PathFromZero:
    """The straight line from zero to a text's states, and the similarity with a fixed other text along it."""

    text: TextPass
    other: Float[torch.Tensor, "1 dim"]
    budget: int
    known: dict[float, Float[np.ndarray, "tokens"]]  # gradients found so far: looking for a rule finds most of them

    def value(self, nodes: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps 1"]:
        with torch.no_grad():
            found = [self._similarity(self._points(some)) for some in self._split(nodes)]
        return torch.cat(found).cpu().double().numpy()[:, None]

    def speed(self, nodes: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps 1"]:
        return self.at_tokens(nodes).sum(1, keepdims=True)

    def at_tokens(self, nodes: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps tokens"]:
        """``E_i · g_i(αE)`` for every token: one backward pass per node."""
        for some in self._split(np.array([node for node in nodes if node not in self.known])):
            with torch.enable_grad():
                points = self._points(some).requires_grad_()
                (gradient,) = torch.autograd.grad(self._similarity(points).sum(), points)
            rows = (gradient.cpu().double() * self.text.states.cpu().double()).sum(-1).numpy()
            self.known.update(zip(some.tolist(), rows, strict=True))
        return np.stack([self.known[node] for node in nodes.tolist()])

    def _points(self, nodes: Float[np.ndarray, "steps"]) -> Float[torch.Tensor, "steps tokens width"]:
        states = self.text.states
        return torch.as_tensor(nodes, dtype=states.dtype, device=states.device)[:, None, None] * states

    def _similarity(self, points: Float[torch.Tensor, "steps tokens width"]) -> Float[torch.Tensor, "steps"]:
        return similarity(self.text.again(points), self.other, self.text.encoder.record.similarity)

    def _split(self, nodes: Float[np.ndarray, "steps"]) -> list[Float[np.ndarray, "some"]]:
        size = rows_at_once(self.text.encoder, self.text.outputs, self.budget)
        return [nodes[start : start + size] for start in range(0, len(nodes), size)]
