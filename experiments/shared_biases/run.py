"""Do the pairs alone add up, and are they of the size of the score? Per model, pooling and layer, on real pairs.

    python -m experiments.shared_biases.run --pairs 200

``left over`` is the largest ``|Σ matrix − score| / max(1, |score|)``; ``size`` the median of ``Σ|matrix| / |score|`` over pairs
that score above 0.1, in tokens. "default" is what `whyalike.explain` does when no layer is given.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import whyalike
from experiments.pairs import MPNET
from whyalike.data.tables import evenly, read_scored_pairs
from whyalike.encoders.encoder import Encoder

MODELS = {"MiniLM": None, "mpnet": MPNET, "m3e-small": Path(MPNET).with_name("m3e-small")}
DATA = {"m3e-small": "stsb-zh-test"}
POOLINGS = ("mean", "cls", "lasttoken", "weightedmean")


def row(encoder: Encoder, pairs: Sequence[tuple[str, str]], layer: int | None, biases: str) -> str:
    method = whyalike.BiLRP(layer=layer, biases=biases)  # type: ignore[arg-type]
    start, left_over, sizes = time.perf_counter(), 0.0, []
    for e in whyalike.explain_pairs(pairs, encoder=encoder, method=method, truncate=True):
        left_over = max(left_over, abs(float(e.matrix.sum()) - e.score) / max(1.0, abs(e.score)))
        if e.score > 0.1:
            sizes.append(float(np.abs(e.matrix).sum()) / e.score)
    chosen = e.method.parameters["layer"]
    shown = f"{chosen}" if layer is not None else f"{chosen} (default)"
    took = time.perf_counter() - start
    return f"{shown} | {biases} | {len(pairs)} | {left_over:.0e} | {np.median(sizes):.2f} | {took:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--poolings", nargs="+", default=POOLINGS, choices=POOLINGS)
    parser.add_argument("--pairs", type=int, default=200)
    given = parser.parse_args()
    print("| model | pooling | layer | biases | pairs | left over | size | seconds |", flush=True)
    print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for model in given.models:
        every, _ = read_scored_pairs(DATA.get(model, "stsb-en-test"))
        pairs = [every[number] for number in evenly(len(every), given.pairs)]
        for pooling in given.poolings:
            encoder = whyalike.load_encoder(MODELS[model], pooling=None if pooling == "mean" else pooling)
            layers = (0, encoder.layers // 2, encoder.layers - 1)
            for layer, biases in [*((layer, "shared") for layer in layers), (None, "shared"), (0, "apart")]:
                if biases == "shared" or pooling == "mean":
                    print(f"| {model} | {pooling} | {row(encoder, pairs, layer, biases)} |", flush=True)


if __name__ == "__main__":
    main()
