"""Pairs to judge explanations on, and explanations with a matrix of one's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import whyalike
from tests.families import LEFT, RIGHT

TEXTS = [
    LEFT,
    RIGHT,
    "The dog runs.",
    "A child plays the piano in the old house.",
    "Someone is not ugly, and walks over the river.",
]
PAIRS = [(TEXTS[n], TEXTS[(n + 1) % len(TEXTS)]) for n in range(len(TEXTS))]


def with_matrix(e: whyalike.Explanation, matrix: np.ndarray) -> whyalike.Explanation:
    return replace(e, matrix=matrix, left_terms=0 * e.left_terms, right_terms=0 * e.right_terms, constant=0.0)
