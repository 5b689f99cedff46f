"""What an encoder is: it gives embeddings of texts, and says how it reads them. Methods are written for this.

Most methods also look inside, at hidden states. They ask for `Encoder.transformer`, which an encoder without an inside refuses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Float

from whyalike.encoders.tokens import Reading, Role
from whyalike.results.records import ModelRecord

if TYPE_CHECKING:
    from whyalike.encoders.transformer import TransformerEncoder


# A row per text; of a late-interaction model an array of vectors per text.
Embeddings = Float[np.ndarray, "texts dim"] | list[Float[np.ndarray, "outputs dim"]]


class Encoder(ABC):
    """Gives the embeddings of texts. `load_encoder` makes one."""

    record: ModelRecord

    @property
    def pair_prompts(self) -> tuple[str | None, str | None]:
        """The prompts of the left and the right text of a pair where none are given, by name."""
        return None, None

    def role(self, prompt: str | None) -> Role | None:
        """The role that a prompt stands for, by its name, where the model reads queries and documents in different ways."""
        return None

    @final
    def embed(self, texts: Sequence[str], *, prompt: str | None = None) -> Embeddings:
        """The embeddings of texts, as the model itself gives them, read with a prompt by its name.

        One array with a row per text; of a late-interaction model a list with an array of vectors per text.
        """
        return self.embed_with_prompt(texts, self.prompt_text(prompt), self.role(prompt))

    @abstractmethod
    def embed_with_prompt(self, texts: Sequence[str], prompt: str, role: Role | None = None) -> Embeddings:
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

    @final
    def read_pair(self, left: str, right: str) -> list[Reading]:
        """Both texts as the model reads them where no prompts are given; too long a text is cut."""
        return [
            self.read([text], prompt=prompt, truncate=True)[0]
            for text, prompt in zip((left, right), self.pair_prompts, strict=True)
        ]

    @property
    @abstractmethod
    def transformer(self) -> TransformerEncoder:
        """The transformer inside, for methods that look at hidden states. Raises `BadInput` where there is none."""
