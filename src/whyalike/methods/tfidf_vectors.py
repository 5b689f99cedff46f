"""TF-IDF × word vectors, the BTI paper's baseline without a transformer: what a word weighs and means without context."""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from whyalike.data.word_vectors import Vector, WordVectors, load_word_vectors
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.tokens import Reading
from whyalike.errors import BadInput
from whyalike.language.segmenter import segmenter_of
from whyalike.language.words import word_spans
from whyalike.methods.first_order import Combine, FirstOrder, PairSaliency, TextSaliency, check_matching
from whyalike.results.records import Measured
from whyalike.results.sides import Side, group


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """In how many texts of a corpus each word occurs."""

    texts: int
    documents: Mapping[str, int]
    digest: str

    @classmethod
    def of(cls, corpus: Iterable[str]) -> Frequencies:
        if isinstance(corpus, str):
            raise BadInput("A corpus is a list of texts; got one str. Write [text], or read the file first.")
        documents: Counter[str] = Counter()
        count, digest = 0, hashlib.sha256()
        for text in corpus:
            if not isinstance(text, str):
                raise BadInput(f"A text of the corpus should be a str; got {type(text).__name__}: {text!r:.60}.")
            documents.update({text[start:end].lower() for start, end in word_spans(text)})
            digest.update(
                (text + segmenter_of(text)).encode("utf-8", "surrogatepass") + b"\0"
            )  # other words, another corpus
            count += 1
        if not count:
            raise BadInput("The corpus has no text, so no word can be called rare. Give at least one.")
        return cls(count, documents, digest.hexdigest()[:8])

    def __str__(self) -> str:
        return f"{self.texts} texts, {self.digest}"

    def rarity(self, word: str) -> float:
        """``ln((1 + n) / (1 + df)) + 1`` as scikit-learn has it; a word never seen is the rarest of all."""
        return math.log((1 + self.texts) / (1 + self.documents.get(word.lower(), 0))) + 1


@dataclass(frozen=True, slots=True)
class TfidfVectors(FirstOrder):
    """``Λ(w, w') = T(w) · T(w') · cos(W(w), W(w'))``: TF-IDF for importance, word vectors for meaning. Asks no transformer.

    Made by ``TfidfVectors.fit(corpus, vectors)``. A word without a vector matches nothing; ``measured`` counts them.
    """

    name: ClassVar[str] = "tfidf_vectors"
    title: ClassVar[str] = "TF-IDF × word vectors, without the model"
    needs_more: ClassVar[bool] = True
    summary: ClassVar[str] = "TF-IDF × static word vectors, matched as bti does; needs a corpus and vectors"
    paper: ClassVar[str] = "Malkiel et al. 2022, baseline TF-IDF-W2V"
    layer: int | None = None  # None: it looks at no layer of the model
    corpus: Frequencies | None = field(default=None, repr=False)
    vectors: WordVectors | None = field(default=None, repr=False)
    top_k: int | None = 2
    combine_vectors: Combine = field(default="mean", init=False)  # a word's tokens all have the word's own
    combine_saliency: Combine = field(default="max", init=False)

    @classmethod
    def fit(
        cls,
        corpus: Iterable[str],
        vectors: str | os.PathLike[str] | Mapping[str, Vector] | WordVectors,
        *,
        top_k: int | None = 2,
    ) -> TfidfVectors:
        """Fitted on the texts of a corpus, with vectors from a file, a spaCy pipeline or a mapping."""
        found = vectors if isinstance(vectors, WordVectors) else load_word_vectors(vectors)
        return cls(corpus=Frequencies.of(corpus), vectors=found, top_k=top_k)

    def text_saliencies(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> PairSaliency:
        first, second = (self._saliency(encoder, reading) for reading in (left, right))
        return encoder.record.score(first.embedding, second.embedding), (first, second)

    def _saliency(self, encoder: Encoder, reading: Reading) -> TextSaliency:
        assert self.corpus is not None
        assert self.vectors is not None
        (embedding,) = encoder.embed_with_prompt([reading.side.text], reading.prompt)
        side, labels = group(reading.side, "word")
        nothing = np.zeros(self.vectors.width)
        own = [kind == "text" for kind in side.kinds]
        vectors = [None if word is None else self.vectors.find(word) for word in words_of_side(side)]
        table = np.stack([nothing if vector is None else vector for vector in vectors])
        missing = sum(mine and not vector.any() for mine, vector in zip(own, table, strict=True))
        return TextSaliency(
            saliency=weights(side, self.corpus)[labels],
            vectors=table[labels],
            embedding=embedding,
            measured=Measured(words_without_vector=missing or None),
        )

    def check(self, encoder: Encoder) -> None:
        check_matching(self)
        if self.layer is not None:
            raise BadInput(f"tfidf_vectors looks at no layer of the model; got layer={self.layer!r}. Leave it out.")
        if not isinstance(self.corpus, Frequencies) or not isinstance(self.vectors, WordVectors):
            raise BadInput(
                "tfidf_vectors needs a corpus to count words in, and word vectors. Use TfidfVectors.fit(corpus, vectors); "
                "on the command line --corpus FILE (one text a line) and --vectors FILE_OR_PIPELINE."
            )


def weights(side: Side, corpus: Frequencies) -> Float[np.ndarray, "words"]:
    """Each word's TF-IDF in its text, the text's vector scaled to length 1 as scikit-learn does; 0 for what is no word."""
    own = [None if word is None else word.lower() for word in words_of_side(side)]
    counts = Counter(word for word in own if word is not None)
    values = {word: count * corpus.rarity(word) for word, count in counts.items()}
    length = math.sqrt(sum(value**2 for value in values.values())) or 1.0
    return np.array([0.0 if word is None else values[word] / length for word in own])


def words_of_side(side: Side) -> list[str | None]:
    """The words of a text as the text has them, whatever tokens a model cuts it into; None for what is no word of it."""
    spans = word_spans(side.text)
    return [
        side.text[slice(*spans[number])] if kind == "text" else None
        for number, kind in zip(side.word_of.tolist(), side.kinds, strict=True)
    ]
