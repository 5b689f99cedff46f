"""Train every kind of model, and measure what the papers measured.

    python -m experiments.training.run similarity --models MODELS --configuration exact      # also: shelf, tuned, dot
    python -m experiments.training.run parts      --models MODELS                            # after exact
    python -m experiments.training.run order      --models MODELS                            # after tuned and exact
    python -m experiments.training.run nouns      --models MODELS
    python -m experiments.training.run catalog    --models MODELS --data fashion             # also: wine
    python -m experiments.training.run student    --models MODELS

MODELS is a folder for the trained models. A model that is there already is measured, not trained again; one whose training
was killed is taken up. Results go to `experiments/training/results/`.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import whyalike
from whyalike.data.tables import read_items, read_parallel, read_scored_pairs, read_table
from whyalike.data.truth import read_truth
from whyalike.encoders.load import open_model
from whyalike.statistics import almost_stochastic_order
from whyalike.train import catalog, nouns, similarity, student
from whyalike.train.losses import similarities
from whyalike.train.trainer import RECORD, TrainingSettings, load_record

RESULTS = Path(__file__).parent / "results"


def training(folder: Path, train: Any) -> dict[str, Any]:
    """Train unless it is done; how the loss went."""
    if not (folder / RECORD).is_file():
        start = time.perf_counter()
        train()
        (folder / "seconds.txt").write_text(f"{time.perf_counter() - start:.0f}")
    record = load_record(folder)
    return {
        "asked": record.asked,
        "first_loss": record.losses[0],
        "last_loss": record.losses[-1],
        "dev": record.measured,
    }


def run_similarity(given: argparse.Namespace) -> dict[str, Any]:
    test = read_scored_pairs("stsb-en-test")
    if given.configuration == "shelf":
        return {"test_spearman": similarity.spearman(open_model(given.model), *test)}
    folder = given.models / given.configuration
    found = training(
        folder,
        lambda: similarity.train_similarity(
            *read_scored_pairs("stsb-en-train"),
            folder,
            model=given.model,
            configuration=given.configuration,
            dev=read_scored_pairs("stsb-en-dev"),
            settings=chosen(TrainingSettings(), given),
            resume=folder.exists(),
        ),
    )
    return {**found, "test_spearman": similarity.spearman(open_model(folder), *test)}


def run_parts(given: argparse.Namespace) -> dict[str, Any]:
    """Does the matrix alone sum to the score? 100 test pairs, layers 0, 3, 5."""
    encoder = whyalike.load_encoder(given.models / "exact")
    pairs = read_scored_pairs("stsb-en-test")[0][:: 1379 // given.pairs][: given.pairs]
    found: dict[str, Any] = {}
    for layer in (0, 3, 5):
        method = whyalike.IntegratedJacobians(layer=layer, tolerance=given.tolerance)
        gaps, stated, rests = [], [], []
        explained = whyalike.explain_pairs(pairs, encoder=encoder, method=method)
        for e in tqdm(explained, total=len(pairs), desc=f"layer {layer}"):
            gaps.append(abs(float(e.matrix.sum()) - e.score))
            rests.append(abs(e.constant) + abs(float(e.left_terms.sum())) + abs(float(e.right_terms.sum())))
            stated.append(sum(side.error for side in e.measured.values()))
            assert e.adds_up
        found[f"layer {layer}"] = {
            "largest |matrix sum - score|": max(gaps),
            "median": float(np.median(gaps)),
            "largest sum of both texts' stated errors": max(stated),
            "largest |terms| + |constant|": max(rests),
        }
    return {"pairs": len(pairs), "tolerance": given.tolerance, **found}


def run_order(given: argparse.Namespace) -> dict[str, Any]:
    """Is one model almost stochastically better than the other on squared errors, as in the Siamese paper's appendix B?"""
    pairs, scores = read_scored_pairs("stsb-en-test")
    errors = {}
    for name in ("shelf", "tuned", "exact", "dot"):
        folder = given.models / name
        if name == "shelf" or (folder / RECORD).is_file():
            errors[name] = (
                similarities(open_model(None if name == "shelf" else folder), pairs) - np.array(scores)
            ) ** 2
    found: dict[str, Any] = {name: {"mean squared error": float(values.mean())} for name, values in errors.items()}
    for one in errors:
        for other in errors:
            if one != other:
                order = almost_stochastic_order(errors[one], errors[other])
                found[f"{one} better than {other}"] = {
                    "violation": order.violation,
                    "bound": order.bound,
                    "holds at 0.3": order.holds,
                }
    return found


