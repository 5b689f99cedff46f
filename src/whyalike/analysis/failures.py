"""The pairs on which a model and people disagree most, explained."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.section import Section
from whyalike.api import explain
from whyalike.errors import BadInput
from whyalike.results.explanation import Explanation

FAILURES = 4  # of each kind
FAR = 0.3  # of all pairs


def failures(corpus: Corpus) -> Section:
    """The pairs whose ranks by the model and by people lie furthest apart, explained."""
    if corpus.labels is None:
        raise BadInput("Without human scores there are no failures to show. Give scored pairs.")
    says, tables, pictures = [], {}, {}
    for name, table in corpus.tables().items():
        pairs = table.pairs.collect()
        gap = (pairs["score"].rank() - pairs["label"].rank()).to_numpy() / len(pairs)
        order = np.argsort(gap)
        chosen = {"too low": order[:FAILURES], "too high": order[::-1][:FAILURES]}
        rows: list[dict[str, Any]] = []
        for kind, numbers in chosen.items():
            for number in numbers:
                row = pairs.row(int(number), named=True)
                if (gap[number] > 0) != (kind == "too high"):
                    continue
                rows.append({"kind": kind, **{key: row[key] for key in ("score", "label", "left", "right")}})
                heading = f"{name}, {kind}: score {row['score']:.2f}, people {row['label']:.2f} (pair {row['pair']})"
                pictures[heading] = _explained(corpus, name, row)
        tables[name] = rows
        says.append(
            f"{name}: {np.mean(np.abs(gap) > FAR):.0%} of the pairs stand far from their place in people's order (by more than "
            f"{FAR:.0%} of all pairs)."
        )
    return Section(
        "failures",
        "Largest disagreements with people",
        tuple(says),
        tables,
        pictures=pictures,
        explained="All pairs are ordered twice, by the model's score and by people's. Shown are those whose two "
        "places lie "
        "farthest apart, too low and too high, with the word pairs that make their scores: orange raises a "
        "score, blue lowers it.",
    )


def _explained(corpus: Corpus, name: str, row: dict[str, Any]) -> Explanation:
    encoder = corpus.encoders[name]
    return explain(
        row["left"], row["right"], encoder=encoder, method=corpus.method, layer=corpus.layer, truncate=True
    ).by_word()
