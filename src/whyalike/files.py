"""Explanations as JSON: to keep, to send, to read back without a model.

Format, version 1: one JSON object with ``format`` = "whyalike explanation", ``version`` = 1, and the fields of
`Explanation` by their own names; arrays are nested lists of numbers, so a file reads back to the same doubles.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from whyalike.errors import DamagedFile, UnknownVersion
from whyalike.explanation import FORMAT, VERSION, Explanation, Measured, MethodRecord, ModelRecord
from whyalike.matching import Matching
from whyalike.sides import Side
from whyalike.untrusted import Fields, parse_json, read_text
from whyalike.whole_files import write_text


def save(explanation: Explanation, path: str | os.PathLike[str]) -> Path:
    """Writes an explanation. The file appears whole or not at all."""
    target = Path(path)
    text = json.dumps(explanation.to_dict(), ensure_ascii=False, allow_nan=False)
    write_text(target, text)
    return target


def load(path: str | os.PathLike[str]) -> Explanation:
    """Reads an explanation that `save` or ``whyalike explain --json`` wrote."""
    text = read_text(path, DamagedFile)
    try:
        fields = parse_json(text)
    except ValueError as error:
        raise DamagedFile(f"{path} is not JSON ({error}). Expected a file written by whyalike.save.") from error
    return explanation_from_dict(fields, source=str(path))


def explanation_from_dict(fields: Any, source: str = "the given value") -> Explanation:
    """The inverse of `Explanation.to_dict`; refuses what is damaged, inconsistent or of another version."""
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise DamagedFile(f"{source} is not a whyalike explanation: its 'format' should be {FORMAT!r}.")
    if fields.get("version") != VERSION:
        raise UnknownVersion(
            f"{source} has version {fields.get('version')!r:.40}; this release reads version {VERSION}. "
            "Explain the pair again, or use the release that wrote the file."
        )
    try:
        given = Fields(fields)
        explanation, stated = _explanation(given), given.number("residual")
    except ValueError as error:
        raise DamagedFile(f"{source} is damaged: {error}. Expected the fields of an Explanation.") from error
    if not abs(explanation.residual - stated) <= 1e-9 * max(1.0, abs(explanation.score)):  # also where either is NaN
        raise DamagedFile(
            f"{source} is damaged: its parts leave {explanation.residual!r}, but it states a residual of {stated!r}."
        )
    return explanation


def _explanation(given: Fields) -> Explanation:
    left, right = (Side.from_dict(given.fields(name)) for name in ("left", "right"))
    matching = None if given.value.get("matching") is None else Matching.from_dict(given.fields("matching"))
    for side, name in ((left, "left_saliency"), (right, "right_saliency")):
        if matching is not None and side.unit == "word" and len(getattr(matching, name)) != len(side):
            raise ValueError(f"{name} has {len(getattr(matching, name))} values for {len(side)} words")
    return Explanation(
        left=left,
        right=right,
        matrix=given.numbers("matrix", len(left), len(right)),
        left_terms=given.numbers("left_terms", len(left)),
        right_terms=given.numbers("right_terms", len(right)),
        constant=given.number("constant"),
        score=given.number("score"),
        method=_method(given.fields("method")),
        model=_model(given.fields("model")),
        measured=_measured(given.fields("measured")),
        matching=matching,
    )


def _method(given: Fields) -> MethodRecord:
    parameters = given.fields("parameters")
    if not isinstance(parameters["layer"], int | str | None):  # "embeddings" is the layer of some
        raise ValueError(f"'layer' of the method should be a number or a name; got {parameters['layer']!r:.40}")
    return MethodRecord(name=given.text("name"), parameters=parameters.plain(), adds_up=given.flag("adds_up"))


def _model(given: Fields) -> ModelRecord:
    return ModelRecord(
        name=given.text("name"),
        similarity=given.choice("similarity", ("cosine", "dot")),
        pooling=given.text("pooling"),
        layers=given.whole("layers"),
        dim=given.whole("dim"),
        max_tokens=None if given["max_tokens"] is None else given.whole("max_tokens"),
        fingerprint=given.text("fingerprint"),
    )


def _measured(given: Fields) -> dict[str, Measured]:
    """Nothing, or what was measured on each side: names with a number, a text, a flag or nothing each."""
    if given.value and given.value.keys() != {"left", "right"}:
        raise ValueError(f"'measured' should have left and right, or nothing; got {list(given.value)!r:.60}")
    found = {}
    for name in given.value:
        side = given.fields(name)
        found[name] = side.plain()
        if "error" in side.value:  # of an integral; its steps are stated beside it
            side.number("error"), side.whole("steps")
    return found
