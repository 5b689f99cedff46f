"""Losses on pairs of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

TOGETHER = 8  # texts in one pass


class PairLoss(nn.Module):
    """Mean squared error between the similarity of two embeddings and the score."""

    def __init__(self, model: SentenceTransformer, similarity: Literal["cosine", "dot"]) -> None:
        super().__init__()
        self.model, self.similarity = model, similarity

    def forward(self, sentence_features: Iterable[dict[str, Any]], labels: Float[Tensor, "batch"]) -> Tensor:
        left, right = embed(self.model, list(sentence_features))
        found = F.cosine_similarity(left, right) if self.similarity == "cosine" else (left * right).sum(-1)
        return F.mse_loss(found, labels.to(found.dtype).view(-1))

    def get_config_dict(self) -> dict[str, Any]:
        return {"similarity": self.similarity}


def embed(model: nn.Module, columns: Sequence[dict[str, Any]]) -> tuple[Float[Tensor, "batch dim"], ...]:
    """Embeddings of each column's texts, with gradients.

    A column comes padded to its longest text. Texts of like length are run together instead, over all columns, so that
    little padding is computed: the same embeddings at half the cost.
    """
    counts = [len(column["attention_mask"]) for column in columns]
    rows = [
        {name: value[row] for name, value in column.items() if isinstance(value, Tensor) and value.ndim == 2}
        for column, count in zip(columns, counts, strict=True)
        for row in range(count)
    ]
    bare = [{name: value[row["attention_mask"] != 0] for name, value in row.items()} for row in rows]
    order = sorted(range(len(bare)), key=lambda number: len(bare[number]["attention_mask"]))
    found: list[Tensor] = []
    for start in range(0, len(order), TOGETHER):
        chosen = [bare[number] for number in order[start : start + TOGETHER]]
        features: dict[str, Any] = {
            name: nn.utils.rnn.pad_sequence([row[name] for row in chosen], batch_first=True) for name in chosen[0]
        }
        found.append(model(features)["sentence_embedding"])
    back = torch.tensor(order, device=found[0].device).argsort()
    return torch.cat(found)[back].split(counts)


def similarities(
    model: SentenceTransformer, pairs: Sequence[tuple[str, str]], batch_size: int = 64
) -> Float[np.ndarray, "pairs"]:
    """The model's own similarity of each pair, each distinct text encoded once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    with torch.no_grad():
        embeddings = model.encode(texts, batch_size=batch_size, show_progress_bar=False, convert_to_tensor=True)
    place = {text: number for number, text in enumerate(texts)}
    left, right = (embeddings[[place[pair[side]] for pair in pairs]] for side in (0, 1))
    found: np.ndarray = model.similarity_pairwise(left, right).double().cpu().numpy()
    return found
