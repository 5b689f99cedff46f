"""What a model gives in the end: one vector, a vector per token, or weights of vocabulary terms.

The twin gives one row of numbers per text whatever the model is, so that gates, replay and differentiation know nothing of
kinds: the output vectors of a late-interaction model stand behind one another. An `Output` says how wide such a row is, and
`Places` what of it counts: the vectors that are scored, the terms that have a weight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, final, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sentence_transformers import MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.multi_vector_encoder.modules import BaseTokenPooling, MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Normalize
from sentence_transformers.sparse_encoder.modules import SpladePooling
from torch import Tensor, nn

from whyalike.encoders.tokens import Reading, Role
from whyalike.encoders.twin import Features
from whyalike.errors import BadInput, EmptyText, UnsupportedModel
from whyalike.results.late_interaction import bring_to_query, find_winners
from whyalike.results.records import ModelKind, Similarity

Model: TypeAlias = SentenceTransformer | MultiVectorEncoder | SparseEncoder


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """What of a row of the twin's numbers is the embedding of one text."""

    scored: Bool[np.ndarray, "tokens"] | None = None  # the tokens whose vectors are compared
    active: Int[np.ndarray, "terms"] | None = None  # the columns of the terms that have a weight
    terms: tuple[str, ...] = ()  # their names

    def take(self, rows: Float[np.ndarray, "*rest width"]) -> Float[np.ndarray, "..."]:
        """The embedding in rows of the twin's numbers: ``outputs × dim``, or as many as there are terms, or all."""
        if self.scored is not None:
            return rows.reshape(*rows.shape[:-1], len(self.scored), -1)[..., self.scored, :]
        return rows if self.active is None else rows[..., self.active]

    def put(self, vectors: Float[np.ndarray, "..."], width: int) -> Float[np.ndarray, "*rest width"]:
        """The inverse of `take`; nothing at what is no part of the embedding."""
        if self.scored is not None:
            rows = np.zeros((*vectors.shape[:-2], len(self.scored), vectors.shape[-1]), dtype=vectors.dtype)
            rows[..., self.scored, :] = vectors
            return rows.reshape(*vectors.shape[:-2], width)
        if self.active is None:
            return vectors
        rows = np.zeros((*vectors.shape[:-1], width), dtype=vectors.dtype)
        rows[..., self.active] = vectors
        return rows

    def scorable(self, row: Float[np.ndarray, "width"]) -> Float[np.ndarray, "*dim"]:
        """The embedding as `ModelRecord.score` takes it: output vectors, or all terms with those that do not count at 0."""
        return self.take(row) if self.scored is not None else self.put(self.take(row), len(row))

    def towards(self, own: Float[np.ndarray, "width"], other: Float[np.ndarray, "*dim"]) -> Float[np.ndarray, "width"]:
        """The direction in the row of this text, the left one, along which its score with a scorable embedding lies."""
        if self.scored is not None:
            return self.put(bring_to_query(other, find_winners(self.take(own), other)), len(own))
        return other if self.active is None else self.put(self.take(other), len(own))


WHOLE = Places()


class Output(ABC):
    """What a model gives, as the twin runs it and as a result shows it."""

    kind: ClassVar[ModelKind]
    pair_prompts: ClassVar[tuple[str | None, str | None]] = (None, None)  # where none are given
    vocabulary: ClassVar[bool] = False  # whether the last linear map is onto the vocabulary
    model: Any
    stages: list[nn.Module]  # the modules that the twin runs
    dim: int

    @property
    @abstractmethod
    def pooling(self) -> str:
        """How the embedding is made of the tokens' states, in a word."""

    @abstractmethod
    def similarity(self, chosen: str | None, name: str) -> Similarity:
        """How embeddings are compared: as chosen, or as the model says."""

    @abstractmethod
    def embedding(self, features: Features) -> Float[Tensor, "batch width"]:
        """A row of numbers per text, from what the last module gives."""

    @abstractmethod
    def encode(self, texts: Sequence[str], prompt: str, role: Role | None) -> Any:
        """What the model's own ``encode`` gives, as numpy arrays: one per text."""

    def width(self, length: int) -> int:
        """How many numbers the twin gives for a text of so many tokens."""
        return self.dim

    def limit(self, role: Role | None) -> int | None:
        """How many tokens the model reads of a text in a role; None where it states no limit."""
        return self.model.max_seq_length

    def role(self, prompt: str | None) -> Role | None:
        """The role that a prompt stands for; None where the model reads all texts alike, or as its ``encode`` does."""
        return None

    def finish(self, reading: Reading) -> Reading:
        """A reading with what the model adds to the tokens of the text, and what it leaves out of the score."""
        return reading

    def places(
        self, reading: Reading, row: Float[np.ndarray, "width"], columns: Int[np.ndarray, "width"] | None
    ) -> Places:
        """What of a row is the text's embedding. ``columns`` are the terms the row stands for, where it is not all of them."""
        return WHOLE


