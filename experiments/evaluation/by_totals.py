"""How soon the embedding returns in the order of integrated Jacobians, without their matrix: for layer 0 of a large model.

    python -m experiments.evaluation.run perturbation_embedding --totals 0.2 --rows ROWS --model MPNET --pairs 200

The measure asks only for the sums of rows and columns. The other text's contributions sum to ``e(b) − e(r_b)``, so token i's
row sums to ``⟨c_i, e(b) − e(r_b)⟩``: one backward pass per step gives it for all tokens at once, where the matrix takes a
direction per token. Other methods are judged beside it as ever; a killed run goes on where it was.
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
from whyalike.methods.tangents import GIBIBYTE


@dataclass(frozen=True, slots=True)
class ByTotals(EmbeddingPerturbation):
    """The measure, with a row more: integrated Jacobians at layer 0, by their totals."""

    tolerance: float = 0.2

    def rows(self, case: Case, found: Mapping[str, whyalike.Explanation], encoder: Encoder) -> list[Row]:
        method = whyalike.IntegratedJacobians(layer=0, tolerance=self.tolerance)
        readings = encoder.read([case.left, case.right], truncate=True)
        batches = [next(encoder.batches([reading], 1)) for reading in readings]
        curves, measured = [], []
        for reading, own, other in zip(readings, batches, batches[::-1], strict=True):
            (path,), _ = method.paths(encoder, other)
            start, end = path.value(np.array([0.0, 1.0]))
            totals = method.totals(encoder, own, torch.as_tensor(end - start, dtype=path.start.dtype), GIBIBYTE)
            order = sorted(self.ranked(reading.side), key=lambda token, of=totals.tokens: -float(of[token]))
            curves.append(self.curve(encoder, reading, order))
            measured.append({name: totals.measured[name] for name in ("steps", "error")})
        judged = {
            "subject": f"integrated_jacobians@0,tolerance={self.tolerance:g}",
            **area(curves),
            "measured": measured,
        }
        return [*EmbeddingPerturbation.rows(self, case, found, encoder), judged]
