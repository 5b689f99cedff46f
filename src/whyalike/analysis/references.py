"""How near texts are to the neutral inputs that integrated Jacobians start from (Siamese paper, section 4.3, Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Float
from tqdm import tqdm

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.section import Row, Section
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.references import Positions, Reference, reference_states
from whyalike.encoders.twin import Pass
from whyalike.errors import unknown

NEAR, FAR = 0.1, 0.9  # the paper's: similarities within ±0.1, reference terms below 0.9
TOKENS_TOGETHER = 4096


def embeddings_and_references(
    encoder: Encoder, texts: Sequence[str], reference: Reference, positions: Positions, *, progress: bool = True
) -> tuple[Float[np.ndarray, "texts dim"], Float[np.ndarray, "texts dim"]]:
    """Each text's embedding and that of its reference, before any normalisation."""
    encoder = encoder.transformer
    readings = encoder.read(texts, truncate=True)
    found = np.zeros((2, len(texts), encoder.record.dim))
    with tqdm(total=len(texts), desc="References", unit="text", delay=2, disable=None if progress else True) as bar:
        for batch in encoder.batches(readings, TOKENS_TOGETHER):
            # The reference's states at the last layer are its outputs: pooling is all that is left to do.
            states = reference_states(encoder, batch, encoder.layers, reference, positions)
            with torch.no_grad():
                of_reference = encoder.twin.run(batch.features, Pass(encoder.layers, states))
            found[0, batch.numbers] = encoder.run(batch.features, encoder.layers)[0].double().cpu().numpy()
            found[1, batch.numbers] = of_reference.double().cpu().numpy()
            bar.update(len(batch.numbers))
    return found[0], found[1]


def _similarities(
    pairs: Sequence[tuple[str, str]], encoder: Encoder, reference: Reference, positions: Positions
) -> list[Row]:
    """Of each pair: both texts' similarity to the other's reference, and that of the two references."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    place = {text: number for number, text in enumerate(texts)}
    own, neutral = embeddings_and_references(encoder, texts, reference, positions, progress=False)
    score = encoder.record.score
    numbers = [(place[left], place[right]) for left, right in pairs]
    return [
        {
            "to_reference": [score(own[i], neutral[j]), score(own[j], neutral[i])],
            "term": score(neutral[i], neutral[j]),
        }
        for i, j in numbers
    ]


def references(corpus: Corpus, *, reference: Reference = "pad", positions: Positions = "own") -> Section:
    """Similarity of texts to each other's references, and of the two references to each other, over all pairs.

    ``positions="own"`` are those of integrated Jacobians here; ``"model"`` those the papers' code gives a reference.
    """
    for what, value, known in (("reference", reference, Reference), ("kind of positions", positions, Positions)):
        if value not in get_args(known):
            raise unknown(what, value, get_args(known))
    says, tables, values = [], {}, {}
    for name, encoder in corpus.encoders.items():
        compute = partial(_similarities, encoder=encoder, reference=reference, positions=positions)
        rows = corpus.compute_rows(f"references-{reference}-{positions}", encoder, corpus.pairs, compute)
        alike = [value for row in rows for value in row["to_reference"]]
        terms = [row["term"] for row in rows]
        near, far = float(np.mean(np.abs(alike) <= NEAR)), float(np.mean(np.array(terms) < FAR))
        says.append(
            f"{name}, {reference} tokens with {positions} positions: {near:.1%} of the texts score within ±{NEAR} "
            "with the "
            f"other text's neutral input (0 would be neutral); {far:.1%} of the neutral inputs score below {FAR} "
            "with each other."
        )
        tables[name] = [
            {
                "what": what,
                "mean": float(np.mean(each)),
                "deviation": float(np.std(each)),
                "lowest": min(each),
                "highest": max(each),
            }
            for what, each in (("similarity to the reference", alike), ("reference term", terms))
        ]
        values[name] = {"similarity to the reference": alike, "reference term": terms}
    return Section(
        "references",
        "Neutral inputs of integrated Jacobians",
        tuple(says),
        tables,
        lambda altair: {
            f"{number}-{kind}": _chart(altair, each, f"{name}: {what}")
            for number, (name, whats) in enumerate(values.items())
            for kind, (what, each) in enumerate(whats.items())
        },
        explained="Integrated Jacobians measure from a neutral input of the same length. The nearer its score "
        "with texts is to 0, "
        "the less of a score is left over as background.",
    )


def _chart(altair: Any, values: Sequence[float], title: str) -> Any:
    counts, edges = np.histogram(values, bins=40)
    rows = [
        {"from": float(a), "to": float(b), "pairs": int(n)} for n, a, b in zip(counts, edges, edges[1:], strict=False)
    ]
    return (
        altair.Chart(altair.Data(values=rows))
        .mark_bar(color="#4c78a8")
        .encode(x=altair.X("from:Q", bin="binned", title=None), x2="to:Q", y=altair.Y("pairs:Q"))
        .properties(width=320, height=200, title=title, description=f"Distribution over the pairs. {title}.")
    )
