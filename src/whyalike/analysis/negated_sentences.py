"""Sentences with *not*: found in a corpus, and of our own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

NOT = re.compile(r"(?<![\w'’-])not(?![\w'’-])\s*", re.IGNORECASE)
NO_NEGATION = re.compile(r"\bor not\b|\bnot only\b", re.IGNORECASE)  # *whether or not*, *not only … but also*
OTHERS = ("no", "never", "nothing", "nobody", "none", "neither", "nor", "without", "cannot")
OTHER_NEGATION = re.compile(rf"n['’]t\b|\b({'|'.join(OTHERS)})\b", re.IGNORECASE)


class Negated(NamedTuple):
    """A sentence with *not*, the same without it, and where the word stands."""

    text: str
    without: str
    start: int
    end: int


def simple_negations(texts: Sequence[str]) -> list[Negated]:
    """The sentences whose only negation is one *not* that stands alone, with that word taken out."""
    found = []
    for text in dict.fromkeys(texts):
        matches = list(NOT.finditer(text))
        if len(matches) == 1 and not OTHER_NEGATION.search(text) and not NO_NEGATION.search(text):
            (match,) = matches
            without = (text[: match.start()] + text[match.end() :]).strip()
            if without and match.end() < len(text):
                found.append(Negated(text, without, match.start(), match.start() + 3))
    return found


def every_negation(texts: Sequence[str]) -> list[Negated]:
    """All sentences with a *not* between spaces, whatever else they deny, as often as they come: the paper's 87 of STSb."""
    places = [(text, text.find(" not ")) for text in texts]
    return [Negated(text, text[:at] + text[at + 4 :], at + 1, at + 4) for text, at in places if at >= 0]


SENTENCES = {"simple": simple_negations, "every": every_negation}
# A state and a subject, so that "not" and "now" fit the same place. Of our own making, no data set's.
PROBES = (
    "The door is {}open.",
    "The train is {}late.",
    "The soup is {}hot.",
    "The shop is {}closed.",
    "The answer is {}correct.",
    "The road is {}safe.",
    "The child is {}asleep.",
    "The water is {}clean.",
    "The report is {}finished.",
    "The battery is {}charged.",
    "The price is {}final.",
    "The meeting is {}public.",
    "The medicine is {}effective.",
    "The software is {}free.",
    "The king is {}alive.",
    "The lamp is {}broken.",
    "The museum is {}crowded.",
    "The contract is {}valid.",
    "The river is {}frozen.",
    "The ticket is {}cheap.",
)