def run_nouns(given: argparse.Namespace) -> dict[str, Any]:
    folder = given.models / "nouns"
    pairs = {
        name: [(row["left"], row["right"]) for row in read_table(f"stsb-en-{name}", ("left", "right")).rows]
        for name in ("train", "test")
    }
    found = training(
        folder,
        lambda: nouns.train_nouns(
            pairs["train"],
            folder,
            test=pairs["test"],
            model=given.model,
            settings=chosen(nouns.SETTINGS, given),
            resume=folder.exists(),
        ),
    )
    model = open_model(folder)
    for name in ("train", "test"):
        truth = read_truth(folder / f"truth-{name}.jsonl")
        counts = np.bincount([each.score for each in truth])
        found[name] = {**nouns.fit_of(model, truth), "pairs by number of matches": counts.tolist()}
    return found


def run_catalog(given: argparse.Namespace) -> dict[str, Any]:
    """Similar items before and after training for ten seeds. Texts stay out of the results: only matched words are kept."""
    items, folder = read_items(given.data)[0][: given.most], given.models / f"catalog-{given.data}"
    found = training(
        folder,
        lambda: catalog.train_catalog(
            items, folder, model=given.model, settings=chosen(catalog.SETTINGS, given), resume=folder.exists()
        ),
    )
    before, after = whyalike.load_encoder(given.model), whyalike.load_encoder(folder)
    rows = []
    for seed in tqdm(items[:: len(items) // 10][:10], desc="Seeds"):
        row: dict[str, Any] = {"seed": seed.id}
        for name, encoder in (("before", before), ("after", after)):
            (best,) = catalog.most_similar(items, seed.id, encoder=encoder, count=1)
            assert best.explanation.matching is not None
            words = [f"{match.left} ↔ {match.right} {match.score:.2f}" for match in best.explanation.matching.top[:5]]
            row[name] = {"item": best.item.id, "score": best.score, "bti": words}
        rows.append(row)
    return {
        **found,
        "items": len(items),
        "other_item_after": sum(r["before"]["item"] != r["after"]["item"] for r in rows),
        "seeds": rows,
    }


def run_student(given: argparse.Namespace) -> dict[str, Any]:
    folder = given.models / "student-en-de"
    parallel = read_parallel("stsb-en-train", "stsb-de-train")
    found = training(
        folder,
        lambda: student.train_student(
            parallel, folder, settings=chosen(student.SETTINGS, given), resume=folder.exists()
        ),
    )
    english, scores = read_scored_pairs("stsb-en-test")
    german, _ = read_scored_pairs("stsb-de-test")
    mixed = [(one[0], other[1]) for one, other in zip(english, german, strict=True)]
    for name, model in (("before", open_model()), ("after", open_model(folder))):
        found[name] = {
            "en-en": similarity.spearman(model, english, scores),
            "de-de": similarity.spearman(model, german, scores),
            "en-de": similarity.spearman(model, mixed, scores),
        }
    return {**found, "parallel_sentences": len(parallel)}


def chosen(defaults: TrainingSettings, given: argparse.Namespace) -> TrainingSettings:
    return defaults if given.epochs is None else replace(defaults, epochs=given.epochs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["similarity", "parts", "order", "nouns", "catalog", "student"])
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--model", help="what to start from; the embedded model if not given")
    parser.add_argument("--configuration", choices=["shelf", "tuned", "exact", "dot"], default="exact")
    parser.add_argument("--data", choices=["fashion", "wine"], default="fashion")
    parser.add_argument("--most", type=int, help="items of the catalogue")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--tolerance", type=float, default=1e-2)
    parser.add_argument("--epochs", type=float)
    given = parser.parse_args()
    found = globals()[f"run_{given.kind}"](given)
    name = {"similarity": given.configuration, "catalog": f"catalog-{given.data}"}.get(given.kind, given.kind)
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
