"""RecoBERT as BTI uses it: a catalogue's titles and descriptions teach a model which items are alike (Malkiel et al. 2020).

Training goes on from a pretrained encoder with two objectives at once: the masked-language-model loss on titles and
descriptions, and the title–description objective: an item's title and description point the same way, those of different items
apart. Half of the pairs are an item's own, half are mixed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from whyalike.api import explain
from whyalike.data.tables import Item
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.load import open_model
from whyalike.errors import BadInput
from whyalike.results.explanation import Explanation
from whyalike.train.trainer import Trained, TrainingSettings, fit

SETTINGS = TrainingSettings(epochs=1, learning_rate=3e-5, weight_decay=0.01)
MASKED = 0.15  # share of tokens, as in BERT


class Alike(NamedTuple):
    """An item like another, and why."""

    item: Item
    score: float
    explanation: Explanation


def train_catalog(
    items: Sequence[Item],
    folder: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    settings: TrainingSettings = SETTINGS,
    resume: bool = False,
    progress: bool = True,
) -> Trained:
    """Go on training a model with a catalogue."""
    if len(items) < 2:
        raise BadInput(f"A catalogue needs at least two items; got {len(items)}.")
    for number, item in enumerate(items, 1):
        if not (item.title.strip() and item.text.strip()):
            raise BadInput(f"Item {number} has an empty title or description. Fix or drop it.")
    torch.manual_seed(settings.seed)
    made = open_model(model)
    titles, texts, labels = title_description_pairs(items, settings.seed)
    return fit(
        made,
        CatalogLoss(made),
        {"title": titles, "text": texts, "label": labels},
        Path(folder),
        request={"kind": "catalog", "model": str(model) if model else None},
        settings=settings,
        resume=resume,
        progress=progress,
    )


def title_description_pairs(items: Sequence[Item], seed: int) -> tuple[list[str], list[str], list[float]]:
    """Each description with its own title (1), and with that of another item (0)."""
    draw = np.random.default_rng(seed)
    others = (np.arange(len(items)) + draw.integers(1, len(items), len(items))) % len(items)
    titles = [title for item, other in zip(items, others, strict=True) for title in (item.title, items[other].title)]
    texts = [item.text for item in items for _ in range(2)]
    return titles, texts, [1.0, 0.0] * len(items)


class CatalogLoss(nn.Module):
    """Masked-language-model loss plus title–description loss, of one pass over masked titles and descriptions."""

    def __init__(self, model: SentenceTransformer) -> None:
        super().__init__()
        self.model = model
        tokenizer = model.tokenizer
        if tokenizer.mask_token_id is None:
            raise BadInput(
                "The model's tokenizer has no mask token, so it cannot go on with masked language modelling."
            )
        self.mask, self.special = int(tokenizer.mask_token_id), tuple(map(int, tokenizer.all_special_ids))
        transformer: Any = model[0].auto_model
        width = int(transformer.config.get_text_config().hidden_size)
        words = transformer.get_input_embeddings().weight
        # BERT's own head: a transform, then the word embeddings once more.
        self.head = nn.Sequential(nn.Linear(width, words.shape[1]), nn.GELU(), nn.LayerNorm(words.shape[1]))
        self.bias = nn.Parameter(torch.zeros(len(words)))
        self.to(model.device)

    def forward(self, sentence_features: Any, labels: Float[Tensor, "batch"]) -> dict[str, Tensor]:
        embeddings, masked = [], []
        for features in sentence_features:
            ids, chosen = self.masked(features["input_ids"], features["attention_mask"])
            seen = self.model({**features, "input_ids": ids})
            embeddings.append(seen["sentence_embedding"])
            masked.append((seen["token_embeddings"][chosen], features["input_ids"][chosen]))
        states, words = (torch.cat(parts) for parts in zip(*masked, strict=True))
        alike = (1 + F.cosine_similarity(*embeddings)) / 2
        return {
            "masked_words": F.cross_entropy(self.logits(states), words) if len(words) else states.sum() * 0,
            "title_description": F.binary_cross_entropy(alike.clamp(1e-6, 1 - 1e-6), labels.to(alike.dtype).view(-1)),
        }

    def logits(self, states: Float[Tensor, "tokens hidden"]) -> Float[Tensor, "tokens words"]:
        transformer: Any = self.model[0].auto_model
        return self.head(states) @ transformer.get_input_embeddings().weight.T + self.bias

    def masked(
        self, ids: Int[Tensor, "batch tokens"], attended: Int[Tensor, "batch tokens"]
    ) -> tuple[Int[Tensor, "batch tokens"], Bool[Tensor, "batch tokens"]]:
        """BERT's rule: of 15 % of the words, 80 % become the mask, 10 % another word, 10 % stay; and which they are."""
        own = (attended != 0) & ~torch.isin(ids, torch.tensor(self.special, device=ids.device))
        chosen = own & (torch.rand(ids.shape, device=ids.device) < MASKED)
        kind = torch.rand(ids.shape, device=ids.device)
        other = torch.randint(0, len(self.bias), ids.shape, device=ids.device)
        changed = torch.where(kind < 0.8, torch.full_like(ids, self.mask), torch.where(kind < 0.9, other, ids))
        return torch.where(chosen, changed, ids), chosen

    def get_config_dict(self) -> dict[str, Any]:
        return {"masked": MASKED}


def most_similar(
    items: Sequence[Item], seed: str, *, encoder: Encoder, count: int = 3, method: str = "bti"
) -> list[Alike]:
    """The items most like one of the catalogue by their descriptions, each explained."""
    numbers = [number for number, item in enumerate(items) if item.id == seed]
    if not numbers:
        raise BadInput(f"There is no item {seed!r} in the catalogue. Expected one of its ids, such as {items[0].id!r}.")
    embeddings = encoder.embed([item.text for item in items])
    embeddings = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    scores = embeddings @ embeddings[numbers[0]]
    own = items[numbers[0]].text
    best = [n for n in np.argsort(-scores) if items[n].text != own][:count]
    return [
        Alike(items[n], float(scores[n]), explain(own, items[n].text, encoder=encoder, method=method, truncate=True))
        for n in best
    ]
