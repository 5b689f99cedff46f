"""Distil an encoder into another language on parallel sentences (Reimers & Gurevych 2020)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from whyalike.encoders.load import open_model
from whyalike.errors import BadInput
from whyalike.train.losses import embed
from whyalike.train.trainer import Trained, TrainingSettings, fit

SETTINGS = TrainingSettings(batch_size=32, learning_rate=1e-4, weight_decay=0.01)
SCALE = 1000.0  # of the squared error, which is tiny in vectors of length 1: keeps gradients well above AdamW's epsilon


def train_student(
    parallel: Sequence[tuple[str, str]],
    folder: str | os.PathLike[str],
    *,
    teacher: str | os.PathLike[str] | None = None,
    student: str | os.PathLike[str] | None = None,
    settings: TrainingSettings = SETTINGS,
    resume: bool = False,
    progress: bool = True,
) -> Trained:
    """Train a student to embed both sentences of each pair (the teacher's language first) as the teacher embeds the first.

    The student starts as a copy of the teacher unless another model is named; it must give vectors of the teacher's size.
    """
    if not parallel:
        raise BadInput("Expected at least one pair of parallel sentences.")
    for number, (source, target) in enumerate(parallel, 1):
        if not (source.strip() and target.strip()):
            raise BadInput(f"Pair {number} has an empty sentence. Fix or drop it.")
    torch.manual_seed(settings.seed)
    master, made = open_model(teacher), open_model(student if student is not None else teacher)
    sizes = [model.get_embedding_dimension() for model in (master, made)]
    if sizes[0] != sizes[1]:
        raise BadInput(
            f"The teacher's vectors have {sizes[0]} numbers, the student's {sizes[1]}. Choose a student of that size."
        )
    sources = [source for source, _ in parallel]
    wanted = master.encode(sources, batch_size=64, show_progress_bar=progress)
    return fit(
        made,
        DistillationLoss(made),
        {"source": sources, "target": [target for _, target in parallel], "label": wanted.tolist()},
        Path(folder),
        request={
            "kind": "student",
            "teacher": str(teacher) if teacher else None,
            "student": str(student) if student else None,
        },
        settings=settings,
        resume=resume,
        progress=progress,
    )


class DistillationLoss(nn.Module):
    """Mean squared error of both sentences' embeddings to the teacher's of the first."""

    def __init__(self, model: SentenceTransformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, sentence_features: Any, labels: Float[Tensor, "batch dim"]) -> Tensor:
        found = embed(self.model, list(sentence_features))
        return SCALE * torch.stack([F.mse_loss(each, labels.to(each.dtype)) for each in found]).mean()

    def get_config_dict(self) -> dict[str, Any]:
        return {"scale": SCALE}
