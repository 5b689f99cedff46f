"""Statistics that several rooms need: correlations, Holm's adjustment, Krippendorff's alpha, almost stochastic order.

Almost stochastic order (Dror, Shlomov & Reichart 2019; del Barrio et al. 2018): ``X`` is stochastically larger than ``Y`` where
its quantile function lies nowhere below. Real samples cross, so one asks how much: the share ``ε`` of the squared distance
between the two quantile functions that lies on the wrong side. At ``ε = 0`` the order holds outright, at ``0.5`` neither is
larger. ``X`` is called almost stochastically larger where an upper bound of ``ε``, at confidence ``1 − α``, is below a
threshold; the Siamese paper uses 0.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from whyalike.errors import BadInput

STEP = 0.001  # of the grid on which quantile functions are compared


def correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Pearson's correlation; NaN where one of them is constant."""
    first, second = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return float(np.corrcoef(first, second)[0, 1])


def rank_correlation(one: ArrayLike, other: ArrayLike) -> float:
    """Spearman's rank correlation; NaN where one of them is constant."""
    from scipy.stats import rankdata

    return correlation(rankdata(one), rankdata(other))


def none_if_nan(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value


def signed_rank_test(differences: ArrayLike) -> float | None:
    """Wilcoxon's signed-rank test, two-sided: the p-value; None for fewer than five differences, or none but zeros."""
    from scipy.stats import wilcoxon

    gaps = np.asarray(differences, dtype=float)
    return float(wilcoxon(gaps).pvalue) if len(gaps) > 4 and gaps.any() else None


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Each p-value adjusted for the number of them, step by step from the smallest (Holm 1979). None is none of them."""
    known = sorted((p, place) for place, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    largest = 0.0
    for rank, (p, place) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - rank)))
        adjusted[place] = largest
    return adjusted


def krippendorff_alpha(answers: Mapping[tuple[str, str], int]) -> float | None:
    """Krippendorff's alpha for interval data: 1 where raters agree, 0 where they agree as much as chance.

    ``1 − D_o / D_e``: squared differences of two ratings of one item, against those of any two ratings. Only items that two
    raters have rated count; None where there are none, or where all ratings are the same.
    """
    by_item: dict[str, list[int]] = {}
    for (_, item), score in answers.items():
        by_item.setdefault(item, []).append(score)
    units = [np.array(scores, dtype=float) for scores in by_item.values() if len(scores) > 1]
    if not units:
        return None
    every = np.concatenate(units)
    total = len(every)
    observed = sum(float(((unit[:, None] - unit[None]) ** 2).sum()) / (len(unit) - 1) for unit in units) / total
    expected = float(((every[:, None] - every[None]) ** 2).sum()) / (total * (total - 1))
    return 1 - observed / expected if expected else None


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
    from scipy.stats import norm

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
