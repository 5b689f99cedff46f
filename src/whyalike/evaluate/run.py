"""Runs a measure over pairs: explained some at a time, every finished pair written down, so that a killed run goes on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from scipy.stats import wilcoxon
from tqdm import tqdm

from whyalike import __version__
from whyalike.data_sets import evenly
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, DamagedFile, WhyalikeError, unknown
from whyalike.evaluate import notes
from whyalike.evaluate.agreement import Agreement, Sts
from whyalike.evaluate.human import Human
from whyalike.evaluate.measure import Case, Measure, Row
from whyalike.evaluate.perturbation import EmbeddingPerturbation, ScorePerturbation
from whyalike.evaluate.randomization import Randomization
from whyalike.evaluate.significance import holm
from whyalike.evaluate.subjects import Subject, chosen
from whyalike.evaluate.sums import Balance, Conservation, GroundTruth
from whyalike.explanation import Explanation
from whyalike.front_door import checked_texts
from whyalike.runs import begin_or_resume, digest, held
from whyalike.untrusted import Fields, parse_json
from whyalike.whole_files import append_line, drop_cut_off_line, whole_lines

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
TOGETHER = (
    16  # cases explained at a time. Always the same ones: a number's last digits depend on what it is computed with
)
ROWS = "rows.jsonl"
SAME = 1e-7  # a difference that is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The rows of every pair, the table made of them, and which differences between subjects are more than chance."""

    measure: str
    asked: Mapping[str, Any]
    rows: tuple[Row, ...]
    table: tuple[Row, ...]
    headline: str
    higher_is_better: bool | None
    notes: tuple[str, ...] = ()  # what a reader should know of how it was measured

    @classmethod
    def of(
        cls, measure: Measure, asked: Mapping[str, Any], entries: Sequence[Row], encoders: Mapping[str, Encoder]
    ) -> Evaluation:
        """What the entries of finished pairs come to."""
        rows = [row for entry in entries for row in entry["rows"]]
        return cls(
            measure.name,
            asked,
            tuple(rows),
            tuple(measure.table(rows)),
            measure.headline,
            measure.higher_is_better,
            notes.of_run(measure, encoders, entries),
        )

    def significance(self) -> list[Row]:
        """Wilcoxon's signed-rank test, two-sided, on pairs that both subjects have, for every two subjects (of one stage).

        ``p_adjusted`` is Holm's: so many comparisons would find something by chance.
        """
        values: dict[str, dict[int, float]] = {}
        stages = {row["subject"]: row.get("stage") for row in self.rows}
        for row in self.rows:
            if row.get(self.headline) is not None and not row.get("control"):
                values.setdefault(row["subject"], {})[row["case"]] = row[self.headline]
        names = list(values)
        found: list[Row] = []
        for index, one in enumerate(names):
            for other in (each for each in names[index + 1 :] if stages[each] == stages[one]):
                shared = sorted(values[one].keys() & values[other].keys())
                gaps = np.array([values[one][case] - values[other][case] for case in shared])
                gaps[np.abs(gaps) < SAME] = 0
                p = float(wilcoxon(gaps).pvalue) if len(gaps) > 4 and gaps.any() else None
                mean = float(gaps.mean()) if len(gaps) else None
                found.append({"one": one, "other": other, "pairs": len(gaps), "mean_difference": mean, "p": p})
        for line, adjusted in zip(found, holm([line["p"] for line in found]), strict=True):
            line["p_adjusted"] = adjusted
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "measure": self.measure,
            "asked": dict(self.asked),
            "headline": self.headline,
            "higher_is_better": self.higher_is_better,
            "notes": list(self.notes),
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
    if len({case.number for case in cases}) < len(cases):
        raise BadInput("Two cases have the same number. Make them with one call of cases_of, or number them apart.")
    judged = chosen(subjects) if measure.name != "sts" else []
    encoders = {"": encoder, **{f" on {name}": each for name, each in (others or {}).items()}}
    _check(measure, judged, encoders)
    check_texts(cases, encoders)
    asked = {
        "version": __version__,
        "measure": measure.name,
        "parameters": {
            each.name: getattr(measure, each.name)
            for each in fields(cast(Any, measure))
            if not each.name.startswith("_")
        },
        "subjects": [each.name for each in judged],
        "subjects_in_full": [[each.view, each.method and asdict(each.method.record(encoder))] for each in judged],
        "models": {name: asdict(each.record) for name, each in encoders.items()},
        "model": encoder.record.name,
        "pairs": len(cases),
        "data": digest([asdict(case) for case in map(_plain, cases)]),
    }
    measure = measure.prepare(judged, cases)
    place = Path(folder) if folder is not None else None
    with nullcontext() if place is None else held(place):
        log = _Log(place, asked)
        with tqdm(total=len(cases), initial=len(log.entries), desc=measure.name, disable=not progress) as bar:
            for start in range(0, len(cases), TOGETHER):
                some = cases[start : start + TOGETHER]
                if all(case.number in log.entries for case in some):
                    continue
                for case, found in _explained(some, judged, encoders, progress):
                    if case.number in log.entries:
                        continue
                    rows = [{"case": case.number, **row} for row in _rows(measure, case, found, encoders)]
                    log.write({"case": case.number, **notes.of_case(case, found, encoders), "rows": rows})
                    bar.update()
    entries = [log.entries[case.number] for case in cases]
    return Evaluation.of(measure, asked, entries, encoders)


