"""Scores, sums and faithfulness of the explanations of a model that was trained for minutes; and a picture."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import whyalike
from experiments.late_interaction_and_sparse.pairs import trial_pairs, wikiqa
from whyalike.encoders.transformer import TransformerEncoder
from whyalike.evaluate.run import cases_of, evaluate
from whyalike.render import to_terminal

HERE = Path(__file__).parent
SUBJECTS = {"late": ("bilrp", "bilrp@0", "maxsim_map", "random"), "sparse": ("bilrp", "bilrp@0", "random")}
SHOWN = ("who wrote the song about the old river", "The tune on the old river was composed by a sailor.")


def measure(folder: Path, kind: str, pairs: int) -> None:
    """Ranking, equality with the library's scores, sums, and faithfulness beside chance."""
    encoder = whyalike.load_encoder(folder).transformer
    texts = trial_pairs(pairs)
    found: dict[str, Any] = {
        "kind": encoder.record.kind,
        "pairs": len(texts),
        "ranking": {"trained": reciprocal_rank(score_with(encoder)), "all-MiniLM-L6-v2": reciprocal_rank(cosine())},
        "layers": {layer: sums(encoder, texts, layer) for layer in (0, encoder.layers // 2, encoder.layers - 1)},
    }
    if kind == "sparse":
        found["active_terms"] = active_terms(encoder, texts)
    judged = evaluate("perturbation", cases_of(texts), encoder=encoder, subjects=SUBJECTS[kind], progress=False)
    found["perturbation"], found["significance"] = list(judged.table), judged.significance()
    path = HERE / "results" / f"{kind}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def score_with(encoder: TransformerEncoder) -> Callable[[str, Sequence[str]], np.ndarray]:
    model: Any = encoder.model
    how: dict[str, Any] = {"convert_to_sparse_tensor": False} if encoder.record.kind == "sparse" else {}

    def scores(question: str, sentences: Sequence[str]) -> np.ndarray:
        return model.similarity(model.encode_query([question], **how), model.encode_document(list(sentences), **how))[
            0
        ].numpy()

    return scores


def cosine() -> Callable[[str, Sequence[str]], np.ndarray]:
    model: Any = whyalike.load_encoder().transformer.model
    return lambda question, sentences: model.similarity(model.encode([question]), model.encode(list(sentences)))[
        0
    ].numpy()


def reciprocal_rank(scores: Callable[[str, Sequence[str]], np.ndarray]) -> float:
    """Of the first answering sentence among those of its document, the mean over WikiQA's questions."""
    ranks = []
    for question, sentences, labels in wikiqa():
        order = np.argsort(-scores(question, sentences), kind="stable").tolist()
        ranks.append(next(1 / rank for rank, number in enumerate(order, 1) if labels[number]))
    return statistics.mean(ranks)


def sums(encoder: TransformerEncoder, texts: Sequence[tuple[str, str]], layer: int) -> dict[str, float]:
    """How far the parts are from the score, and the score from the library's, relative where it is above 1."""
    scores = score_with(encoder)
    apart, unequal, sizes = [], [], []
    for pair, e in zip(
        texts, whyalike.explain_pairs(texts, encoder=encoder, layer=layer, truncate=True, progress=False), strict=True
    ):
        size = max(1.0, abs(e.score))
        apart.append(abs(float(e.matrix.sum()) - e.score) / size)
        unequal.append(abs(float(scores(pair[0], [pair[1]])[0]) - e.score) / size)
        sizes.append(float(np.abs(e.matrix).sum()) / abs(e.score) if e.score else 0.0)
    return {
        "largest_gap_of_the_sum": max(apart),
        "largest_gap_to_the_library": max(unequal),
        "median_size_of_the_parts": statistics.median(sizes),
    }


def active_terms(encoder: TransformerEncoder, texts: Sequence[tuple[str, str]]) -> dict[str, float]:
    weights = [np.asarray(encoder.embed([pair[side] for pair in texts])) > 0 for side in (0, 1)]
    shared = (weights[0] & weights[1]).sum(1)
    return {
        "median_of_a_question": float(np.median(weights[0].sum(1))),
        "median_of_a_sentence": float(np.median(weights[1].sum(1))),
        "median_shared": float(np.median(shared)),
    }


def picture(folder: Path, kind: str, pairs: int) -> None:
    """One pair of our own: its picture, and what the terminal shows."""
    encoder = whyalike.load_encoder(folder)
    e = whyalike.explain(*SHOWN, encoder=encoder, unit="word")
    e.save(HERE / f"{kind}.png")
    print(to_terminal(e, width=140, colours=False))
    if kind == "late":
        print(
            to_terminal(
                whyalike.explain(*SHOWN, encoder=encoder, unit="word", method="maxsim_map"), width=140, colours=False
            )
        )
