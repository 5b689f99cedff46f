"""Runs a measure over pairs: explained some at a time, every finished pair written down, so a killed run goes on."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import accumulate, islice
from pathlib import Path
from time import monotonic
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
from whyalike.explanation import Contributions, Explanation
from whyalike.front_door import checked_texts
from whyalike.methods import Method
from whyalike.runs import ASKED, check_asked, digest, is_empty, write_asked
from whyalike.whole_files import whole_lines

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
FIRST, TOGETHER = 4, 32  # cases explained at a time, at first and at most
PATIENCE = 20.0  # seconds that explaining them may take
KEPT = 2**28  # bytes of contributions of texts that come again
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
    log = _Log(Path(folder) if folder is not None else None, json.loads(json.dumps(asked)))
    with tqdm(total=len(cases), initial=len(log.entries), desc=measure.name, disable=not progress) as bar:
        todo = [case for case in cases if case.number not in log.entries]
        for case, found in _explained(todo, judged, encoders, progress):
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
    """Some at a time, fewer where they take long: a killed run loses what it had not written down.

    A text that comes again is not explained again, as long as what is kept of such texts fits into `KEPT`.
    """
    remaining, together = iter(cases), FIRST
    to_come = Counter(text for case in cases for text in (case.left, case.right))
    looked_at = {(judged.looks_at, name): judged for judged in subjects for name in encoders}
    known: dict[tuple[Method, str], dict[str, Contributions]] = {key: {} for key in looked_at}
    while some := list(islice(remaining, together)):
        began = monotonic()
        pairs = [(case.left, case.right) for case in some]
        to_come.subtract(text for pair in pairs for text in pair)
        sources = {
            key: judged.sources(pairs, encoders[key[1]], known=known[key], progress=progress)
            for key, judged in looked_at.items()
        }
        for key, parts in known.items():
            known[key] = _kept({text: part for text, part in parts.items() if to_come[text]}, KEPT // len(known))
        found = {
            (judged.name, name): [judged.seen(source) for source in sources[judged.looks_at, name]]
            for judged in subjects
            for name in encoders
        }
        together = min(2 * together, TOGETHER) if monotonic() - began < PATIENCE else max(1, together // 2)
        for number, case in enumerate(some):
            yield case, {key: explanations[number] for key, explanations in found.items()}


def _kept(parts: Mapping[str, Contributions], most: int) -> dict[str, Contributions]:
    """The first of them, up to so many bytes."""
    sizes = accumulate(part.tokens.nbytes for part in parts.values())
    return {text: part for (text, part), size in zip(parts.items(), sizes, strict=True) if size <= most}


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
    """Finished pairs, on disk where there is a folder: one line each, so that a line is whole or absent."""

    def __init__(self, folder: Path | None, asked: Mapping[str, Any]) -> None:
        self.path = None if folder is None else folder / ROWS
        self.entries: dict[int, Row] = {}
        if folder is None:
            return
        if folder.exists() and not folder.is_dir():
            raise BadInput(f"{folder} is a file; expected a folder. Give another.")
        folder.mkdir(parents=True, exist_ok=True)
        state = folder / ASKED
        if state.is_file():
            check_asked(state, asked, folder, "Give another folder.")
        elif not is_empty(folder):
            raise BadInput(f"{folder} exists and holds something else. Give another folder, or empty this one.")
        else:
            write_asked(state, asked)
        self._read(folder / ROWS)

    def _read(self, path: Path) -> None:
        if not path.is_file():
            return
        whole = whole_lines(path)
        if len(whole) < path.stat().st_size:
            os.truncate(path, len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                entry = json.loads(line)
                self.entries[entry["case"]] = entry
            except (ValueError, TypeError, KeyError) as error:
                raise DamagedFile(
                    f"Line {number} of {path} is damaged ({error}). Take it out, and its pair is judged anew."
                ) from error

    def write(self, entry: Row) -> None:
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(entry) + "\n")
        self.entries[entry["case"]] = entry
