"""Vectors of words without context: from a text file in the format gensim and GloVe write, or from a spaCy pipeline."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from tqdm import tqdm

from whyalike.errors import BadInput, DamagedFile, MissingExtra, UnknownModel
from whyalike.storage.reading import is_file

Vector = Float[np.ndarray, "space"]


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Finds a word's vector, or None."""

    name: str
    width: int
    find: Callable[[str], Vector | None]

    def __str__(self) -> str:
        return f"{self.name}, {self.width} wide"


def load_word_vectors(source: str | os.PathLike[str] | Mapping[str, Vector]) -> WordVectors:
    """From a text file (one word and its numbers a line, perhaps a line with counts first, perhaps gzipped), from a spaCy
    pipeline by name or folder, or from a mapping. Words are looked up as they are, then in lower case.
    """
    if isinstance(source, Mapping):
        return _from_mapping("given vectors", source)
    path = Path(source)
    if is_file(path):
        return _from_mapping(path.name, _read(path))
    return _from_spacy(str(source))


def _from_mapping(name: str, vectors: Mapping[str, Vector]) -> WordVectors:
    if not vectors:
        raise BadInput(f"There is no vector in {name!r}. Expected at least one word with its vector.")
    width = len(next(iter(vectors.values())))
    for word, vector in vectors.items():
        if np.shape(vector) != (width,) or not np.isfinite(vector).all():
            raise BadInput(
                f"The vector of {word!r:.60} should be {width} finite numbers as the first one is; got {vector!r:.60}."
            )
    return WordVectors(name, width, lambda word: _either_case(vectors.get, word))


def _either_case(find: Callable[[str], Vector | None], word: str) -> Vector | None:
    exact = find(word)
    return find(word.lower()) if exact is None else exact


def _read(path: Path) -> dict[str, Vector]:
    found: dict[str, Vector] = {}
    width, number = 0, 0
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            numbered = enumerate(tqdm(lines, unit="word", delay=2, disable=None, leave=False), start=1)
            for number, line in numbered:
                # Some words have spaces in them, so the numbers are counted from the end once it is known how many.
                word, *numbers = line.strip("\n ").rsplit(" ", width or -1)
                if number == 1 and len(numbers) == 1 and word.isdigit() and numbers[0].isdigit():
                    continue  # the first line may say how many words and how wide
                if not line.strip():
                    continue
                with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
                    found[word] = np.array(numbers, dtype=np.float32)
                width = width or len(numbers)
                if len(numbers) != width or not width:
                    raise ValueError(f"it has {len(numbers)} numbers, the lines before it {width}")
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise DamagedFile(
            f"{path}, line {number}, is not a word vector as text: {error!s:.100}. Expected a word and its numbers per line."
        ) from error
    return found


def _from_spacy(name: str) -> WordVectors:
    try:
        import spacy
    except ImportError as error:
        raise MissingExtra("spaCy", f"word vectors from the pipeline {name!r} (it is no file)", "words") from error
    try:
        vocabulary = spacy.load(name).vocab
    except OSError as error:
        raise UnknownModel(
            f"Word vectors {name!r:.200}: there is neither such a file nor such a spaCy pipeline. "
            "Give the path of a text file of vectors, or install the pipeline first."
        ) from error
    if not vocabulary.vectors.shape[1]:
        raise BadInput(
            f"The spaCy pipeline {name!r} has no word vectors. Use one with vectors, such as an 'md' or 'lg' one."
        )

    def find(word: str) -> Vector | None:
        lexeme = vocabulary[word]
        return np.asarray(lexeme.vector) if lexeme.has_vector else None

    return WordVectors(f"spaCy's {name}", vocabulary.vectors.shape[1], lambda word: _either_case(find, word))
