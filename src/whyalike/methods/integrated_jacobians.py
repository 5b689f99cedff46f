"""Integrated Jacobians (Möller, Nikolaev & Padó 2023, 2024): contributions along a path from a neutral reference."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils._pytree import tree_map

from whyalike.encoders.references import Positions, Reference, reference_states
from whyalike.encoders.tokens import Reading
from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.encoders.twin import tile
from whyalike.errors import BadInput, unknown
from whyalike.methods.null_reference import null_states
from whyalike.methods.quadrature import RULES, Rule, cheapest_rule, first_edges, fixed_rule, on_panels
from whyalike.methods.second_order import BatchContributions, BatchUnits, Totals, TransformerMethod
from whyalike.methods.tangents import (
    GIBIBYTE,
    States,
    jacobian_products,
    pull_one,
    push_directions,
    rows_at_once,
    states_at,
)
from whyalike.results.records import Measured

STEPS_TOGETHER = 32
SHORT = 2e-4  # a panel in which float32 has few thousand points or less
FINEST_DOUBLE = 1e-13


@dataclass(frozen=True, slots=True)
class IntegratedJacobians(TransformerMethod):
    """``c_i = ∫ J(r + α(x−r)) dα · (x−r)_i``; the remainder is the reference's embedding ``e(r)`` plus the integration error.

    The true error ``‖e(x) − e(r) − Σ c_i‖ / ‖e(x) − e(r)‖`` is known, so the user gives a ``tolerance`` and the result
    states the ``steps`` and the ``error`` (in ``measured``); ``steps`` and ``rule`` fix them instead. ``normalize="path"``
    differentiates through the normalisation of the embedding as equation (2) of the 2024 paper does when read literally.
    ``reference="null"`` integrates from states solved for, whose embedding is zero (``null_reference.py``); how near they come
    is ``reference_size`` in ``measured``, relative to the text's embedding.
    """

    name: ClassVar[str] = "integrated_jacobians"
    title: ClassVar[str] = "path from a neutral text (integrated Jacobians)"
    summary: ClassVar[str] = "the Jacobian integrated from a neutral reference; states its true error"
    paper: ClassVar[str] = "Möller, Nikolaev & Padó 2023, 2024"
    adds_up: ClassVar[bool] = True
    layer: int | None = 0
    tolerance: float = 1e-2
    reference: Reference | Literal["null"] = "pad"
    reference_positions: Positions = "own"
    normalize: Literal["endpoint", "path"] = "endpoint"
    max_steps: int = 3000
    steps: int | None = None
    rule: str | None = None  # goes with ``steps``; the papers' right-endpoint sum where none is named

    def __post_init__(self) -> None:
        if self.reference not in (*get_args(Reference), "null"):
            raise unknown("reference", self.reference, (*get_args(Reference), "null"))
        if self.reference_positions not in get_args(Positions):
            raise unknown("kind of reference positions", self.reference_positions, get_args(Positions))
        if self.normalize not in ("endpoint", "path"):
            raise unknown("normalize", self.normalize, ("endpoint", "path"))
        if self.reference == "null" and self.normalize == "path":
            raise BadInput(
                "reference='null' cannot be combined with normalize='path': a normalized embedding is never zero. "
                "Use normalize='endpoint'."
            )
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

    def batch_contributions(
        self, encoder: TransformerEncoder, batch: Batch, units: BatchUnits, budget: int
    ) -> BatchContributions:
        paths, embedding = self.paths(encoder, batch, budget)
        vectors = torch.zeros(
            len(units.masks), len(paths), embedding.shape[-1], dtype=embedding.dtype, device=embedding.device
        )
        measured = []
        for row, whole in enumerate(paths):
            legs, found = self.legs_of(whole)
            masks = units.masks[:, row]
            moving = masks @ whole.change[0].abs().sum(-1) > 0  # a special token is its own reference
            for path, rule in legs:
                if moving.any():
                    vectors[moving, row] += path.integrate(rule, masks[moving].to(path.start.dtype)).to(vectors.dtype)
            if self.reference == "null":
                size = float(np.linalg.norm(whole.value(np.zeros(1))) / embedding[row].double().norm().clamp_min(1e-12))
                found = replace(found, reference_size=size)
            measured.append(found)
        return BatchContributions(vectors, embedding, torch.cat([path.states.middle for path in paths]), measured)

    def totals(self, encoder: TransformerEncoder, batch: Batch, towards: Float[Tensor, "dim"], budget: int) -> Totals:
        (whole,), embedding = self.paths(encoder, batch, budget)
        legs, measured = self.legs_of(whole)
        return Totals(pull_along(legs, towards), embedding[0], measured)

    def compared(self, embedding: Float[Tensor, "dim"]) -> Float[Tensor, "dim"]:
        return torch.nn.functional.normalize(embedding, dim=-1) if self.normalize == "path" else embedding

    def paths(
        self, encoder: TransformerEncoder, batch: Batch, budget: int = GIBIBYTE
    ) -> tuple[list[IntegrationPath], Float[Tensor, "batch dim"]]:
        """The way from reference to text, for each text of a batch, and the embeddings."""
        if self.normalize == "path" and encoder.record.similarity == "dot":
            raise BadInput("normalize='path' differentiates a cosine; this encoder compares by dot. Use 'endpoint'.")
        states, embedding = states_at(encoder, batch, self.layer_in(encoder), self.normalize == "path")
        known: Reference = "pad" if self.reference == "null" else self.reference
        start = reference_states(encoder, batch, states.layer, known, self.reference_positions)
        if self.reference == "null":
            start = null_states(_one(states, 0), start[:1], self.reference_positions).expand_as(
                start
            )  # the same for all of one length
        return [
            IntegrationPath(_one(states, row), start[row : row + 1], batch.readings[row], budget)
            for row in range(len(start))
        ], embedding

    def legs_of(self, path: IntegrationPath) -> tuple[list[tuple[IntegrationPath, Rule]], Measured]:
        """The nodes to integrate with, each leg on a path of its own precision, and what they reach.

        Costs one direction per node tried, not one per token. A path with near-jumps (layer 0 of MPNet) can be steeper than
        float32 can follow; its steep pieces are followed in float64 then.
        """
        if self.steps is not None:
            rule = fixed_rule(self.rule or "right_endpoint", self.steps, path.speed, path.value)
            return [(path, rule)], _measured(rule)
        rule = cheapest_rule(path.speed, path.value, self.tolerance, self.max_steps)
        if rule.error <= self.tolerance or rule.edges is None or path.start.dtype == torch.float64:
            return [(path, rule)], _measured(rule)
        if 2 * len(rule.nodes) <= self.max_steps:
            edges, short = rule.edges, SHORT
        else:  # finer steps did not help anywhere: rounding may be everywhere
            edges, short = first_edges(self.max_steps), 2.0
        steep = SteepPath(path, self._in_double(path), edges, short)
        finer = on_panels(steep.speed, steep.value, self.tolerance, self.max_steps, edges, FINEST_DOUBLE)
        if finer.error >= rule.error:
            return [(path, rule)], _measured(rule)
        in_double = sum(len(rule.nodes) for path, rule in steep.legs(finer) if path is steep.fine)
        return steep.legs(finer), replace(_measured(finer), steps_in_float64=in_double)

    def _in_double(self, path: IntegrationPath) -> IntegrationPath:
        double = double_precision(path.states.encoder)
        (batch,) = double.batches([path.reading], 1)
        known = replace(self, reference="pad") if self.reference == "null" else self
        (finer,), _ = known.paths(double, batch, path.budget)
        # A reference that was solved for is taken as it is, not solved for anew.
        return replace(finer, start=path.start.double()) if self.reference == "null" else finer


@dataclass(frozen=True, slots=True, eq=False)
class SteepPath:
    """A path in float32, and the same in float64 for the pieces too short for float32 to tell their points apart."""

    coarse: IntegrationPath
    fine: IntegrationPath
    edges: Float[np.ndarray, "panels_and_one"]  # of the panels found in float32
    short: float

    def speed(self, nodes: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps dim"]:
        return self._each(nodes, self.coarse.speed, self.fine.speed)

    def value(self, nodes: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps dim"]:
        return self._each(nodes, self.coarse.value, self.fine.value)

    def legs(self, rule: Rule) -> list[tuple[IntegrationPath, Rule]]:
        steep = self._steep(rule.nodes)
        return [
            (path, replace(rule, nodes=rule.nodes[mine], weights=rule.weights[mine]))
            for path, mine in ((self.coarse, ~steep), (self.fine, steep))
            if mine.any()
        ]

    def _steep(self, nodes: Float[np.ndarray, "steps"]) -> Bool[np.ndarray, "steps"]:
        """Whether each node lies in a short panel or at the edge of one."""
        widths = np.diff(self.edges)
        short = widths < self.short
        panel = np.clip(np.searchsorted(self.edges, nodes, side="right") - 1, 0, len(widths) - 1)
        at_start = nodes == self.edges[panel]
        return short[panel] | (at_start & short[np.maximum(panel - 1, 0)])

    def _each(
        self,
        nodes: Float[np.ndarray, "steps"],
        coarse: Callable[[np.ndarray], np.ndarray],
        fine: Callable[[np.ndarray], np.ndarray],
    ) -> Float[np.ndarray, "steps dim"]:
        steep = self._steep(nodes)
        found = [np.zeros(0)] * len(nodes)
        for mine, look in ((~steep, coarse), (steep, fine)):
            for index, row in zip(np.flatnonzero(mine), look(nodes[mine]) if mine.any() else (), strict=True):
                found[index] = row
        return np.stack(found)


@dataclass(frozen=True, slots=True, eq=False)
class IntegrationPath:
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
            vectors = jacobian_products(states, states.hidden, change, units, self.budget)
            total = total + torch.einsum("s,usd->ud", weights, vectors)
        return total

    def pieces(self, rule: Rule) -> Iterator[tuple[Float[np.ndarray, "some"], Float[Tensor, "some"]]]:
        """Nodes and weights of a rule, as many at a time as the memory budget allows."""
        for nodes, weights in zip(self._split(rule.nodes), self._split(rule.weights), strict=True):
            yield nodes, torch.as_tensor(weights, dtype=self.start.dtype, device=self.start.device)

    def _split(self, nodes: Float[np.ndarray, "steps"]) -> list[Float[np.ndarray, "some"]]:
        size = min(STEPS_TOGETHER, rows_at_once(self.states.encoder, self.start, self.budget))
        return [nodes[start : start + size] for start in range(0, len(nodes), size)]


def pull_along(legs: list[tuple[IntegrationPath, Rule]], towards: Float[Tensor, "dim"]) -> Float[Tensor, "tokens"]:
    """``⟨c_i, towards⟩`` of every token, by one backward pass per node."""
    total = torch.zeros_like(legs[0][0].start[0, :, 0])
    for path, rule in legs:
        for nodes, weights in path.pieces(rule):
            states = path.at(nodes)
            gradients = pull_one(states, states.hidden, towards.to(path.start.dtype).expand(len(nodes), -1))
            total += torch.einsum("s,sth,th->t", weights, gradients, path.change[0]).to(total.dtype)
    return total


def _one(states: States, row: int) -> States:
    def pick(leaf: object) -> object:
        batched = isinstance(leaf, Tensor) and leaf.ndim and leaf.shape[0] == len(states.hidden)
        return leaf[row : row + 1] if batched else leaf  # type: ignore[index]

    return replace(
        states,
        hidden=states.hidden[row : row + 1],
        middle=states.middle[row : row + 1],
        features=tree_map(pick, dict(states.features)),
        before=tree_map(pick, states.before),
    )


_DOUBLES: WeakKeyDictionary[TransformerEncoder, TransformerEncoder] = WeakKeyDictionary()
_DOUBLES_LOCK = threading.Lock()


def double_precision(encoder: TransformerEncoder) -> TransformerEncoder:
    """The same model with its weights in float64, for what float32 cannot resolve. Made once per encoder."""
    with _DOUBLES_LOCK:
        if encoder not in _DOUBLES:
            _DOUBLES[encoder] = encoder.copy_in_float64()
        return _DOUBLES[encoder]


def _measured(rule: Rule) -> Measured:
    return Measured(steps=len(rule.nodes), rule=rule.name, error=rule.error)
