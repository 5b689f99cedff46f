"""The BiLRP paper's task with a known truth: how many nouns do two texts share (Vasileiou & Eberle 2024, section 4.3)?

**The truth, as we state it.** A noun or proper noun of the left text and one of the right that are the same word, whatever
the case of its letters, are one match. The score of a pair is the number of its matches, so a noun that stands twice on one
side and once on the other counts twice: only then is the score the sum of a matrix over pairs of words, as an explanation
is. A word made of several tokens shares its match among them, token by token in order. Pairs without a match are trained
on (their score is 0) and left out where a truth is compared with an explanation, since nothing has no direction.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from whyalike.data.truth import Span, Truth, write_truth
from whyalike.encoders.load import open_model
from whyalike.encoders.modules import QKVPooling
from whyalike.errors import BadInput
from whyalike.language.taggers import spacy_tagger
from whyalike.language.words import Tagged, Tagger
from whyalike.statistics import rank_correlation
from whyalike.train.losses import PairLoss, similarities
from whyalike.train.trainer import Trained, TrainingSettings, fit

NOUNS = ("NOUN", "PROPN")
SETTINGS = TrainingSettings(learning_rate=5e-5)
Pairs = Sequence[tuple[str, str]]


def noun_truth(pairs: Pairs, tagger: Tagger | None = None) -> list[Truth]:
    """The matches of each pair. Each distinct text is tagged once."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    tagged = dict(zip(texts, (tagger or spacy_tagger())(texts), strict=True))
    return [Truth(left, right, tuple(_matches(tagged[left], tagged[right]))) for left, right in pairs]


def _matches(left: Sequence[Tagged], right: Sequence[Tagged]) -> list[tuple[Span, Span]]:
    return [
        ((one.start, one.end), (other.start, other.end))
        for one in left
        for other in right
        if one.pos in NOUNS and other.pos in NOUNS and one.text.casefold() == other.text.casefold()
    ]


def train_nouns(
    pairs: Pairs,
    folder: str | os.PathLike[str],
    *,
    test: Pairs = (),
    model: str | os.PathLike[str] | None = None,
    heads: int | None = None,
    tagger: Tagger | None = None,
    settings: TrainingSettings = SETTINGS,
    resume: bool = False,
    progress: bool = True,
) -> Trained:
    """Train a model with QKV pooling whose dot product is the number of shared nouns; the truth is kept beside it.

    `truth-train.jsonl` and `truth-test.jsonl` in the folder hold every pair's matches; `read_truth` reads them.
    """
    if not pairs:
        raise BadInput("Expected at least one pair to train on.")
    torch.manual_seed(settings.seed)
    known = noun_truth([*pairs, *test], tagger)
    train, held_out = known[: len(pairs)], known[len(pairs) :]
    made = with_qkv_pooling(open_model(model), heads)

    def keep_truth(place: Path) -> None:
        for name, truths in (("train", train), ("test", held_out)):
            write_truth(truths, place / f"truth-{name}.jsonl")

    return fit(
        made,
        PairLoss(made, "dot"),
        {
            "left": [truth.left for truth in train],
            "right": [truth.right for truth in train],
            "label": [float(truth.score) for truth in train],
        },
        Path(folder),
        request={"kind": "nouns", "model": str(model) if model else None, "heads": heads},
        settings=settings,
        measure=(lambda now: fit_of(now, held_out)) if held_out else None,
        beside=keep_truth,
        resume=resume,
        progress=progress,
    )


def with_qkv_pooling(model: SentenceTransformer, heads: int | None = None) -> SentenceTransformer:
    """The model's transformer under a QKV pooling yet to be trained, compared by dot product."""
    first = model[0]
    config = first.auto_model.config.get_text_config()
    pooling = QKVPooling(int(config.hidden_size), heads or int(config.num_attention_heads))
    return SentenceTransformer(modules=[first, pooling], device=str(model.device), similarity_fn_name="dot")


def fit_of(model: SentenceTransformer, truths: Sequence[Truth]) -> dict[str, float]:
    """Rank correlation and mean squared error of the predicted numbers."""
    found = similarities(model, [(truth.left, truth.right) for truth in truths])
    true = np.array([truth.score for truth in truths], dtype=float)
    return {"spearman": rank_correlation(found, true), "mse": float(((found - true) ** 2).mean())}
