"""A word as a tagger sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


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
    """A tagger that says which it is, so that a table is not taken up with another."""

    name: str
    tag: Tagger

    def __call__(self, texts: Sequence[str]) -> list[list[Tagged]]:
        return self.tag(texts)


def name_of(tagger: Tagger) -> str:
    return (
        tagger.name if isinstance(tagger, NamedTagger) else getattr(tagger, "__qualname__", type(tagger).__qualname__)
    )
