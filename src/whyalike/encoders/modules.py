"""Our own modules of sentence-transformers: an embedding shifted by its reference, and pooling by attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module
from torch import Tensor, nn

References = Callable[[Int[Tensor, "batch"]], Float[Tensor, "batch dim"]]


class Shift(Module):
    """Subtracts from an embedding that of the reference of the text's own length: ``e(x) = e'(x) − e'(r_x)``.

    The reference (``CLS PAD … PAD SEP``) depends on nothing but the number of tokens, so a finished model keeps a table of
    them: an embedding costs no second pass and never depends on what else is in its batch. While a model is trained the
    references move with its weights: ``live`` computes them.
    """

    config_keys = ["dimension", "longest"]  # noqa: RUF012  (as sentence-transformers has it)

    def __init__(self, dimension: int, longest: int) -> None:
        super().__init__()
        self.dimension, self.longest = dimension, longest
        self.live: References | None = None
        self.references: Tensor
        self.register_buffer("references", torch.zeros(longest + 1, dimension))

    def forward(self, features: Any, **kwargs: Any) -> dict[str, Any]:
        lengths = features["attention_mask"].sum(1)
        if int(lengths.max()) > self.longest:
            raise ValueError(f"A text has {int(lengths.max())} tokens; references are known up to {self.longest}.")
        shift = self.references[lengths] if self.live is None else self.live(lengths)
        return {**features, "sentence_embedding": features["sentence_embedding"] - shift}

    def fill(self) -> None:
        """Write the table from the live references."""
        if self.live is None:
            return
        with torch.no_grad():
            for lengths in torch.arange(1, self.longest + 1, device=self.references.device).split(32):
                self.references[lengths] = self.live(lengths)

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        self.fill()
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> Any:
        return _load(cls, model_name_or_path, subfolder, kwargs)


class QKVPooling(Module):
    """Pools tokens by one attention: the first token's state asks, every token answers with its key and gives its value."""

    config_keys = ["dimension", "heads"]  # noqa: RUF012

    def __init__(self, dimension: int, heads: int) -> None:
        super().__init__()
        if dimension % heads:
            raise ValueError(f"{heads} heads do not divide a width of {dimension}.")
        self.dimension, self.heads = dimension, heads
        self.query, self.key, self.value = (nn.Linear(dimension, dimension) for _ in range(3))

    def forward(self, features: Any, **kwargs: Any) -> dict[str, Any]:
        states, mask = features["token_embeddings"], features["attention_mask"]
        first = states[
            torch.arange(len(states), device=states.device), mask.argmax(1)
        ]  # also where padding comes first
        asked = self.query(first).unflatten(-1, (self.heads, 1, -1))
        keys, values = (part(states).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.key, self.value))
        scores = asked @ keys.transpose(-1, -2) * keys.shape[-1] ** -0.5
        weights = scores.masked_fill(mask[:, None, None] == 0, float("-inf")).softmax(-1)
        return {**features, "sentence_embedding": (weights @ values).flatten(1)}

    def get_embedding_dimension(self) -> int:
        return self.dimension

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> Any:
        return _load(cls, model_name_or_path, subfolder, kwargs)


def _load(cls: Any, path: str, subfolder: str, options: dict[str, Any]) -> Any:
    where = {
        name: options[name] for name in ("token", "cache_folder", "revision", "local_files_only") if name in options
    }
    made = cls(**cls.load_config(model_name_or_path=path, subfolder=subfolder, **where))
    return cls.load_torch_weights(model_name_or_path=path, subfolder=subfolder, model=made, **where)


def revive(model: SentenceTransformer) -> None:
    """References of a shifted model follow its weights from now on: for training, or after weights were changed."""
    stages = list(model)
    for number, stage in enumerate(stages):
        if isinstance(stage, Shift):
            stage.live = LiveReferences(model, stages[:number])


def refill(model: SentenceTransformer) -> None:
    """Write a shifted model's table of references anew; nothing where a model has none."""
    revive(model)
    for stage in model:
        if isinstance(stage, Shift):
            stage.fill()
            stage.live = None


@dataclass(frozen=True, slots=True, eq=False)
class LiveReferences:
    """Embeddings of references, as the stages of a model make them with their weights of the moment.

    Word embeddings are handed over instead of ids: models that derive positions from ids (RoBERTa, MPNet) would give padding
    odd ones; this way a reference has the positions of a text.
    """

    model: SentenceTransformer
    stages: list[nn.Module]

    def __call__(self, lengths: Int[Tensor, "batch"]) -> Float[Tensor, "batch dim"]:
        distinct, where = lengths.unique(return_inverse=True)
        tokenizer = self.model.tokenizer
        special = tokenizer("a", return_special_tokens_mask=True)
        ids, own = special["input_ids"], special["special_tokens_mask"]
        first, last = ids[: own.index(0)], ids[len(own) - own[::-1].index(0) :]
        rows = torch.full((len(distinct), int(distinct.max())), int(tokenizer.pad_token_id), device=lengths.device)
        for row, length in zip(rows, distinct.tolist(), strict=True):
            if length >= len(first) + len(last):
                row[: len(first)] = torch.tensor(first)
                row[length - len(last) : length] = torch.tensor(last)
        mask = (torch.arange(rows.shape[1], device=lengths.device) < distinct[:, None]).long()
        words = self.stages[0].auto_model.get_input_embeddings()  # type: ignore[operator,union-attr]
        features: dict[str, Any] = {"inputs_embeds": words(rows), "attention_mask": mask}
        for stage in self.stages:
            features = stage(features)
        return features["sentence_embedding"][where]


MODULES = {f"{module.__module__}.{module.__qualname__}": module for module in (Shift, QKVPooling)}
