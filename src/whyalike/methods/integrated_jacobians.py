"""Integrated Jacobians (Möller, Nikolaev & Padó 2023, 2024): contributions along a path from a neutral reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils._pytree import tree_map

from whyalike.encoders.encoder import Batch, Encoder
from whyalike.encoders.references import Positions, Reference, reference_states
from whyalike.encoders.tokens import Reading
from whyalike.encoders.twin import tile
from whyalike.errors import BadInput, unknown
from whyalike.explanation import Measured
from whyalike.methods.quadrature import FIRST_EDGES, RULES, Rule, cheapest_rule, fixed_rule, on_panels
from whyalike.methods.second_order import Cut, Images, SecondOrder, Totals
from whyalike.methods.tangents import GIBIBYTE, States, pull_one, push_directions, rows_at_once, states_at, true_images

STEPS_TOGETHER = 32


@dataclass(frozen=True, slots=True)
class IntegratedJacobians(SecondOrder):
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
    rule: str | None = None  # goes with ``steps``; the papers' right-endpoint sum where none is named

    def __post_init__(self) -> None:
        if self.reference not in get_args(Reference):
            raise unknown("reference", self.reference, get_args(Reference))
        if self.reference_positions not in get_args(Positions):
            raise unknown("kind of reference positions", self.reference_positions, get_args(Positions))
        if self.normalize not in ("endpoint", "path"):
            raise unknown("normalize", self.normalize, ("endpoint", "path"))
        if self.rule is not None and self.rule not in RULES:
            raise unknown("rule", self.rule, RULES)
        if self.rule is not None and self.steps is None:
            raise BadInput(
                f"The rule {self.rule!r} goes with a number of steps. Give steps as well, or only a tolerance."
            )
        numbers = isinstance(self.tolerance, int | float) and isinstance(self.max_steps, int)
        counts = self.steps is None or (isinstance(self.steps, int) and self.steps >= 1)
        if not numbers or not self.tolerance > 0 or self.max_steps < 4 or not counts:
            raise BadInput(
                "tolerance and steps should be positive and max_steps at least 4; "
                f"got {self.tolerance!r}, {self.steps!r} and {self.max_steps!r}."
            )

    def images(self, encoder: Encoder, batch: Batch, cut: Cut, budget: int) -> Images:
        paths, embedding = self.paths(encoder, batch, budget)
        units = torch.zeros(
            len(cut.masks), len(paths), embedding.shape[-1], dtype=embedding.dtype, device=embedding.device
        )
        measured = []
        for row, single in enumerate(paths):
            path, rule = self.path_and_rule(single)
            masks = cut.masks[:, row].to(path.start.dtype)
            moving = masks @ path.change[0].abs().sum(-1) > 0  # a special token is its own reference
            if moving.any():
                units[moving, row] = path.integrate(rule, masks[moving]).to(units.dtype)
            measured.append(_measured(rule, path))
        return Images(units, embedding, measured)

    def totals(self, encoder: Encoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        (single,), embedding = self.paths(encoder, batch, budget)
        path, rule = self.path_and_rule(single)
        gradient = torch.zeros_like(path.start[0])
        for nodes, weights in path.pieces(rule):
            states = path.at(nodes)
            gradients = pull_one(states, states.hidden, towards.to(path.start.dtype).expand(len(nodes), -1))
            gradient = gradient + torch.einsum("s,sth->th", weights, gradients)
        return Totals((gradient * path.change[0]).sum(-1).to(embedding.dtype), embedding[0], _measured(rule, path))

    def paths(
        self, encoder: Encoder, batch: Batch, budget: int = GIBIBYTE
    ) -> tuple[list[Path], Float[Tensor, "batch dim"]]:
        """The way from reference to text, for each text of a batch, and the embeddings."""
        if self.normalize == "path" and encoder.record.similarity == "dot":
            raise BadInput("normalize='path' differentiates a cosine; this encoder compares by dot. Use 'endpoint'.")
        states, embedding = states_at(encoder, batch, self.layer_in(encoder), self.normalize == "path")
        start = reference_states(encoder, batch, states.layer, self.reference, self.reference_positions)
        return [
            Path(_one(states, row), start[row : row + 1], batch.readings[row], budget) for row in range(len(start))
        ], embedding

    def path_and_rule(self, path: Path) -> tuple[Path, Rule]:
        """The nodes to integrate with, and the path they lie on. Costs one direction per node tried, not one per token.

        A path with near-jumps (layer 0 of MPNet) can be steeper than float32 can follow; it is followed in float64 then.
        """
        if self.steps is not None:
            return path, fixed_rule(self.rule or "right_endpoint", self.steps, path.speed, path.value)
        rule = cheapest_rule(path.speed, path.value, self.tolerance, self.max_steps)
        if rule.error <= self.tolerance or rule.edges is None or path.start.dtype == torch.float64:
            return path, rule
        edges = rule.edges if 2 * len(rule.nodes) <= self.max_steps else FIRST_EDGES
        double = path.states.encoder.in_double()
        (batch,) = double.batches([path.reading], 1)
        (finer,), _ = self.paths(double, batch, path.budget)
        found = on_panels(finer.speed, finer.value, self.tolerance, self.max_steps, edges, 1e-13)
        return (finer, found) if found.error < rule.error else (path, rule)


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """The straight line from one text's reference to its states."""

    states: States
    start: Float[Tensor, "1 tokens hidden"]
    reading: Reading
    budget: int = GIBIBYTE

    @property
    def change(self) -> Float[Tensor, "1 tokens hidden"]:
        return self.states.hidden - self.start

    def at(self, nodes: Float[np.ndarray, "steps"]) -> States:
        """The states at each node, as a batch."""
        steps = torch.as_tensor(nodes, dtype=self.start.dtype, device=self.start.device)[:, None, None]
        count = len(nodes)
        return replace(
            self.states,
            hidden=self.start + steps * self.change,
            features=tile(dict(self.states.features), count, 1),
            before=tile(self.states.before, count, 1),
        )

    def speed(self, nodes: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps dim"]:
        """``d/dα e(x_α)``: one direction per node."""
        return np.concatenate([self._speed(some) for some in self._split(nodes)])

    def _speed(self, nodes: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps dim"]:
        states = self.at(nodes)
        whole = torch.ones(1, *states.hidden.shape[:2], dtype=self.start.dtype, device=self.start.device)
        change = self.change.expand_as(states.hidden)
        return push_directions(states, states.hidden, change, whole, self.budget)[0].double().cpu().numpy()

    def value(self, nodes: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps dim"]:
        """``e(x_α)``: a plain pass."""
        found = []
        for some in self._split(nodes):
            states = self.at(some)
            with torch.no_grad():
                found.append(states.embed(states.hidden, lambda: None).double().cpu().numpy())
        return np.concatenate(found)

    def integrate(self, rule: Rule, masks: Float[Tensor, "units tokens"]) -> Float[Tensor, "units dim"]:
        """``Σ_s w_s J(x_s) · change_unit`` for every unit."""
        total = torch.zeros(1, dtype=masks.dtype, device=masks.device)
        for nodes, weights in self.pieces(rule):
            states = self.at(nodes)
            rows = len(nodes)
            change, units = self.change.expand(rows, -1, -1), masks[:, None].expand(-1, rows, -1)
            images = true_images(states, states.hidden, change, units, self.budget)
            total = total + torch.einsum("s,usd->ud", weights, images)
        return total

    def pieces(self, rule: Rule) -> Iterator[tuple[Float[np.ndarray, "some"], Float[Tensor, "some"]]]:
        """Nodes and weights of a rule, as many at a time as the memory budget allows."""
        for nodes, weights in zip(self._split(rule.nodes), self._split(rule.weights), strict=True):
            yield nodes, torch.as_tensor(weights, dtype=self.start.dtype, device=self.start.device)

    def _split(self, nodes: Float[np.ndarray, "steps"]) -> list[Float[np.ndarray, "some"]]:
        size = min(STEPS_TOGETHER, rows_at_once(self.states.encoder, self.start, self.budget))
        return [nodes[start : start + size] for start in range(0, len(nodes), size)]


def _one(states: States, row: int) -> States:
    def pick(leaf: object) -> object:
        batched = isinstance(leaf, Tensor) and leaf.ndim and leaf.shape[0] == len(states.hidden)
        return leaf[row : row + 1] if batched else leaf  # type: ignore[index]

    return replace(
        states,
        hidden=states.hidden[row : row + 1],
        features=tree_map(pick, dict(states.features)),
        before=tree_map(pick, states.before),
    )


def _measured(rule: Rule, path: Path) -> Measured:
    precision = str(path.start.dtype).removeprefix("torch.")
    return {"steps": len(rule.nodes), "rule": rule.name, "error": rule.error, "precision": precision}
