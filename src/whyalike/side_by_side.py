"""One pair explained by several methods, models or layers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product

from whyalike.comparison import Comparison, Entry
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.load import load_encoder
from whyalike.errors import BadInput
from whyalike.front_door import choose_method, explain
from whyalike.methods import Method
from whyalike.methods.tangents import GIBIBYTE
from whyalike.sides import Unit

DEFAULT_METHODS = ("bilrp", "integrated_jacobians", "token_outputs", "bti")


def compare(
    left: str,
    right: str,
    *,
    methods: Sequence[str | Method] = DEFAULT_METHODS,
    encoders: Sequence[Encoder] | None = None,
    layers: Sequence[int | None] = (None,),
    unit: Unit = "word",
    prompts: tuple[str | None, str | None] = (None, None),
    truncate: bool = False,
    budget: int = GIBIBYTE,
) -> Comparison:
    """One pair, explained by every method on every encoder at every layer given.

    Words are found in the texts alike for every model, so models with different tokenizers can be compared. The seconds
    of the first explanation at a layer include what is found out about the model once.

    >>> compare("A man plays guitar.", "Someone makes music.", methods=["bilrp", "bti"])        # doctest: +SKIP
    """
    if unit not in ("word", "sentence"):
        raise BadInput(
            f"Explanations are compared in words or sentences: tokens differ from model to model. Got unit={unit!r}."
        )
    for name, given in (("methods", methods), ("layers", layers), ("encoders", encoders)):
        if given is not None and (isinstance(given, str) or not isinstance(given, Sequence) or not given):
            raise BadInput(f"{name} should be a list with at least one entry; got {given!r}.")
    chosen = [load_encoder()] if encoders is None else list(encoders)
    jobs = [(encoder, choose_method(method, layer)) for encoder, method, layer in product(chosen, methods, layers)]
    for encoder, method in jobs:
        method.check(encoder)  # before any work is done
    names = _names(jobs)
    entries = []
    for name, (encoder, method) in zip(names, jobs, strict=True):
        start = time.perf_counter()
        e = explain(
            left, right, encoder=encoder, method=method, unit=unit, prompts=prompts, truncate=truncate, budget=budget
        )
        entries.append(Entry(name, e, time.perf_counter() - start))
    return Comparison(tuple(entries))


def _names(jobs: Sequence[tuple[Encoder, Method]]) -> list[str]:
    """The method, and the parameters and the model as far as they differ."""
    records = [method.record(encoder) for encoder, method in jobs]
    models = {encoder.record.fingerprint: encoder.record.name for encoder, _ in jobs}
    called = list(models.values())
    names = []
    for (encoder, _), record in zip(jobs, records, strict=True):
        alike = [other.parameters for other in records if other.name == record.name]
        differing = [
            f"{key} {value}" for key, value in record.parameters.items() if any(o.get(key) != value for o in alike)
        ]
        model = encoder.record.name
        if called.count(model) > 1:  # two models of one name
            model = f"{model} {encoder.record.fingerprint[:6]}"
        names.append(" · ".join([record.name, *differing, *([model] if len(models) > 1 else [])]))
    return [name if names.count(name) == 1 else f"{name} ({number + 1})" for number, name in enumerate(names)]
