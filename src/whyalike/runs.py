"""Long runs that can be taken up again: what was asked is written down beside the work, and must be the same then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whyalike.errors import BadInput, DamagedFile
from whyalike.whole_files import whole_file

ASKED = "asked.json"


def write_asked(state: Path, asked: Mapping[str, Any]) -> None:
    state.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(state) as part:
        part.write_text(json.dumps(asked), encoding="utf-8")


def is_empty(folder: Path) -> bool:
    """Whether a run can begin there: what a killed one was about to write does not count, and is taken away."""
    there = [*folder.iterdir()] if folder.exists() else []
    if not all(path.match(f"{ASKED}.*.part") for path in there):
        return False
    for part in there:
        part.unlink(missing_ok=True)
    return True


def read_asked(state: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(state.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise DamagedFile(f"{state} is damaged ({error}). Empty the folder, and begin anew.") from error


def check_asked(state: Path, asked: Mapping[str, Any], folder: Path, advice: str) -> None:
    """Refuses to go on with a run that was asked for differently."""
    before, now = read_asked(state), json.loads(json.dumps(asked))
    changed = [key for key in {*before, *now} if before.get(key) != now.get(key)]
    for key in sorted(changed, key=lambda key: (key == "data", key)):  # what was set before what it changed
        was = "the data were others" if key == "data" else f"{key} was {before.get(key)!r}, now {now.get(key)!r}"
        raise BadInput(f"{folder} holds a run that was asked for differently: {was}. {advice}")


def digest(data: Any) -> str:
    """Tells data apart: a run is taken up on the same data only."""
    return hashlib.sha256(json.dumps(data).encode("utf-8", "surrogatepass")).hexdigest()[:16]
