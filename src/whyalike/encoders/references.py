"""Neutral inputs to integrate from: a text's own special tokens around padding (or mask, unknown) tokens, or zeros."""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.overrides import TorchFunctionMode

from whyalike.encoders.encoder import Batch, Encoder
from whyalike.encoders.twin import Features
from whyalike.errors import BadInput, UnsupportedModel

Reference = Literal["pad", "mask", "unk", "zero"]
Positions = Literal["own", "model"]


def reference_states(
    encoder: Encoder, batch: Batch, layer: int, reference: Reference, positions: Positions
) -> Float[Tensor, "batch tokens hidden"]:
    """The hidden states of each text's reference at a layer. As long as the text, and attended to like it.

    Models such as RoBERTa and MPNet derive positions from the ids and give padding odd ones. By default a reference keeps
    the *text's own* positions: the model is given the text, and only the look-up of its word embeddings sees the reference.
    ``positions="model"`` gives the model the reference's ids instead, whatever positions it makes of them.
    """
    if reference == "zero":
        _, current = encoder.run(batch.features, layer)
        assert current.seen is not None
        return torch.zeros_like(current.seen)
    ids = _reference_ids(encoder, batch, reference)
    if positions == "model":
        return _states(encoder, {**batch.features, "input_ids": ids}, layer)
    words = _Substitute(encoder.model[0].auto_model.get_input_embeddings().weight, ids)
    with words:
        states = _states(encoder, batch.features, layer)
    if not words.found:
        raise UnsupportedModel(
            f"The word embeddings of {encoder.record.name!r} are not looked up in the usual way, so a reference cannot "
            "keep the text's positions. Use reference_positions='model' or reference='zero'."
        )
    return states


class _Substitute(TorchFunctionMode):
    """Looks other ids up in one embedding table."""

    def __init__(self, table: Tensor, ids: Int[Tensor, "batch tokens"]) -> None:
        super().__init__()
        self.table, self.ids, self.found = table, ids, False

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is F.embedding and args[1] is self.table:
            self.found = True
            args = (self.ids, *args[1:])
        return function(*args, **(kwargs or {}))


def _states(encoder: Encoder, features: Features, layer: int) -> Tensor:
    _, current = encoder.run(features, layer)
    assert current.seen is not None
    return current.seen


def _reference_ids(encoder: Encoder, batch: Batch, reference: Reference) -> Int[Tensor, "batch tokens"]:
    token = getattr(encoder.reader.tokenizer, f"{reference}_token_id")
    if token is None:
        raise BadInput(
            f"The tokenizer of {encoder.record.name!r} has no {reference} token to make a reference of. "
            "Choose another: reference='pad', 'mask', 'unk' or 'zero'."
        )
    rows = [
        [own if special else token for own, special in zip(reading.ids, reading.special, strict=True)]
        for reading in batch.readings
    ]
    return torch.tensor(rows, device=encoder.device)
