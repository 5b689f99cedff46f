"""BiLRP with its biases shared beside BiLRP to the letter, by every measure, at three layers.

    python -m experiments.shared_biases.measures --model MiniLM --out DIR

A run that was killed goes on. ``p`` is Wilcoxon's signed-rank test on the pairs, adjusted by Holm over a measure's comparisons.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import whyalike
from experiments.shared_biases.run import MODELS
from whyalike.data.alignments import SETS, read_alignments
from whyalike.data.tables import read_table
from whyalike.encoders.encoder import Encoder
from whyalike.evaluate.measure import Case
from whyalike.evaluate.run import evaluate, spread_evenly

MEASURES = (
    ("human", "multimwa-mtref-dev", 200),
    ("human", "edinburgh", 200),
    ("human", "multimwa-wiki-dev", 200),
    ("perturbation", "stsb-en-test", 150),
    ("perturbation_embedding", "stsb-en-test", 200),
    ("randomization", "stsb-en-test", 20),
)


def cases_of_set(data: str, count: int) -> list[Case]:
    if data in SETS:
        every = [Case(n, *each.pair, aligned=each) for n, each in enumerate(read_alignments(data))]
    else:
        every = [Case(n, **row) for n, row in enumerate(read_table(data, ("left", "right")).rows)]
    return spread_evenly(every, min(count, len(every)))


def table(encoder: Encoder, measure: str, cases: list[Case], folder: Path) -> list[str]:
    layers = (0, encoder.layers // 2, encoder.layers - 1)
    views = ("", "+aligned") if measure == "human" else ("",)
    names = [f"bilrp@{layer}{biases}{view}" for layer in layers for view in views for biases in ("", ",biases=apart")]
    found = evaluate(measure, cases, encoder=encoder, subjects=[*names, "random"], folder=folder)
    values = {line["subject"].split(", last")[0]: line[found.headline] for line in found.table}  # all blocks randomized
    chance = {
        tuple(line[side].split(", last")[0] for side in ("one", "other")): line["p_adjusted"]
        for line in found.significance()
    }
    lines = []
    for layer in layers:
        for view in views:
            shared, apart = f"bilrp@{layer}{view}", f"bilrp@{layer},biases=apart{view}"
            p = chance.get((shared, apart))
            lines.append(
                f"{len(cases)} | {layer}{' aligned' if view else ''} | {values[shared]:.3f} | {values[apart]:.3f} | "
                f"{'–' if p is None else f'{p:.1g}'} | {values['random']:.3f}"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="MiniLM", choices=MODELS)
    parser.add_argument("--share", type=float, default=1.0, help="of the pairs")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    encoder = whyalike.load_encoder(MODELS[given.model])
    print("| model | measure | data | pairs | layer | shared | apart | p | random |", flush=True)
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for measure, data, count in MEASURES:
        cases = cases_of_set(data, max(4, round(given.share * count)))
        for line in table(encoder, measure, cases, given.out / f"{given.model}-{measure}-{data}"):
            print(f"| {given.model} | {measure} | {data} | {line} |", flush=True)


if __name__ == "__main__":
    main()