def output_of(model: Model, name: str) -> Output:
    """The output of a model, by its class. Raises `UnsupportedModel` for one whose parts cannot be told."""
    if isinstance(model, MultiVectorEncoder):
        return VectorPerToken(model, name)
    return TermWeights(model, name) if isinstance(model, SparseEncoder) else OneVector(model)


@final
class OneVector(Output):
    """A dense model: one vector, before any final normalisation."""

    kind: ClassVar[ModelKind] = "dense"

    def __init__(self, model: SentenceTransformer) -> None:
        self.model = model
        self.stages, self.normalizes = _without_last_normalization(model)
        self.dim = int(model.get_embedding_dimension() or 0)

    @property
    def pooling(self) -> str:
        for module in self.model:
            mode = getattr(module, "pooling_mode", None)
            if mode is not None:
                return mode if isinstance(mode, str) else "+".join(mode)
        return type(self.model[-1]).__name__

    def similarity(self, chosen: str | None, name: str) -> Similarity:
        normalizes = self.normalizes and self.model.truncate_dim is None
        return _bilinear(chosen or self.model.similarity_fn_name, normalizes, self.normalizes, name)

    def embedding(self, features: Features) -> Float[Tensor, "batch width"]:
        embedding: Tensor = features["sentence_embedding"]
        return embedding if self.model.truncate_dim is None else embedding[..., : self.model.truncate_dim]

    def encode(self, texts: Sequence[str], prompt: str, role: Role | None) -> Any:
        return np.asarray(self.model.encode(list(texts), prompt=prompt, show_progress_bar=False))


@final
class VectorPerToken(Output):
    """A late-interaction model: a vector per token, each scaled to length 1 in most models, compared by MaxSim."""

    kind: ClassVar[ModelKind] = "multi-vector"
    pair_prompts: ClassVar[tuple[str | None, str | None]] = ("query", "document")

    def __init__(self, model: MultiVectorEncoder, name: str) -> None:
        self.model = model
        for module in model:
            if isinstance(module, BaseTokenPooling):
                raise UnsupportedModel(
                    f"{name!r} merges token vectors ({type(module).__name__}), so its vectors belong to no token. "
                    "Take that module out: MultiVectorEncoder(modules=[…])."
                )
        self.masks = [module for module in model if isinstance(module, MultiVectorMask)]
        self.stages = [module for module in model if not isinstance(module, MultiVectorMask)]
        self.dim = int(model.get_embedding_dimension() or 0)
        if not self.dim:
            self.dim = int(model[0].get_embedding_dimension())

    @property
    def pooling(self) -> str:
        return "none"

    def similarity(self, chosen: str | None, name: str) -> Similarity:
        declared = chosen or self.model.similarity_fn_name
        if declared not in ("maxsim", "meanmaxsim"):
            raise UnsupportedModel(
                f"{name!r} has a vector per token, which cannot be compared by {declared!r}. Expected maxsim or meanmaxsim; "
                "leave similarity out for the model's own."
            )
        return declared  # type: ignore[return-value]

    def embedding(self, features: Features) -> Float[Tensor, "batch width"]:
        return features["token_embeddings"].flatten(1)

    def encode(self, texts: Sequence[str], prompt: str, role: Role | None) -> Any:
        return self.model.encode(list(texts), prompt=prompt, task=role, convert_to_numpy=True, show_progress_bar=False)

    def width(self, length: int) -> int:
        return length * self.dim

    def limit(self, role: Role | None) -> int | None:
        first: Any = self.model[0]
        expansion = first.query_expansion if role == "query" else None
        if expansion is not None and expansion["strategy"] == "fixed":
            return int(expansion["length"])
        most = {"query": first.query_length, "document": first.document_length}.get(role or "")
        if most is not None and expansion is not None:
            most = max(most, expansion["length"])
        return first.max_seq_length if most is None else most

    def role(self, prompt: str | None) -> Role | None:
        if prompt not in (None, *get_args(Role)):
            raise BadInput(
                f"A late-interaction model reads a text as a query or as a document, each with its own prompt; got the prompt "
                f"{prompt!r}. Expected 'query' or 'document'; leave prompts out for ('query', 'document')."
            )
        return prompt  # type: ignore[return-value]

    def finish(self, reading: Reading) -> Reading:
        features = self.model.preprocess([reading.side.text], prompt=reading.prompt or None, task=reading.role)
        added = features.get("query_expansion_positions", torch.zeros_like(features["input_ids"]))[0].bool()
        reading = _expand(reading, features["input_ids"][0].tolist(), added.tolist(), self.model.tokenizer)
        masked = dict(features)
        for mask in self.masks:
            masked = mask(masked, task=reading.role)
        scored = masked["attention_mask"][0].bool().cpu().numpy()
        if not scored.any():
            raise EmptyText(
                f"Of the text {reading.side.text[:60]!r} no token has a vector that is compared: the model skips them all. "
                "Give it a text with words."
            )
        return _skip(replace(reading, scored=scored), scored)

    def places(
        self, reading: Reading, row: Float[np.ndarray, "width"], columns: Int[np.ndarray, "width"] | None
    ) -> Places:
        return Places(scored=reading.scored)


