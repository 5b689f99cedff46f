"""Explanations as JSON: to keep, to send, to read back without a model.

Format, version 1: one JSON object with ``format`` = "whyalike explanation", ``version`` = 1, and the fields of
`Explanation` by their own names; arrays are nested lists of numbers, so a file reads back to the same doubles.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from whyalike.errors import DamagedFile, UnknownVersion
from whyalike.explanation import FORMAT, VERSION, Explanation, MethodRecord, ModelRecord
from whyalike.matching import Matching
from whyalike.sides import Side
from whyalike.whole_files import whole_file


def save(explanation: Explanation, path: str | os.PathLike[str]) -> Path:
    """Writes an explanation. The file appears whole or not at all."""
    target = Path(path)
    text = json.dumps(explanation.to_dict(), ensure_ascii=False, allow_nan=False)
    with whole_file(target) as part:
        part.write_text(text, encoding="utf-8")
    return target


def load(path: str | os.PathLike[str]) -> Explanation:
    """Reads an explanation that `save` or ``whyalike explain --json`` wrote."""
    try:
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DamagedFile(f"{path} is not JSON ({error}). Expected a file written by whyalike.save.") from error
    return explanation_from_dict(fields, source=str(path))


def explanation_from_dict(fields: Any, source: str = "the given value") -> Explanation:
    """The inverse of `Explanation.to_dict`; refuses what is damaged, inconsistent or of another version."""
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise DamagedFile(f"{source} is not a whyalike explanation: its 'format' should be {FORMAT!r}.")
    if fields.get("version") != VERSION:
        raise UnknownVersion(
            f"{source} has version {fields.get('version')!r}; this release reads version {VERSION}. "
            "Explain the pair again, or use the release that wrote the file."
        )
    try:
        explanation, stated = _build(fields), float(fields["residual"])
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"{source} is damaged: {type(error).__name__}: {error}. Expected the fields of an Explanation."
        ) from error
    if not abs(explanation.residual - stated) <= 1e-9 * max(1.0, abs(explanation.score)):  # also where either is NaN
        raise DamagedFile(
            f"{source} is damaged: its parts leave {explanation.residual!r}, but it states a residual of {stated!r}."
        )
    return explanation


def _build(fields: dict[str, Any]) -> Explanation:
    left, right = (Side.from_dict(fields[name]) for name in ("left", "right"))
    fields["method"]["parameters"]["layer"]  # every method has one
    matching = None if fields.get("matching") is None else Matching.from_dict(fields["matching"])
    for side, name in ((left, "left_saliency"), (right, "right_saliency")):
        if matching is not None and side.unit == "word" and len(getattr(matching, name)) != len(side):
            raise ValueError(f"{name} has {len(getattr(matching, name))} values for {len(side)} words")
    return Explanation(
        left=left,
        right=right,
        matrix=np.asarray(fields["matrix"], dtype=np.float64).reshape(len(left), len(right)),
        left_terms=np.asarray(fields["left_terms"], dtype=np.float64).reshape(len(left)),
        right_terms=np.asarray(fields["right_terms"], dtype=np.float64).reshape(len(right)),
        constant=float(fields["constant"]),
        score=float(fields["score"]),
        method=MethodRecord(**fields["method"]),
        model=ModelRecord(**fields["model"]),
        measured=dict(fields["measured"]),
        matching=matching,
    )
