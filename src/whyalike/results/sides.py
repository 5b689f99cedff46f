"""One side of a pair: a text as the model read it, in tokens, words or sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import numpy as np
from jaxtyping import Float, Int

from whyalike.errors import BadInput, unknown
from whyalike.storage.reading import Fields

Unit = Literal["token", "word", "sentence"]  # what can be asked for
AnyUnit = Literal["token", "word", "phrase", "sentence"]  # phrases depend on the pair: `Explanation.by_phrase`
Kind = Literal[
    "text", "prompt", "special", "expansion", "skipped"
]  # the last two in models of many vectors: see `Side`
SINGLE_CHARACTERS = "characters"  # the segmenter, where none is installed
UNITS: tuple[Unit, ...] = get_args(Unit)
ALL_UNITS: tuple[AnyUnit, ...] = get_args(AnyUnit)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A text split into units. Special tokens are units of their own kind, at every level.

    ``offsets`` are character positions in ``text``. Units without any (special tokens, the prompt) have 0, 0. In a
    late-interaction model ``expansion`` tokens are added to a query, and ``skipped`` tokens of a document are read but have no
    vector that is compared (mostly punctuation).
    """

    text: str
    unit: AnyUnit
    tokens: tuple[str, ...]  # at unit "token" the tokenizer's own strings, else the characters covered
    kinds: tuple[Kind, ...]
    offsets: Int[np.ndarray, "tokens 2"]
    word_of: Int[np.ndarray, "tokens"]  # the word each token lies in; -1 for what is not text
    sentence_of: Int[np.ndarray, "tokens"]
    cut: int = 0  # how many tokens of the text the model did not read
    segmenter: str = ""  # what split words written without spaces: "ICU 77.1" or "characters"; "" where there are none

    def __repr__(self) -> str:
        return f"Side({self.text[:60]!r}, {len(self)} {self.unit}s)"

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def truncated(self) -> bool:
        """Whether the model read only the beginning of the text."""
        return self.cut > 0

    @property
    def in_single_characters(self) -> bool:
        """Whether words are single characters, since no segmenter is installed."""
        return self.unit in ("word", "phrase") and self.segmenter == SINGLE_CHARACTERS

    @property
    def own(self) -> list[int]:
        """The indices of the text's own units: no special or skipped tokens, no prompt, no expansion of a query."""
        return [index for index, kind in enumerate(self.kinds) if kind == "text"]

    @property
    def listed(self) -> list[int]:
        """The indices of the units that pictures show: the text's own and the prompt, or all where there are no others."""
        return [index for index, kind in enumerate(self.kinds) if kind in ("text", "prompt")] or list(range(len(self)))

    def only(self, indices: Sequence[int]) -> Side:
        """The side with some of its units."""
        chosen = list(indices)
        return replace(
            self,
            tokens=tuple(self.tokens[index] for index in chosen),
            kinds=tuple(self.kinds[index] for index in chosen),
            offsets=self.offsets[chosen],
            word_of=self.word_of[chosen],
            sentence_of=self.sentence_of[chosen],
        )

    @property
    def unread(self) -> str:
        """The end of the text that the model did not read; empty where it read all of it, or dropped the beginning."""
        end = int(self.offsets[:, 1].max(initial=0))
        return self.text[end:] if self.truncated else ""

    def shares(self, spans: Sequence[tuple[int, int]]) -> Float[np.ndarray, "units spans"]:
        """How much of each unit lies in each span of characters: 1 in all, or nothing for a unit that is in none of them.

        Spans, another's words, may part at other places than the units do; a unit is then shared by characters. Spans of the
        same characters (German *im* is two words) share alike.
        """
        found = np.zeros((len(self), len(spans)))
        starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        for index in self.own:
            start, end = self.offsets[index]
            inside = np.clip(np.minimum(end, ends) - np.maximum(start, starts), 0, None)
            found[index] = inside / inside.sum() if inside.any() else 0.0
        return found

    def strongest(self, values: Float[np.ndarray, "units"], count: int, special_tokens: bool) -> list[int]:
        """The units with the largest values, largest first; without special tokens and the prompt unless they are asked for."""
        offered = range(len(self)) if special_tokens else self.own
        return sorted(offered, key=lambda index: -float(values[index]))[:count]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the text that the model read, in order; punctuation marks count as words."""
        side, _ = group(self, "word")
        return tuple(side.tokens[index] for index in side.own)

    @property
    def labels(self) -> tuple[str, ...]:
        """What to show for each unit: the characters it covers, or the token itself where it covers none."""
        covered = (self.text[start:end].strip() for start, end in self.offsets)
        return tuple(
            surface if surface and kind == "text" else token
            for surface, token, kind in zip(covered, self.tokens, self.kinds, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "unit": self.unit,
            "tokens": list(self.tokens),
            "kinds": list(self.kinds),
            "offsets": self.offsets.tolist(),
            "word_of": self.word_of.tolist(),
            "sentence_of": self.sentence_of.tolist(),
            "cut": self.cut,
            **({"segmenter": self.segmenter} if self.segmenter else {}),
        }

    @classmethod
    def from_dict(cls, given: Fields) -> Side:
        """The inverse of `to_dict`. Raises ValueError for anything that is not a side."""
        text, tokens = given.text("text"), given.texts("tokens")
        count = len(tokens)
        kinds, offsets = given.texts("kinds"), given.wholes("offsets", count, 2)
        if len(kinds) != count or not set(kinds) <= set(get_args(Kind)):
            raise ValueError(f"the kinds of {given.name} do not fit its {count} tokens: {kinds!r:.60}")
        if ((offsets[:, 0] < 0) | (offsets[:, 1] < offsets[:, 0]) | (offsets[:, 1] > len(text))).any():
            raise ValueError(f"an offset of {given.name} lies outside its text of {len(text)} characters")
        word_of, sentence_of = (given.wholes(name, count) for name in ("word_of", "sentence_of"))
        if (word_of < -1).any() or (sentence_of < -1).any():
            raise ValueError(f"a word or a sentence of {given.name} has a number below -1")
        return cls(
            text=text,
            unit=given.choice("unit", ALL_UNITS),
            tokens=tokens,
            kinds=cast("tuple[Kind, ...]", kinds),
            offsets=offsets,
            word_of=word_of,
            sentence_of=sentence_of,
            cut=given.whole("cut"),
            segmenter=given.text("segmenter") if "segmenter" in given.value else "",
        )


def group(side: Side, unit: Unit) -> tuple[Side, Int[np.ndarray, "tokens"]]:
    """The side in larger units, and for each present unit the index of the one it went into.

    Text tokens of one word (sentence) become one unit. Each special or skipped token stays alone. The prompt is one unit, as is
    the expansion of a query.
    """
    if unit not in UNITS:
        raise unknown("unit", unit, UNITS)
    if ALL_UNITS.index(unit) < ALL_UNITS.index(side.unit):
        raise BadInput(
            f"This result is in {side.unit}s, which cannot be split into {unit}s. Explain again with unit={unit!r}."
        )
    if unit == side.unit:
        return side, np.arange(len(side))
    parent = side.word_of if unit == "word" else side.sentence_of
    numbers: dict[tuple[str, int], int] = {}
    labels = np.empty(len(side), dtype=np.int64)
    for index, kind in enumerate(side.kinds):
        key = {"text": int(parent[index]), "prompt": 0, "expansion": 0}.get(kind, index)
        labels[index] = numbers.setdefault((kind, key), len(numbers))
    return merge(side, labels, unit), labels


def merge(side: Side, labels: Int[np.ndarray, "tokens"], unit: AnyUnit) -> Side:
    """The side with units of one label (counted from 0) made one. Units of one label are of one kind."""
    groups: list[list[int]] = [[] for _ in range(int(labels.max(initial=-1)) + 1)]
    for index, label in enumerate(labels.tolist()):
        groups[label].append(index)
    first = [indices[0] for indices in groups]
    offsets = np.array([_cover(side.offsets[indices]) for indices in groups], dtype=np.int64).reshape(-1, 2)
    return Side(
        text=side.text,
        unit=unit,
        tokens=tuple(_surface(side, indices, span) for indices, span in zip(groups, offsets, strict=True)),
        kinds=tuple(side.kinds[index] for index in first),
        offsets=offsets,
        word_of=side.word_of[first],
        sentence_of=side.sentence_of[first],
        cut=side.cut,
        segmenter=side.segmenter,
    )


def sum_rows(
    rows: Float[np.ndarray, "tokens *rest"], labels: Int[np.ndarray, "tokens"], count: int
) -> Float[np.ndarray, "groups *rest"]:
    """Rows of one label summed."""
    summed = np.zeros((count, *rows.shape[1:]), dtype=rows.dtype)
    np.add.at(summed, labels, rows)
    return summed


def _cover(offsets: Int[np.ndarray, "members 2"]) -> tuple[int, int]:
    """The smallest span around all spans that are not empty."""
    solid = offsets[offsets[:, 1] > offsets[:, 0]]
    return (int(solid[:, 0].min()), int(solid[:, 1].max())) if len(solid) else (0, 0)


def _surface(side: Side, indices: list[int], span: Int[np.ndarray, "2"]) -> str:
    kind, first = side.kinds[indices[0]], side.tokens[indices[0]]
    if kind == "expansion" and len(indices) > 1:
        return f"{first} × {len(indices)}"
    surface = side.text[span[0] : span[1]].strip() if kind == "text" else ""
    return surface or "".join(side.tokens[index] for index in indices)
