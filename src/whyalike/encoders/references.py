"""Neutral inputs to integrate from: a text's own special tokens around padding (or mask, unknown) tokens, or zeros."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from whyalike.encoders.lookups import WordLookup
from whyalike.encoders.transformer import Batch, TransformerEncoder
from whyalike.encoders.twin import Features
from whyalike.errors import BadInput

Reference = Literal["pad", "mask", "unk", "zero"]  # "zero": states of zeros, whose embedding is not zero
Positions = Literal["own", "model"]


def reference_states(
    encoder: TransformerEncoder, batch: Batch, layer: int, reference: Reference, positions: Positions
) -> Float[Tensor, "batch tokens hidden"]:
    """The hidden states of each text's reference at a layer. As long as the text, and attended to like it.

    Models such as RoBERTa and MPNet derive positions from the ids and give padding odd ones. By default a reference keeps
    the *text's own* positions: the model is given the text, and only the look-up of its word embeddings sees the reference.
    ``positions="model"`` gives the model the reference's ids instead, whatever positions it makes of them.
    """
    if reference == "zero":
        _, current = encoder.run(batch.features, layer)
        assert current.observed is not None
        return torch.zeros_like(current.observed)
    ids = _reference_ids(encoder, batch, reference)
    if positions == "model":
        return _states(encoder, {**batch.features, "input_ids": ids}, layer)
    words = WordLookup(encoder, lambda found: F.embedding(ids, words.table))
    with words:
        states = _states(encoder, batch.features, layer)
    words.check()
    return states


def _states(encoder: TransformerEncoder, features: Features, layer: int) -> Tensor:
    _, current = encoder.run(features, layer)
    assert current.observed is not None
    return current.observed


def _reference_ids(encoder: TransformerEncoder, batch: Batch, reference: Reference) -> Int[Tensor, "batch tokens"]:
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
