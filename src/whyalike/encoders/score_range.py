"""What a model's scores mean: how high unrelated, related and equivalent sentences score with it.

0.46 is high for one model and low for another. So a model is looked at once, on sentences of our own: 16 groups of a sentence,
another that means the same, and a third about the same thing. The three numbers of `ScoreRange` are kept in memory and on disk,
in `score-ranges-1` of the cache folder. They hold for plain sentences in Latin script; of others nothing is claimed.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, fields
from weakref import WeakKeyDictionary

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.errors import WhyalikeError
from whyalike.results.records import ScoreRange
from whyalike.storage.cache import read_or_make
from whyalike.storage.reading import Fields

SENTENCES = (  # a sentence, another that means the same, and one about the same thing
    ("A man is playing the guitar on a stage.", "A guitarist performs on stage.", "The concert was sold out."),
    ("The train to the coast leaves at nine.", "At nine a train departs for the seaside.", "The station was crowded."),
    ("She painted the old door green.", "The old door got a coat of green paint.", "The house needs a new roof."),
    (
        "Heavy rain flooded two villages.",
        "Two villages were under water after the rain.",
        "The river is high in spring.",
    ),
    ("How do I reset my password?", "What are the steps to change a lost password?", "My account was blocked today."),
    ("Prices rose faster than wages.", "Pay did not keep up with inflation.", "The bank raised its interest rate."),
    ("Fry the chopped onions in butter.", "Cut the onions and fry them in butter.", "The soup is served with bread."),
    ("The child has a high fever.", "The kid is running a high temperature.", "The doctor works until noon."),
    (
        "The telescope found a new planet.",
        "A new planet was discovered by telescope.",
        "Stars are born in clouds of gas.",
    ),
    ("He scored two goals in the final.", "Two of the goals in the final were his.", "The team has a new coach."),
    ("The court rejected the appeal.", "The appeal was turned down by the judges.", "She studies law in the evening."),
    ("The battery lasts ten hours.", "It runs for ten hours on one charge.", "The phone has two cameras."),
    ("Bees pollinate the apple trees.", "Apple trees are pollinated by bees.", "We picked pears in the garden."),
    ("The museum is closed on Mondays.", "On Mondays the museum does not open.", "The gallery shows modern art."),
    ("The dog chased the cat up a tree.", "A cat fled up a tree from the dog.", "Our rabbit likes carrots."),
    ("The flight was delayed by fog.", "Because of fog the plane left late.", "Hand luggage must fit under the seat."),
)


_FOUND: WeakKeyDictionary[Encoder, ScoreRange | None] = WeakKeyDictionary()
_LOCK = threading.RLock()


def score_range_of(encoder: Encoder) -> ScoreRange | None:
    """The range of a model's scores.

    None where related sentences do not score higher than unrelated ones; for a function, whose calls may cost money; and for a
    late-interaction model, whose scores grow with the query.
    """
    if encoder.record.kind in ("function", "multi-vector"):
        return None
    with _LOCK:
        if encoder not in _FOUND:
            _FOUND[encoder] = _find(encoder)
        return _FOUND[encoder]


def _find(encoder: Encoder) -> ScoreRange | None:
    record = encoder.record
    name = f"score-ranges-1/{record.fingerprint}-{record.pooling}-{record.similarity}-{record.dim}.json"
    try:
        found = read_or_make(name, _read, lambda: measure_range(encoder), asdict)
    except WhyalikeError:  # a model that cannot read these sentences: nothing is claimed
        return None
    return found if found.unrelated < found.related < found.same else None


def measure_range(encoder: Encoder) -> ScoreRange:
    """The three numbers, from one batch of 48 short sentences."""
    texts = [text for group in SENTENCES for text in group]
    first, same, related = np.asarray(encoder.embed(texts)).reshape(len(SENTENCES), 3, -1).swapaxes(0, 1)
    score = encoder.record.score
    apart = [score(first[i], first[j]) for i in range(len(first)) for j in range(i)]
    return ScoreRange(
        unrelated=float(np.quantile(apart, 0.95)),
        related=float(np.median([score(one, other) for one, other in zip(first, related, strict=True)])),
        same=float(np.quantile([score(one, other) for one, other in zip(first, same, strict=True)], 0.25)),
    )


def _read(given: Fields) -> ScoreRange:
    return ScoreRange(*(given.number(each.name) for each in fields(ScoreRange)))
