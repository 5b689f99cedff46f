"""Which words do segmenters find in Chinese, against gold words, and how long do they take?

    python -m experiments.analysis.segmenters

Results go to `experiments/analysis/results/segmenters.json`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from whyalike.data.tables import find_data_file
from whyalike.language import segmenter
from whyalike.language.conllu import read_conllu
from whyalike.language.taggers import tagger
from whyalike.language.words import Span, word_spans

RESULTS = Path(__file__).parent / "results"


def characters(text: str) -> list[Span]:
    """Unicode's word boundaries alone, as without ICU."""
    installed = segmenter._icu
    segmenter._icu = lambda: None  # type: ignore[assignment]
    try:
        return word_spans(text)
    finally:
        segmenter._icu = installed


def measured(split: Callable[[str], list[Span]]) -> dict[str, float]:
    gold = read_conllu(find_data_file("ud/zh_pud-ud-test.conllu"))
    split(next(iter(gold)))  # loads it
    start = time.perf_counter()
    found = {text: set(split(text)) for text in gold}
    seconds = time.perf_counter() - start
    true = {text: {(word.start, word.end) for word in words} for text, words in gold.items()}
    same = sum(len(found[text] & true[text]) for text in gold)
    precision, recall = (same / sum(map(len, spans.values())) for spans in (found, true))
    return {
        "sentences": len(gold),
        "precision": precision,
        "recall": recall,
        "F1": 2 * precision * recall / (precision + recall),
        "ms per sentence": 1000 * seconds / len(gold),
    }


if __name__ == "__main__":
    lac = tagger("chinese")
    found = {
        segmenter.segmenter_of("汉字"): measured(word_spans),
        "LAC": measured(lambda text: [(word.start, word.end) for word in lac([text])[0]]),
        "characters": measured(characters),
    }
    print(json.dumps(found, indent=1))
    (RESULTS / "segmenters.json").write_text(json.dumps(found, indent=1) + "\n")
