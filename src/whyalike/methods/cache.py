"""The cache of contributions: texts that come again are not explained again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from cachetools import LRUCache

from whyalike.encoders.encoder import Encoder
from whyalike.results.contributions import Contributions


class TextKey(NamedTuple):
    """A text, and the name of the prompt it is read with."""

    text: str
    prompt: str | None


class ContributionCache:
    """Contributions up to a number of bytes. The least recently used are dropped first.

    Entries are kept per model, method and text, so one cache can serve several of each.
    """

    def __init__(self, max_bytes: int) -> None:
        self._entries: LRUCache[Hashable, Contributions] = LRUCache(max_bytes, getsizeof=lambda part: part.nbytes)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, encoder: Encoder, method: Hashable, key: TextKey) -> Contributions | None:
        return self._entries.get((encoder.record.fingerprint, method, key))

    def put(self, encoder: Encoder, method: Hashable, key: TextKey, part: Contributions) -> None:
        if part.nbytes <= self._entries.maxsize:
            self._entries[encoder.record.fingerprint, method, key] = part
