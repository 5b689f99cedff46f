"""BTI on descriptions of things to wear and of wines: does every pair get an explanation, and does it need the trained weights?

    python -m experiments.bti.run --data fashion
    python -m experiments.bti.run --data wine --pairs 200 --pictures docs/images

Each description is paired with its most similar one by the embedded model. The paper's sanity test (Adebayo et al. 2018, its
section 4.1): the same pairs with weights drawn anew, twice. A method whose top pairs stay the same explains the texts, not
the model.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr
from tqdm import tqdm
from transformers import AutoModel

import whyalike

FILES = {"fashion": ("fashion/descriptions.csv", "id"), "wine": ("wine/winemag-sample.csv", "id")}


def descriptions(data: str) -> tuple[list[str], list[str]]:
    """Identifiers and texts, each text once."""
    name, key = FILES[data]
    folder = Path(os.environ.get("WHYALIKE_DATA", Path(__file__).parents[3] / "shared/data"))
    with (folder / name).open(encoding="utf-8", newline="") as rows:
        found = {row["description"].strip(): row[key] for row in csv.DictReader(rows) if row["description"].strip()}
    return list(found.values()), list(found)


def most_similar(encoder: whyalike.Encoder, texts: list[str], seeds: list[int]) -> list[tuple[int, int]]:
    embeddings = encoder.model.encode(texts, batch_size=64, show_progress_bar=True)
    scores = embeddings[seeds] @ embeddings.T
    scores[np.arange(len(seeds)), seeds] = -np.inf
    return [(seed, int(best)) for seed, best in zip(seeds, scores.argmax(1), strict=True)]


def with_random_weights(encoder: whyalike.Encoder, seed: int) -> whyalike.Encoder:
    """The same architecture, tokenizer and pooling; every weight drawn anew as before pretraining."""
    torch.manual_seed(seed)
    model = AutoModel.from_config(encoder.model[0].auto_model.config).eval()
    return whyalike.load_encoder(model, tokenizer=encoder.reader.tokenizer, pooling="mean", similarity="cosine")


def top(e: whyalike.Explanation) -> set[tuple[int, int]]:
    assert e.matching is not None
    return {(match.left_index, match.right_index) for match in e.matching.top if match.score > 0}


def own_saliency(e: whyalike.Explanation) -> np.ndarray:
    return e.matching.left_saliency[[kind == "text" for kind in e.left.kinds]]


def jaccard(one: set[Any], other: set[Any]) -> float:
    return len(one & other) / len(one | other) if one | other else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=FILES, required=True)
    parser.add_argument("--pairs", type=int, default=None, help="evenly spaced seeds; all where not given")
    parser.add_argument("--method", default="bti")
    parser.add_argument(
        "--pictures", type=Path, default=None, help="write the pictures of the first --shown pairs here"
    )
    parser.add_argument("--shown", type=int, nargs="+", default=[], help="which pairs to draw, by number")
    given = parser.parse_args()
    encoder = whyalike.load_encoder()
    names, texts = descriptions(given.data)
    cut = sum(reading.side.truncated for reading in encoder.read(texts, truncate=True))
    seeds = range(len(texts)) if given.pairs is None else [n * len(texts) // given.pairs for n in range(given.pairs)]
    chosen = most_similar(encoder, texts, list(seeds))
    pairs = [(texts[a], texts[b]) for a, b in chosen]
    encoders = {"trained": encoder, "random": with_random_weights(encoder, 1), "again": with_random_weights(encoder, 2)}
    found: dict[str, list[whyalike.Explanation]] = {}
    for name, each in encoders.items():
        start = time.perf_counter()
        explained = whyalike.explain_pairs(pairs, encoder=each, method=given.method, truncate=True, progress=False)
        found[name] = list(tqdm(explained, total=len(pairs), desc=name))
        print(f"{name}: {len(found[name])} pairs, {(time.perf_counter() - start) / len(pairs):.2f} s each")
    trained = found["trained"]
    print(f"texts {len(texts)} ({cut} longer than the model reads), pairs {len(pairs)}")
    print(f"score {statistics.mean(e.score for e in trained):.3f} on average")
    sizes = [len(top(e)) for e in trained]
    print(f"top pairs: median {statistics.median(sizes)}, most {max(sizes)}, none {sizes.count(0)}")
    kept = [match for e in trained for match in e.matching.top if match.score > 0]
    print(f"of them the same word on both sides: {np.mean([m.left.lower() == m.right.lower() for m in kept]):.2f}")
    for one, other in (("trained", "random"), ("trained", "again"), ("random", "again")):
        overlaps = [jaccard(top(a), top(b)) for a, b in zip(found[one], found[other], strict=True)]
        ranks = [
            spearmanr(own_saliency(a), own_saliency(b)).statistic
            for a, b in zip(found[one], found[other], strict=True)
            if np.ptp(own_saliency(a)) > 0 and np.ptp(own_saliency(b)) > 0
        ]
        print(
            f"{one} against {other}: Jaccard of the top pairs mean {np.nanmean(overlaps):.3f}, identical in "
            f"{np.mean([value == 1 for value in overlaps]):.1%}; rank correlation of saliency {np.mean(ranks):.2f}"
        )
    for number in given.shown:
        a, b = chosen[number]
        matches = ", ".join(f"{m.left} ↔ {m.right} {m.score:.2f}" for m in trained[number].matching.top)
        print(f"{number}: {names[a]} and {names[b]}, score {trained[number].score:.3f}: {matches}")
        if given.pictures is not None:
            path = given.pictures / f"bti-{given.data}-{names[a]}.png"
            whyalike.render.to_figure(trained[number]).save(str(path), format="png", scale_factor=2)


if __name__ == "__main__":
    main()
