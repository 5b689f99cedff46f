"""The front door: texts in, explanations out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from tqdm import tqdm

from whyalike.contrasts import Contrast
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.load import load_encoder
from whyalike.errors import BadInput, unknown
from whyalike.explanation import Contributions, Explanation, OneSided
from whyalike.methods import METHODS, Method
from whyalike.methods.first_order import FirstOrder
from whyalike.methods.method import to_numpy
from whyalike.methods.second_order import SecondOrder
from whyalike.methods.tangents import GIBIBYTE
from whyalike.pairs import explain_parts
from whyalike.sides import UNITS, Unit

PAIRS_TOGETHER = 256  # how many pairs explain_pairs looks at before it answers the first


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
    known: dict[tuple[str, str | None], Contributions] = {}
    while group := list(islice(remaining, PAIRS_TOGETHER)):
        needed = dict.fromkeys(key for pair in group for key in zip(pair, prompts, strict=True))
        _give_up(known, needed, budget)
        for prompt in dict.fromkeys(prompts):
            texts = checked_texts(text for text, wanted in needed if wanted == prompt and (text, wanted) not in known)
            parts = chosen.contributions(
                encoder, texts, unit=unit, prompt=prompt, truncate=truncate, budget=budget, progress=progress
            )
            known |= zip(((text, prompt) for text in texts), parts, strict=True)
        for left, right in group:
            yield explain_parts(known[left, prompts[0]], known[right, prompts[1]], aligned=aligned)


def _give_up(known: dict[tuple[str, str | None], Contributions], needed: Container[Any], budget: int) -> None:
    """Drops the oldest contributions that are not needed now, until the rest fits in the budget."""
    size = sum(part.tokens.nbytes for part in known.values())
    for key in [key for key in known if key not in needed]:
        if size <= budget:
            return
        size -= known.pop(key).tokens.nbytes


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
