"""How many steps do integrated Jacobians need? The rule each text of real pairs gets, and its true error.

python -m experiments.integration_steps.run --model MiniLM --pairs 50 --layer 0 --tolerance 0.01

The true error is that of the sum over all tokens, `e(x) − e(r) − Σ c_i`, which one direction per node gives; the n directions
of the tokens are not needed to know it.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter

from tqdm import tqdm

import whyalike
from experiments.pairs import MPNET, stsb_pairs
from whyalike.methods.quadrature import Rule


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=("MiniLM", "mpnet"), default="MiniLM")
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--layer", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-2)
    given = parser.parse_args()
    encoder = whyalike.load_encoder(MPNET if given.model == "mpnet" else None)
    method = whyalike.IntegratedJacobians(layer=given.layer, tolerance=given.tolerance)
    texts = [text for pair in stsb_pairs(given.pairs) for text in pair]
    rules, doubled = [], 0
    for text in tqdm(texts, unit="text"):
        (batch,) = encoder.batches(encoder.read([text]), 1)
        (path,), _ = method.paths(encoder, batch)
        finer, rule = method.path_and_rule(path)
        doubled += finer is not path
        rules.append(rule)
        if len(rules) % 10 == 0:
            report(rules, doubled, given)
    report(rules, doubled, given)


def report(rules: list[Rule], doubled: int, given: argparse.Namespace) -> None:
    steps = sorted(len(rule.nodes) for rule in rules)
    print(
        f"{given.model}, layer {given.layer}, tolerance {given.tolerance:.1%}, {len(rules)} texts: "
        f"steps median {statistics.median(steps):.0f}, quartiles {steps[len(steps) // 4]}–{steps[3 * len(steps) // 4]}, "
        f"most {steps[-1]}; largest error {max(rule.error for rule in rules):.2%}, above the tolerance "
        f"{sum(rule.error > given.tolerance for rule in rules)}; followed in float64 {doubled}; "
        f"rules {dict(Counter(rule.name for rule in rules))}",
        flush=True,
    )


if __name__ == "__main__":
    main()
