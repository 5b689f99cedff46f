"""How soon the embedding returns in the order of integrated Jacobians, without their matrix: for layer 0 of a large model.

    python -m experiments.evaluation.by_totals --rows ROWS --model MPNET --pairs 200 --method random --method bilrp

The measure asks only for the sums of rows and columns. The other text's contributions sum to ``e(b) − e(r_b)``, so token i's
row sums to ``⟨c_i, e(b) − e(r_b)⟩``: one backward pass per step gives it for all tokens at once, where the matrix takes a
direction per token. Other methods are judged beside it as ever; a killed run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import whyalike
from experiments.evaluation.run import RESULTS
from whyalike.data_sets import read_scored_pairs
from whyalike.encoders.encoder import Encoder
from whyalike.evaluate.measure import Case, Row
from whyalike.evaluate.perturbation import EmbeddingPerturbation, area
from whyalike.evaluate.run import cases_of, evaluate, spread_evenly
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--model")
    parser.add_argument("--data", default="stsb-en-test")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--tolerance", type=float, default=0.2)
    parser.add_argument("--method", action="append")
    given = parser.parse_args()
    name = f"perturbation_embedding-{given.data}-{Path(given.model).name if given.model else 'MiniLM'}-by-totals"
    found = evaluate(
        ByTotals(tolerance=given.tolerance),
        spread_evenly(cases_of(*read_scored_pairs(given.data)), given.pairs),
        encoder=whyalike.load_encoder(given.model),
        subjects=given.method or ["random"],
        folder=given.rows / name,
    )
    result = json.dumps(found.to_dict(), indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(result + "\n", encoding="utf-8")
    for line in found.table:
        print(line["subject"], line["pairs"], round(line["area"], 4))


if __name__ == "__main__":
    main()
