"""How good are the methods that need embeddings alone, and what do they cost?

    python -m experiments.black_boxes.run perturbation --rows ROWS
    python -m experiments.black_boxes.run human --rows ROWS
    python -m experiments.black_boxes.run ground_truth --rows ROWS --model MODELS/nouns
    python -m experiments.black_boxes.run cost
    python -m experiments.black_boxes.run errors

ROWS is a folder for every pair's rows: the same command goes on there. Results go to `experiments/black_boxes/results/`. With
`--model` another model than the embedded one is measured.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import whyalike
from experiments.evaluation.run import tell
from whyalike.data.tables import read_scored_pairs
from whyalike.data.truth import read_truth
from whyalike.evaluate.measure import Case
from whyalike.evaluate.run import cases_of, evaluate, read_cases, spread_evenly
from whyalike.methods.coalitions import all_coalitions, exact_values, sample_coalitions, solve_sample
from whyalike.methods.removal import Game, embed_games

RESULTS = Path(__file__).parent / "results"
METHODS = ("bilrp", "token_outputs", "leave_one_out", "shapley", "random")
BY_EMBEDDINGS = ("leave_one_out", "shapley,samples=64", "shapley")
DATA = {"perturbation": "stsb-en-test", "human": "multimwa-mtref-dev"}


def cases_for(measure: str, model: str | None) -> list[Case]:
    if measure == "human":
        return read_cases(DATA[measure], "alignments")
    if measure == "ground_truth":
        truths = [truth for truth in read_truth(Path(model or "") / "truth-test.jsonl") if truth.score]
        return [Case(number, truth.left, truth.right, truth=truth) for number, truth in enumerate(truths)]
    return cases_of(*read_scored_pairs(DATA[measure]))


def cost(encoder: whyalike.Encoder, name: str, pairs: int) -> None:
    """Embeddings and seconds per text, and the error that shapley states, beside the one it has."""
    cases = spread_evenly(cases_of(*read_scored_pairs("stsb-en-test")), pairs)
    texts = list(dict.fromkeys(text for case in cases for text in (case.left, case.right)))
    rows = []
    for method in BY_EMBEDDINGS:
        start = time.perf_counter()
        parts = whyalike.contributions(texts, encoder=encoder, method=method)
        seconds = (time.perf_counter() - start) / len(texts)
        errors = [part.measured.error for part in parts if part.measured.error is not None]
        rows.append(
            {
                "method": method,
                "texts": len(texts),
                "words_per_text": float(np.mean([len(part.side.words) for part in parts])),
                "embeddings_per_text": float(np.mean([part.measured.embeddings for part in parts])),
                "sampled": len(errors),
                "stated_error": float(np.sqrt(np.mean(np.square(errors)))) if errors else None,
                "seconds_per_text": seconds,
            }
        )
        print(rows[-1])
    path = RESULTS / f"cost-stsb-en-test-{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"model": name, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def errors(encoder: whyalike.Encoder, name: str, words: int = 10) -> None:
    """The error that samples of some sizes state, beside the true one, for six texts of so many words and eight seeds."""
    rows = read_scored_pairs("stsb-en-test")[0]
    texts = [left for left, _ in rows if len(whyalike.split_words(left)) == words][:6]
    games = [Game.of(reading, "word") for reading in encoder.read(texts)]
    every = all_coalitions(words)
    embed_games(encoder, dict.fromkeys(games, every), "text")
    found = []
    for count in (64, 128, 256):
        pairs = []
        for game in games:
            values = game.values(every)
            exact, none, everyone = exact_values(values), values[0], values[-1]
            for seed in range(8):
                sample = sample_coalitions(words, count - 2, count - 2, np.random.default_rng(seed))
                near, stated = solve_sample(sample, game.values(sample.rows), none, everyone)
                pairs.append((float(np.linalg.norm(near - exact) / np.linalg.norm(exact)), stated))
        true, stated = np.sqrt(np.mean(np.square(pairs), axis=0)).tolist()
        found.append({"words": words, "embeddings": count, "true_error": true, "stated_error": stated})
        print(found[-1])
    path = RESULTS / f"errors-stsb-en-test-{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"model": name, "rows": found}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=["perturbation", "human", "ground_truth", "cost", "errors"])
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--pairs", type=int, default=150)
    parser.add_argument("--method", action="append")
    given = parser.parse_args()
    encoder = whyalike.load_encoder(given.model)
    name = Path(given.model).name if given.model else "MiniLM"
    if given.measure == "cost":
        cost(encoder, name, given.pairs)
        return
    if given.measure == "errors":
        errors(encoder, name)
        return
    methods = list(given.method or METHODS)
    if given.measure == "human" and given.method is None:
        methods += [f"{method}+aligned" for method in METHODS[:4]]
    cases = spread_evenly(cases_for(given.measure, given.model), given.pairs)
    label = "-".join([given.measure, DATA.get(given.measure, "nouns"), name])
    folder = None if given.rows is None else given.rows / label
    found = evaluate(given.measure, cases, encoder=encoder, subjects=methods, folder=folder)
    tell(found, RESULTS / f"{label}.json")


if __name__ == "__main__":
    main()
