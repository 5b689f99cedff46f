"""``whyalike evaluate``"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from whyalike.cli import given
from whyalike.cli.shown import tell_saved
from whyalike.errors import BadInput, unknown
from whyalike.runs import held

if TYPE_CHECKING:
    from whyalike.encoders.encoder import Encoder
    from whyalike.evaluate.measure import Case
    from whyalike.evaluate.subjects import Subject


DEFAULT = ("bilrp", "integrated_jacobians", "token_outputs", "bti", "random")


def command(
    measure: Annotated[
        str,
        typer.Argument(
            help="perturbation, perturbation_embedding, conservation, ground_truth, randomization, agreement, balance, human, "
            "sts; or rating, which prepares a study for people to rate."
        ),
    ],
    data: Annotated[
        str,
        typer.Option(
            help="Pairs: a file, or a set by name (stsb-en-test, multimwa-mtref-dev, …; for ground_truth a truth-*.jsonl)."
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="What to judge, as NAME[@LAYER][:REFERENCE][,PARAMETER=VALUE][+equal|proportional|aligned]; "
            "also contextual_cosine@LAYER and exact_match. Can be repeated."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A Hugging Face name or a path; a second one is judged beside it. Can be repeated."),
    ] = None,
    pooling: given.Pooling = None,
    corpus: given.Corpus = None,
    vectors: given.Vectors = None,
    pairs: Annotated[int | None, typer.Option(help="Only so many pairs, spread evenly over the data.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="What your file calls a column, such as `left=question`. Can be repeated.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A parameter of the measure, such as `greedy=20`: perturbation has step, removal, greedy; "
            "perturbation_embedding step, terms, special_tokens, rounding, scale; human possible; randomization seed; "
            "conservation without_biases. Can be repeated.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A folder for rows, result.json, rows.parquet and report.html; a killed run goes on there."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of the table.")] = False,
) -> None:
    """Judge explanations: are they faithful, do they add up, do they agree with people?

    Example: `whyalike evaluate human --data multimwa-mtref-dev --pairs 100 --method bilrp --method exact_match --out judged`
    """
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.encoders.load import load_encoder
        from whyalike.evaluate.page import picture, save
        from whyalike.evaluate.run import MEASURES, evaluate, spread_evenly

        if measure not in (*MEASURES, "rating"):
            raise unknown("measure", measure, (*MEASURES, "rating"))
        needs = "pairs" if measure == "rating" else MEASURES[measure].needs
        _check(measure, needs, data, method, model, column, settings, as_json)
        cases = _cases(data, needs, given.columns(column))
        encoders = [load_encoder(name, pooling=pooling) for name in model or (None,)]
    if pairs is not None:
        cases = spread_evenly(cases, pairs)
    default = (*DEFAULT, *(f"contextual_cosine@{encoders[0].layers // 2}", "exact_match") * (measure == "human"))
    subjects = _subjects(method or list(default), corpus, vectors)
    if measure == "rating":
        _prepare(cases, subjects, encoders[0], folder)
        return
    chosen = given.with_settings(MEASURES[measure](), settings)
    names = [str(name) for name in (model or [])[1:]]
    with nullcontext() if folder is None else held(folder):
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
        tell_saved(saved)


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
    from whyalike.evaluate.alignments import SETS

    rating = measure == "rating"
    for given_there, option, where in (
        (measure == "sts" and method, "--method", "sts, which judges the model itself"),
        (needs in ("alignments", "truth") and column, "--column", f"{measure}, whose files have a form of their own"),
        (data in SETS and column, "--column", f"{data}, which has a form of its own"),
        (rating and settings, "--set", "rating"),
        (rating and as_json, "--json", "rating"),
        (rating and len(model or ()) > 1, "a second --model", "rating, which shows one model"),
    ):
        if given_there:
            raise BadInput(f"{option} has no effect on {where}. Leave it out.")


def _subjects(names: list[str], corpus: Path | None, vectors: str | None) -> list[str | Subject]:
    """What was asked for by name; tfidf_vectors is made of its corpus and vectors first."""
    from whyalike.evaluate.subjects import Subject

    fitted = given.methods_of([name for name in names if name == "tfidf_vectors"], None, corpus, vectors)
    return [Subject(name, fitted[0]) if name == "tfidf_vectors" else name for name in names]


def _prepare(cases: list[Case], subjects: Sequence[str | Subject], encoder: Encoder, folder: Path | None) -> None:
    from whyalike.evaluate.rating import prepare

    if folder is None:
        raise BadInput("A study needs a folder: give --out.")
    study = prepare(cases, folder, encoder=encoder, subjects=subjects)
    typer.echo(f"{len(study.items)} explanations to rate are in {folder}. Open the page with `whyalike rate {folder}`.")
    if study.cut:
        typer.echo(f"{study.cut} of them are of texts longer than the model reads: the page says where they are cut.")


def _cases(data: str, needs: str, columns: dict[str, str]) -> list[Case]:
    from whyalike.data_sets import read_table
    from whyalike.evaluate.alignments import SETS, read_alignments
    from whyalike.evaluate.measure import Case

    if needs == "alignments" or data in SETS:
        aligned = read_alignments(data)
        return [Case(number, *each.pair, aligned=each) for number, each in enumerate(aligned)]
    if needs == "truth":
        from whyalike.truth import read_truth

        if not Path(data).is_file():
            raise BadInput(f"There is no file {data!r}. Give a truth-*.jsonl that `whyalike train nouns` wrote.")
        return [Case(number, truth.left, truth.right, truth=truth) for number, truth in enumerate(read_truth(data))]
    needed = ("left", "right", "score") if needs == "scored pairs" else ("left", "right")
    return [Case(number, **row) for number, row in enumerate(read_table(data, needed, columns).rows)]
