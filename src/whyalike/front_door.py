"""The front door: texts in, explanations out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from whyalike.contrasts import Contrast
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.load import load_encoder
from whyalike.encoders.tokens import Reading
from whyalike.errors import BadInput, unknown
from whyalike.explanation import Contributions, Explanation, OneSided, Products
from whyalike.methods import METHODS, Method
from whyalike.methods.first_order import FirstOrder
from whyalike.methods.method import to_numpy
from whyalike.methods.second_order import Pulling, SecondOrder
from whyalike.methods.tangents import GIBIBYTE
from whyalike.pairs import explain_parts, explain_products, vectors_of
from whyalike.sides import UNITS, Unit
from whyalike.sides import group as grouped

PAIRS_TOGETHER = 256  # how many pairs explain_pairs looks at before it answers the first
PULL, PULLED_THROUGH = 1.5, 3.0  # cost of pulling one vector back through a text, and of preparing it, in pushed units


def explain(
    left: str,
    right: str,
    *,
    encoder: Encoder | None = None,
    method: str | Method = "bilrp",
    layer: int | None = None,
    unit: Unit | None = None,
    prompts: tuple[str | None, str | None] = (None, None),
    truncate: bool = False,
    aligned: bool = False,
    budget: int = GIBIBYTE,
) -> Explanation:
    """Why the encoder finds two texts alike.

    ``layer`` is where the tokens' states are read (0: the embeddings; None: the method's own choice, mostly 0), ``unit`` what
    the matrix is in: tokens, words or sentences (None: the method's finest, words for first-order methods such as bti).
    ``prompts`` are names of the model's prompts for the two sides, such as ``("query", "document")``. A text longer than
    the model reads is an error unless ``truncate``. ``aligned`` gives each unit's total to its likeliest partners, as people
    align words; all parts still add up (second-order methods). ``budget`` bounds the memory of intermediate results, in bytes.

    >>> e = explain("A man plays guitar.", "Someone makes music.")                          # doctest: +SKIP
    >>> e.score, e.by_word().top_pairs(3)                                                   # doctest: +SKIP
    """
    pairs = explain_pairs(
        [(left, right)],
        encoder=encoder,
        method=method,
        layer=layer,
        unit=unit,
        prompts=prompts,
        truncate=truncate,
        aligned=aligned,
        budget=budget,
        progress=False,
    )
    return next(pairs)


def explain_pairs(
    pairs: Iterable[tuple[str, str]],
    *,
    encoder: Encoder | None = None,
    method: str | Method = "bilrp",
    layer: int | None = None,
    unit: Unit | None = None,
    prompts: tuple[str | None, str | None] = (None, None),
    truncate: bool = False,
    aligned: bool = False,
    budget: int = GIBIBYTE,
    progress: bool = True,
) -> Iterator[Explanation]:
    """Explanations of many pairs, in order, as an iterator: texts are batched, and a text in several pairs is explained once.

    Pairs are taken a few hundred at a time, and contributions of texts that may come again are kept while they fit in
    ``budget`` once more, the oldest given up first: any number of pairs fits in memory.
    """
    encoder, chosen, unit = _checked(encoder, method, layer, unit)
    if isinstance(chosen, FirstOrder):
        if aligned:
            raise BadInput(f"{chosen.name} matches words by itself, so there is nothing to align. Leave aligned out.")
        found = _pair_by_pair(pairs, encoder, chosen, prompts, truncate, budget, progress)
        yield from (explanation.by(unit) for explanation in found)
        return
    remaining = iter(pairs)
    known: dict[Key, Contributions] = {}
    while group := list(islice(remaining, PAIRS_TOGETHER)):
        keys = [(Key(left, prompts[0]), Key(right, prompts[1])) for left, right in group]
        needed = dict.fromkeys(key for pair in keys for key in pair)
        _give_up(known, needed, budget)
        readings = _read([key for key in needed if key not in known], encoder, truncate)
        units = {key: len(grouped(reading.side, unit)[0]) for key, reading in readings.items()}
        units |= {key: len(part.side) for key, part in known.items()}
        pulled = _worth_pulling(keys, readings, units) if isinstance(chosen, Pulling) else frozenset()
        pushed = {key: reading for key, reading in readings.items() if key not in pulled}
        parts = chosen.of_readings(encoder, [*pushed.values()], unit=unit, budget=budget, progress=progress)
        known |= zip(pushed, parts, strict=True)
        products: dict[tuple[Key, Key], Products] = {}
        if isinstance(chosen, Pulling) and pulled:
            through = list(
                dict.fromkeys(pair if pair[1] in pulled else pair[::-1] for pair in keys if {*pair} & pulled)
            )
            pulls = chosen.products(
                encoder,
                [readings[long] for _, long in through],
                [vectors_of(known[short]) for short, _ in through],
                unit=unit,
                budget=budget,
                progress=progress,
            )
            products = dict(zip(through, pulls, strict=True))
        for left, right in keys:
            if (left, right) in products:
                yield explain_products(known[left], products[left, right], aligned=aligned)
            elif (right, left) in products:
                yield explain_products(known[right], products[right, left], aligned=aligned).swapped()
            else:
                yield explain_parts(known[left], known[right], aligned=aligned)


class Key(NamedTuple):
    """A text, and the name of the prompt it is read with."""

    text: str
    prompt: str | None


def _read(keys: Sequence[Key], encoder: Encoder, truncate: bool) -> dict[Key, Reading]:
    found: dict[Key, Reading] = {}
    for prompt in dict.fromkeys(key.prompt for key in keys):
        own = [key for key in keys if key.prompt == prompt]
        texts = checked_texts(key.text for key in own)
        found |= zip(own, encoder.read(texts, prompt=prompt, truncate=truncate), strict=True)
    return found


def _worth_pulling(
    pairs: Sequence[tuple[Key, Key]], readings: Mapping[Key, Reading], units: Mapping[Key, int]
) -> frozenset[Key]:
    """The texts through which it is cheaper to pull the contributions of all their partners than to push their own units.

    Costs are in tokens run through the model. No two partners are both pulled through: one of them gives the contributions.
    """
    partners: dict[Key, set[Key]] = {key: set() for key in readings}
    for left, right in pairs:
        for key, other in ((left, right), (right, left)):
            if key in partners:
                partners[key].add(other)
    saved = {}
    for key, others in partners.items():
        if key not in others:
            pulls = sum(PULL * (units[other] + 1) + PULLED_THROUGH for other in others)
            saved[key] = readings[key].length * (units[key] - pulls)
    chosen: set[Key] = set()
    for key in sorted(saved, key=lambda key: -saved[key]):
        if saved[key] > 0 and not partners[key] & chosen:
            chosen.add(key)
    return frozenset(chosen)


def _give_up(known: dict[Key, Contributions], needed: Container[Any], budget: int) -> None:
    """Drops the oldest contributions that are not needed now, until the rest fits in the budget."""
    size = sum(part.nbytes for part in known.values())
    for key in [key for key in known if key not in needed]:
        if size <= budget:
            return
        size -= known.pop(key).nbytes


def contributions(
    texts: Sequence[str],
    *,
    encoder: Encoder | None = None,
    method: str | Method = "bilrp",
    layer: int | None = None,
    unit: Unit | None = None,
    prompt: str | None = None,
    truncate: bool = False,
    budget: int = GIBIBYTE,
    progress: bool = True,
) -> list[Contributions]:
    """What each token of each text adds to its embedding: the factors to keep, from which any pair is one product."""
    if isinstance(texts, str):
        raise BadInput("contributions() takes a list of texts; got one str. Write contributions([text]).")
    encoder, chosen, unit = _checked(encoder, method, layer, unit)
    if isinstance(chosen, FirstOrder):
        raise BadInput(f"The method {chosen.name!r} looks at pairs: a text alone has no contributions. Use bilrp.")
    return chosen.contributions(
        encoder,
        checked_texts(texts),
        unit=unit,
        prompt=prompt,
        truncate=truncate,
        budget=budget,
        progress=progress,
    )


def contrast(
    query: str,
    a: str,
    b: str,
    *,
    encoder: Encoder | None = None,
    method: str | Method = "bilrp",
    layer: int | None = None,
    unit: Unit | None = None,
    prompts: tuple[str | None, str | None] = (None, None),
    truncate: bool = False,
    budget: int = GIBIBYTE,
) -> Contrast:
    """Why ``a`` rather than ``b`` for a query: the difference of the two scores, word by word. The query is explained once.

    >>> contrast("guitar music", "A man plays guitar.", "A man plays chess.").top(3)            # doctest: +SKIP
    """
    pairs = explain_pairs(
        [(query, a), (query, b)],
        encoder=encoder,
        method=method,
        layer=layer,
        unit=unit,
        prompts=prompts,
        truncate=truncate,
        budget=budget,
        progress=False,
    )
    return Contrast(*pairs)


def explain_against(
    text: str,
    other: str,
    *,
    encoder: Encoder | None = None,
    method: str | Method = "bilrp",
    layer: int | None = None,
    unit: Unit | None = None,
    prompts: tuple[str | None, str | None] = (None, None),
    truncate: bool = False,
    budget: int = GIBIBYTE,
) -> OneSided:
    """What each unit of a (long) text adds to its score against a fixed other one.

    Costs one backward pass (one per step for integrated Jacobians), whatever the length; equals the row sums of the pair's
    matrix plus its left terms.
    """
    encoder, chosen, unit = _checked(encoder, method, layer, unit)
    if isinstance(chosen, FirstOrder) or not chosen.adds_up:
        raise BadInput(
            f"The method {chosen.name!r} makes no claim to add up, so one side alone says nothing. Use bilrp."
        )
    readings = [
        encoder.read([each], prompt=prompt, truncate=truncate)[0]
        for each, prompt in zip(checked_texts((text, other)), prompts, strict=True)
    ]
    own, fixed = (next(encoder.batches([reading], 1)) for reading in readings)
    towards = encoder.run(fixed.features, encoder.layers)[0][0]
    if chosen.record(encoder).parameters.get("normalize") == "path":
        towards = torch.nn.functional.normalize(towards, dim=-1)
    totals = chosen.totals(encoder, own, towards, budget)
    embeddings = to_numpy(totals.embedding), to_numpy(towards)
    score = encoder.record.score(*embeddings)
    values = to_numpy(totals.tokens).astype(float) / encoder.record.scale(*embeddings)
    whole = OneSided(
        side=readings[0].side,
        values=values,
        rest=score - float(values.sum()),
        score=score,
        other=readings[1].side,
        method=chosen.record(encoder),
        model=encoder.record,
        measured=totals.measured,
    )
    return whole.by(unit)


def _pair_by_pair(
    pairs: Iterable[tuple[str, str]],
    encoder: Encoder,
    method: FirstOrder,
    prompts: tuple[str | None, str | None],
    truncate: bool,
    budget: int,
    progress: bool,
) -> Iterator[Explanation]:
    """A first-order method asks of a word what it does for *this* pair, so nothing is shared between pairs."""
    total = len(pairs) if isinstance(pairs, Sequence) else None
    for pair in tqdm(pairs, total=total, unit="pair", delay=2, disable=None if progress else True, leave=False):
        left, right = (
            encoder.read([text], prompt=prompt, truncate=truncate)[0]
            for text, prompt in zip(checked_texts(pair), prompts, strict=True)
        )
        yield method.explain(encoder, left, right, budget)


def _checked(
    encoder: Encoder | None, method: str | Method, layer: int | None, unit: Unit | None
) -> tuple[Encoder, SecondOrder | FirstOrder, Unit]:
    """The encoder, the method and the unit, all names known, before any work is done."""
    if unit is not None and unit not in UNITS:
        raise unknown("unit", unit, UNITS)
    chosen = choose_method(method, layer)
    wanted = chosen.unit if unit is None else unit
    if UNITS.index(wanted) < UNITS.index(chosen.unit):
        raise BadInput(
            f"The method {chosen.name!r} speaks of {chosen.unit}s, not of {wanted}s. Use unit={chosen.unit!r}."
        )
    encoder = encoder or load_encoder()
    chosen.check(encoder)
    assert isinstance(chosen, SecondOrder | FirstOrder)
    return encoder, chosen, wanted


def checked_texts(texts: Iterable[str]) -> list[str]:
    """The texts, or an error that shows the one that is none."""
    texts = list(texts)
    for text in texts:
        if not isinstance(text, str):
            raise BadInput(f"A text should be a str; got {type(text).__name__}: {text!r:.60}.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise BadInput(
                f"A text has characters that are not Unicode text (lone surrogates): {text!r:.60}. Decode it first."
            )
    return texts


def choose_method(method: str | Method, layer: int | None = None) -> Method:
    """A method by name or as it is, at a layer where one is given."""
    if isinstance(method, Method):
        return method if layer is None else replace(method, layer=layer)  # type: ignore[type-var]
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    return METHODS[method]() if layer is None else METHODS[method](layer=layer)  # type: ignore[call-arg]
