"""How well do the taggers do on gold annotations, class by class and role by role?

    python -m experiments.analysis.taggers

Results go to `experiments/analysis/results/taggers.json`.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from whyalike.data.tables import find_data_file
from whyalike.language.conllu import read_conllu
from whyalike.language.taggers import tagger

RESULTS = Path(__file__).parent / "results"
GOLD = {
    "english on EWT": ("english", "ud/en_ewt-ud-test.conllu", True),
    "english on PUD": ("english", "ud/en_pud-ud-test.conllu", False),
    "german on PUD": ("german", "ud/de_pud-ud-test.conllu", False),
    "russian on PUD": ("russian", "ud/ru_pud-ud-test.conllu", True),
    "chinese on PUD": ("chinese", "ud/zh_pud-ud-test.conllu", False),
}


def measured(name: str, file: str, with_roles: bool) -> dict[str, Any]:
    gold = read_conllu(find_data_file(file))
    words, same, right = 0, 0, 0
    roles: dict[str, Counter[bool]] = {}
    for text, found in zip(gold, tagger(name)(list(gold)), strict=True):
        mine = {(word.start, word.end): word for word in found}
        for true in gold[text]:
            words += 1
            word = mine.get((true.start, true.end))
            if word is None:
                continue
            same += 1
            right += word.pos == true.pos
            roles.setdefault(true.relation, Counter())[word.relation == true.relation] += 1
    result: dict[str, Any] = {"words": words, "same span": same / words, "class right": right / same}
    if with_roles:
        result["role right"] = sum(count[True] for count in roles.values()) / same
        ordered = sorted(roles.items(), key=lambda item: -item[1].total())
        result["by role"] = {
            role: {"words": count.total(), "right": count[True] / count.total()} for role, count in ordered
        }
    return result


if __name__ == "__main__":
    found = {name: measured(*asked) for name, asked in GOLD.items()}
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1)
    (RESULTS / "taggers.json").write_text(text + "\n", encoding="utf-8")
    print(text)
