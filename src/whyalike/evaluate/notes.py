"""What a reader of a result should know of how it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.evaluate.measure import Case, Measure, Row
from whyalike.results.explanation import Explanation

Found = Mapping[tuple[str, str], Explanation]  # by subject and model
STATED = {  # what methods state of their own error
    "error": "integration error:",
    "reference_size": "norm of the null reference's embedding, relative to the text's:",
}


def of_case(case: Case, found: Found, encoders: Mapping[str, Encoder]) -> Row:
    """What is written down with a pair's rows."""
    return {"cut": _cut(case, found, encoders), "errors": _errors(found)}


def of_run(measure: Measure, encoders: Mapping[str, Encoder], entries: Sequence[Row]) -> tuple[str, ...]:
    """What is said with the result, of the measure and of all that was written down."""
    return (*_of_measure(measure, encoders), *_left_out(entries), *_inexact(entries))


def _cut(case: Case, found: Found, encoders: Mapping[str, Encoder]) -> bool:
    """Whether a model did not read all of the pair."""
    sides = [side for e in found.values() for side in (e.left, e.right)] or [
        reading.side for encoder in encoders.values() for reading in encoder.read_pair(case.left, case.right)
    ]
    return any(side.truncated for side in sides)


def _errors(found: Found) -> dict[str, dict[str, float]]:
    """What methods state of their own error, the larger of both texts."""
    errors = {}
    for (name, model), e in found.items():
        stated = {}
        for key in STATED:
            values = [getattr(side, key) for side in e.measured.values()]
            if values and None not in values:
                stated[key] = float(max(values))
        if stated:
            errors[f"{name}{model}"] = stated
    return errors


def _of_measure(measure: Measure, encoders: Mapping[str, Encoder]) -> list[str]:
    """What is said of every model once, what differs with the model's name."""
    notes = {
        name.removeprefix(" on ") or encoder.record.name: measure.notes(encoder) for name, encoder in encoders.items()
    }
    if len(set(notes.values())) == 1:
        return list(next(iter(notes.values())))
    return [f"{name}: {note}" for name, every in notes.items() for note in every]


def _inexact(entries: Sequence[Row]) -> list[str]:
    """The errors that methods state; subjects with the same share a note."""
    notes: dict[str, list[str]] = {}
    for key, words in STATED.items():
        names = dict.fromkeys(name for entry in entries for name, stated in entry["errors"].items() if key in stated)
        for name in names:
            values = [entry["errors"][name][key] for entry in entries if key in entry["errors"].get(name, {})]
            note = f"{words} mean {100 * np.mean(values):.2g} %, maximum {100 * max(values):.2g} %."
            notes.setdefault(note, []).append(name)
    return [f"{', '.join(names)}: {note}" for note, names in notes.items()]


def _left_out(entries: Sequence[Row]) -> list[str]:
    cut, none = sum(entry["cut"] for entry in entries), sum(not entry["rows"] for entry in entries)
    notes = []
    if cut:
        notes.append(f"{cut} of {len(entries)} pairs are longer than the model reads; only what it read was evaluated.")
    if none:
        notes.append(f"{none} of {len(entries)} pairs were skipped: the measure does not apply to them.")
    return notes
