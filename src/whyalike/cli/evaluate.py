"""``whyalike evaluate``"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from whyalike.cli import options
from whyalike.cli.output import print_saved_files
from whyalike.errors import BadInput, unknown
from whyalike.evaluate.measures import MEASURES, Needs, make_measure
from whyalike.storage.run_folder import locked

if TYPE_CHECKING:
    from whyalike.encoders.encoder import Encoder
    from whyalike.evaluate.measure import Case
    from whyalike.evaluate.subjects import Subject


RATING = "rating"  # prepares a study for people to rate
DEFAULT = ("bilrp", "integrated_jacobians", "token_outputs", "bti", "random")


def epilog() -> str:
    """The measures, for the help text."""
    lines = [
        f"- **{name}**: {entry.question} Needs {entry.needs}."
        + (f" Parameters: {', '.join(entry.parameters)}." if entry.parameters else "")
        for name, entry in MEASURES.items()
    ]
    return "\n".join([*lines, f"- **{RATING}**: prepare a study in which people rate explanations (`whyalike rate`)."])


def command(
    measure: Annotated[str, typer.Argument(help=f"One of: {', '.join((*MEASURES, RATING))}.")],
    data: Annotated[
        str,
        typer.Option(
            help="Pairs: a file, or a set by name (stsb-en-test, multimwa-mtref-dev, …; for ground_truth a truth-*.jsonl)."
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="What to evaluate: `NAME[@LAYER][:REFERENCE][,PARAMETER=VALUE…][+VIEW]`, or a .jsonl file of matrices. "
            "Can be repeated."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Hugging Face name or path; a second model is evaluated beside the first. Can be repeated."),
    ] = None,
    pooling: options.Pooling = None,
    corpus: options.Corpus = None,
    vectors: options.Vectors = None,
    pairs: Annotated[int | None, typer.Option(help="Use only N pairs, spread evenly over the data.")] = None,
    column: options.Column = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Parameter of the measure, such as `greedy=20`; listed below. Can be repeated."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder for rows, tables and report. If the run is interrupted, the same command resumes it."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of the table.")] = False,
) -> None:
    """Measure explanation quality: faithfulness, agreement with human word alignments, sums, randomization.

    Example: `whyalike evaluate human --data multimwa-mtref-dev --pairs 100 --method bilrp --method exact_match --out measured`
    """
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.encoders.load import load_encoder
        from whyalike.evaluate.run import evaluate, read_cases, spread_evenly
        from whyalike.render.evaluation import picture, save

        if measure not in (*MEASURES, RATING):
            raise unknown("measure", measure, (*MEASURES, RATING))
        needs: Needs = "pairs" if measure == RATING else MEASURES[measure].needs
        _check(measure, needs, data, method, model, column, settings, as_json)
        cases = read_cases(data, needs, options.columns(column))
        encoders = [load_encoder(name, pooling=pooling) for name in model or (None,)]
    if pairs is not None:
        cases = spread_evenly(cases, pairs)
    default = (*DEFAULT, *(f"contextual_cosine@{encoders[0].record.layers // 2}", "exact_match") * (measure == "human"))
    subjects = _subjects(method or list(default), corpus, vectors)
    if measure == RATING:
        _prepare(cases, subjects, encoders[0], folder)
        return
    chosen = options.with_settings(make_measure(measure), settings)
    names = [str(name) for name in (model or [])[1:]]
    with nullcontext() if folder is None else locked(folder):
        found = evaluate(
            chosen,
            cases,
            encoder=encoders[0],
            subjects=subjects,
            others=dict(zip(names, encoders[1:], strict=True)),
            folder=folder,
        )
        saved = save(found, folder) if folder is not None else None
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        console = Console(highlight=False)
        console.print(picture(found, console.width))
    if saved is not None:
        print_saved_files(saved)


def _check(
    measure: str,
    needs: str,
    data: str,
    method: list[str] | None,
    model: list[str] | None,
    column: list[str] | None,
    settings: list[str] | None,
    as_json: bool,
) -> None:
    """Refuses what would be left without effect."""
    from whyalike.data.alignments import SETS

    rating = measure == RATING
    for given_there, option, where in (
        (
            not rating and not MEASURES[measure].load().explains and method,
            "--method",
            f"{measure}, which measures the model itself",
        ),
        (needs in ("alignments", "truth") and column, "--column", f"{measure}, whose files have a form of their own"),
        (data in SETS and column, "--column", f"{data}, which has a form of its own"),
        (rating and settings, "--set", RATING),
        (rating and as_json, "--json", RATING),
        (rating and len(model or ()) > 1, "a second --model", "rating, which shows one model"),
    ):
        if given_there:
            raise BadInput(f"{option} has no effect on {where}. Leave it out.")


def _subjects(names: list[str], corpus: Path | None, vectors: str | None) -> list[Subject]:
    """What was asked for: methods as written, and files of matrices."""
    from whyalike.evaluate.subjects import make_subject

    files = [name for name in names if name.endswith(".jsonl")]
    specs = options.parse_methods([name for name in names if name not in files], None, corpus, vectors)
    return [*map(make_subject, specs), *map(make_subject, files)]


def _prepare(cases: list[Case], subjects: Sequence[Subject], encoder: Encoder, folder: Path | None) -> None:
    from whyalike.evaluate.rating import prepare

    if folder is None:
        raise BadInput("A study needs a folder: give --out.")
    study = prepare(cases, folder, encoder=encoder, subjects=subjects)
    typer.echo(f"{len(study.items)} explanations to rate are in {folder}. Open the page with `whyalike rate {folder}`.")
    if study.cut:
        typer.echo(f"{study.cut} of them are of texts longer than the model reads: the page says where they are cut.")
