"""Late-interaction and sparse models of MiniLM's size: what their contributions cost, over BiLRP's of the same texts.

The models are the embedded one with an untrained end, which costs what a trained one costs: a projection to 128 numbers per
token; a head onto the vocabulary whose bias leaves about eight terms per token above zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from sentence_transformers import MultiVectorEncoder, SparseEncoder
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling
from torch import nn

import whyalike
from whyalike.encoders.load import default_folder

TERMS_PER_TOKEN = 8
Ratio = Callable[[Callable[[], Any], Callable[[], Any], int], dict[str, float]]


def late_interaction_encoder() -> whyalike.Encoder:
    """MiniLM with 128 numbers per token, every token scored."""
    torch.manual_seed(0)
    dense = Dense(384, 128, bias=False, activation_function=nn.Identity(), module_input_name="token_embeddings")
    normalize = Normalize(module_input_name="token_embeddings")
    modules: list[nn.Module] = [Transformer(default_folder()), dense, MultiVectorMask(), normalize]
    return whyalike.load_encoder(MultiVectorEncoder(modules=modules, device="cpu"))


def sparse_encoder(texts: list[str]) -> whyalike.Encoder:
    """MiniLM with a map onto its vocabulary of which about eight terms per token of these texts are above zero."""
    torch.manual_seed(0)
    first = Transformer(default_folder(), transformer_task="fill-mask")
    model: Any = first.auto_model
    with torch.no_grad():
        logits = first(first.preprocess(texts))["token_embeddings"]
        model.cls.predictions.bias -= logits.flatten(0, 1).topk(TERMS_PER_TOKEN).values[:, -1].mean()
    return whyalike.load_encoder(SparseEncoder(modules=[first, SpladePooling("max")], device="cpu"))


def over_bilrp(
    dense: whyalike.Encoder, kind: str, texts: list[str], rounds: int, ratio: Ratio
) -> dict[str, float | int]:
    """Contributions of one text, and of some together, over those of the dense model."""
    other = late_interaction_encoder() if kind == "late_interaction" else sparse_encoder(texts[:4])

    def explaining(encoder: whyalike.Encoder, some: list[str]) -> Callable[[], Any]:
        return lambda: whyalike.contributions(some, encoder=encoder, layer=0, progress=False)

    one, many = (ratio(explaining(other, some), explaining(dense, some), rounds) for some in (texts[:1], texts))
    found: dict[str, float | int] = {
        "one_text": one["ratio"],
        "texts_together": len(texts),
        "together": many["ratio"],
        "one_text_seconds": one["ours_seconds"],
    }
    if kind == "sparse":
        (part,) = whyalike.contributions(texts[:1], encoder=other, layer=0, progress=False)
        found["active_terms"] = len(part.terms)
    return found
