"""Two small models, trained for minutes from the embedded all-MiniLM-L6-v2 with sentence-transformers' own trainers."""

from __future__ import annotations

import string
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from datasets import Dataset
from sentence_transformers import MultiVectorEncoder, SparseEncoder
from sentence_transformers.multi_vector_encoder import (
    MultiVectorEncoderTrainer,
    MultiVectorEncoderTrainingArguments,
)
from sentence_transformers.multi_vector_encoder import (
    losses as late_losses,
)
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Transformer
from sentence_transformers.sparse_encoder import SparseEncoderTrainer, SparseEncoderTrainingArguments, losses
from sentence_transformers.sparse_encoder.modules import SpladePooling
from torch import nn

from experiments.late_interaction_and_sparse.pairs import Pair, training_pairs
from whyalike.encoders.load import default_folder

SEED = 0


def train_late_interaction(out: Path, steps: int) -> None:
    """A vector of 128 numbers per token; queries are expanded to 24 tokens; punctuation of documents is skipped."""
    torch.manual_seed(SEED)
    first = Transformer(
        default_folder(), query_expansion={"strategy": "fixed", "length": 24, "attend": False}, document_length=64
    )
    dense = Dense(384, 128, bias=False, activation_function=nn.Identity(), module_input_name="token_embeddings")
    nn.init.orthogonal_(dense.linear.weight)
    normalize = Normalize(module_input_name="token_embeddings")
    model = MultiVectorEncoder(
        modules=[first, dense, MultiVectorMask(list(string.punctuation)), normalize], device="cpu"
    )
    loss = late_losses.MultiVectorMultipleNegativesRankingLoss(model)
    with tempfile.TemporaryDirectory() as folder:
        given = MultiVectorEncoderTrainingArguments(**_arguments(folder, steps, 3e-5))
        MultiVectorEncoderTrainer(model, given, _data(training_pairs()), loss=loss).train()
    model.save(str(out), create_model_card=False)


def train_sparse(out: Path, steps: int) -> None:
    """SPLADE with max pooling. MiniLM comes without a map onto the vocabulary, so that is fitted first: to name each token."""
    torch.manual_seed(SEED)
    first = Transformer(default_folder(), transformer_task="fill-mask")
    first.max_seq_length = 64
    pairs = training_pairs()
    fit_vocabulary_head(first, [text for pair in pairs for text in pair], steps=150)
    model = SparseEncoder(modules=[first, SpladePooling("max")], device="cpu", similarity_fn_name="dot")
    ranking = losses.SparseMultipleNegativesRankingLoss(model)
    loss = losses.SpladeLoss(model, ranking, document_regularizer_weight=3e-3, query_regularizer_weight=5e-3)
    with tempfile.TemporaryDirectory() as folder:
        given = SparseEncoderTrainingArguments(**_arguments(folder, steps, 5e-5))
        SparseEncoderTrainer(model, given, _data(pairs), loss=loss).train()
    model.save(str(out), create_model_card=False)


def fit_vocabulary_head(first: Transformer, texts: Sequence[str], steps: int) -> None:
    """Fits the head of the masked language model, nothing else, to give each token's last state its own token."""
    model: Any = first.auto_model
    generator = torch.Generator().manual_seed(SEED)
    head = [parameter for name, parameter in model.named_parameters() if name.startswith("cls.predictions.transform")]
    optimizer = torch.optim.AdamW([*head, model.cls.predictions.bias], lr=2e-3)
    for step in range(steps):
        chosen = torch.randint(len(texts), (8,), generator=generator).tolist()
        batch = first.preprocess([texts[number] for number in chosen])
        with torch.no_grad():
            states = model.bert(batch["input_ids"], batch["attention_mask"]).last_hidden_state
        read = batch["attention_mask"].bool()
        loss = F.cross_entropy(model.cls(states[read]), batch["input_ids"][read])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"head, step {step}: loss {float(loss.detach()):.2f}", flush=True)
    # Cross-entropy says nothing of where logits lie; SPLADE counts those above 0. About eight per token are to be so.
    with torch.no_grad():
        model.cls.predictions.bias -= model.cls(states[read]).topk(8).values[:, -1].mean()


def _data(pairs: Sequence[Pair]) -> Dataset:
    return Dataset.from_dict({"query": [one for one, _ in pairs], "document": [other for _, other in pairs]})


def _arguments(folder: str, steps: int, rate: float) -> dict[str, Any]:
    return {
        "output_dir": folder,
        "max_steps": steps,
        "per_device_train_batch_size": 16,
        "learning_rate": rate,
        "warmup_steps": steps // 10,
        "seed": SEED,
        "logging_steps": 20,
        "save_strategy": "no",
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
    }
