"""The model's look-up of word embeddings, where other ones can be put in place and the position embeddings be seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.overrides import TorchFunctionMode

from whyalike.encoders.transformer import TransformerEncoder
from whyalike.errors import UnsupportedModel


class WordLookup(TorchFunctionMode):
    """While a pass runs inside, ``give`` decides what its look-up of word embeddings gives.

    ``positions`` are the position embeddings the pass looked up beside them; None for models that have no table of them
    (rotary or relative positions).
    """

    def __init__(self, encoder: TransformerEncoder, give: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.model_name = encoder.record.name
        self.table, self.give = encoder.model[0].auto_model.get_input_embeddings().weight, give
        self.found = 0
        self.positions: Float[Tensor, "... tokens width"] | None = None

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is not F.embedding:
            return result
        if args[1] is self.table:
            self.found += 1
            return self.give(result)
        if result.shape[-1] == self.table.shape[-1] and _counts_up(args[0]):
            self.positions = result
        return result

    def check(self) -> None:
        """Refuses a model that looked its words up in another way, or more than once."""
        if self.found != 1:
            raise UnsupportedModel(
                f"The word embeddings of {self.model_name!r} are not looked up in the usual way (once per pass, in one "
                f"table; found {self.found}), so nothing can be put in their place. Use a layer, layer=0 or higher; for "
                "integrated_jacobians use reference_positions='model' or reference='zero'."
            )


def _counts_up(ids: Int[Tensor, "..."]) -> bool:
    """Whether these are positions: most ids are one more than the one before. (Token types are all the same; a model that
    derives positions from ids may give a token of the text that looks like padding a position of its own.)
    """
    return ids.shape[-1] > 1 and float((torch.diff(ids, dim=-1) == 1).float().mean()) >= 0.5
