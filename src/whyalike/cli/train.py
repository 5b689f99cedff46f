"""``whyalike train``: similarity, nouns, catalog, student, similar"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from whyalike.cli import options
from whyalike.cli.once import OnceCommand

if TYPE_CHECKING:
    from whyalike.data.tables import Item
    from whyalike.train.trainer import Trained

app = typer.Typer(
    help="Train encoders whose explanations are exact or known, on your own files or on data sets.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


class Configuration(StrEnum):
    """Of the Siamese paper's Table 1."""

    shelf = "shelf"
    tuned = "tuned"
    exact = "exact"
    dot = "dot"


Folder = Annotated[Path, typer.Argument(help="New folder for the model.")]
Epochs = Annotated[float | None, typer.Option(help="Passes over the training data.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Training setting: batch_size, learning_rate, weight_decay, warmup, max_steps, checkpoint_every or seed, as in "
        "`batch_size=32`. Can be repeated.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume a training that was interrupted.")]


@app.command("similarity", cls=OnceCommand)
def similarity(
    folder: Folder,
    data: Annotated[str, typer.Option(help="Scored pairs: a file, or a data set such as `stsb-en-train`.")],
    configuration: Annotated[
        Configuration,
        typer.Option("--as", help="Training configuration: shelf, tuned, exact or dot (Möller et al. 2024, Table 1)."),
    ] = Configuration.exact,
    dev: Annotated[str | None, typer.Option(help="Scored pairs to measure on after each epoch.")] = None,
    test: Annotated[str | None, typer.Option(help="Scored pairs to measure on at the end.")] = None,
    scores: options.Scores = None,
    model: options.Model = None,
    column: options.Column = None,
    epochs: Epochs = None,
    settings: Set = None,
    resume: Resume = False,
) -> None:
    """Fine-tune a model on scored pairs: as it is, or shifted by its reference embedding so that attributions are exact.

    `--as shelf` trains nothing; it only measures the model as it is. Defaults: batch 16, five epochs, AdamW, weight decay
    0.1, learning rate 2e-5, 10 % warm-up.

    Example: `whyalike train similarity exact-model --data stsb-en-train --dev stsb-en-dev --test stsb-en-test --as exact`
    """
    from whyalike.data.tables import DATA_SETS, read_scored_pairs

    score_range = options.score_range(scores)
    read = {
        name: read_scored_pairs(
            source, columns=options.columns(column), scores=None if source in DATA_SETS else score_range
        )
        for name, source in (("data", data), ("dev", dev), ("test", test))
        if source is not None
    }
    _quiet()
    from whyalike.encoders.load import open_model
    from whyalike.train.similarity import spearman, train_similarity
    from whyalike.train.trainer import TrainingSettings

    if configuration is not Configuration.shelf:
        chosen = options.training_settings(TrainingSettings(), epochs, settings)
        name: Any = configuration.value
        trained = train_similarity(
            *read["data"],
            folder,
            model=model,
            configuration=name,
            dev=read.get("dev"),
            settings=chosen,
            resume=resume,
        )
        _print_training(trained)
        model = str(folder)
    if "test" in read:
        found = spearman(open_model(model), *read["test"])
        typer.echo(f"{configuration.value}: Spearman {100 * found:.2f} on {test}")


@app.command("nouns", cls=OnceCommand)
def nouns(
    folder: Folder,
    data: Annotated[str, typer.Option(help="Pairs of texts: a file, or a data set such as `stsb-en-train`.")],
    test: Annotated[
        str | None, typer.Option(help="Pairs to measure on at the end; their truth is saved beside the model.")
    ] = None,
    tagger: Annotated[str | None, typer.Option(help="A spaCy pipeline. Default: the English one.")] = None,
    heads: Annotated[
        int | None, typer.Option(help="Attention heads of the pooling. Default: as many as the model has.")
    ] = None,
    model: options.Model = None,
    column: options.Column = None,
    epochs: Epochs = None,
    settings: Set = None,
    resume: Resume = False,
) -> None:
    """Train a model to count the nouns two texts share: a task whose true explanation is known.

    Example: `whyalike train nouns noun-model --data stsb-en-train --test stsb-en-test`
    """
    from whyalike.data.tables import read_table

    pairs, held_out = (
        [(row["left"], row["right"]) for row in read_table(source, ("left", "right"), options.columns(column)).rows]
        if source
        else []
        for source in (data, test)
    )
    _quiet()
    from whyalike.data.truth import read_truth
    from whyalike.encoders.load import open_model
    from whyalike.language.taggers import ENGLISH, spacy_tagger
    from whyalike.train.nouns import SETTINGS, fit_of, train_nouns

    chosen = options.training_settings(SETTINGS, epochs, settings)
    trained = train_nouns(
        pairs,
        folder,
        test=held_out,
        model=model,
        heads=heads,
        tagger=spacy_tagger(tagger or ENGLISH),
        settings=chosen,
        resume=resume,
    )
    _print_training(trained)
    made = open_model(folder)
    for name in ("train", "test") if held_out else ("train",):
        found = fit_of(made, read_truth(folder / f"truth-{name}.jsonl"))
        typer.echo(f"{name}: Spearman {found['spearman']:.3f}, mean squared error {found['mse']:.3f}")


