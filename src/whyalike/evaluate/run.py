"""Runs a measure over pairs: explained some at a time, every finished pair written down, so that a killed run goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, cast

from tqdm import tqdm

from whyalike import __version__
from whyalike.data.alignments import SETS, read_alignments
from whyalike.data.pairs import check_text, number_pairs
from whyalike.data.tables import evenly, read_table
from whyalike.data.truth import read_truth
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.load import as_encoder
from whyalike.errors import BadInput, WhyalikeError
from whyalike.evaluate import notes
from whyalike.evaluate.measure import Case, Measure, Row
from whyalike.evaluate.measures import MEASURES, Needs, make_measure
from whyalike.evaluate.subjects import Subject, parse_subjects
from whyalike.language.segmenter import segmentation
from whyalike.methods import Method
from whyalike.methods.cache import ContributionCache
from whyalike.methods.tangents import GIBIBYTE
from whyalike.results.evaluation import Evaluation as Evaluation
from whyalike.results.explanation import Explanation
from whyalike.storage.reading import Fields
from whyalike.storage.run_folder import JsonLog, RunFolder, digest

TOGETHER = 16  # cases explained at a time, always the same ones: last digits depend on what is computed together
ROWS = "rows.jsonl"


def evaluate(
    measure: str | Measure,
    cases: str | os.PathLike[str] | Iterable[Case | tuple[str, str]],
    *,
    encoder: Encoder | str | os.PathLike[str] | None = None,
    subjects: Sequence[str | Method | Subject | Callable[[str, str], Any] | os.PathLike[str]] = (
        "bilrp",
        "integrated_jacobians",
        "token_outputs",
        "random",
    ),
    others: Mapping[str, Encoder | str | os.PathLike[str]] | None = None,
    folder: str | os.PathLike[str] | None = None,
    pairs: int | None = None,
    progress: bool = True,
) -> Evaluation:
    """Measure the quality of explanations.

    Args:
        measure: A measure by name (see `MEASURES`), or as it is.
        cases: Pairs of texts (a list, or a data frame with the columns left and right); a file or a data set by name, such as
            ``"multimwa-mtref-dev"``; or `Case` objects.
        encoder: The model, as in `whyalike.explain`.
        subjects: What is evaluated: methods as they are written (``"bilrp@5+aligned"``), `Method` objects of your own,
            functions ``(left, right) -> matrix``, or files of matrices.
        others: More encoders by name. Every subject is then evaluated on each of them too.
        folder: Where to keep the rows of every finished pair. If the run is interrupted, the same call resumes it.
        pairs: Use only so many pairs, spread evenly over the data.
        progress: Show a progress bar.

    Returns:
        The table, with a row per subject, and the significance of the differences.

    Example:
        >>> found = whyalike.evaluate("balance", [("A man plays guitar.", "Someone makes music.")])     # doctest: +SKIP
        >>> found.table                                                                                 # doctest: +SKIP
    """
    measure = make_measure(measure) if isinstance(measure, str) else measure
    entry = MEASURES.get(measure.name)
    given = _as_cases(cases, entry.needs if entry is not None else "pairs")
    given = given if pairs is None else spread_evenly(given, pairs)
    return _evaluate(measure, given, encoder, subjects, others or {}, folder, progress)


def _evaluate(
    measure: Measure,
    cases: Sequence[Case],
    encoder: Encoder | str | os.PathLike[str] | None,
    subjects: Sequence[str | Method | Subject | Callable[[str, str], Any] | os.PathLike[str]],
    others: Mapping[str, Encoder | str | os.PathLike[str]],
    folder: str | os.PathLike[str] | None,
    progress: bool,
) -> Evaluation:
    if not cases:
        raise BadInput("Expected at least one pair to evaluate on.")
    if len({case.number for case in cases}) < len(cases):
        raise BadInput("Two cases have the same number. Make them with one call of cases_of, or number them apart.")
    chosen = parse_subjects(subjects) if measure.explains else []
    first = as_encoder(encoder)
    encoders = {"": first, **{f" on {name}": as_encoder(each) for name, each in others.items()}}
    _check(measure, chosen, encoders)
    check_texts(cases, encoders)
    request = {
        "version": __version__,
        "measure": measure.name,
        "parameters": {
            each.name: getattr(measure, each.name)
            for each in fields(cast(Any, measure))
            if not each.name.startswith("_")
        },
        "subjects": [each.name for each in chosen],
        "subjects_in_full": [[each.view, asdict(each.method.record(first))] for each in chosen],
        "models": {name: asdict(each.record) for name, each in encoders.items()},
        "model": first.record.name,
        "pairs": len(cases),
        "data": digest([asdict(case) for case in map(_plain, cases)]),
        **segmentation(text for case in cases for text in (case.left, case.right)),
    }
    measure = measure.prepare(chosen, cases)
    place = Path(folder) if folder is not None else None
    with nullcontext() if place is None else RunFolder.open(place, request):
        log = JsonLog(None if place is None else place / ROWS, _check_entry)
        done = {entry["case"]: entry for entry in log.entries}
        with tqdm(total=len(cases), initial=len(done), desc=measure.name, disable=not progress, smoothing=0) as bar:
            for start in range(0, len(cases), TOGETHER):
                together = cases[start : start + TOGETHER]
                missing = [case for case in together if case.number not in done]
                if not missing:
                    continue
                cache = ContributionCache(GIBIBYTE)
                for case, found in _explained(together, chosen, encoders, cache, progress):
                    if case.number not in done:
                        rows = [{"case": case.number, **row} for row in _rows(measure, case, found, encoders, cache)]
                        entry = {"case": case.number, **notes.of_case(case, found, encoders), "rows": rows}
                        done[case.number] = entry
                        log.append(entry)
                bar.update(len(missing))
    entries = [done[case.number] for case in cases]
    return summarize(measure, request, entries, encoders)


def summarize(
    measure: Measure, request: Mapping[str, Any], entries: Sequence[Row], encoders: Mapping[str, Encoder]
) -> Evaluation:
    """What the entries of finished pairs come to."""
    rows = [row for entry in entries for row in entry["rows"]]
    return Evaluation(
        measure.name,
        request,
        tuple(rows),
        tuple(measure.table(rows)),
        measure.headline,
        measure.higher_is_better,
        notes.of_run(measure, encoders, entries),
    )


def read_cases(
    data: str | os.PathLike[str], needs: Needs = "pairs", columns: Mapping[str, str] | None = None
) -> list[Case]:
    """The cases of a file, or of a data set by name, with what a measure needs.

    Args:
        data: A table of pairs, a set of human alignments, or a ``truth-*.jsonl`` that ``whyalike train nouns`` wrote.
        needs: What the measure needs (``MEASURES[name].needs``).
        columns: What the file calls its columns, such as ``{"left": "question"}``.
    """
    source = str(data)
    if needs == "alignments" or source in SETS:
        return [Case(number, *each.pair, aligned=each) for number, each in enumerate(read_alignments(source))]
    if needs == "truth":
        if not Path(source).is_file():
            raise BadInput(f"There is no file {source!r}. Give a truth-*.jsonl that `whyalike train nouns` wrote.")
        return [Case(number, truth.left, truth.right, truth=truth) for number, truth in enumerate(read_truth(source))]
    needed = ("left", "right", "score") if needs == "scored pairs" else ("left", "right")
    return [Case(number, **row) for number, row in enumerate(read_table(source, needed, dict(columns or {})).rows)]


def _as_cases(cases: str | os.PathLike[str] | Iterable[Case | tuple[str, str]], needs: Needs) -> list[Case]:
    """Cases as they are; pairs of texts, the rows of a data frame, or a data set by name, numbered from 0."""
    if isinstance(cases, str | os.PathLike):
        return read_cases(cases, needs)
    given: Any = cases if hasattr(cases, "columns") else list(cases)
    if isinstance(given, list) and any(isinstance(case, Case) for case in given):
        return [case if isinstance(case, Case) else Case(number, *case) for number, case in enumerate(given)]
    return [Case(pair.number - 1, *pair.check()) for pair in number_pairs(given)]


def _check(measure: Measure, subjects: Sequence[Subject], encoders: Mapping[str, Encoder]) -> None:
    """Before any work is done."""
    if measure.joint and len(subjects) * len(encoders) < 2:
        raise BadInput(
            f"{measure.name} compares at least two subjects or models. Give another method, or another model."
        )
    check_subjects(subjects, encoders)


def check_subjects(subjects: Sequence[Subject], encoders: Mapping[str, Encoder]) -> None:
    """Before any work is done: whether every method can be had from every model."""
    for subject in subjects:
        for encoder in encoders.values():
            subject.method.check_kind(encoder)
            subject.method.check(encoder)


def check_texts(cases: Sequence[Case], encoders: Mapping[str, Encoder]) -> None:
    """Checks all texts first. A bad text found midway would stop the run, and fixing it would start a new one."""
    for case in cases:
        try:
            texts = [check_text(text) for text in (case.left, case.right)]
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
    cases: Sequence[Case],
    subjects: Sequence[Subject],
    encoders: Mapping[str, Encoder],
    cache: ContributionCache,
    progress: bool,
) -> list[tuple[Case, dict[tuple[str, str], Explanation]]]:
    """Each case with the explanation of every subject on every model. Shared contributions are computed once."""
    pairs = [(case.left, case.right) for case in cases]
    found = {
        (subject.name, name): subject.explanations(pairs, encoder, cache, progress=progress)
        for subject in subjects
        for name, encoder in encoders.items()
    }
    return [(case, {key: each[number] for key, each in found.items()}) for number, case in enumerate(cases)]


def _rows(
    measure: Measure,
    case: Case,
    found: Mapping[tuple[str, str], Explanation],
    encoders: Mapping[str, Encoder],
    cache: ContributionCache,
) -> list[Row]:
    """Each model's explanations are evaluated on that model; only a joint measure gets them side by side."""
    if measure.joint:
        together = {f"{subject}{model}": e for (subject, model), e in found.items()}
        return measure.rows(case, together, next(iter(encoders.values())), cache)
    rows: list[Row] = []
    for model, encoder in encoders.items():
        own = {subject: e for (subject, where), e in found.items() if where == model}
        rows += [{**row, "subject": f"{row['subject']}{model}"} for row in measure.rows(case, own, encoder, cache)]
    return rows


def spread_evenly(cases: Sequence[Case], count: int) -> list[Case]:
    """So many cases from all over, numbered anew."""
    return [replace(cases[index], number=number) for number, index in enumerate(evenly(len(cases), count))]


def _check_entry(entry: Fields) -> None:
    entry.whole("case"), entry.flag("cut"), entry.fields("errors")
    for row in entry.list("rows"):
        Fields(row, "a row").text("subject")
