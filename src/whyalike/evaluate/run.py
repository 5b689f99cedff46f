"""Runs a measure over pairs: explained some at a time, every finished pair written down, so a killed run goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from scipy.stats import wilcoxon
from tqdm import tqdm

from whyalike import __version__
from whyalike.data_sets import evenly
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, unknown
from whyalike.evaluate.agreement import Agreement, Sts
from whyalike.evaluate.human import Human
from whyalike.evaluate.measure import Case, Measure, Row
from whyalike.evaluate.perturbation import EmbeddingPerturbation, ScorePerturbation
from whyalike.evaluate.randomization import Randomization
from whyalike.evaluate.subjects import Subject, subject
from whyalike.evaluate.sums import Balance, Conservation, GroundTruth
from whyalike.explanation import Explanation
from whyalike.runs import check_asked, digest, write_asked

MEASURES: Mapping[str, type[Measure]] = MappingProxyType(
    {
        "perturbation": ScorePerturbation,
        "perturbation_embedding": EmbeddingPerturbation,
        "conservation": Conservation,
        "ground_truth": GroundTruth,
        "randomization": Randomization,
        "agreement": Agreement,
        "balance": Balance,
        "human": Human,
        "sts": Sts,
    }
)
TOGETHER = 32  # cases explained at a time
ROWS, ASKED = "rows.jsonl", "asked.json"


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The rows of every pair, the table made of them, and which differences between subjects are more than chance."""

    measure: str
    asked: Mapping[str, Any]
    rows: tuple[Row, ...]
    table: tuple[Row, ...]
    headline: str
    higher_is_better: bool | None

    def significance(self) -> list[Row]:
        """Wilcoxon's signed-rank test, two-sided, on pairs that both subjects have, for every two subjects.

        ``p_adjusted`` is Holm's: so many comparisons would find something by chance.
        """
        values: dict[str, dict[int, float]] = {}
        for row in self.rows:
            if row.get(self.headline) is not None and not row.get("control"):
                values.setdefault(row["subject"], {})[row["case"]] = row[self.headline]
        names = list(values)
        found: list[Row] = []
        for index, one in enumerate(names):
            for other in names[index + 1 :]:
                shared = sorted(values[one].keys() & values[other].keys())
                gaps = np.array([values[one][case] - values[other][case] for case in shared])
                p = float(wilcoxon(gaps).pvalue) if len(gaps) > 4 and gaps.any() else None
                mean = float(gaps.mean()) if len(gaps) else None
                found.append({"one": one, "other": other, "pairs": len(gaps), "mean_difference": mean, "p": p})
        _adjust(found)
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "measure": self.measure,
            "asked": dict(self.asked),
            "headline": self.headline,
            "higher_is_better": self.higher_is_better,
            "table": list(self.table),
            "significance": self.significance(),
        }


