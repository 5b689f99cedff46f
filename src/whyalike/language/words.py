"""Words and sentences of a text by Unicode's rules, and words as a tagger gives them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import regex
import sentencex

from whyalike.language.segmenter import word_edges

Span = tuple[int, int]
_WORD_BOUNDARY = regex.compile(r"(?wV1)\b")  # Unicode's default word boundaries (UAX 29)


def word_spans(text: str) -> list[Span]:
    """Character positions of words, numbers and punctuation marks by Unicode's rules, the same for every tokenizer.

    Chinese, Japanese, Thai, Lao, Khmer and Burmese, written without spaces, are split by ICU where it is installed, else into
    single characters; `segmenter_of` says which.
    """
    edges = {0, *(match.start() for match in _WORD_BOUNDARY.finditer(text)), len(text)}
    for start, end, inner in word_edges(text):
        edges.difference_update(range(start + 1, end))
        edges.update(inner)
    return [(start, end) for start, end in pairwise(sorted(edges)) if text[start:end].strip()]


def sentence_spans(text: str) -> list[Span]:
    found = sentencex.get_sentence_boundaries("en", text)
    return [(row["start_index"], row["end_index"]) for row in found if row["text"].strip()]


def split_words(text: str) -> list[str]:
    """The words of a text as every explanation has them; punctuation marks count as words.

    >>> split_words("A man plays guitar.")
    ['A', 'man', 'plays', 'guitar', '.']
    """
    return [text[start:end] for start, end in word_spans(text)]


class Tagged(NamedTuple):
    """A word of a text: where it stands, its part of speech and its role, as Universal Dependencies names them."""

    start: int
    end: int
    text: str
    pos: str
    relation: str = ""  # to its head, without subtypes; empty where the tagger is no parser
    head: int = -1  # which word of the text; -1 for a root, or where it is not known


Tagger = Callable[[Sequence[str]], list[list[Tagged]]]


@dataclass(frozen=True, slots=True)
class NamedTagger:
    """A tagger with a name. A run resumes only with the same tagger."""

    name: str
    tag: Tagger
    check: Callable[[Sequence[str]], None] = lambda texts: None  # refuses texts it cannot tag, before any work is done

    def __call__(self, texts: Sequence[str]) -> list[list[Tagged]]:
        return self.tag(texts)


def name_of(tagger: Tagger) -> str:
    """What tells a tagger from others. A function without a name of its own is told only from those beside it."""
    if isinstance(tagger, NamedTagger):
        return tagger.name
    name: str = getattr(tagger, "__qualname__", type(tagger).__qualname__)
    return f"{name} {id(tagger)}" if "<" in name else name


OTHER_LANGUAGES = ("german", "russian", "chinese")


def reads_english(tagger: Tagger) -> bool:
    """Unless its name says another language: one of ours, or a spaCy pipeline that begins with another code."""
    name = name_of(tagger)
    return name.split()[0] not in OTHER_LANGUAGES and re.match(r"(?!en_)[a-z]{2}_", name) is None
