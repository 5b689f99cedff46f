"""How fast are contributions, as ratios measured in one run: these machines are noisy, ratios are not.

    python -m benchmarks.run                       # everything, into benchmarks/results/
    python -m benchmarks.run --models MiniLM --lengths 8 16 --only bilrp

What is compared, for texts of n tokens:

- ours: the public call `whyalike.contributions`, tokenization and all;
- (a) the papers' algorithm: one forward pass, then one backward pass per embedding dimension through the frozen network,
  without repeating the forward pass. Timed on `--dimensions` of them and scaled to all;
- (b) the limit: encoding n copies of the text with the model's own forward pass, in batches of the best size tried;
- (c) captum's integrated gradients, for the one-sided view;
- biases shared over biases apart: what it costs to leave nothing over;
- leave_one_out over encoding the same text once per word, through the model's own `encode`;
- a short text against a long one: pulling over pushing, and over encodings of the long one;
- contributions of late-interaction and sparse models over BiLRP's of the same texts (`benchmarks/kinds.py`).

Each figure is the median over rounds of a ratio of two times taken one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import whyalike
from benchmarks.kinds import over_bilrp
from whyalike.encoders.gates import Detached, Gates
from whyalike.methods.integrated_jacobians import IntegratedJacobians
from whyalike.methods.quadrature import RULES
from whyalike.methods.tangents import pull_one, states_at

WORDS = [
    "the",
    "man",
    "who",
    "saw",
    "a",
    "small",
    "red",
    "house",
    "on",
    "that",
    "old",
    "hill",
    "by",
    "the",
    "sea",
    "and",
    "heard",
    "some",
    "good",
    "music",
    "there",
]
MODELS = {"MiniLM": None, "mpnet": Path.home() / ".cache/whyalike/models/all-mpnet-base-v2"}
RESULTS = Path(__file__).parent / "results"
KINDS = ("late_interaction", "sparse")  # of models
PER_LENGTH = ("bilrp", "biases", "direction", "one_sided", *KINDS)


def text_of(length: int, seed: int = 0) -> str:
    """A text of so many tokens: common words of one token each, and the two special ones."""
    generator = np.random.default_rng([length, seed])
    return " ".join(generator.choice(WORDS, length - 2))


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> dict[str, float]:
    """ours / theirs, timed in turns after one warm-up each."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    return {
        "ratio": statistics.median(mine / other for mine, other in pairs),
        "ours_seconds": statistics.median(mine for mine, _ in pairs),
        "theirs_seconds": statistics.median(other for _, other in pairs),
    }


def limit(encoder: whyalike.Encoder, texts: list[str], rows: int) -> Callable[[], None]:
    """Encoding n copies of each text, as many rows at a time as told."""
    (batch,) = encoder.batches(encoder.read(texts), 10**9)
    copies = {
        key: value.repeat_interleave(batch.length, 0) if isinstance(value, torch.Tensor) else value
        for key, value in batch.features.items()
    }

    def run() -> None:
        with torch.inference_mode():
            for start in range(0, batch.length * len(texts), rows):
                some = {k: v[start : start + rows] if isinstance(v, torch.Tensor) else v for k, v in copies.items()}
                encoder.model(some)

    return run


