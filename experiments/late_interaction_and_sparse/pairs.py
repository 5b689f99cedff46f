"""Questions with the sentence that answers them, and sentences that say the same: to train on, and others to try on."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

from whyalike.language.words import sentence_spans

DATA = Path(os.environ.get("WHYALIKE_DATA", "../shared/data"))
Pair = tuple[str, str]
SHORTEST, LONGEST = 20, 400  # characters of a sentence that is used


def training_pairs() -> list[Pair]:
    """From XQuAD (English), MultiSpanQA, QQP's duplicates and STSb's training part (scores of 4 and 5)."""
    pairs = [*_xquad(), *_multispanqa(), *_qqp(), *_stsb()]
    return [pair for pair in pairs if all(SHORTEST <= len(text) <= LONGEST for text in pair)]


def wikiqa() -> list[tuple[str, list[str], list[bool]]]:
    """Questions of WikiQA's dev part, not trained on, with the sentences of a document and which of them answer."""
    rows: dict[str, tuple[list[str], list[bool]]] = {}
    with (DATA / "evidence/wikiqa-dev.tsv").open(encoding="utf-8", newline="") as source:
        for row in csv.DictReader(source, delimiter="\t", quoting=csv.QUOTE_NONE):
            sentences, labels = rows.setdefault(row["Question"], ([], []))
            sentences.append(row["Sentence"])
            labels.append(row["Label"] == "1")
    return [(question, *found) for question, found in rows.items() if any(found[1])]


def trial_pairs(count: int) -> list[Pair]:
    """Questions of WikiQA with the first sentence that answers them."""
    return [(question, sentences[labels.index(True)]) for question, sentences, labels in wikiqa()][:count]


def _xquad() -> Iterator[Pair]:
    found = json.loads((DATA / "evidence/xquad.en.json").read_text(encoding="utf-8"))
    for paragraph in (each for article in found["data"] for each in article["paragraphs"]):
        context, spans = paragraph["context"], sentence_spans(paragraph["context"])
        for asked in paragraph["qas"]:
            start = asked["answers"][0]["answer_start"]
            yield from ((asked["question"], context[a:b].strip()) for a, b in spans if a <= start < b)


def _multispanqa() -> Iterator[Pair]:
    found = json.loads((DATA / "evidence/multispanqa-valid.json").read_text(encoding="utf-8"))
    for asked in found["data"]:
        first = asked["label"].index("B") if "B" in asked["label"] else None
        if first is None:
            continue
        ends = [n for n, word in enumerate(asked["context"]) if word == "."]
        start = max((end + 1 for end in ends if end < first), default=0)
        stop = min((end + 1 for end in ends if end >= first), default=len(asked["context"]))
        yield " ".join(asked["question"]), " ".join(asked["context"][start:stop])


def _qqp() -> Iterator[Pair]:
    for line in (DATA / "qqp/dev.tsv").read_text(encoding="utf-8", errors="replace").splitlines():
        label, *questions = line.split("\t")[:3]
        if label == "1" and len(questions) == 2:
            yield questions[0], questions[1]


def _stsb() -> Iterator[Pair]:
    with (DATA / "stsb/en-train.csv").open(encoding="utf-8", newline="") as source:
        yield from ((left, right) for left, right, score in csv.reader(source) if float(score) >= 4)
