"""Texts → readings: what the model's own tokenizer makes of a text, tied to its characters, words and sentences."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from whyalike.errors import EmptyText, TextTooLong, UnsupportedModel
from whyalike.language.segmenter import segmenter_of
from whyalike.language.words import Span, sentence_spans, word_spans
from whyalike.results.sides import Kind, Side

Role = Literal["query", "document"]  # of a text, for models that read the two in different ways


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A text as one encoder reads it: the side to show, the ids to feed."""

    side: Side
    ids: tuple[int, ...]
    special: tuple[bool, ...]
    prompt: str
    role: Role | None = None
    scored: Bool[np.ndarray, "tokens"] | None = (
        None  # the tokens whose vectors are compared, in a late-interaction model
    )

    @property
    def length(self) -> int:
        return len(self.ids)


class Reader:
    """Reads texts with a fast tokenizer. One at a time: fast tokenizers are not safe to share between threads."""

    def __init__(self, tokenizer: Any, limit: Callable[[Role | None], int | None], model_name: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise UnsupportedModel(
                f"The tokenizer of {model_name!r} ({type(tokenizer).__name__}) is not a fast one, so its tokens cannot "
                "be tied to characters. Convert the model to a fast tokenizer (tokenizer.json), then load it again."
            )
        self.tokenizer, self.limit, self.model_name = tokenizer, limit, model_name
        self.lock = threading.Lock()

    def read(
        self, texts: Sequence[str], *, prompt: str = "", role: Role | None = None, truncate: bool = False
    ) -> list[Reading]:
        """One reading per text. Too long a text is an error, or, with ``truncate``, a reading that says so."""
        if not texts:
            return []
        try:
            with self.lock:
                whole = self.tokenizer(
                    [prompt + text for text in texts],
                    add_special_tokens=True,
                    padding=False,
                    truncation=False,
                    return_offsets_mapping=True,
                    return_special_tokens_mask=True,
                    return_attention_mask=False,
                    return_token_type_ids=False,
                    verbose=False,
                )
        except Exception as error:  # of tokenizers, which raises nothing more special
            raise UnsupportedModel(
                f"The tokenizer of {self.model_name!r} fails: {str(error).rstrip('.')}. It may be damaged; use another model."
            ) from error
        return [
            self._reading(text, prompt, role, whole["input_ids"][row], whole["offset_mapping"][row], special, truncate)
            for row, (text, special) in enumerate(zip(texts, whole["special_tokens_mask"], strict=True))
        ]

    def _reading(
        self,
        text: str,
        prompt: str,
        role: Role | None,
        ids: list[int],
        spans: list[Span],
        special: list[int],
        truncate: bool,
    ) -> Reading:
        if not ids:
            raise EmptyText(
                f"The text {text!r} has no token for {self.model_name!r}, which adds none of its own. Give it some text."
            )
        limit = self.limit(role)
        cut = max(0, len(ids) - limit) if limit is not None else 0
        if cut and not truncate:
            raise TextTooLong(
                f"A text beginning {text[:40]!r} has {len(ids)} tokens; {self.model_name!r} reads at most {limit}. "
                f"Shorten it, or pass truncate=True to explain the first {limit} and record the cut in the result."
            )
        if cut:
            keep = _kept_by_truncation(special, cut, getattr(self.tokenizer, "truncation_side", "right"))
            ids, spans, special = [ids[i] for i in keep], [spans[i] for i in keep], [special[i] for i in keep]
        kinds = tuple(_kind(bool(flag), span, len(prompt)) for flag, span in zip(special, spans, strict=True))
        shifted = [
            (max(0, start - len(prompt)), end - len(prompt)) if kind == "text" else (0, 0)
            for (start, end), kind in zip(spans, kinds, strict=True)
        ]
        offsets = np.array(shifted, dtype=np.int64).reshape(-1, 2)
        side = Side(
            text=text,
            unit="token",
            tokens=tuple(self.tokenizer.convert_ids_to_tokens(ids)),
            kinds=kinds,
            offsets=offsets,
            word_of=parents_of(offsets, kinds, word_spans(text)),
            sentence_of=parents_of(offsets, kinds, sentence_spans(text)),
            cut=cut,
            segmenter=segmenter_of(text),
        )
        return Reading(side=side, ids=tuple(ids), special=tuple(map(bool, special)), prompt=prompt, role=role)


def _kind(special: bool, span: Span, prompt_length: int) -> Kind:
    if special:
        return "special"
    return "prompt" if prompt_length and span[1] <= prompt_length else "text"


def _kept_by_truncation(special: list[int], cut: int, side: str) -> list[int]:
    """Truncation removes tokens of the text, mostly the last; what the tokenizer adds at either end stays."""
    droppable = [index for index, flag in enumerate(special) if not flag]
    dropped = set(droppable[:cut] if side == "left" else droppable[len(droppable) - cut :])
    return [index for index in range(len(special)) if index not in dropped]


def parents_of(
    offsets: Int[np.ndarray, "tokens 2"], kinds: tuple[Kind, ...], spans: list[Span]
) -> Int[np.ndarray, "tokens"]:
    """The span each text token begins in; one that begins between two belongs to the next; -1 for what is not text."""
    text = np.array([kind == "text" for kind in kinds], dtype=bool)
    ends = np.array([end for _, end in spans], dtype=np.int64)
    found = np.searchsorted(ends, offsets[:, 0], side="right")
    return np.where(text, np.clip(found, 0, max(0, len(spans) - 1)), -1)
