"""A text as HTML, as it is written, its words coloured. A long text has a badge after each sentence, and a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple
from zlib import crc32

from whyalike.colours import shade_class
from whyalike.results.numbers import signed
from whyalike.results.words import Word, direction

LONG = 80  # words; a longer text has badges and a map
MOST_UNREAD = 300  # characters of what the model did not read that are shown
MAP_WIDTH, MAP_HEIGHT = 14, 220

Panel = Callable[[Sequence[int]], str]  # what opens below a sentence, given the numbers of its words


class Sentence(NamedTuple):
    """A sentence of a long text: the numbers of its words, and the sum of their values."""

    members: list[int]
    value: float


def text(
    name: str, words: tuple[Word, ...], limit: float, *, tag: str = "bdi", unread: str = "", panel: Panel | None = None
) -> str:
    """A text behind its name.

    Args:
        name: What the text is called: left, right, query.
        words: Its words.
        limit: The value with the fullest colour.
        tag: The element of a word. With ``button`` words can be pointed at; each has its number.
        unread: What the model did not read.
        panel: What opens below a sentence of a long text.
    """
    runs = [_word(word, number, limit, tag) for number, word in enumerate(words)]
    sentences = _sentences(words)
    rest = f'<span class="unread"> {escape(_cut(unread))}</span>' if unread.strip() else ""
    attributes = f'dir="{direction(words)}" role="group" aria-label="{escape(name)}, word by word"'
    label = f"<small>{escape(name)}</small>"
    if len(words) <= LONG or len(sentences) < 3:
        shown = "".join(f"{escape(word.gap)}{run}" for word, run in zip(words, runs, strict=True))
        return f'<div class="line" {attributes}>{label} <span class="written">{shown}{rest}</span></div>'
    prefix = f"{name}-{crc32(''.join(word.label for word in words).encode('utf-8', 'surrogatepass')):08x}"
    most = max(abs(sentence.value) for sentence in sentences) or 1.0
    shown = "".join(
        _long_sentence(sentence, f"{prefix}-{number}", words, runs, most, panel)
        for number, sentence in enumerate(sentences)
    )
    strip = _map(sentences, words, prefix, most)
    hint = "each sentence ends with what it adds to the score: open it to see its strongest pairs" if panel else ""
    return (
        f'<div class="line long" {attributes}>{label} <small class="soft">{hint}</small>'
        f'<div class="mapped">{strip}<div class="written">{shown}{rest}</div></div></div>'
    )


def _sentences(words: tuple[Word, ...]) -> list[Sentence]:
    groups = [list(members) for _, members in groupby(range(len(words)), key=lambda number: words[number].sentence)]
    return [Sentence(members, sum(words[number].value for number in members)) for members in groups]


def _long_sentence(
    sentence: Sentence, place: str, words: tuple[Word, ...], runs: list[str], most: float, panel: Panel | None
) -> str:
    gap = escape(words[sentence.members[0]].gap)
    written = "".join(
        f"{escape(words[number].gap) if at else ''}{runs[number]}" for at, number in enumerate(sentence.members)
    )
    shade = shade_class(sentence.value, most)
    badge = f'<span class="badge {shade}">{signed(sentence.value, 2)}</span>'
    if panel is not None:
        said = f"this sentence adds {signed(sentence.value, 4)}"
        badge = (
            f'<details class="sentence"><summary class="badge {shade}" title="{said}">{signed(sentence.value, 2)}</summary>'
            f'<div class="panel">{panel(sentence.members)}</div></details>'
        )
    return f'{gap}<span id="{place}">{written}</span>{badge}'


def _map(sentences: list[Sentence], words: tuple[Word, ...], prefix: str, most: float) -> str:
    """The text in small: a bar for each sentence, as long as it is, which leads to it."""
    lengths = [sum(len(words[number].label) + 1 for number in sentence.members) for sentence in sentences]
    whole, y, bars = sum(lengths), 0.0, []
    for number, (sentence, length) in enumerate(zip(sentences, lengths, strict=True)):
        high = MAP_HEIGHT * length / whole
        bars.append(
            f'<a href="#{prefix}-{number}" aria-label="sentence {number + 1}: {signed(sentence.value)}">'
            f'<rect class="ground" y="{y:.1f}" width="{MAP_WIDTH}" height="{max(high - 1, 1):.1f}"/>'
            f'<rect class="{shade_class(sentence.value, most)}" y="{y:.1f}" width="{MAP_WIDTH}" '
            f'height="{max(high - 1, 1):.1f}"><title>{signed(sentence.value)}</title></rect></a>'
        )
        y += high
    size = f'viewBox="0 0 {MAP_WIDTH} {MAP_HEIGHT}" width="{MAP_WIDTH}" height="{MAP_HEIGHT}"'
    label = f"Map of the {prefix.split('-')[0]} text"
    return f'<nav class="map" aria-label="{escape(label)}"><svg {size}>{"".join(bars)}</svg></nav>'


def _word(word: Word, number: int, limit: float, tag: str) -> str:
    role = f' type="button" dir="auto" aria-pressed="false" data-index="{number}"' if tag == "button" else ""
    kind = "" if word.kind == "text" else f" {word.kind}"
    return (
        f'<{tag}{role} class="word{kind} {shade_class(word.value, limit)}" title="{signed(word.value, 4)}">'
        f"{escape(word.label)}</{tag}>"
    )


def _cut(unread: str) -> str:
    return unread if len(unread) <= MOST_UNREAD else unread[:MOST_UNREAD] + "…"
