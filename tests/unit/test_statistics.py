"""Almost stochastic order, against its definition in loops."""

from __future__ import annotations

import numpy as np
import pytest

from whyalike.errors import BadInput
from whyalike.statistics import almost_stochastic_order, holm, violation_ratio


def violation_by_loops(first: np.ndarray, second: np.ndarray, steps: int = 20_000) -> float:
    """∫ over t where F⁻¹(t) > G⁻¹(t) of (F⁻¹ − G⁻¹)², divided by the same over all t: Dror et al. 2019, equation 5."""
    wrong = total = 0.0
    for step in range(steps):
        t = (step + 0.5) / steps
        quantiles = [
            next(v for n, v in enumerate(sorted(sample), 1) if n / len(sample) >= t) for sample in (first, second)
        ]
        distance = (quantiles[0] - quantiles[1]) ** 2
        total += distance
        wrong += distance if quantiles[0] > quantiles[1] else 0.0
    return wrong / total


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_violation_is_the_papers(seed: int) -> None:
    draw = np.random.default_rng(seed)
    first, second = draw.normal(0, 1, 20), draw.normal(0.2, 1.5, 40)
    assert violation_ratio(np.sort(first), np.sort(second)) == pytest.approx(
        violation_by_loops(first, second), abs=1e-9
    )


def test_order_holds_for_what_is_smaller_and_not_for_what_is_not() -> None:
    draw = np.random.default_rng(0)
    small, large = draw.exponential(1.0, 400), draw.exponential(1.6, 400)
    better, worse = almost_stochastic_order(small, large), almost_stochastic_order(large, small)
    assert better.holds
    assert not worse.holds
    assert better.violation + worse.violation == pytest.approx(1)
    assert better.violation <= better.bound
    alike = almost_stochastic_order(small, draw.exponential(1.0, 400))
    assert not alike.holds
    assert almost_stochastic_order(small, small).violation == 0.5
    assert almost_stochastic_order(small, large) == better


def test_samples_that_are_none_are_refused() -> None:
    for wrong in (np.array([1.0]), np.array([1.0, np.nan])):
        with pytest.raises(BadInput, match="finite numbers"):
            almost_stochastic_order(wrong, np.array([1.0, 2.0]))
    with pytest.raises(BadInput, match="alpha lies between"):
        almost_stochastic_order(np.array([1.0, 2.0]), np.array([1.0, 2.0]), alpha=0.0)


def test_holms_adjustment_by_hand() -> None:
    assert holm([0.03, 0.01, None, 0.04]) == [pytest.approx(0.06), pytest.approx(0.03), None, pytest.approx(0.06)]