@app.command("catalog", cls=OnceCommand)
def catalog(
    folder: Folder,
    data: Annotated[str, typer.Option(help="Items with id, title and text: a file, or `wine`, `fashion`.")],
    most: Annotated[int | None, typer.Option(help="Use only the first N items.")] = None,
    model: options.Model = None,
    column: options.Column = None,
    epochs: Epochs = None,
    settings: Set = None,
    resume: Resume = False,
) -> None:
    """Continue training a model on a catalogue's titles and descriptions, as RecoBERT does.

    Example: `whyalike train catalog fashion-model --data fashion --epochs 10`
    """
    items = _items(data, column, most)
    _quiet()
    from whyalike.train.catalog import SETTINGS, train_catalog

    chosen = options.training_settings(SETTINGS, epochs, settings)
    _print_training(train_catalog(items, folder, model=model, settings=chosen, resume=resume))


@app.command("similar", cls=OnceCommand)
def similar(
    item: Annotated[str, typer.Argument(help="The id of an item.")],
    data: Annotated[str, typer.Option(help="The catalogue: a file, or `wine`, `fashion`.")],
    model: options.Model = None,
    count: Annotated[int, typer.Option(help="How many to show.")] = 3,
    method: Annotated[str, typer.Option(help="Method, written as in `explain`.")] = "bti",
    most: Annotated[int | None, typer.Option(help="Use only the first N items.")] = None,
    column: options.Column = None,
) -> None:
    """Show the items of a catalogue most like one of them, and why.

    Example: `whyalike train similar 10058 --data fashion --model fashion-model`
    """
    items = _items(data, column, most)
    _quiet()
    from whyalike import render
    from whyalike.encoders.load import load_encoder
    from whyalike.train.catalog import most_similar

    console = Console(highlight=False)
    for alike in most_similar(items, item, encoder=load_encoder(model), count=count, method=method):
        console.print(f"\n{alike.item.id}  {alike.item.title}", markup=False, style="bold")
        console.print(render.picture(alike.explanation, console.width))


@app.command("student", cls=OnceCommand)
def student(
    folder: Folder,
    source: Annotated[str, typer.Option(help="Texts in the teacher's language: a file, or a data set.")],
    target: Annotated[str, typer.Option(help="The same texts, row by row, in the other language.")],
    teacher: Annotated[str | None, typer.Option(help="Model to learn from. Default: the embedded model.")] = None,
    model: options.Model = None,
    column: options.Column = None,
    epochs: Epochs = None,
    settings: Set = None,
    resume: Resume = False,
) -> None:
    """Distil a model into another language, from pairs of parallel texts.

    Example: `whyalike train student en-de --source stsb-en-train --target stsb-de-train`
    """
    from whyalike.data.tables import read_parallel

    parallel = read_parallel(source, target, options.columns(column))
    _quiet()
    from whyalike.train.student import SETTINGS, train_student

    chosen = options.training_settings(SETTINGS, epochs, settings)
    _print_training(train_student(parallel, folder, teacher=teacher, student=model, settings=chosen, resume=resume))


def _items(data: str, column: list[str] | None, most: int | None) -> list[Item]:
    from whyalike.data.tables import read_items

    items, dropped = read_items(data, options.columns(column))
    if dropped:
        Console(stderr=True).print(f"{dropped} items without title or description were left out.", style="yellow")
    return items[:most]


def _quiet() -> None:
    from whyalike.cli.progress import quiet_models

    quiet_models()


def _print_training(trained: Trained) -> None:
    if trained.was_complete:
        typer.echo(f"The training is complete; the model is in {trained.folder}")
        return
    first, last = trained.losses[0], trained.losses[-1]
    typer.echo(
        f"loss {first[1]:.4f} at step {first[0]}, {last[1]:.4f} at step {last[0]}; the model is in {trained.folder}"
    )
