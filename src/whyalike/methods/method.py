"""What a method is: a frozen, printable value that explains pairs of texts."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from whyalike.encoders.encoder import Encoder
from whyalike.explanation import MethodRecord
from whyalike.sides import Unit


class Method(ABC):
    """Parameters are fields, data comes in the call, and a call leaves no trace."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    adds_up: ClassVar[bool]
    unit: ClassVar[Unit] = "token"  # the finest unit it can speak of

    @final
    def record(self, encoder: Encoder) -> MethodRecord:
        self.check(encoder)
        parameters = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]
        return MethodRecord(self.name, parameters | self.chosen(encoder), self.adds_up)

    def chosen(self, encoder: Encoder) -> dict[str, Any]:
        """What the method chose itself for this encoder, and why: written into results in place of its parameters."""
        return {}

    @abstractmethod
    def check(self, encoder: Encoder) -> None:
        """Refuses, before any work is done, what cannot be done with this encoder."""


def _plain(value: Any) -> Any:
    """A parameter as it is written into results: JSON's own values as they are, others by what they say of themselves."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def read_value(text: str) -> Any:
    """A parameter's value as written: a number, None, True or False where it reads as one, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def to_numpy(x: Tensor) -> Float[np.ndarray, "..."]:
    """Results leave as numpy, in float32 at least."""
    x = x.detach().cpu()
    return (x.float() if x.dtype in (torch.float16, torch.bfloat16) else x).numpy()
