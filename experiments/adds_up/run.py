"""Do the parts add up on real pairs? The largest |residual| / max(1, |score|), per model, method and layer.

python -m experiments.adds_up.run --model MiniLM --pairs 200
"""

from __future__ import annotations

import argparse
import time

import whyalike
from experiments.pairs import MPNET, stsb_pairs

RUNS = {
    "MiniLM": [
        ("bilrp", 0),
        ("bilrp", 3),
        ("token_outputs", None),
        ("integrated_jacobians", 5),
    ],
    "mpnet": [("bilrp", 0), ("token_outputs", None), ("integrated_jacobians", 11)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=RUNS, default="MiniLM")
    parser.add_argument("--pairs", type=int, default=200)
    given = parser.parse_args()
    encoder = whyalike.load_encoder(MPNET if given.model == "mpnet" else None)
    pairs = stsb_pairs(given.pairs)
    print(
        "| model | method | layer | pairs | largest residual | seconds |\n| --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    for method, layer in RUNS[given.model]:
        start = time.perf_counter()
        found = whyalike.explain_pairs(pairs, encoder=encoder, method=method, layer=layer)
        worst = max(abs(e.residual) / max(1, abs(e.score)) for e in found)
        shown = "last" if layer is None else layer
        print(
            f"| {given.model} | {method} | {shown} | {len(pairs)} | {worst:.1e} | {time.perf_counter() - start:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
