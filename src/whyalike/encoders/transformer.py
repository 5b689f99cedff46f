"""A transformer as an encoder: a model of sentence-transformers, its reader, and the twin through which it is explained."""

from __future__ import annotations

import copy
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from whyalike.encoders.encoder import Embeddings, Encoder
from whyalike.encoders.fingerprint import fingerprint_of
from whyalike.encoders.gates import Biases, Wiring
from whyalike.encoders.outputs import Model, Places, output_of
from whyalike.encoders.tokens import Reader, Reading, Role
from whyalike.encoders.twin import Features, Pass, Twin
from whyalike.encoders.vocabulary import ActiveTerms
from whyalike.encoders.wiring import wire
from whyalike.errors import UnknownName, UnsupportedModel, unknown
from whyalike.results.records import ModelRecord, Similarity

PROBE = "A short text to try the model with."
TOKENS_TOGETHER = 512  # texts of one length share a pass up to this many tokens


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Readings of one length with the features the model wants: never padded."""

    readings: list[Reading]
    numbers: list[int]  # where each stood in the list they came from
    features: Features

    @property
    def length(self) -> int:
        return self.readings[0].length


@final
class TransformerEncoder(Encoder):
    """Gives embeddings, hidden states and passes with states put in place. The model it wraps is never changed."""

    def __init__(
        self,
        model: Model,
        name: str,
        *,
        similarity: Similarity | None = None,
        pooling_assumed: bool = False,
    ) -> None:
        self.model = model
        tokenizer = getattr(model[0], "tokenizer", None)
        config = getattr(getattr(model[0], "auto_model", None), "config", None)
        if tokenizer is None or config is None:
            raise UnsupportedModel(
                f"{name!r} begins with {type(model[0]).__name__}, which is no transformer with a tokenizer. "
                "Expected a sentence-transformers model whose first module is a Transformer."
            )
        self.output = output_of(model, name)
        self.reader = Reader(tokenizer, self.limit, name)
        layers = int(getattr(config.get_text_config(), "num_hidden_layers", 0) or 0)
        self.twin = Twin(
            self.output.stages, self._probe(), layers, self.output.embedding, vocabulary=self.output.vocabulary
        )
        self.record = ModelRecord(
            name=name,
            similarity=self.output.similarity(similarity, name),
            pooling=self.output.pooling,
            layers=layers,
            dim=self.output.dim,
            max_tokens=self.limit(),
            fingerprint=fingerprint_of(model),
            pooling_assumed=pooling_assumed,
            kind=self.output.kind,
        )
        self._wirings: dict[tuple[int, Biases], Wiring] = {}
        self._wiring_lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Encoder({self.record.name!r}, {self.layers} layers, {self.record.dim} wide, {self.record.similarity})"

    @property
    def layers(self) -> int:
        return self.record.layers

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def transformer(self) -> TransformerEncoder:
        return self

    @property
    def pair_prompts(self) -> tuple[str | None, str | None]:
        return self.output.pair_prompts

    def role(self, prompt: str | None) -> Role | None:
        return self.output.role(prompt)

    def embed_with_prompt(self, texts: Sequence[str], prompt: str, role: Role | None = None) -> Embeddings:
        """What the model itself gives: its ``encode``."""
        modes = [(module, module.training) for module in self.model.modules()]
        try:
            with self.reader.lock:
                return self.output.encode(texts, prompt, role)
        finally:  # encode leaves a model in evaluation mode
            for module, training in modes:
                module.training = training

    def limit(self, role: Role | None = None) -> int | None:
        """How many tokens the model reads now of a text in a role; None where it states no limit."""
        most = self.output.limit(role)
        return most if most and most < 10**9 else None

    def prompt_text(self, name: str | None) -> str:
        """The text of a prompt of the model's, by name; None is the model's default prompt, often none."""
        chosen = self.model.default_prompt_name if name is None else name
        if chosen is None:
            return ""
        if chosen not in self.model.prompts:
            raise unknown("prompt", chosen, self.model.prompts or ("none: this model has no prompts",))
        return self.model.prompts[chosen]

    def read(self, texts: Sequence[str], *, prompt: str | None = None, truncate: bool = False) -> list[Reading]:
        """The texts as this model reads them."""
        role = self.role(prompt)
        readings = self.reader.read(texts, prompt=self.prompt_text(prompt), role=role, truncate=truncate)
        with self.reader.lock:
            return [self.output.finish(reading) for reading in readings]

    def batches(self, readings: Sequence[Reading], most_tokens: int) -> Iterator[Batch]:
        """Readings of equal length, prompt and role together, at most ``most_tokens`` tokens at a time."""
        alike: dict[tuple[int, str, str], list[int]] = defaultdict(list)
        for number, reading in enumerate(readings):
            alike[reading.length, reading.prompt, reading.role or ""].append(number)
        for (length, *_), numbers in sorted(alike.items()):
            size = max(1, most_tokens // length)
            for start in range(0, len(numbers), size):
                chosen = numbers[start : start + size]
                together = [readings[number] for number in chosen]
                yield Batch(together, chosen, self._features(together))

    def _features(self, readings: list[Reading]) -> Features:
        """The model's own preprocessing, which must see the very tokens we show."""
        texts, prompt, role = [reading.side.text for reading in readings], readings[0].prompt, readings[0].role
        task = {} if role is None else {"task": role}
        with self.reader.lock:
            features: dict[str, Any] = self.model.preprocess(texts, prompt=prompt or None, **task)
        ids = [list(reading.ids) for reading in readings]
        if features["input_ids"].tolist() != ids:
            raise UnsupportedModel(
                f"{self.reader.model_name!r} prepares its input in a way that does not match its tokenizer, "
                "so its tokens cannot be tied to characters. Expected plain text input, without a chat template."
            )
        return {key: value.to(self.device) if isinstance(value, Tensor) else value for key, value in features.items()}

    def states(self, readings: Sequence[Reading]) -> list[Float[np.ndarray, "units hidden"]]:
        found: dict[int, np.ndarray] = {}
        for batch in self.batches(readings, TOKENS_TOGETHER):
            _, current = self.run(batch.features, self.layers)
            assert current.middle is not None
            found |= zip(batch.numbers, current.middle.float().cpu().numpy(), strict=True)
        return [found[number] for number in range(len(readings))]

    def _probe(self) -> Features:
        return self._features(self.reader.read([PROBE], truncate=True))

    def active_terms(self) -> ActiveTerms | None:
        """What finds the terms to restrict passes to, in a sparse model."""
        return ActiveTerms() if self.output.vocabulary else None

    def places(
        self, reading: Reading, row: Float[Tensor, "width"], terms: Int[Tensor, "width"] | None = None
    ) -> Places:
        """What of a row of the twin's numbers is a text's embedding; ``terms`` are those the row stands for, if not all."""
        columns = None if terms is None else terms.cpu().numpy()
        return self.output.places(reading, row.detach().double().cpu().numpy(), columns)

    def check_layer(self, layer: object) -> int:
        if not isinstance(layer, int) or isinstance(layer, bool) or not 0 <= layer <= self.layers:
            raise UnknownName(
                f"There is no layer {layer!r} in {self.record.name!r}. Known: 0 (the embeddings) "
                f"to {self.layers} (the output of the last block)."
            )
        return layer

    def wiring(self, layer: int, biases: Biases = "shared") -> Wiring:
        """How the model's calls hang together from a layer on. Found at first use; refuses a model that breaks the laws."""
        with self._wiring_lock:
            if (layer, biases) not in self._wirings:
                self._wirings[layer, biases] = wire(self.twin, self._probe(), layer, biases)
        return self._wirings[layer, biases]

    def copy_in_float64(self) -> TransformerEncoder:
        """The same model with its weights in float64."""
        record, model = self.record, copy.deepcopy(self.model).double()
        return TransformerEncoder(
            model, record.name, similarity=record.similarity, pooling_assumed=record.pooling_assumed
        )

    def run(self, features: Features, layer: int) -> tuple[Float[Tensor, "batch dim"], Pass]:
        """A plain pass: embeddings (before any final normalisation), and what was seen on the way."""
        current = Pass(layer)
        with torch.no_grad():
            return self.twin.run(features, current), current