def evaluate(
    measure: str | Measure,
    cases: Sequence[Case],
    *,
    encoder: Encoder,
    subjects: Sequence[str | Subject] = ("bilrp", "integrated_jacobians", "token_outputs", "random"),
    others: Mapping[str, Encoder] | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Evaluation:
    """Judge subjects (methods, and how they are looked at) by a measure.

    ``others`` are more encoders by name: every subject is then judged on each of them too. With ``folder`` every finished pair
    is written down; the same call again goes on where a killed one was.

    >>> cases = cases_of([("A man plays guitar.", "Someone makes music.")])                 # doctest: +SKIP
    >>> evaluate("balance", cases, encoder=encoder, subjects=["bilrp"]).table               # doctest: +SKIP
    """
    if isinstance(measure, str):
        if measure not in MEASURES:
            raise unknown("measure", measure, MEASURES)
        measure = MEASURES[measure]()
    if not cases:
        raise BadInput("Expected at least one pair to evaluate on.")
    chosen = [subject(each) if isinstance(each, str) else each for each in subjects] if measure.name != "sts" else []
    encoders = {"": encoder, **{f" on {name}": each for name, each in (others or {}).items()}}
    for judged in chosen:
        for each in encoders.values():
            if judged.method is not None:
                judged.method.check(each)  # before any work is done
    asked = {
        "measure": measure.name,
        "parameters": {
            each.name: getattr(measure, each.name)
            for each in fields(cast(Any, measure))
            if not each.name.startswith("_")
        },
        "subjects": [each.name for each in chosen],
        "models": {name: asdict(each.record) for name, each in encoders.items()},
        "model": encoder.record.name,
        "pairs": len(cases),
        "data": _digest(cases),
    }
    measure.prepare(chosen)
    log = _Log(Path(folder) if folder is not None else None, json.loads(json.dumps(asked)))
    rows = list(log.rows)
    with tqdm(total=len(cases), initial=len(log.done), desc=measure.name, disable=not progress) as bar:
        todo = [case for case in cases if case.number not in log.done]
        for case, found in _explained(todo, chosen, encoders, progress):
            fresh = [{"case": case.number, **row} for row in _rows(measure, case, found, encoders)]
            log.write(case.number, fresh)
            rows += fresh
            bar.update()
    rows.sort(key=lambda row: row["case"])
    table = measure.table(rows) if rows else []
    return Evaluation(measure.name, asked, tuple(rows), tuple(table), measure.headline, measure.higher_is_better)


def cases_of(pairs: Iterable[tuple[str, str]], scores: Iterable[float] | None = None) -> list[Case]:
    """Plain pairs as cases."""
    known = list(scores) if scores is not None else None
    return [Case(n, left, right, known[n] if known else None) for n, (left, right) in enumerate(pairs)]


def _explained(
    cases: Sequence[Case], subjects: Sequence[Subject], encoders: Mapping[str, Encoder], progress: bool
) -> Iterator[tuple[Case, dict[tuple[str, str], Explanation]]]:
    remaining = iter(cases)
    while some := list(islice(remaining, TOGETHER)):
        pairs = [(case.left, case.right) for case in some]
        sources = {judged.source: judged for judged in subjects}
        computed = {
            (source, name): list(judged.computed(pairs, encoder, progress=progress))
            for source, judged in sources.items()
            for name, encoder in encoders.items()
        }
        found = {
            (judged.name, name): [judged.seen(e) for e in computed[judged.source, name]]
            for judged in subjects
            for name in encoders
        }
        for number, case in enumerate(some):
            yield case, {key: explanations[number] for key, explanations in found.items()}


def _rows(
    measure: Measure, case: Case, found: Mapping[tuple[str, str], Explanation], encoders: Mapping[str, Encoder]
) -> list[Row]:
    """Each model's explanations are judged by that model; only a joint measure sees them side by side."""
    if measure.joint:
        together = {f"{subject}{model}": e for (subject, model), e in found.items()}
        return measure.rows(case, together, next(iter(encoders.values())))
    rows = []
    for model, encoder in encoders.items():
        own = {subject: e for (subject, where), e in found.items() if where == model}
        for row in measure.rows(case, own, encoder):
            rows.append({**row, "subject": f"{row['subject']}{model}"})
    return rows


def _adjust(lines: list[Row]) -> None:
    """Holm's step-down adjustment, written into the lines."""
    known = sorted((line for line in lines if line["p"] is not None), key=lambda line: line["p"])
    largest = 0.0
    for line in lines:
        line["p_adjusted"] = None
    for rank, line in enumerate(known):
        largest = max(largest, min(1.0, line["p"] * (len(known) - rank)))
        line["p_adjusted"] = largest


def _digest(cases: Sequence[Case]) -> str:
    return digest(
        [
            (case.number, case.left, case.right, case.score, case.aligned and sorted(case.aligned.sure), case.truth)
            for case in cases
        ]
    )


def spread_evenly(cases: Sequence[Case], count: int) -> list[Case]:
    """So many cases from all over, numbered anew."""
    return [replace(cases[index], number=number) for number, index in enumerate(evenly(len(cases), count))]


class _Log:
    """Finished pairs on disk: one line each, so that a line is whole or absent."""

    def __init__(self, folder: Path | None, asked: Mapping[str, Any]) -> None:
        self.path = None if folder is None else folder / ROWS
        self.rows: list[Row] = []
        self.done: set[int] = set()
        if folder is None or self.path is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        state = folder / ASKED
        if state.is_file():
            check_asked(state, asked, folder, "Give another folder.")
        elif any(folder.iterdir()):
            raise BadInput(f"{folder} exists and holds something else. Give another folder, or empty this one.")
        else:
            write_asked(state, asked)
        self._read()

    def _read(self) -> None:
        assert self.path is not None
        if not self.path.is_file():
            return
        whole = []
        for line in self.path.read_text(encoding="utf-8").splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # cut off when the run was killed
            entry = json.loads(line)
            self.done.add(entry["case"])
            self.rows += entry["rows"]
            whole.append(line)
        self.path.write_text("".join(whole), encoding="utf-8")

    def write(self, case: int, rows: list[Row]) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as out:
                out.write(json.dumps({"case": case, "rows": rows}) + "\n")
