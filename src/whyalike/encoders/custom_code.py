"""Loading a model without running code that comes with it.

transformers and sentence-transformers take consent (``trust_remote_code``) as an argument of many calls, and some of their own
calls leave it out: for a configuration inside a configuration, for the tokenizer of word vectors. What they would then do is
ask on standard input. Other arguments that decide whether code runs, such as ``weights_only``, are read from the model's own
files. So code is refused in the few functions through which all of it has to pass, while a model is loaded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from sentence_transformers.base.model import BaseModel
from sentence_transformers.util import misc
from transformers import PreTrainedModel, dynamic_module_utils
from transformers.integrations import hub_kernels

Function = Callable[..., Any]
_LOCK = threading.RLock()  # the functions are those of the whole process


@contextmanager
def no_custom_code(allowed: bool) -> Iterator[None]:
    """While the block runs, nothing asks on standard input; and no code of a model runs, unless it is allowed.

    Raises:
        RuntimeError: A model's files name code.
    """
    replaced: dict[tuple[Any, str], Function] = {(dynamic_module_utils, "TIME_OUT_REMOTE_CODE"): _no_question}
    if not allowed:
        replaced |= {
            (dynamic_module_utils, "get_class_in_module"): _no_class,
            (misc, "import_from_string"): _modules_only,
            (torch, "load"): _tensors_only,
            (hub_kernels, "get_kernel"): _no_kernel,
            (PreTrainedModel, "set_use_kernels"): _no_kernels,
        }
    with _LOCK, ExitStack() as undo:
        for (owner, name), replace in replaced.items():
            original = getattr(owner, name)
            undo.callback(setattr, owner, name, original)
            setattr(owner, name, replace(original))
        yield


def _no_question(seconds: int) -> int:
    """How long transformers waits for an answer: with 0 it does not ask."""
    return 0


def _no_class(get_class_in_module: Function) -> Function:
    def refuse(class_name: str, *args: Any, **options: Any) -> Any:
        raise RuntimeError(f"its files name custom code ({class_name}), which runs only if you pass trust_remote_code.")

    return refuse


def _modules_only(import_from_string: Function) -> Function:
    """Imports modules of sentence-transformers. A whole model would be loaded with arguments from the folder's files."""

    def import_module(name: str) -> Any:
        found = import_from_string(name) if name.startswith("sentence_transformers.") else None
        if not isinstance(found, type) or issubclass(found, BaseModel):
            raise RuntimeError(f"{name!r} is no module of a model. Expected one of sentence-transformers' modules.")
        return found

    return import_module


def _tensors_only(load: Function) -> Function:
    return lambda *args, **options: load(*args, **{**options, "weights_only": True})


def _no_kernel(get_kernel: Function) -> Function:
    def refuse(name: str, *args: Any, **options: Any) -> Any:
        raise RuntimeError(
            f"its configuration names a kernel of the hub ({name}), which runs only if you pass trust_remote_code."
        )

    return refuse


def _no_kernels(set_use_kernels: Function) -> Function:
    def refuse(model: PreTrainedModel, use_kernels: bool, *args: Any, **options: Any) -> None:
        if use_kernels:
            raise RuntimeError(
                "its configuration asks for kernels of the hub, which run only if you pass trust_remote_code."
            )
        set_use_kernels(model, use_kernels, *args, **options)

    return refuse
