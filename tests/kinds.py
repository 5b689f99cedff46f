"""Tiny random late-interaction and sparse encoders, in float64, with biases that are not zero."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from typing import Any

import torch
from sentence_transformers import MultiVectorEncoder, SparseEncoder
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Transformer
from sentence_transformers.sparse_encoder.modules import SpladePooling
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM

from tests.families import FAMILIES, tokenizer
from whyalike.encoders.load import load_encoder
from whyalike.encoders.transformer import TransformerEncoder

EXPANSION: dict[str, Any] = {"strategy": "fixed", "length": 14, "attend": False}
PUNCTUATION = [",", ".", "!", "?"]


@cache
def _folder(family: str, masked: bool, seed: int) -> str:
    """A tiny random transformer on disk, which sentence-transformers' own module can load."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    config = AutoConfig.for_model(family.split(":")[0], **FAMILIES[family])
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = (AutoModelForMaskedLM if masked else AutoModel).from_config(config)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.data.normal_(0, 0.3, generator=generator)
        elif parameter.ndim > 1:
            parameter.data.normal_(0, 0.25, generator=generator)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def tiny_late_interaction(
    family: str = "bert",
    *,
    similarity: Any = "maxsim",
    dense: bool = True,
    dense_bias: bool = False,
    expansion: dict[str, Any] | None = None,
    skip: list[str] | None = None,
    normalize: bool = True,
    prompts: dict[str, str] | None = None,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
) -> TransformerEncoder:
    """Transformer, perhaps a Dense layer on each token, the mask of skipped tokens, perhaps Normalize."""
    first = Transformer(_folder(family, False, seed), query_expansion=expansion)  # type: ignore[arg-type]
    modules: list[Any] = [first]
    if dense:
        with torch.random.fork_rng():
            torch.manual_seed(1)
            last = Dense(
                first.get_embedding_dimension(),
                12,
                bias=dense_bias,
                activation_function=nn.Identity(),
                module_input_name="token_embeddings",
            )
            if dense_bias:
                last.linear.bias.data.normal_(0, 0.3)
        modules.append(last)
    modules.append(MultiVectorMask(skip))
    if normalize:
        modules.append(Normalize(module_input_name="token_embeddings"))
    model = MultiVectorEncoder(modules=modules, device="cpu", similarity_fn_name=similarity, prompts=prompts)
    return _loaded(model, dtype)


def tiny_sparse(
    family: str = "bert",
    *,
    pooling: Any = "max",
    activation: Any = "relu",
    similarity: Any = "dot",
    max_active_dims: int | None = None,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
) -> TransformerEncoder:
    """A masked language model and SPLADE's pooling."""
    first = Transformer(_folder(family, True, seed), transformer_task="fill-mask")
    modules: list[Any] = [first, SpladePooling(pooling, activation)]
    model = SparseEncoder(modules=modules, device="cpu", similarity_fn_name=similarity, max_active_dims=max_active_dims)
    return _loaded(model, dtype)


def _loaded(model: Any, dtype: torch.dtype) -> TransformerEncoder:
    encoder = load_encoder(model.to(dtype).eval().requires_grad_(False))
    return encoder.transformer
