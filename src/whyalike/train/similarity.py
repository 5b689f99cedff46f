"""The four configurations of the Siamese paper (Möller et al. 2024, Table 1): shelf, tuned, exact, dot."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize

from whyalike.encoders.load import open_model
from whyalike.encoders.modules import Shift
from whyalike.errors import BadInput, unknown
from whyalike.statistics import rank_correlation
from whyalike.train.losses import PairLoss, similarities
from whyalike.train.trainer import Trained, TrainingSettings, fit

Configuration = Literal["tuned", "exact", "dot"]
CONFIGURATIONS: dict[str, str] = {
    "tuned": "trained as it is, cosine",
    "exact": "embeddings shifted by their reference's, cosine: the matrix of integrated Jacobians alone adds up",
    "dot": "embeddings shifted by their reference's, dot product",
}
Pairs = Sequence[tuple[str, str]]


def train_similarity(
    pairs: Pairs,
    scores: Sequence[float],
    folder: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    configuration: Configuration = "exact",
    dev: tuple[Pairs, Sequence[float]] | None = None,
    settings: TrainingSettings | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Trained:
    """Train a model to score pairs, scores from 0 to 1, by mean squared error.

    With ``dev`` its rank correlation (Spearman) is measured after each epoch.
    """
    if configuration not in CONFIGURATIONS:
        raise unknown("configuration", configuration, CONFIGURATIONS)
    check_scores(pairs, scores)
    settings = settings or TrainingSettings()
    torch.manual_seed(settings.seed)
    made = prepare(model, configuration)
    similarity: Any = made.similarity_fn_name
    return fit(
        made,
        PairLoss(made, similarity),
        {
            "left": [left for left, _ in pairs],
            "right": [right for _, right in pairs],
            "label": list(map(float, scores)),
        },
        Path(folder),
        request={"kind": "similarity", "configuration": configuration, "model": str(model) if model else None},
        settings=settings,
        measure=None if dev is None else lambda trained: {"spearman": spearman(trained, *dev)},
        resume=resume,
        progress=progress,
    )


def prepare(model: str | os.PathLike[str] | None, configuration: Configuration) -> SentenceTransformer:
    """Make a model ready to be trained in a configuration."""
    made = open_model(model)
    if configuration == "tuned":
        return made
    stages = list(made)
    while isinstance(stages[-1], Normalize):
        stages.pop()  # a shift after a normalisation would not be the paper's
    if any(isinstance(stage, Shift) for stage in stages):
        raise BadInput("The model is shifted by its reference already. Train it as it is: configuration 'tuned'.")
    longest = made.max_seq_length or 512
    shift = Shift(int(made.get_embedding_dimension() or 0), longest)
    similarity: Any = "dot" if configuration == "dot" else "cosine"
    return SentenceTransformer(modules=[*stages, shift], device=str(made.device), similarity_fn_name=similarity)


def spearman(model: SentenceTransformer, pairs: Pairs, scores: Sequence[float]) -> float:
    """Rank correlation of the model's own similarity with the scores."""
    return rank_correlation(similarities(model, pairs), scores)


def check_scores(pairs: Pairs, scores: Sequence[float]) -> None:
    if len(pairs) != len(scores) or not pairs:
        raise BadInput(
            f"Expected one score for each pair, and at least one; got {len(pairs)} pairs, {len(scores)} scores."
        )
    for number, ((left, right), score) in enumerate(zip(pairs, scores, strict=True), 1):
        if not (left.strip() and right.strip()):
            raise BadInput(f"Pair {number} has an empty text. Fix or drop it.")
        if not 0 <= score <= 1:  # also where it is no number
            raise BadInput(
                f"Pair {number} has the score {score!r}; expected 0 to 1. Scale your scores to 0–1, or fix the row."
            )
