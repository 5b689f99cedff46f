"""How soon the embedding returns in the order of integrated Jacobians, without their matrix: for layer 0 of a large model.

    python -m experiments.evaluation.by_totals --rows ROWS/mpnet-0 --beside ROWS/mpnet --model MPNET --pairs 200

The measure asks only for the sums of rows and columns. The other text's contributions sum to ``e(b) − e(r_b)``, so token i's
row sums to ``⟨c_i, e(b) − e(r_b)⟩``: one backward pass per step gives it for all tokens at once, where the matrix takes a
direction per token. ``--beside`` is the folder of `experiments.evaluation.run perturbation_embedding` on the same pairs, whose
rows the table is completed with. A killed run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

import whyalike
from experiments.evaluation.run import RESULTS
from whyalike.data_sets import read_scored_pairs
from whyalike.encoders.encoder import Batch, Encoder
from whyalike.evaluate.measure import Case
from whyalike.evaluate.perturbation import EmbeddingPerturbation, area
from whyalike.evaluate.run import Evaluation, cases_of, spread_evenly
from whyalike.methods.tangents import GIBIBYTE


def totals(
    encoder: Encoder, method: whyalike.IntegratedJacobians, batches: Sequence[Batch]
) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
    """For each of two texts, what each token's pairs with the other text sum to."""
    found, measured = [], []
    for own, other in (batches, batches[::-1]):
        (path,), _ = method.paths(encoder, other)
        start, end = path.value(np.array([0.0, 1.0]))
        of_one = method.totals(encoder, own, torch.as_tensor(end - start, dtype=path.start.dtype), GIBIBYTE)
        found.append(of_one.tokens.double().cpu().numpy())
        measured.append(dict(of_one.measured))
    return found, measured


def judge(encoder: Encoder, method: whyalike.IntegratedJacobians, case: Case, name: str) -> dict[str, Any]:
    measure = EmbeddingPerturbation()
    readings = encoder.read([case.left, case.right], truncate=True)
    found, measured = totals(encoder, method, [next(encoder.batches([reading], 1)) for reading in readings])
    orders = [
        sorted(measure.ranked(reading.side), key=lambda token, total=total: -total[token])
        for reading, total in zip(readings, found, strict=True)
    ]
    curves = [measure.curve(encoder, reading, order) for reading, order in zip(readings, orders, strict=True)]
    return {"case": case.number, "subject": name, **area(curves), "measured": measured}


def rows_in(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--beside", type=Path, required=True)
    parser.add_argument("--model")
    parser.add_argument("--data", default="stsb-en-test")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--tolerance", type=float, default=0.2)
    parser.add_argument("--part", default="1/1", help="K/N: only every Nth pair from the Kth, to share the work")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    method = whyalike.IntegratedJacobians(layer=0, tolerance=given.tolerance)
    name = f"integrated_jacobians@0,tolerance={given.tolerance:g}"
    encoder = whyalike.load_encoder(given.model)
    cases = spread_evenly(cases_of(*read_scored_pairs(given.data)), given.pairs)
    given.rows.mkdir(parents=True, exist_ok=True)
    own = given.rows / f"{given.tolerance:g}-{part}-of-{parts}.jsonl"
    done = {row["case"] for row in rows_in(own)}
    for case in tqdm([each for each in cases[part - 1 :: parts] if each.number not in done]):
        row = judge(encoder, method, case, name)
        with own.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
    rows = [row for path in sorted(given.rows.glob("*.jsonl")) for row in rows_in(path)]
    entries = rows_in(given.beside / "rows.jsonl")
    everything = [row for entry in entries for row in entry["rows"]] + rows
    asked = json.loads((given.beside / "asked.json").read_text(encoding="utf-8"))
    measure = EmbeddingPerturbation()
    evaluation = Evaluation(
        measure.name,
        asked,
        tuple(everything),
        tuple(measure.table(everything)),
        measure.headline,
        measure.higher_is_better,
        (*measure.notes(encoder), f"{name}: orders from totals, {len(rows)} pairs"),
    )
    result = RESULTS / f"{given.beside.name}-by-totals.json"
    result.write_text(json.dumps(evaluation.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for line in evaluation.table:
        print(line["subject"], line["pairs"], round(line["area"], 4))


if __name__ == "__main__":
    main()
