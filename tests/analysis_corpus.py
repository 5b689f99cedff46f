"""Pairs of our own to analyse."""

from __future__ import annotations

from pathlib import Path

import whyalike
from tests.families import LEFT, RIGHT
from whyalike.analysis.corpus import Corpus
from whyalike.language.taggers import tagger

PAIRS = [
    (LEFT, RIGHT),
    ("The man does not play.", "A child plays the piano in the old house."),
    ("A dog doesn't run, and walks over the river.", "The dog runs over the river."),
    ("the dog runs", "the dog is not old"),
]
LABELS = [0.9, 0.1, 0.6, 0.3]


def make_corpus(encoder: whyalike.Encoder, folder: Path) -> Corpus:
    return Corpus(
        pairs=PAIRS, labels=LABELS, encoders={"tiny": encoder}, folder=folder, tagger=tagger("english"), progress=False
    )
