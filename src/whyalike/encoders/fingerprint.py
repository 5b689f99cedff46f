"""The fingerprint of a model: a digest of everything that affects its embeddings.

Caches, stored results and interrupted runs trust it: two models of one fingerprint give the same results.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import torch
from sentence_transformers.base import BaseModel
from torch import Tensor

WITHOUT_EFFECT = (
    "_name_or_path",
    "transformers_version",
    "architectures",
    "dtype",
    "torch_dtype",
)  # of a configuration
CHANGED_BY_USE = ("truncation", "padding")  # of a tokenizer: what the last call asked for
NOTED_BY_USE = {"SpladePooling": ("embedding_dimension",)}  # of a module: what its first pass writes down


def fingerprint_of(model: BaseModel) -> str:
    """A digest of the weights (every value), the tokenizer, the modules with their configuration, and the prompts."""
    digest = hashlib.sha256()
    digest.update(_as_json({"model": _settings(model), "modules": [_module(each) for each in model]}))
    for name, tensor in model.state_dict().items():
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()[:16]


def _settings(model: BaseModel) -> dict[str, Any]:
    most = getattr(model, "max_active_dims", None)  # of a sparse model
    return {
        "prompts": dict(model.prompts),
        "default_prompt": model.default_prompt_name,
        "truncate_dim": getattr(model, "truncate_dim", None),
        "max_seq_length": model.max_seq_length,
        **({} if most is None else {"max_active_dims": most}),
    }


def _module(module: Any) -> dict[str, Any]:
    """A module's class and configuration; of a transformer also those of its model and its tokenizer."""
    found: dict[str, Any] = {
        "class": type(module).__name__,
        "configuration": None,
        "transformer": None,
        "tokenizer": None,
    }
    if callable(getattr(module, "get_config_dict", None)):
        found["configuration"] = _without(module.get_config_dict(), NOTED_BY_USE.get(type(module).__name__, ()))
    config = getattr(getattr(module, "auto_model", None), "config", None)
    if config is not None:
        found["transformer"] = _without(config.to_dict(), WITHOUT_EFFECT)
    tokenizer = getattr(module, "tokenizer", None)
    if tokenizer is not None:
        found["tokenizer"] = _tokenizer(tokenizer)
    return found


def _tokenizer(tokenizer: Any) -> dict[str, Any]:
    backend = getattr(tokenizer, "backend_tokenizer", None)  # a slow tokenizer has none, and is refused elsewhere
    return {
        "rules": None if backend is None else _without(json.loads(backend.to_str()), CHANGED_BY_USE),
        "special_tokens": {name: str(token) for name, token in getattr(tokenizer, "special_tokens_map", {}).items()},
        "sides": [getattr(tokenizer, name, None) for name in ("padding_side", "truncation_side")],
    }


def _without(value: Any, names: tuple[str, ...]) -> Any:
    """A configuration without some of its entries, at any depth."""
    if isinstance(value, dict):
        return {str(key): _without(each, names) for key, each in value.items() if key not in names}
    return [_without(each, names) for each in value] if isinstance(value, list | tuple) else value


def _as_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode("utf-8", "surrogatepass")


def _bytes(tensor: Tensor) -> Any:
    """A tensor's values as they lie in memory; numpy does not know all of torch's types, but it knows bytes."""
    flat = tensor.detach().contiguous().cpu().flatten()
    return flat.view(torch.uint8).numpy() if flat.numel() else b""


def fingerprint_of_function(function: Callable[..., Any], facts: Any) -> str:
    """A digest of a function's code and of what else is known of it. What the code calls, a server say, is not covered."""
    return digest_of(json.dumps([version_of(function), facts], sort_keys=True))


def version_of(function: Callable[..., Any]) -> str:
    """A digest of a function's code, constants, defaults and closed-over values. Functions it calls are not covered."""
    facts: Any = repr(function)
    if isinstance(function, FunctionType):
        inner = [cell.cell_contents for cell in function.__closure__ or ()]
        facts = (*_facts(function.__code__), function.__defaults__, function.__kwdefaults__, inner)
    elif isinstance(call := type(function).__call__, FunctionType):  # an object with __call__
        facts = (*_facts(call.__code__), getattr(function, "__dict__", None))
    return digest_of(re.sub(r" at 0x[0-9a-f]+", "", repr(facts)))  # an address is another one in the next process


def _facts(code: CodeType) -> tuple[Any, ...]:
    """What code does, with the facts of inner functions in place of their addresses."""
    return (
        code.co_code.hex(),
        code.co_names,
        [_facts(each) if isinstance(each, CodeType) else each for each in code.co_consts],
    )


def digest_of(text: str) -> str:
    """16 hexadecimal digits that tell a text from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
