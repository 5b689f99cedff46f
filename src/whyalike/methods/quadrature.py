"""Where to evaluate an integral over a path whose true value is known.

The integral of ``g(α) = d/dα e(x_α)`` from a to b is ``e(x_b) − e(x_a)``: two plain passes. So the true error of a rule is
known, on the whole path and on every panel of it, and one directional derivative per node decides how many steps the n
directions of the tokens will need. Rules are tried from cheap to dear:

- Gauss–Legendre on the whole path, which wins where the path is smooth (deep layers: 4 nodes from a padding reference, 9 to 12
  from a null one);
- the midpoint rule with nodes drawn towards the middle, where most of the change happens at shallow layers. It converges
  faster than any power of 1/N there, since g nearly vanishes at both ends; the papers' right-endpoint sum takes 1/N;
- Gauss–Legendre on panels, halving those whose own error is large: for paths with a sharp jump (layer 0 of MPNet).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Array = Float[np.ndarray, "..."]
WHOLE_PATH = (
    ("gauss", 4),
    ("gauss", 6),
    ("warped_midpoint", 8),
    ("gauss", 9),
    ("warped_midpoint", 12),
    ("gauss", 12),
    ("warped_midpoint", 18),
)
PANEL_NODES, FIRST_PANELS = 3, 4
ROUGH = 0.1  # an error of Gauss–Legendre above which more of its nodes are not tried: the path is not smooth
HOPELESS = 0.3  # a whole-path error above which a finer whole-path rule is not worth trying


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """Nodes and weights on [0, 1], and the true relative error they reached."""

    name: str
    nodes: Float[np.ndarray, "steps"]
    weights: Float[np.ndarray, "steps"]
    error: float = float("nan")
    edges: Float[np.ndarray, "panels_and_one"] | None = None  # of the panels, where it has some


def midpoint(steps: int) -> Rule:
    return Rule("midpoint", (np.arange(steps) + 0.5) / steps, np.full(steps, 1 / steps))


def right_endpoint(steps: int) -> Rule:
    """The papers' rule, equation (3)."""
    return Rule("right_endpoint", np.arange(1, steps + 1) / steps, np.full(steps, 1 / steps))


def gauss(steps: int) -> Rule:
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return Rule("gauss", (nodes + 1) / 2, weights / 2)


def warped_midpoint(steps: int) -> Rule:
    """The midpoint rule in t with ``α(t) = t + sin(2πt)/4π``: half the spacing in the middle, periodic at the ends."""
    if steps < 2:
        return midpoint(steps)  # nothing to be periodic
    t = (np.arange(steps) + 0.5) / steps
    return Rule("warped_midpoint", t + np.sin(2 * np.pi * t) / (4 * np.pi), (1 + np.cos(2 * np.pi * t) / 2) / steps)


RULES: dict[str, Callable[[int], Rule]] = {
    "midpoint": midpoint,
    "right_endpoint": right_endpoint,
    "gauss": gauss,
    "warped_midpoint": warped_midpoint,
}


def fixed_rule(name: str, steps: int, speed: Callable[[Array], Array], value: Callable[[Array], Array]) -> Rule:
    """A rule by name, its error measured."""
    return _measured(RULES[name](steps), speed, *value(np.array([0.0, 1.0])))


def cheapest_rule(
    speed: Callable[[Array], Array],
    value: Callable[[Array], Array],
    tolerance: float,
    max_steps: int,
    finest: float = 6e-8,
) -> Rule:
    """The first rule whose true error is within the tolerance, or the best that ``max_steps`` allow.

    ``speed(nodes)`` gives g at each node, ``value(nodes)`` the embedding. ``finest`` is the shortest panel that makes sense:
    float32 has no finer steps than 6e-8 near the middle of the path.
    """
    ends, smooth = value(np.array([0.0, 1.0])), True
    for name, steps in WHOLE_PATH:
        if steps > max_steps:
            break
        if name == "gauss" and not smooth:
            continue
        rule = _measured(RULES[name](steps), speed, *ends)
        if rule.error <= tolerance:
            return rule
        if rule.error > HOPELESS and steps >= 8:
            break
        if name == "gauss" and steps >= 6:
            smooth = rule.error <= ROUGH
    return on_panels(speed, value, tolerance, max_steps, first_edges(max_steps), finest)


def first_edges(max_steps: int) -> Float[np.ndarray, "panels_and_one"]:
    """The panels to begin with: four, or one where there are not steps enough for four."""
    return np.linspace(0, 1, (FIRST_PANELS if max_steps >= PANEL_NODES * FIRST_PANELS else 1) + 1)


def _measured(rule: Rule, speed: Callable[[Array], Array], start: Array, end: Array) -> Rule:
    found = rule.weights @ speed(rule.nodes)
    return Rule(rule.name, rule.nodes, rule.weights, _relative(found - (end - start), end - start))


def _relative(error: Array, total: Array) -> float:
    size = float(np.linalg.norm(total))
    return float(np.linalg.norm(error)) / size if size else float(np.linalg.norm(error))


def on_panels(
    speed: Callable[[Array], Array],
    value: Callable[[Array], Array],
    tolerance: float,
    max_steps: int,
    edges: Float[np.ndarray, "panels_and_one"],
    finest: float,
) -> Rule:
    """Halves the panels with the largest true error until the whole is within the tolerance."""
    base = gauss(PANEL_NODES)
    values = dict(zip(edges.tolist(), value(edges), strict=True))
    total = values[1.0] - values[0.0]
    errors: dict[tuple[float, float], Array] = {}
    fresh = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    while True:
        nodes = np.concatenate([low + (high - low) * base.nodes for low, high in fresh])
        for (low, high), speeds in zip(fresh, speed(nodes).reshape(len(fresh), PANEL_NODES, -1), strict=True):
            errors[low, high] = (high - low) * (base.weights @ speeds) - (values[high] - values[low])
        error = _relative(np.sum(list(errors.values()), axis=0), total)
        sizes = {panel: _relative(each, total) for panel, each in errors.items()}
        # Errors of P panels point every way, so each may have tolerance/√P; those above it are halved all at once.
        bound = min(tolerance / len(sizes) ** 0.5, 0.3 * max(sizes.values()))
        worst = [panel for panel, size in sizes.items() if size >= bound and panel[1] - panel[0] > finest]
        if error <= tolerance or not worst or PANEL_NODES * (len(errors) + len(worst)) > max_steps:
            break
        middles = np.array([(low + high) / 2 for low, high in worst])
        values.update(zip(middles.tolist(), value(middles), strict=True))
        for panel in worst:
            del errors[panel]
        halves = zip(worst, middles.tolist(), strict=True)
        fresh = [half for (low, high), middle in halves for half in ((low, middle), (middle, high))]
    panels = sorted(errors)
    return Rule(
        "gauss_on_panels",
        np.concatenate([low + (high - low) * base.nodes for low, high in panels]),
        np.concatenate([(high - low) * base.weights for low, high in panels]),
        error,
        np.array([*(low for low, _ in panels), 1.0]),
    )
