"""Shapley values as they are defined: over all orders in which players come, what each adds when it comes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np

Value = Callable[[frozenset[int]], np.ndarray]


def shapley_by_orders(players: int, value: Value) -> np.ndarray:
    total = np.zeros((players, len(value(frozenset()))))
    orders = list(permutations(range(players)))
    for order in orders:
        present: frozenset[int] = frozenset()
        for player in order:
            total[player] += value(present | {player}) - value(present)
            present = present | {player}
    return total / len(orders)


def leave_one_out_by_hand(players: int, value: Value) -> np.ndarray:
    everyone = frozenset(range(players))
    return np.array([value(everyone) - value(everyone - {player}) for player in range(players)])


def unit_length(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)
