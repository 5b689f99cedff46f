"""Is it more than chance? Holm's adjustment for many comparisons, and almost stochastic order of two models (Dror, Shlomov &
Reichart 2019; del Barrio et al. 2018).

``X`` is stochastically larger than ``Y`` where its quantile function lies nowhere below. Real samples cross, so one asks how
much: the share ``ε`` of the squared distance between the two quantile functions that lies on the wrong side. At ``ε = 0``
the order holds outright, at ``0.5`` neither is larger, and ``X`` is called almost stochastically larger where a bound that
holds with confidence ``1 − α`` stays below a threshold; the Siamese paper uses ``0.3``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.stats import norm

from whyalike.errors import BadInput

STEP = 0.001  # of the grid on which quantile functions are compared


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Each p-value adjusted for the number of them, step by step from the smallest (Holm 1979). None is none of them."""
    known = sorted((p, place) for place, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True, slots=True)
class StochasticOrder:
    """How far a first sample is from being stochastically smaller than a second: of errors, smaller is better."""

    violation: float  # ε of the samples
    bound: float  # its upper bound at the confidence asked for
    threshold: float

    @property
    def holds(self) -> bool:
        """Whether the first is almost stochastically smaller."""
        return self.bound < self.threshold


def almost_stochastic_order(
    first: Float[np.ndarray, "first"],
    second: Float[np.ndarray, "second"],
    *,
    threshold: float = 0.3,
    alpha: float = 0.05,
    rounds: int = 1000,
    seed: int = 0,
) -> StochasticOrder:
    """Are the values of the first sample (errors, say) almost stochastically smaller than the second's?

    The bound is ``ε − σ·Φ⁻¹(α)·√((n+m)/(n·m))``, with ``σ`` from ``rounds`` bootstrap samples (Dror et al., equation 8).
    """
    small, large = (np.sort(np.asarray(sample, dtype=float)) for sample in (first, second))
    for sample in (small, large):
        if sample.ndim != 1 or len(sample) < 2 or not np.isfinite(sample).all():
            raise BadInput("Each sample should be a list of at least two finite numbers.")
    if not 0 < alpha < 1 or rounds < 2:
        raise BadInput(f"alpha lies between 0 and 1 and rounds is at least 2; got alpha={alpha}, rounds={rounds}.")
    violation = violation_ratio(small, large)
    draw = np.random.default_rng(seed)
    n, m = len(small), len(large)
    scale = np.sqrt(n * m / (n + m))
    spread = np.empty(rounds)
    for number in range(rounds):
        again = [np.sort(draw.choice(sample, len(sample))) for sample in (small, large)]
        spread[number] = scale * (violation_ratio(*again) - violation)
    bound = violation - norm.ppf(alpha) * float(spread.std(ddof=1)) / scale
    return StochasticOrder(violation, float(np.clip(bound, 0.0, 1.0)), threshold)


def violation_ratio(smaller: Float[np.ndarray, "first"], larger: Float[np.ndarray, "second"]) -> float:
    """``ε``: the share of the squared distance of the quantile functions where the first lies above; both sorted."""
    grid = np.arange(STEP / 2, 1, STEP)
    one, other = (sample[np.minimum((grid * len(sample)).astype(int), len(sample) - 1)] for sample in (smaller, larger))
    difference = one - other
    total = float((difference**2).sum())
    return 0.5 if total == 0 else float((difference[difference > 0] ** 2).sum()) / total