def best_limit(encoder: whyalike.Encoder, texts: list[str]) -> Callable[[], None]:
    """The limit with the batch size that is fastest here."""
    length = encoder.read(texts[:1])[0].length
    candidates = sorted({max(1, tokens // length) for tokens in (1024, 2048, 4096)})
    runs = [limit(encoder, texts[:4], rows) for rows in candidates]
    times = [min(seconds(run) for _ in range(2)) for run in runs]
    return limit(encoder, texts, candidates[int(np.argmin(times))])


def papers_bilrp(encoder: whyalike.Encoder, text: str, dimensions: int) -> Callable[[], None]:
    """One forward pass and ``dimensions`` backward passes through the frozen network."""
    (batch,) = encoder.batches(encoder.read([text]), 10**9)
    wiring = encoder.wiring(0)

    def run() -> None:
        states, _ = states_at(encoder, batch, 0)
        leaf = states.hidden.clone().requires_grad_()
        with torch.enable_grad(), Gates(Detached(), wiring) as gates:
            embedding = states.embed(leaf, gates.start)
            for dimension in range(dimensions):
                (gradient,) = torch.autograd.grad(embedding[0, dimension], leaf, retain_graph=True)
                (gradient * leaf).sum(-1)

    return run


def bilrp(encoder: whyalike.Encoder, length: int, rounds: int, dimensions: int) -> dict[str, Any]:
    text = text_of(length)
    many = [text_of(length, seed) for seed in range(32 if length < 128 else 4 if encoder.record.dim < 700 else 1)]

    def one() -> None:
        whyalike.contributions([text], encoder=encoder, layer=0, progress=False)

    def batch() -> None:
        whyalike.contributions(many, encoder=encoder, layer=0, progress=False)

    papers = ratio(papers_bilrp(encoder, text, dimensions), one, rounds)
    return {
        "one_text_over_limit": ratio(one, best_limit(encoder, [text]), rounds),
        "batch_of_texts": len(many),
        "batch_over_limit": ratio(batch, best_limit(encoder, many), max(2, rounds - 2)),
        "papers_over_ours": papers["ratio"] * encoder.record.dim / dimensions,
        "papers_dimensions_timed": dimensions,
    }


def leave_one_out(encoder: whyalike.Encoder, length: int, rounds: int) -> dict[str, Any]:
    """The n + 1 embeddings of a text of n words, and all around them, over encoding the whole text n times."""
    text = text_of(length)
    copies = [text] * len(whyalike.split_words(text))

    def ours() -> None:
        whyalike.contributions([text], encoder=encoder, method="leave_one_out", progress=False)

    return {"words": len(copies), **ratio(ours, lambda: encoder.embed(copies), rounds)}


def shared_biases(encoder: whyalike.Encoder, length: int, rounds: int) -> dict[str, float]:
    """Contributions of 16 texts with biases shared, over the same with biases apart."""
    texts = [text_of(length, seed) for seed in range(16 if length < 128 else 2)]

    def run(biases: str) -> Callable[[], Any]:
        method = whyalike.BiLRP(layer=0, biases=biases)  # type: ignore[arg-type]
        return lambda: whyalike.contributions(texts, encoder=encoder, method=method, progress=False)

    return ratio(run("shared"), run("apart"), rounds)


def short_against_long(encoder: whyalike.Encoder, words: int, tokens: int, rounds: int) -> dict[str, Any]:
    """A query of so many words with a document of so many tokens, in words; and with ten documents of 60 tokens."""
    query, document = text_of(words + 2, 1), text_of(tokens)
    units = whyalike.explain(query, query, encoder=encoder, unit="word").matrix.shape[0]
    documents = [text_of(60, seed) for seed in range(2, 12)]

    def encoding(texts: list[str]) -> Callable[[], Any]:
        batches = list(encoder.batches(encoder.read(texts), 10**9))
        return lambda: [encoder.run(batch.features, 0) for batch in batches]

    def explaining(texts: list[str]) -> Callable[[], Any]:
        pairs = [(query, text) for text in texts]
        return lambda: list(whyalike.explain_pairs(pairs, encoder=encoder, unit="word", progress=False))

    def pushing() -> None:
        parts = whyalike.contributions([query, document], encoder=encoder, unit="word", progress=False)
        whyalike.explain_parts(*parts)

    return {
        "query_units": units,
        "document_tokens": tokens,
        "encodings_allowed": 2.5 * units + 3,
        "over_encoding_the_document": ratio(explaining([document]), encoding([document]), rounds),
        "pushing_over_pulling": ratio(pushing, explaining([document]), 2),
        "ten_documents_over_encoding_them": ratio(explaining(documents), encoding(documents), rounds),
    }


def integrated_jacobians(encoder: whyalike.Encoder, length: int, tolerance: float, dimensions: int) -> dict[str, Any]:
    """Ours at a tolerance against the papers' right-endpoint sum with as many steps as it needs for the same error."""
    text = text_of(length)
    method = IntegratedJacobians(tolerance=tolerance)
    (batch,) = encoder.batches(encoder.read([text]), 10**9)
    (path,), _ = method.paths(encoder, batch)
    start, end = path.value(np.array([0.0, 1.0]))
    steps, error = 16, np.inf
    while error > tolerance:
        steps = steps * 2 if error == np.inf or error > 2 * tolerance else int(steps * 1.2)
        rule = RULES["right_endpoint"](steps)
        found = rule.weights @ np.concatenate(
            [path.speed(some) for some in np.array_split(rule.nodes, max(1, steps // 64))]
        )
        error = float(np.linalg.norm(found - (end - start)) / np.linalg.norm(end - start))
    states = path.at(np.array([0.5]))

    def one_step() -> None:
        leaf = states.hidden.clone().requires_grad_()
        with torch.enable_grad():
            embedding = states.embed(leaf, lambda: None)
            for dimension in range(dimensions):
                torch.autograd.grad(embedding[0, dimension], leaf, retain_graph=True)

    def ours() -> None:
        whyalike.contributions([text], encoder=encoder, method=method, progress=False)

    (part,) = whyalike.contributions([text], encoder=encoder, method=method, progress=False)
    step = ratio(one_step, ours, 3)
    return {
        "tolerance": tolerance,
        "our_steps": part.measured.steps,
        "our_error": part.measured.error,
        "papers_steps": steps,
        "papers_error": error,
        "papers_over_ours": step["ratio"] * encoder.record.dim / dimensions * steps,
        "ours_seconds": step["theirs_seconds"],
    }


def direction(encoder: whyalike.Encoder, length: int, rounds: int) -> dict[str, float]:
    """A direction pushed forward at 12 points of a path, against plain passes at the same points: 2 would be the arithmetic."""
    (batch,) = encoder.batches(encoder.read([text_of(length)]), 10**9)
    (path,), _ = IntegratedJacobians().paths(encoder, batch)
    nodes = RULES["midpoint"](12).nodes
    return ratio(lambda: path.speed(nodes), lambda: path.value(nodes), rounds)


def one_sided(encoder: whyalike.Encoder, length: int, rounds: int) -> dict[str, Any]:
    """Our one-sided view with 12 steps against captum's integrated gradients with 12 steps."""
    from captum.attr import IntegratedGradients

    text, other = text_of(length), text_of(length, 1)
    method = IntegratedJacobians(steps=12, rule="gauss")
    (batch,) = encoder.batches(encoder.read([text]), 10**9)
    (path,), _ = method.paths(encoder, batch)
    towards = encoder.run(next(encoder.batches(encoder.read([other]), 10**9)).features, 0)[0]

    def score(hidden: torch.Tensor) -> torch.Tensor:
        return (path.at(np.zeros(len(hidden))).embed(hidden, lambda: None) * towards).sum(-1)

    def captum() -> None:
        IntegratedGradients(score).attribute(
            path.states.hidden, baselines=path.start, n_steps=12, method="gausslegendre"
        )

    def ours() -> None:
        rule = RULES["gauss"](12)
        states = path.at(rule.nodes)
        gradients = pull_one(states, states.hidden, towards.expand(12, -1))
        (
            torch.einsum("s,sth->th", torch.as_tensor(rule.weights, dtype=gradients.dtype), gradients) * path.change[0]
        ).sum(-1)

    return ratio(captum, ours, rounds)


def bti(encoder: whyalike.Encoder, length: int, rounds: int) -> dict[str, Any]:
    """BTI of two paragraphs, clusters and all, against one encoding of both by the model itself."""
    pair = text_of(length), text_of(length, 1)

    def ours() -> None:
        whyalike.explain(*pair, encoder=encoder, method="bti")

    def encoding() -> None:
        encoder.model.encode(list(pair), show_progress_bar=False)

    return {"tokens": length, **ratio(ours, encoding, rounds)}


def peak_memory(model: str, length: int, budget: int) -> dict[str, float]:
    """Peak resident memory of explaining one long text, in a process of its own, above what the loaded model takes."""
    code = f"""
import resource, sys, whyalike
encoder = whyalike.load_encoder({None if MODELS[model] is None else str(MODELS[model])!r})
encoder.model.max_seq_length = 512
encoder = whyalike.load_encoder(encoder.model)
encoder.embed(["a short text"])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from benchmarks.run import text_of
whyalike.contributions([text_of({length})], encoder=encoder, budget={budget})
print(before * 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, peak = (int(number) / 2**30 for number in ran.stdout.split())
    return {
        "tokens": length,
        "budget_gib": budget / 2**30,
        "model_gib": before,
        "peak_gib": peak,
        "added_gib": peak - before,
    }


def machine() -> dict[str, Any]:
    libraries = ("torch", "transformers", "sentence-transformers", "captum")
    return {
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "processor": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in libraries},
    }


def write(path: Path, result: dict[str, Any]) -> None:
    """What is known so far, so that a run that is stopped leaves its figures."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--lengths", nargs="*", type=int, default=[8, 16, 32, 128])
    parser.add_argument(
        "--only",
        nargs="+",
        default=[*PER_LENGTH, "leave_one_out", "short_long", "integrated_jacobians", "bti", "memory"],
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dimensions", type=int, default=32, help="backward passes of (a) that are timed")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    for model in given.models:
        path, command = given.out / f"{model}.json", "python -m benchmarks.run " + " ".join(sys.argv[1:])
        result: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}  # other lengths stay as they are
        encoder = whyalike.load_encoder(MODELS[model])
        for length in given.lengths:
            found = result.setdefault(f"n={length}", {})
            if {"bilrp", "one_sided"} & set(given.only):
                found |= {"command": command, "machine": machine()}
            rounds = given.rounds if length < 128 else 2
            if "bilrp" in given.only:
                found["bilrp"] = bilrp(encoder, length, rounds, given.dimensions if length < 128 else 8)
            if "biases" in given.only:
                found["shared_over_apart"] = {"command": command, **shared_biases(encoder, length, rounds)}
            if "leave_one_out" in given.only:
                found["leave_one_out_over_encoding"] = {"command": command, **leave_one_out(encoder, length, rounds)}
            if "direction" in given.only:
                found["direction_over_pass"] = {"command": command, **direction(encoder, length, rounds)}
            for kind in KINDS if model == "MiniLM" else ():
                if kind in given.only:
                    texts = [text_of(length, seed) for seed in range(16 if length < 128 else 2)]
                    costs = over_bilrp(encoder, kind, texts, rounds, ratio)
                    found[f"{kind}_over_bilrp"] = {"command": command, **costs}
            if "one_sided" in given.only:
                found["captum_over_one_sided"] = one_sided(encoder, length, rounds)
            if "integrated_jacobians" in given.only and model == "MiniLM" and length == 16:
                found["integrated_jacobians"] = [
                    integrated_jacobians(encoder, length, tolerance, given.dimensions) for tolerance in (1e-2, 1e-3)
                ]
            print(model, length, json.dumps(found), file=sys.stderr, flush=True)
            write(path, result)
        if "short_long" in given.only:
            result["short_against_long"] = {"command": command, **short_against_long(encoder, 6, 250, given.rounds)}
            print(model, json.dumps(result["short_against_long"]), file=sys.stderr, flush=True)
        if "bti" in given.only:
            result["bti_over_one_encoding"] = {"command": command, **bti(encoder, 200, given.rounds)}
            print(model, json.dumps(result["bti_over_one_encoding"]), file=sys.stderr, flush=True)
        if "memory" in given.only:
            result["memory"] = {"command": command, **peak_memory(model, 512, 2**30)}
            print(model, json.dumps(result["memory"]), file=sys.stderr, flush=True)
        write(path, result)


if __name__ == "__main__":
    main()
