"""The inverse of `asdict` of records: who made a result, and what was measured. Raises ValueError for anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from whyalike.results.records import MODEL_KINDS, SIMILARITIES, Measured, MethodRecord, ModelRecord, ScoreRange
from whyalike.storage.reading import Fields


def read_method(given: Fields) -> MethodRecord:
    parameters = given.fields("parameters")
    if not isinstance(parameters["layer"], int | str | None):  # "embeddings" is the layer of some
        raise ValueError(f"'layer' of the method should be a number or a name; got {parameters['layer']!r:.40}")
    return MethodRecord(
        name=given.text("name"),
        parameters=parameters.plain(),
        adds_up=given.flag("adds_up"),
        cells=given.choice("cells", ("sums", "means", "same words")) if "cells" in given.value else "sums",
    )


def read_model(given: Fields) -> ModelRecord:
    return ModelRecord(
        name=given.text("name"),
        similarity=given.choice("similarity", SIMILARITIES),
        pooling=given.text("pooling"),
        layers=given.whole("layers"),
        dim=given.whole("dim"),
        max_tokens=None if given["max_tokens"] is None else given.whole("max_tokens"),
        fingerprint=given.text("fingerprint"),
        pooling_assumed=given.flag("pooling_assumed") if "pooling_assumed" in given.value else False,
        kind=given.choice("kind", MODEL_KINDS) if "kind" in given.value else "dense",
        score_range=None if given.value.get("score_range") is None else _score_range(given.fields("score_range")),
    )


def _score_range(given: Fields) -> ScoreRange:
    return ScoreRange(*(given.number(each.name) for each in fields(ScoreRange)))


def read_measured_sides(given: Fields) -> dict[str, Measured]:
    """Nothing, or what was measured on each side."""
    if given.value and given.value.keys() != {"left", "right"}:
        raise ValueError(f"'measured' should have left and right, or nothing; got {list(given.value)!r:.60}")
    return {name: read_measured(given.fields(name)) for name in given.value}


def read_measured(given: Fields) -> Measured:
    readers: dict[str, Callable[[str], Any]] = {
        "int | None": given.whole,
        "float | None": given.number,
        "str | None": given.text,
    }
    types = {each.name: str(each.type) for each in fields(Measured)}
    if strange := given.value.keys() - types.keys():
        raise ValueError(f"{given.name} has unknown entries: {sorted(strange)!r:.60}")
    return Measured(**{name: readers[types[name]](name) for name in given.value})