def _check(measure: Measure, subjects: Sequence[Subject], encoders: Mapping[str, Encoder]) -> None:
    """Before any work is done."""
    if measure.joint and len(subjects) * len(encoders) < 2:
        raise BadInput(
            f"{measure.name} compares at least two subjects or models. Give another method, or another model."
        )
    check_subjects(subjects, encoders)


def check_subjects(subjects: Sequence[Subject], encoders: Mapping[str, Encoder]) -> None:
    """Before any work is done: whether every method can be had from every model."""
    for judged in subjects:
        for encoder in encoders.values():
            if judged.method is not None:
                judged.method.check(encoder)


def check_texts(cases: Sequence[Case], encoders: Mapping[str, Encoder]) -> None:
    """A text that no model reads ends a run when its turn comes, and mending it makes another run: so it is found before."""
    for case in cases:
        try:
            texts = checked_texts((case.left, case.right))
            for encoder in encoders.values():
                encoder.read(texts, truncate=True)
        except WhyalikeError as error:
            raise BadInput(f"Pair {case.number + 1}: {error}") from error


def _plain(case: Case) -> Case:
    """A case whose sets are in an order, to be told from another."""
    if case.aligned is None:
        return case
    links = (tuple(sorted(each)) for each in (case.aligned.sure, case.aligned.possible))
    sure, possible = links
    return replace(case, aligned=replace(case.aligned, sure=sure, possible=possible))  # type: ignore[arg-type]


def cases_of(pairs: Iterable[tuple[str, str]], scores: Iterable[float] | None = None) -> list[Case]:
    """Plain pairs as cases."""
    texts, known = list(pairs), None if scores is None else list(scores)
    if known is not None and len(known) != len(texts):
        raise BadInput(f"There are {len(texts)} pairs, but {len(known)} scores. Give one score per pair, or none.")
    return [Case(n, left, right, known[n] if known else None) for n, (left, right) in enumerate(texts)]


def _explained(
    cases: Sequence[Case], subjects: Sequence[Subject], encoders: Mapping[str, Encoder], progress: bool
) -> Iterator[tuple[Case, dict[tuple[str, str], Explanation]]]:
    """Each case with what every subject says of it on every model. What two subjects look at is computed once."""
    pairs = [(case.left, case.right) for case in cases]
    looked_at = {(judged.looks_at, name): judged for judged in subjects for name in encoders}
    sources = {key: judged.sources(pairs, encoders[key[1]], progress=progress) for key, judged in looked_at.items()}
    for number, case in enumerate(cases):
        yield (
            case,
            {
                (judged.name, name): judged.seen(sources[judged.looks_at, name][number])
                for judged in subjects
                for name in encoders
            },
        )


def _rows(
    measure: Measure, case: Case, found: Mapping[tuple[str, str], Explanation], encoders: Mapping[str, Encoder]
) -> list[Row]:
    """Each model's explanations are judged by that model; only a joint measure sees them side by side."""
    if measure.joint:
        together = {f"{subject}{model}": e for (subject, model), e in found.items()}
        return measure.rows(case, together, next(iter(encoders.values())))
    rows: list[Row] = []
    for model, encoder in encoders.items():
        own = {subject: e for (subject, where), e in found.items() if where == model}
        rows += [{**row, "subject": f"{row['subject']}{model}"} for row in measure.rows(case, own, encoder)]
    return rows


def spread_evenly(cases: Sequence[Case], count: int) -> list[Case]:
    """So many cases from all over, numbered anew."""
    return [replace(cases[index], number=number) for number, index in enumerate(evenly(len(cases), count))]


class _Log:
    """Finished pairs, on disk where there is a folder: one line each."""

    def __init__(self, folder: Path | None, asked: Mapping[str, Any]) -> None:
        self.path = None if folder is None else folder / ROWS
        self.entries: dict[int, Row] = {}
        if folder is not None and self.path is not None:
            begin_or_resume(folder, asked)
            drop_cut_off_line(self.path)
            self._read(self.path)

    def _read(self, path: Path) -> None:
        for number, line in enumerate(whole_lines(path).split(b"\n")[:-1] if path.is_file() else (), 1):
            try:
                entry = Fields(parse_json(line.decode()))
                entry.flag("cut"), entry.fields("errors")
                for row in entry.list("rows"):
                    Fields(row, "a row").text("subject")
                self.entries[entry.whole("case")] = entry.value
            except ValueError as error:
                raise DamagedFile(
                    f"Line {number} of {path} is damaged: {error}. Delete the line, and its pair is judged again."
                ) from error

    def write(self, entry: Row) -> None:
        if self.path is not None:
            append_line(self.path, entry)
        self.entries[entry["case"]] = entry
