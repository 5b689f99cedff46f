"""How many steps do integrated Jacobians need? The rule each text of real pairs gets, and its true error.

python -m experiments.integration_steps.run --model MiniLM --pairs 50 --layer 0 --tolerance 0.01

The true error is that of the sum over all tokens, `e(x) − e(r) − Σ c_i`, which one direction per node gives; the n directions
of the tokens are not needed to know it.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

from tqdm import tqdm

import whyalike
from experiments.pairs import MPNET, stsb_pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=("MiniLM", "mpnet"), default="MiniLM")
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--layer", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-2)
    parser.add_argument(
        "--part", type=int, nargs=2, default=(1, 1), metavar=("I", "N"), help="every Nth text from the Ith on"
    )
    parser.add_argument(
        "--results", type=Path, default=None, help="one JSON line per text; lines already there are counted too"
    )
    given = parser.parse_args()
    encoder = whyalike.load_encoder(MPNET if given.model == "mpnet" else None)
    method = whyalike.IntegratedJacobians(layer=given.layer, tolerance=given.tolerance)
    texts = [text for pair in stsb_pairs(given.pairs) for text in pair]
    found: list[dict[str, Any]] = []
    for text in tqdm(texts[given.part[0] - 1 :: given.part[1]], unit="text"):
        (batch,) = encoder.batches(encoder.read([text]), 1)
        (path,), _ = method.paths(encoder, batch)
        _, measured = method.legs_of(path)
        found.append(measured)
        if given.results is not None:
            with given.results.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(measured) + "\n")
        if len(found) % 10 == 0:
            report(found, given)
    if given.results is not None:
        found = [json.loads(line) for line in given.results.read_text(encoding="utf-8").splitlines()]
    report(found, given)


def report(found: list[dict[str, Any]], given: argparse.Namespace) -> None:
    steps = sorted(each["steps"] for each in found)
    print(
        f"{given.model}, layer {given.layer}, tolerance {given.tolerance:.1%}, {len(found)} texts: "
        f"steps median {statistics.median(steps):.0f}, quartiles {steps[len(steps) // 4]}–{steps[3 * len(steps) // 4]}, "
        f"most {steps[-1]}; largest error {max(each['error'] for each in found):.2%}, above the tolerance "
        f"{sum(each['error'] > given.tolerance for each in found)}; "
        f"followed in float64 in part {sum('steps_in_float64' in each for each in found)}; "
        f"rules {dict(Counter(each['rule'] for each in found))}",
        flush=True,
    )


if __name__ == "__main__":
    main()
