"""A function as an encoder: any ``list[str] -> embeddings``, such as the client of an embedding API. Nothing inside is seen.

Texts are read in words. Embeddings are asked for in batches, kept by text, and counted, since a call may cost money.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
from cachetools import LRUCache
from jaxtyping import Float

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.fingerprint import fingerprint_of_function
from whyalike.encoders.tokens import Reading, Role, parents_of
from whyalike.encoders.transformer import PROBE, TransformerEncoder
from whyalike.errors import BadInput, EmptyText, TooManyCalls, UnsupportedModel, unknown
from whyalike.language.segmenter import segmenter_of
from whyalike.language.words import sentence_spans, word_spans
from whyalike.results.records import ModelRecord, Similarity
from whyalike.results.sides import Kind, Side

EmbeddingFunction = Callable[[list[str]], Any]
Vector = Float[np.ndarray, "dim"]
MAX_BATCH = 64  # texts per call where the user does not say
CACHE_BYTES = 256 * 2**20


@final
class BlackBox(Encoder):
    """Gives what a function gives. One call at a time; retries are the function's own business."""

    def __init__(
        self,
        function: EmbeddingFunction,
        name: str | None = None,
        *,
        similarity: Similarity | None = None,
        prompts: Mapping[str, str] | None = None,
        max_batch: int = MAX_BATCH,
        max_calls: int | None = None,
        fingerprint: str | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.function, self.prompts = function, dict(prompts or {})
        self.max_batch, self.max_calls = max_batch, max_calls
        for what, value, least in (("max_batch", max_batch, 1), ("max_calls", max_calls, 0)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise BadInput(f"{what} should be a whole number from {least} on; got {value!r}.")
        if similarity not in (None, "cosine", "dot"):
            raise unknown("similarity", similarity, ("cosine", "dot"))
        self.name = str(name or getattr(function, "__name__", type(function).__name__))
        self.calls = 0  # of the function
        self.texts_embedded = 0  # by them
        self.dim: int | None = None
        self._known: LRUCache[str, Vector] = LRUCache(cache_bytes, getsizeof=lambda vector: vector.nbytes)
        self._lock = threading.RLock()
        (probe,) = self.embed_with_prompt([PROBE], "")
        self.record = ModelRecord(
            name=self.name,
            similarity=similarity or "cosine",
            pooling="unknown",
            layers=0,
            dim=len(probe),
            max_tokens=None,
            fingerprint=fingerprint or fingerprint_of_function(function, [self.name, len(probe), self.prompts]),
            kind="function",
        )

    def __repr__(self) -> str:
        return f"Encoder({self.name!r}, a function, {self.record.dim} wide, {self.record.similarity})"

    @property
    def transformer(self) -> TransformerEncoder:
        raise BadInput(
            f"{self.name!r} is a function that gives embeddings alone: it has no tokens, layers or hidden states to look at. "
            "Use method='shapley' or method='leave_one_out', which need embeddings alone."
        )

    def embed_with_prompt(
        self, texts: Sequence[str], prompt: str, role: Role | None = None
    ) -> Float[np.ndarray, "texts dim"]:
        """What the function gives for ``prompt + text``. A text that is known is not asked for again."""
        asked = [prompt + text for text in texts]
        with self._lock:
            found = {text: self._known[text] for text in asked if text in self._known}
            found |= self._ask([text for text in dict.fromkeys(asked) if text not in found])
        return np.stack([found[text] for text in asked]) if asked else np.zeros((0, self.dim or 0))

    def prompt_text(self, name: str | None) -> str:
        if name is None:
            return ""
        if name not in self.prompts:
            raise unknown("prompt", name, self.prompts or ("none: give load_encoder(function, prompts={name: text})",))
        return self.prompts[name]

    def read(self, texts: Sequence[str], *, prompt: str | None = None, truncate: bool = False) -> list[Reading]:
        """The texts in words. Nothing is known of tokens, nor of how many the function reads."""
        before = self.prompt_text(prompt)
        return [Reading(_side(text, before), ids=(), special=(), prompt=before) for text in texts]

    def states(self, readings: Sequence[Reading]) -> list[Float[np.ndarray, "units hidden"]]:
        return [np.zeros((len(reading.side), 0)) for reading in readings]

    def _ask(self, texts: list[str]) -> dict[str, Vector]:
        """The embeddings of new texts. Blank ones go first and by themselves, since many APIs refuse them."""
        blank = [text for text in texts if not text.strip()]
        batches = [*self._split(blank), *self._split([text for text in texts if text.strip()])]
        if self.max_calls is not None and self.calls + len(batches) > self.max_calls:
            raise TooManyCalls(
                f"This needs {len(batches)} more calls of {self.name!r} ({len(texts)} texts, {self.max_batch} per call); "
                f"{self.calls} of at most {self.max_calls} are spent ({self.texts_embedded} texts). "
                "Pass a larger max_calls, a larger max_batch, or fewer samples.",
                calls=self.calls,
                texts=self.texts_embedded,
            )
        found: dict[str, Vector] = {}
        for batch in batches:
            for text, vector in zip(batch, self._call(batch), strict=True):
                found[text] = vector
                if vector.nbytes <= self._known.maxsize:
                    self._known[text] = vector
        return found

    def _split(self, texts: list[str]) -> list[list[str]]:
        return [texts[start : start + self.max_batch] for start in range(0, len(texts), self.max_batch)]

    def _call(self, batch: list[str]) -> Float[np.ndarray, "texts dim"]:
        self.calls += 1
        self.texts_embedded += len(batch)
        try:
            answer = self.function(list(batch))
        except Exception as error:
            if not batch[0].strip():
                why = str(error).partition("\n")[0] or type(error).__name__
                raise BadInput(
                    f"{self.name!r} cannot embed an empty text, which is what is left when all words are removed: {why} "
                    "Pass the parameter empty='zero', as in method='shapley,empty=zero', to count it as a vector of zeros."
                ) from error
            error.add_note(
                f"Raised by {self.name!r} for a batch of {len(batch)} texts. Retries are left to the function."
            )
            raise
        vectors = self._checked(answer, batch)
        self.dim = vectors.shape[1]
        return vectors

    def _checked(self, answer: Any, batch: list[str]) -> Float[np.ndarray, "texts dim"]:
        """The answer as an array of floats; anything that is not one finite vector of the same width per text is refused."""
        expected = f"Expected {len(batch)} rows of {self.dim or 'equally many'} finite numbers, one row per text."
        try:
            found = np.asarray(answer)
        except (TypeError, ValueError, RuntimeError) as error:
            raise UnsupportedModel(f"What {self.name!r} returned is no array of numbers: {error} {expected}") from error
        if found.dtype.kind not in "fiu":
            raise UnsupportedModel(
                f"{self.name!r} returned {type(answer).__name__} of {found.dtype}, not numbers. {expected}"
            )
        if found.ndim != 2 or len(found) != len(batch) or not found.shape[1]:
            raise UnsupportedModel(f"{self.name!r} returned an array of the shape {found.shape}. {expected}")
        if self.dim is not None and found.shape[1] != self.dim:
            raise UnsupportedModel(
                f"{self.name!r} returned embeddings of {found.shape[1]} numbers, and of {self.dim} before. {expected}"
            )
        bad = np.flatnonzero(~np.isfinite(found).all(1))
        if len(bad):
            empty = " Pass the parameter empty='zero' for methods that remove words." if not batch[0].strip() else ""
            raise UnsupportedModel(
                f"{self.name!r} returned NaN or infinite numbers for the text {batch[bad[0]]!r:.60}. {expected}{empty}"
            )
        if found.dtype in (np.float32, np.float64):
            return found.copy()  # what the function keeps and changes later is its own
        return found.astype(np.float32 if found.dtype == np.float16 else np.float64)


def _side(text: str, prompt: str) -> Side:
    """A text in words; the prompt, if any, is one unit before them."""
    spans = word_spans(text)
    if not spans:
        raise EmptyText(f"The text {text!r} has no words. Give it some text.")
    words = [(0, 0)] * bool(prompt) + spans
    kinds: tuple[Kind, ...] = tuple(["prompt"] * bool(prompt) + ["text"] * len(spans))  # type: ignore[arg-type]
    offsets = np.array(words, dtype=np.int64)
    return Side(
        text=text,
        unit="word",
        tokens=(prompt.strip(),) * bool(prompt) + tuple(text[start:end] for start, end in spans),
        kinds=kinds,
        offsets=offsets,
        word_of=parents_of(offsets, kinds, spans),
        sentence_of=parents_of(offsets, kinds, sentence_spans(text)),
        segmenter=segmenter_of(text),
    )
