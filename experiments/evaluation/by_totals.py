"""How soon the embedding returns in the order of integrated Jacobians, without their matrix: for layer 0 of a large model.

    python -m experiments.evaluation.run perturbation_embedding --totals 0.2 --rows ROWS --model MPNET --pairs 200

The measure asks only for the sums of rows and columns. The other text's contributions sum to ``e(b) − e(r_b)``, so token i's
row sums to ``⟨c_i, e(b) − e(r_b)⟩``: one backward pass per step gives it for all tokens at once, where the matrix takes a
direction per token. With what no token owns spread equally (``+equal``) the other text's sum to ``e(b)``, and every token of
this one has the same share more, which changes no order: ``⟨c_i, e(b)⟩``. Other methods are judged beside it as ever; a
killed run goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

import whyalike
from whyalike.encoders.encoder import Encoder
from whyalike.evaluate.measure import Case, Row
from whyalike.evaluate.perturbation import EmbeddingPerturbation, area
from whyalike.methods.integrated_jacobians import pull_along


@dataclass(frozen=True, slots=True)
class ByTotals(EmbeddingPerturbation):
    """The measure, with two rows more: integrated Jacobians at layer 0, by their totals, kept apart and spread."""

    tolerance: float = 0.2

    def rows(self, case: Case, found: Mapping[str, whyalike.Explanation], encoder: Encoder) -> list[Row]:
        method = whyalike.IntegratedJacobians(layer=0, tolerance=self.tolerance)
        readings = encoder.read([case.left, case.right], truncate=True)
        paths = [method.paths(encoder, next(encoder.batches([reading], 1)))[0][0] for reading in readings]
        curves: dict[str, list[np.ndarray]] = {"": [], "+equal": []}
        measured = []
        for reading, own, other in zip(readings, paths, paths[::-1], strict=True):
            legs, stated = method.legs_of(own)
            start, end = other.value(np.array([0.0, 1.0]))
            for view, towards in {"": end - start, "+equal": end}.items():
                totals = pull_along(legs, torch.as_tensor(towards, dtype=own.start.dtype))
                order = sorted(self.ranked(reading.side), key=lambda token, of=totals: -float(of[token]))
                curves[view].append(self.curve(encoder, reading, order))
            measured.append({"steps": stated.steps, "error": stated.error})
        name = f"integrated_jacobians@0,tolerance={self.tolerance:g}"
        judged = [{"subject": f"{name}{view}", **area(each), "measured": measured} for view, each in curves.items()]
        return [*EmbeddingPerturbation.rows(self, case, found, encoder), *judged]
