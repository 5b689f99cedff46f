"""Shapley values of a game whose values are vectors: by all coalitions, or by some of them with the error that makes.

The Shapley value is linear in the game, so a vector-valued game is solved like one of numbers: the coalitions, their weights
and one factorisation are shared by all dimensions. (shapiq takes games of numbers only, so that it would be run once per
dimension; the linear algebra is written here.)

Some coalitions: the Shapley value is the solution of a weighted least squares problem (Charnes et al. 1988; KernelSHAP,
Lundberg & Lee 2017)::

    min_φ  Σ_S k(S) ‖v(S) − v(∅) − Σ_{i∈S} φ_i‖²    subject to  Σ_i φ_i = v(N) − v(∅),    k(S) = (n−1) / (C(n,s) s (n−s))

Sizes are taken from the outside in, s and n−s together, all coalitions of a size as long as the budget allows. Of the sizes
between them coalitions are drawn by their weight, each with its complement (Covert & Lee 2021). The error is estimated by
leaving out one of eight groups of the draws at a time (jackknife).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, factorial

import numpy as np
from jaxtyping import Bool, Float, Int

GROUPS = 8  # of draws, to estimate the error by
DRAWS_PER_COALITION = 20  # drawing again what was drawn costs nothing, but has to end
Coalitions = Bool[np.ndarray, "rows players"]
Values = Float[np.ndarray, "rows dim"]


def fewest(players: int) -> int:
    """The smallest number of coalitions that can be solved with an error: none, all, each alone, each left out, and draws."""
    return min(2**players, 2 * players + 2 + 2 * GROUPS)


@lru_cache(maxsize=16)
def all_coalitions(players: int) -> Coalitions:
    numbers = np.arange(2**players)[:, None]
    return (numbers >> np.arange(players) & 1).astype(bool)


def exact_values(values: Values) -> Float[np.ndarray, "players dim"]:
    """The Shapley values, from the values of `all_coalitions`: ``φ_i = Σ_S s!(n−s−1)!/n! (v(S ∪ i) − v(S))``, one product."""
    players = len(values).bit_length() - 1
    present = all_coalitions(players)
    size = present.sum(1)
    order = [factorial(s) * factorial(players - s - 1) / factorial(players) for s in range(players)]
    joined, absent = np.array([0.0, *order]), np.array([*order, 0.0])
    weights = np.where(present, joined[size, None], -absent[size, None])
    found: Float[np.ndarray, "players dim"] = weights.T @ values
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Coalitions with their weights: some known to be all of their size, the others drawn."""

    enumerated: Bool[np.ndarray, "enumerated players"]
    weights: Float[np.ndarray, "enumerated"]
    drawn: Bool[np.ndarray, "drawn players"]  # with their complements: 2 rows a draw
    draws: Int[np.ndarray, "drawn groups"]  # how often each was drawn, by group
    drawn_weight: float  # of all draws together

    @property
    def rows(self) -> Coalitions:
        return np.concatenate([self.enumerated, self.drawn])


def sample_coalitions(players: int, count: int, count_for_sizes: int, generator: np.random.Generator) -> Sample:
    """So many different coalitions (at most), without none and all: whole sizes first, then draws.

    Which sizes are taken whole is decided as for ``count_for_sizes``, so that more of the same generator only adds draws.
    """
    enumerated, weights, left, size = [], [], count_for_sizes, 1
    while 2 * size <= players:
        count_of_size, _ = _whole_size(players, size)
        if count_of_size > (left - 2 * GROUPS if size == 1 else left // 2):  # few draws between whole sizes are noise
            break
        rows = [row for s in sorted({size, players - size}) for row in combinations(range(players), s)]
        enumerated += [_row(row, players) for row in rows]
        weights += [_weight(players, size)] * len(rows)
        left, size = left - count_of_size, size + 1
    inner = np.arange(size, players - size + 1)
    masses = np.array([_whole_size(players, int(s))[1] for s in inner])
    drawn, draws = _draw(players, inner, masses / masses.sum(), count - len(enumerated), generator)
    return Sample(
        np.array(enumerated, dtype=bool).reshape(-1, players), np.array(weights), drawn, draws, float(masses.sum())
    )


def solve_sample(
    sample: Sample, values: Values, none: Float[np.ndarray, "dim"], everyone: Float[np.ndarray, "dim"]
) -> tuple[Float[np.ndarray, "players dim"], float]:
    """The Shapley values from a sample, and their estimated error: the root mean square difference, relative to them."""
    rows, gains, whole = sample.rows.astype(float), values - none, everyone - none

    def solve(draws: Int[np.ndarray, "drawn"]) -> Float[np.ndarray, "players dim"]:
        weights = np.concatenate([sample.weights, sample.drawn_weight * draws / draws.sum()])
        return _constrained(rows, weights, gains, whole)

    found = solve(sample.draws.sum(1))
    parts = np.stack([solve(sample.draws.sum(1) - sample.draws[:, group]) for group in range(GROUPS)])
    variance = (GROUPS - 1) / GROUPS * ((parts - parts.mean(0)) ** 2).sum()
    return found, float(np.sqrt(variance) / max(float(np.linalg.norm(found)), 1e-12))


def _constrained(
    rows: Float[np.ndarray, "rows players"],
    weights: Float[np.ndarray, "rows"],
    gains: Values,
    whole: Float[np.ndarray, "dim"],
) -> Float[np.ndarray, "players dim"]:
    """``min Σ w ‖gain − row·φ‖²`` subject to ``Σ φ = whole``, by Lagrange: one factorisation for all dimensions."""
    normal = rows.T * weights @ rows
    right = np.concatenate([rows.T * weights @ gains, np.ones((len(normal), 1))], axis=1)
    solved = np.linalg.solve(normal, right)
    free, ones = solved[:, :-1], solved[:, -1:]
    found: Float[np.ndarray, "players dim"] = free - ones * ((free.sum(0) - whole) / ones.sum())
    return found


def _weight(players: int, size: int) -> float:
    """The Shapley kernel of one coalition."""
    return (players - 1) / (comb(players, size) * size * (players - size))


def _whole_size(players: int, size: int) -> tuple[int, float]:
    """How many coalitions a size and its complement's have together, and the weight of the size alone."""
    both = comb(players, size) * (1 if 2 * size == players else 2)
    return both, comb(players, size) * _weight(players, size)


def _row(members: Sequence[int], players: int) -> Bool[np.ndarray, "players"]:
    row = np.zeros(players, dtype=bool)
    row[list(members)] = True
    return row


def _draw(
    players: int,
    sizes: Int[np.ndarray, "sizes"],
    chances: Float[np.ndarray, "sizes"],
    most: int,
    generator: np.random.Generator,
) -> tuple[Coalitions, Int[np.ndarray, "drawn groups"]]:
    """Coalitions drawn with their complements until ``most`` different ones are there, and how often each was, by group."""
    counts: dict[bytes, Int[np.ndarray, "groups"]] = {}
    for number in range(DRAWS_PER_COALITION * most):
        size = generator.choice(sizes, p=chances)
        row = _row(generator.permutation(players)[:size].tolist(), players)
        pair = row.tobytes(), (~row).tobytes()
        if len(counts.keys() | set(pair)) > most:
            break
        for each in pair:
            counts.setdefault(each, np.zeros(GROUPS, dtype=int))[number % GROUPS] += 1
    drawn = np.array([np.frombuffer(row, dtype=bool) for row in counts])
    return drawn, np.array(list(counts.values()))
