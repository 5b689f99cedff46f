"""Judge the methods: which are faithful, which agree with people?

    python -m experiments.evaluation.run sts --rows ROWS
    python -m experiments.evaluation.run human --rows ROWS --pairs 200
    python -m experiments.evaluation.run perturbation --rows ROWS --pairs 100
    python -m experiments.evaluation.run ground_truth --rows ROWS --noun-model MODELS/nouns

ROWS is a folder for every pair's rows: a killed run goes on there. Tables go to `experiments/evaluation/results/`. With
`--model` another model than the embedded one is judged.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import whyalike
from experiments.evaluation.by_totals import ByTotals
from whyalike.data.alignments import read_alignments
from whyalike.data.tables import read_scored_pairs
from whyalike.data.truth import read_truth
from whyalike.evaluate.measure import Case
from whyalike.evaluate.measures import MEASURES, make_measure
from whyalike.evaluate.perturbation import ScorePerturbation
from whyalike.evaluate.run import Evaluation, cases_of, evaluate, spread_evenly
from whyalike.evaluate.subjects import Subject

RESULTS = Path(__file__).parent / "results"


def subjects_of(measure: str, layers: int) -> tuple[str, ...]:
    """What to judge in a model of so many layers. What no token owns is kept apart, spread (+equal) or at zero (:null)."""
    middle, late = layers // 2, layers - 1
    path = f"integrated_jacobians@{late}"
    rest = (f"bilrp@{late}", path, f"{path}+equal", f"{path}:null", "bti")
    first = ("random", "token_embeddings", "hessian_product", "bilrp")
    if measure == "human":
        views = [f"bilrp@{layer}{view}" for layer in (0, middle, late) for view in ("", "+equal", "+aligned")]
        outputs = ("token_outputs", "token_outputs+aligned", f"{path}+aligned", "hessian_product")
        return (*views, *outputs, *rest[1:], f"contextual_cosine@{middle}", "exact_match", "random")
    if measure == "perturbation_embedding":
        return (*first, *rest)
    if measure == "ground_truth":
        views = [f"bilrp@{layer}{view}" for layer in (middle, late) for view in ("", "+equal", "+aligned")]
        return (*first, "bilrp+equal", "bilrp+aligned", *views, *rest[1:], "token_outputs", "exact_match")
    if measure == "conservation":
        return ("hessian_product", "bilrp")
    if measure == "agreement":
        return (f"integrated_jacobians@{middle}", path)
    return (*first, "bilrp+equal", "bilrp+aligned", f"bilrp@{middle}", *rest, "token_outputs", "exact_match")


def tell(found: Evaluation, path: Path) -> None:
    """The result to its file, its table to the terminal."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(found.to_dict(), indent=1, ensure_ascii=False)
    for model in found.request["models"].values():  # by name: where it lies is of one machine
        text = text.replace(json.dumps(model["name"]), json.dumps(Path(model["name"]).name))
    path.write_text(text + "\n", encoding="utf-8")
    for line in found.table:
        shown = {key: value for key, value in line.items() if "_deviation" not in key}
        print({key: round(value, 4) if isinstance(value, float) else value for key, value in shown.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=list(MEASURES))
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--model")
    parser.add_argument("--beside", action="append", default=[], help="NAME=PATH of another model to judge beside it")
    parser.add_argument("--data", help="a data set, where another than the usual one is wanted")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--noun-model", type=Path)
    parser.add_argument("--method", action="append")
    parser.add_argument(
        "--totals", type=float, help="also integrated Jacobians at layer 0 by their totals, at this tolerance"
    )
    parser.add_argument(
        "--vectors", help="also tfidf_vectors with these word vectors, words counted in all the data's texts"
    )
    parser.add_argument("--name", help="added to the names of the result and of the rows")
    given = parser.parse_args()
    if given.totals is not None and given.measure != "perturbation_embedding":
        parser.error("--totals goes with perturbation_embedding")
    encoder = whyalike.load_encoder(given.noun_model or given.model)
    others = {name: whyalike.load_encoder(path) for name, path in (each.split("=", 1) for each in given.beside)}
    measure = make_measure(given.measure)
    if given.measure == "human":
        data = given.data or "multimwa-mtref-dev"
        cases = [Case(n, *aligned.pair, aligned=aligned) for n, aligned in enumerate(read_alignments(data))]
    elif given.measure == "ground_truth":
        data = "nouns"
        truths = [truth for truth in read_truth(given.noun_model / "truth-test.jsonl") if truth.score]
        cases = [Case(n, truth.left, truth.right, truth=truth) for n, truth in enumerate(truths)]
    else:
        data = given.data or "stsb-en-test"
        cases = cases_of(*read_scored_pairs(data))
        if given.measure == "perturbation":
            measure = ScorePerturbation(greedy=20)
        if given.totals is not None:
            measure = ByTotals(tolerance=given.totals)
    name = "-".join(
        filter(None, [given.measure, data, Path(given.model).name if given.model else "MiniLM", given.name])
    )
    subjects: list[str | Subject] = list(given.method or subjects_of(given.measure, encoder.layers))
    if given.vectors is not None:
        texts = dict.fromkeys(text for case in cases for text in (case.left, case.right))
        subjects.append(Subject("tfidf_vectors", whyalike.TfidfVectors.fit(texts, given.vectors)))
    if given.measure != "sts":
        cases = spread_evenly(cases, given.pairs)
    found = evaluate(
        measure,
        cases,
        encoder=encoder,
        subjects=subjects,
        others=others,
        folder=given.rows / name,
    )
    tell(found, RESULTS / f"{name}.json")


if __name__ == "__main__":
    main()
