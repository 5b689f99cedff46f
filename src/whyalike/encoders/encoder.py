"""What an encoder is: it gives embeddings of texts, and says how it reads them. Methods are written for this.

Most methods also look inside, at hidden states. They ask for `Encoder.transformer`, which an encoder without an inside refuses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float

from whyalike.encoders.tokens import Reading
from whyalike.results.records import ModelRecord

if TYPE_CHECKING:
    from whyalike.encoders.transformer import TransformerEncoder


class Encoder(ABC):
    """Gives the embeddings of texts. `load_encoder` makes one."""

    record: ModelRecord

    @final
    def embed(self, texts: Sequence[str], *, prompt: str | None = None) -> Float[np.ndarray, "texts dim"]:
        """The embeddings of texts, as the model itself gives them, read with a prompt by its name."""
        return self.embed_with_prompt(texts, self.prompt_text(prompt))

    @abstractmethod
    def embed_with_prompt(self, texts: Sequence[str], prompt: str) -> Float[np.ndarray, "texts dim"]:
        """The embeddings of texts, read with a prompt by its text; empty for none."""

    @abstractmethod
    def prompt_text(self, name: str | None) -> str:
        """The text of a prompt by its name; None is the default prompt, often none."""

    @abstractmethod
    def read(self, texts: Sequence[str], *, prompt: str | None = None, truncate: bool = False) -> list[Reading]:
        """The texts as this encoder reads them."""

    @abstractmethod
    def states(self, readings: Sequence[Reading]) -> list[Float[np.ndarray, "units hidden"]]:
        """Of each reading the hidden states in the middle of the model, one per unit; 0 wide where nothing is known of them."""

    @property
    @abstractmethod
    def transformer(self) -> TransformerEncoder:
        """The transformer inside, for methods that look at hidden states. Raises `BadInput` where there is none."""