@final
class TermWeights(Output):
    """A sparse model (SPLADE): a weight for every term of the vocabulary, most of them 0."""

    kind: ClassVar[ModelKind] = "sparse"
    vocabulary: ClassVar[bool] = True

    def __init__(self, model: SparseEncoder, name: str) -> None:
        self.model = model
        self.stages, self.normalizes = _without_last_normalization(model)
        if len(self.stages) != 2 or not isinstance(self.stages[1], SpladePooling):
            raise UnsupportedModel(
                f"{name!r} is made of {', '.join(type(module).__name__ for module in model)}. Of sparse models those made of a "
                "masked language model and SpladePooling can be explained. Others can be explained from their embeddings: "
                "load_encoder(function)."
            )
        decoder = self.stages[0].auto_model.get_output_embeddings()  # type: ignore[operator,union-attr]
        self.dim = int(getattr(decoder, "out_features", 0))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The name of every term, each another."""
        known = len(self.model.tokenizer)
        named = self.model.tokenizer.convert_ids_to_tokens(range(min(known, self.dim)))
        return (*named, *(f"term {number}" for number in range(len(named), self.dim)))

    @property
    def pooling(self) -> str:
        pooling: Any = self.stages[1]
        return f"splade-{pooling.pooling_strategy}-{pooling.activation_function}"

    def similarity(self, chosen: str | None, name: str) -> Similarity:
        return _bilinear(chosen or self.model.similarity_fn_name, self.normalizes, self.normalizes, name)

    def embedding(self, features: Features) -> Float[Tensor, "batch width"]:
        return features["sentence_embedding"]

    def encode(self, texts: Sequence[str], prompt: str, role: Role | None) -> Any:
        found = self.model.encode(
            list(texts), prompt=prompt, convert_to_sparse_tensor=False, save_to_cpu=True, show_progress_bar=False
        )
        return found.numpy()

    def places(
        self, reading: Reading, row: Float[np.ndarray, "width"], columns: Int[np.ndarray, "width"] | None
    ) -> Places:
        active = np.flatnonzero(row)
        most = self.model.max_active_dims
        if most is not None and len(active) > most:  # as `SparseEncoder.encode` cuts it
            active = np.sort(active[np.argsort(-np.abs(row[active]), kind="stable")[:most]])
        numbers = active if columns is None else columns[active]
        return Places(active=active, terms=tuple(self.terms[number] for number in numbers.tolist()))


def _without_last_normalization(model: Model) -> tuple[list[nn.Module], bool]:
    stages = list(model)
    while stages and isinstance(stages[-1], Normalize):
        stages.pop()
    return stages, len(stages) < len(model)


def _bilinear(declared: str, is_cosine: bool, normalizes: bool, name: str) -> Similarity:
    if declared == "cosine" or (declared == "dot" and is_cosine):
        return "cosine"
    if declared == "dot" and not normalizes:
        return "dot"
    raise UnsupportedModel(
        f"{name!r} compares embeddings by {declared!r}, which cannot be decomposed into token pairs. "
        "Expected cosine or dot; pass similarity='cosine' or similarity='dot' to explain that instead."
    )


def _expand(reading: Reading, ids: list[int], added: list[bool], tokenizer: Any) -> Reading:
    """A reading with the tokens that the model adds to a query, where it adds them."""
    if [number for number, new in zip(ids, added, strict=True) if not new] != list(reading.ids) or not any(added):
        return reading  # another text than was read is refused with the features of its batch
    side, old = reading.side, np.cumsum(~np.array(added)) - 1
    names = tokenizer.convert_ids_to_tokens(ids)

    def spread(values: Any, new: Any) -> Any:
        return [new if is_new else values[place] for is_new, place in zip(added, old.tolist(), strict=True)]

    def numbers(values: Any, new: Any) -> Any:
        return np.array(spread(values.tolist(), new), dtype=np.int64)

    expanded = replace(
        side,
        tokens=tuple(name if new else side.tokens[place] for name, new, place in zip(names, added, old, strict=True)),
        kinds=tuple(spread(side.kinds, "expansion")),
        offsets=numbers(side.offsets, [0, 0]).reshape(-1, 2),
        word_of=numbers(side.word_of, -1),
        sentence_of=numbers(side.sentence_of, -1),
    )
    return replace(reading, side=expanded, ids=tuple(ids), special=tuple(spread(reading.special, True)))


def _skip(reading: Reading, scored: Bool[np.ndarray, "tokens"]) -> Reading:
    """A reading whose tokens of the text that have no vector are of a kind of their own."""
    side = reading.side
    skipped = ~scored & np.array([kind == "text" for kind in side.kinds])
    kinds = tuple("skipped" if skip else kind for kind, skip in zip(side.kinds, skipped.tolist(), strict=True))
    words, sentences = (np.where(skipped, -1, parents) for parents in (side.word_of, side.sentence_of))
    return replace(reading, side=replace(side, kinds=kinds, word_of=words, sentence_of=sentences))
