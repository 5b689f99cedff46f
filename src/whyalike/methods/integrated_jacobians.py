"""Integrated Jacobians (Möller, Nikolaev & Padó 2023, 2024): contributions along a path from a neutral reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whyalike.encoders.encoder import Batch, Encoder
from whyalike.encoders.references import Positions, Reference, reference_states
from whyalike.encoders.twin import tile
from whyalike.errors import BadInput, unknown
from whyalike.explanation import Measured
from whyalike.methods.method import Cut, Images, Method
from whyalike.methods.quadrature import RULES, Rule, cheapest_rule, fixed_rule
from whyalike.methods.tangents import GIBIBYTE, States, pull_one, push_directions, states_at, true_images


@dataclass(frozen=True, slots=True)
class IntegratedJacobians(Method):
    """``c_i = ∫ J(r + α(x−r)) dα · (x−r)_i``; the remainder is the reference's embedding ``e(r)`` plus the integration error.

    The true error ``‖e(x) − e(r) − Σ c_i‖ / ‖e(x) − e(r)‖`` is known, so the user gives a ``tolerance`` and the result
    states the ``steps`` and the ``error`` (in ``measured``); ``steps`` and ``rule`` fix them instead. ``normalize="path"``
    differentiates through the normalisation of the embedding as equation (2) of the 2024 paper does when read literally.
    """

    name: ClassVar[str] = "integrated_jacobians"
    summary: ClassVar[str] = "the Jacobian integrated from a neutral reference; states its true error"
    paper: ClassVar[str] = "Möller, Nikolaev & Padó 2023, 2024"
    adds_up: ClassVar[bool] = True
    layer: int | None = 0
    tolerance: float = 1e-2
    reference: Reference = "pad"
    reference_positions: Positions = "own"
    normalize: Literal["endpoint", "path"] = "endpoint"
    max_steps: int = 3000
    steps: int | None = None
    rule: str = "right_endpoint"  # used only with ``steps``

    def __post_init__(self) -> None:
        if self.reference not in get_args(Reference):
            raise unknown("reference", self.reference, get_args(Reference))
        if self.reference_positions not in get_args(Positions):
            raise unknown("kind of reference positions", self.reference_positions, get_args(Positions))
        if self.normalize not in ("endpoint", "path"):
            raise unknown("normalize", self.normalize, ("endpoint", "path"))
        if self.rule not in RULES:
            raise unknown("rule", self.rule, RULES)
        if not self.tolerance > 0 or self.max_steps < 1 or (self.steps is not None and self.steps < 1):
            raise BadInput(
                f"tolerance, max_steps and steps should be positive; got {self.tolerance}, {self.max_steps}, {self.steps}."
            )

    def images(self, encoder: Encoder, batch: Batch, cut: Cut, budget: int) -> Images:
        paths, embedding = self.paths(encoder, batch)
        units = torch.zeros(
            len(cut.masks), len(paths), embedding.shape[-1], dtype=embedding.dtype, device=embedding.device
        )
        measured = []
        for row, path in enumerate(paths):
            rule = self.rule_of(path)
            masks = cut.masks[:, row]
            moving = (
                (directions := path.change[0] * masks[..., None]).flatten(1).any(-1)
            )  # a special token is its own reference
            if moving.any():
                units[moving, row] = path.integrate(rule, directions[moving], masks[moving], budget)
            measured.append(_measured(rule))
        return Images(units, embedding - units.sum(0), embedding, measured)

    def totals(
        self, encoder: Encoder, batch: Batch, towards: Float[Tensor, dim]
    ) -> tuple[Float[Tensor, tokens], Float[Tensor, dim]]:
        (path,), embedding = self.paths(encoder, batch)
        rule = self.rule_of(path)
        states = path.at(rule.nodes)
        gradients = pull_one(states, states.hidden, towards.expand(len(rule.nodes), -1))
        weights = torch.as_tensor(rule.weights, dtype=gradients.dtype, device=gradients.device)
        return (torch.einsum("s,sth->th", weights, gradients) * path.change[0]).sum(-1), embedding[0]

    def paths(self, encoder: Encoder, batch: Batch) -> tuple[list[Path], Float[Tensor, "batch dim"]]:
        """The way from reference to text, for each text of a batch, and the embeddings."""
        if self.normalize == "path" and encoder.record.similarity == "dot":
            raise BadInput("normalize='path' differentiates a cosine; this encoder compares by dot. Use 'endpoint'.")
        states, embedding = states_at(encoder, batch, self.layer_in(encoder), self.normalize == "path")
        start = reference_states(encoder, batch, states.layer, self.reference, self.reference_positions)
        return [Path(_one(states, row), start[row : row + 1]) for row in range(len(start))], embedding

    def rule_of(self, path: Path) -> Rule:
        """The nodes this method integrates with on a path. Costs one direction per node tried, not one per token."""
        if self.steps is not None:
            return fixed_rule(self.rule, self.steps, path.speed, path.value)
        return cheapest_rule(path.speed, path.value, self.tolerance, self.max_steps)


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The straight line from one text's reference to its states."""

    states: States
    start: Float[Tensor, "1 tokens hidden"]

    @property
    def change(self) -> Float[Tensor, "1 tokens hidden"]:
        return self.states.hidden - self.start

    def at(self, nodes: Float[np.ndarray, steps]) -> States:
        """The states at each node, as a batch."""
        steps = torch.as_tensor(nodes, dtype=self.start.dtype, device=self.start.device)[:, None, None]
        count = len(nodes)
        return replace(
            self.states,
            hidden=self.start + steps * self.change,
            features=tile(dict(self.states.features), count, 1),
            before=tile(self.states.before, count, 1),
        )

    def speed(self, nodes: Float[np.ndarray, steps]) -> Float[np.ndarray, "steps dim"]:
        """``d/dα e(x_α)``: one direction per node."""
        states = self.at(nodes)
        directions = self.change.expand(1, len(nodes), -1, -1)
        return push_directions(states, states.hidden, directions, GIBIBYTE)[0].double().cpu().numpy()

    def value(self, nodes: Float[np.ndarray, steps]) -> Float[np.ndarray, "steps dim"]:
        """``e(x_α)``: a plain pass."""
        states = self.at(nodes)
        with torch.no_grad():
            return states.embed(states.hidden, lambda: None).double().cpu().numpy()

    def integrate(
        self,
        rule: Rule,
        directions: Float[Tensor, "units tokens hidden"],
        masks: Float[Tensor, "units tokens"],
        budget: int,
    ) -> Float[Tensor, "units dim"]:
        """``Σ_s w_s J(x_s) · direction`` for every direction."""
        total = torch.zeros(len(directions), 1, dtype=directions.dtype, device=directions.device)
        together = max(1, 512 // directions.shape[1])  # steps in one pass, with a few directions each
        for start in range(0, len(rule.nodes), together):
            some = slice(start, start + together)
            states = self.at(rule.nodes[some])
            count = len(states.hidden)
            images = true_images(
                states, states.hidden, self.change.expand(count, -1, -1), masks[:, None].expand(-1, count, -1), budget
            )
            weights = torch.as_tensor(rule.weights[some], dtype=images.dtype, device=images.device)
            total = total + torch.einsum("s,usd->ud", weights, images)
        return total


def _one(states: States, row: int) -> States:
    def pick(leaf: object) -> object:
        batched = isinstance(leaf, Tensor) and leaf.ndim and leaf.shape[0] == len(states.hidden)
        return leaf[row : row + 1] if batched else leaf  # type: ignore[index]

    from torch.utils._pytree import tree_map

    return replace(
        states,
        hidden=states.hidden[row : row + 1],
        features=tree_map(pick, dict(states.features)),
        before=tree_map(pick, states.before),
    )


def _measured(rule: Rule) -> Measured:
    return {"steps": len(rule.nodes), "rule": rule.name, "error": rule.error}
