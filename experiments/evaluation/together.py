"""One table of several runs over the same pairs, for subjects that were judged later than others.

    python -m experiments.evaluation.together human-edinburgh-MiniLM ROWS/human-edinburgh-MiniLM ROWS/human-edinburgh-null

The first name is that of the result, in `experiments/evaluation/results/`. Subjects stand in the order of the folders; one that
is in several counts as in the last. `request` is the first run's, with the subjects of all and the `runs` by name.
With `--finished` a run that did not come to its end counts too: the result is of the pairs that all runs have, and says so.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import whyalike
from experiments.evaluation.run import RESULTS, tell
from whyalike.evaluate.measures import MEASURES
from whyalike.evaluate.run import ROWS, Evaluation, summarize
from whyalike.storage.run_folder import REQUEST, read_request
from whyalike.storage.writing import whole_lines

SAME = ("version", "measure", "models", "pairs", "data")


def together(folders: Sequence[Path], encoder: whyalike.Encoder, *, finished: bool = False) -> Evaluation:
    """The runs' rows pair by pair, judged as those of one run are."""
    asked = [read_request(folder / REQUEST) for folder in folders]
    for folder, one in zip(folders, asked, strict=True):
        there, here = ({**{key: each[key] for key in SAME}, **each["parameters"]} for each in (asked[0], one))
        for key in there.keys() & here.keys():  # by_totals.py has a parameter of its own
            if here[key] != there[key]:
                raise SystemExit(f"{folder}: {key} is {here[key]!r}; in {folders[0]} it is {there[key]!r}.")
    if encoder.record.fingerprint != asked[0]["models"][""]["fingerprint"]:
        raise SystemExit(f"The runs are of {asked[0]['model']}, which is not the model given. Name it with --model.")
    of_runs = [
        {each["case"]: each for each in map(json.loads, whole_lines(folder / ROWS).splitlines())} for folder in folders
    ]
    for folder, found in zip(folders, of_runs, strict=True):
        if len(found) < asked[0]["pairs"] and not finished:
            raise SystemExit(
                f"{folder} has {len(found)} of {asked[0]['pairs']} pairs. Let the run go on to its end, or give --finished."
            )
    numbers = sorted(set.intersection(*map(set, of_runs)))
    entries: dict[int, dict[str, Any]] = {number: {"cut": False, "errors": {}, "rows": {}} for number in numbers}
    for found in of_runs:
        for number, entry in entries.items():
            entry["cut"] |= found[number]["cut"]
            entry["errors"] |= found[number]["errors"]
            entry["rows"] |= {row["subject"]: row for row in found[number]["rows"]}
    subjects = {
        name: full for one in asked for name, full in zip(one["subjects"], one["subjects_in_full"], strict=True)
    }
    of_all = {"subjects": list(subjects), "subjects_in_full": list(subjects.values())}
    kind, parameters = MEASURES[asked[0]["measure"]].load(), asked[0]["parameters"]
    return summarize(
        kind(**{each.name: parameters[each.name] for each in fields(kind) if each.name in parameters}),
        {**asked[0], **of_all, "runs": [folder.name for folder in folders], "finished": len(numbers)},
        [{**entry, "rows": list(entry["rows"].values())} for entry in entries.values()],
        {"": encoder},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--model")
    parser.add_argument("--finished", action="store_true", help="of the pairs that all runs have finished")
    given = parser.parse_args()
    encoder = whyalike.load_encoder(given.model)
    tell(together(given.folders, encoder, finished=given.finished), RESULTS / f"{given.name}.json")


if __name__ == "__main__":
    main()
