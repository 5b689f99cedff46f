"""The layer to attribute to when none is asked for: the first one at which the parts are of the size of the score.

At the first layers of some models (all-mpnet-base-v2) the pairs of a short text sum to twenty times the score and cancel: each
is right, and none can be read. A few blocks later they do not. So a model is looked at once: on pairs of sentences of our own,
`size` is the sum of all ``|matrix|`` over the sum of all ``|score|``, and the first layer at which it is at most `MOST` is
taken. It falls from layer to layer, so the layer is found by bisection. What was found is kept in memory and on disk.

Format of the files, version 2: JSON in `default-layers-2` of the cache folder, one a model: ``layer``, and ``sizes`` by layer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from weakref import WeakKeyDictionary

import numpy as np

from whyalike.encoders.transformer import TransformerEncoder
from whyalike.methods.method import Options
from whyalike.methods.second_order import TransformerMethod
from whyalike.results.pairing import explain_parts
from whyalike.storage.cache import read_or_make
from whyalike.storage.reading import Fields

MOST = 2.0
PAIRS = (
    ("A man is playing the guitar on stage.", "Someone makes music for a crowd."),
    ("The train to the coast leaves at nine.", "At nine a train departs for the seaside."),
    ("She painted the old door green.", "The old door got a coat of green paint."),
    ("Heavy rain flooded two villages last night.", "Two villages were under water after a night of heavy rain."),
    ("How do I reset my password?", "Steps to recover access to an account"),
    ("The cat sleeps on the warm stove.", "A dog barks at the cat."),
    ("Prices rose faster than wages this year.", "This year pay did not keep up with inflation."),
    ("Fry the chopped onions in butter.", "Cut the onions and fry them slowly."),
)


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """The layer, and the sizes at all layers that were looked at."""

    layer: int
    sizes: dict[int, float]

    @property
    def reason(self) -> str:
        """``its pairs are 1.8 times as large as the score (at layer 0: 9.4 times)``"""
        first = f" (at layer 0: {self.sizes[0]:.1f} times)" if self.layer else ""
        return f"its pairs are {self.sizes[self.layer]:.1f} times as large as the score{first}"


_CHOSEN: WeakKeyDictionary[TransformerEncoder, LayerChoice] = WeakKeyDictionary()
_LOCK = threading.RLock()


def choose_layer(encoder: TransformerEncoder, at_layer: Callable[[int], TransformerMethod]) -> LayerChoice:
    """The layer for an encoder; ``at_layer`` is the method with a layer."""
    with _LOCK:
        if encoder not in _CHOSEN:
            record = encoder.record
            _CHOSEN[encoder] = read_or_make(
                f"default-layers-2/{record.fingerprint}-{record.pooling}-{record.dim}.json",
                lambda given: _read(given, encoder),
                lambda: _search(encoder, at_layer),
                asdict,
            )
        return _CHOSEN[encoder]


def size_of_parts(encoder: TransformerEncoder, method: TransformerMethod) -> float:
    """``Σ|matrix| / Σ|score|`` over our own pairs, in tokens."""
    sides = [
        method.contributions(encoder, texts, Options(truncate=True, prompts=(prompt, prompt)))
        for texts, prompt in zip(zip(*PAIRS, strict=True), encoder.pair_prompts, strict=True)
    ]
    found = [explain_parts(*pair) for pair in zip(*sides, strict=True)]
    matrices = sum(float(np.abs(e.matrix).sum()) for e in found)
    scores = sum(abs(e.score) for e in found)
    return matrices / max(scores, 1e-12)


def _search(encoder: TransformerEncoder, at_layer: Callable[[int], TransformerMethod]) -> LayerChoice:
    """Layer 0 where that will do; otherwise by bisection up to the last block's input."""
    sizes = {0: size_of_parts(encoder, at_layer(0))}
    low, high = 0, encoder.layers - 1
    if sizes[0] <= MOST or high <= 0:
        return LayerChoice(0, sizes)
    sizes[high] = size_of_parts(encoder, at_layer(high))
    while sizes[high] <= MOST and high - low > 1:
        middle = (low + high) // 2
        sizes[middle] = size_of_parts(encoder, at_layer(middle))
        low, high = (low, middle) if sizes[middle] <= MOST else (middle, high)
    return LayerChoice(high if sizes[high] <= MOST else min(sizes, key=lambda layer: sizes[layer]), sizes)


def _read(given: Fields, encoder: TransformerEncoder) -> LayerChoice:
    """What an earlier run found. Raises ValueError where it cannot be used."""
    sizes = given.fields("sizes")
    found = LayerChoice(given.whole("layer"), {int(layer): sizes.number(layer) for layer in sizes.value})
    if not {0, found.layer} <= found.sizes.keys() or found.layer >= max(1, encoder.layers):
        raise ValueError(f"layer {found.layer} was not looked at, or is none of this model's")
    return found
