"""Late-interaction and sparse models, explained: two small ones trained for minutes to try the methods.

    python -m experiments.late_interaction_and_sparse.run train late --out MODELS/late
    python -m experiments.late_interaction_and_sparse.run train sparse --out MODELS/sparse
    python -m experiments.late_interaction_and_sparse.run measure late --model MODELS/late
    python -m experiments.late_interaction_and_sparse.run picture sparse --model MODELS/sparse

Needs the data sets (`WHYALIKE_DATA`). Figures go to `results/`, pictures beside the README.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "measure", "picture"])
    parser.add_argument("kind", choices=["late", "sparse"])
    parser.add_argument("--out", type=Path, help="folder for the trained model")
    parser.add_argument("--model", type=Path, help="folder of the trained model")
    parser.add_argument("--steps", type=int, default=120, help="of training, 16 pairs each")
    parser.add_argument("--pairs", type=int, default=100)
    given = parser.parse_args()
    if (given.out if given.what == "train" else given.model) is None:
        parser.error("train needs --out; measure and picture need --model")
    start = time.perf_counter()
    if given.what == "train":
        from experiments.late_interaction_and_sparse.training import train_late_interaction, train_sparse

        (train_late_interaction if given.kind == "late" else train_sparse)(given.out, given.steps)
    else:
        from experiments.late_interaction_and_sparse import measuring

        (measuring.measure if given.what == "measure" else measuring.picture)(given.model, given.kind, given.pairs)
    print(f"{given.what} {given.kind}: {(time.perf_counter() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
