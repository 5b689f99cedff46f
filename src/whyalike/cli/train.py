"""``whyalike train``: similarity, nouns, catalog, student, similar"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from whyalike.cli import given
from whyalike.errors import BadInput

if TYPE_CHECKING:
    from whyalike.data_sets import Item
    from whyalike.train.trainer import Trained

app = typer.Typer(
    help="Train encoders that can be explained, on your own files or on data sets by name.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


class Configuration(StrEnum):
    """Of the Siamese paper's Table 1."""

    shelf = "shelf"
    tuned = "tuned"
    exact = "exact"
    dot = "dot"


Folder = Annotated[Path, typer.Argument(help="Where to put the model: a new folder.")]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="What your file calls a column, such as `left=question`. Can be repeated."),
]
Epochs = Annotated[float | None, typer.Option(help="Times through the data.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="A setting: batch_size, learning_rate, weight_decay, warmup, max_steps, checkpoint_every or seed, as in "
        "`batch_size=32`. Can be repeated.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Take up a training that was interrupted.")]


@app.command("similarity")
def similarity(
    folder: Folder,
    data: Annotated[str, typer.Option(help="Scored pairs: a file, or a data set such as `stsb-en-train`.")],
    configuration: Annotated[Configuration, typer.Option("--as", help="Which of the paper's.")] = Configuration.exact,
    dev: Annotated[str | None, typer.Option(help="Scored pairs to measure on after each epoch.")] = None,
    test: Annotated[str | None, typer.Option(help="Scored pairs to measure on at the end.")] = None,
    lowest: Annotated[float | None, typer.Option(help="Lowest score of your files.")] = None,
    highest: Annotated[float | None, typer.Option(help="Highest score of your files.")] = None,
    model: given.Model = None,
    column: Column = None,
    epochs: Epochs = None,
    settings: Set = None,
    resume: Resume = False,
) -> None:
    """Train a model on scored pairs: tuned as it is, or shifted by its reference so that attributions are exact.

    `shelf` trains nothing and only measures. Defaults: batch 16, five epochs, AdamW, weight decay 0.1, learning rate 2e-5,
    10 % warm-up.

    Example: `whyalike train similarity exact-model --data stsb-en-train --dev stsb-en-dev --test stsb-en-test --as exact`
    """
    from whyalike.data_sets import DATA_SETS, read_scored_pairs

    scores = _range(lowest, highest)
    read = {
        name: read_scored_pairs(source, columns=given.columns(column), scores=None if source in DATA_SETS else scores)
        for name, source in (("data", data), ("dev", dev), ("test", test))
        if source is not None
    }
    _quiet()
    from whyalike.encoders.load import open_model
    from whyalike.train.similarity import spearman, train_similarity
    from whyalike.train.trainer import Settings

    if configuration is not Configuration.shelf:
        chosen = given.training_settings(Settings(), epochs, settings)
        name: Any = configuration.value
        train_similarity(
            *read["data"],
            folder,
            model=model,
            configuration=name,
            dev=read.get("dev"),
            settings=chosen,
            resume=resume,
        )
        model = str(folder)
    if "test" in read:
        found = spearman(open_model(model), *read["test"])
        typer.echo(f"{configuration.value}: Spearman {100 * found:.2f} on {test}")


@app.command("nouns")
def nouns(
    folder: Folder,
    data: Annotated[str, typer.Option(help="Pairs of texts: a file, or a data set such as `stsb-en-train`.")],
    test: Annotated[str | None, typer.Option(help="Pairs to measure on; their truth is kept too.")] = None,
    tagger: Annotated[str | None, typer.Option(help="A spaCy pipeline. Default: the English one.")] = None,
    heads: Annotated[int | None, typer.Option(help="Heads of the pooling. Default: as many as the model's.")] = None,
    model: given.Model = None,
    column: Column = None,
    epochs: Epochs = None,
    settings: Set = None,
    resume: Resume = False,
) -> None:
    """Train a model, with QKV pooling, to count the nouns two texts share: a task whose true explanation is known.

    Example: `whyalike train nouns noun-model --data stsb-en-train --test stsb-en-test`
    """
    from whyalike.data_sets import read_table

    pairs, held_out = (
        [(row["left"], row["right"]) for row in read_table(source, ("left", "right"), given.columns(column)).rows]
        if source
        else []
        for source in (data, test)
    )
    _quiet()
    from whyalike.analysis.annotate import ENGLISH, spacy_tagger
    from whyalike.encoders.load import open_model
    from whyalike.train.nouns import SETTINGS, fit_of, train_nouns
    from whyalike.truth import read_truth

    chosen = given.training_settings(SETTINGS, epochs, settings)
    train_nouns(
        pairs,
        folder,
        test=held_out,
        model=model,
        heads=heads,
        tagger=spacy_tagger(tagger or ENGLISH),
        settings=chosen,
        resume=resume,
    )
    made = open_model(folder)
    for name in ("train", "test") if held_out else ("train",):
        found = fit_of(made, read_truth(folder / f"truth-{name}.jsonl"))
        typer.echo(f"{name}: Spearman {found['spearman']:.3f}, mean squared error {found['mse']:.3f}")


@app.command("catalog")
def catalog(
    folder: Folder,
    data: Annotated[str, typer.Option(help="Items with id, title and text: a file, or `wine`, `fashion`.")],
    most: Annotated[int | None, typer.Option(help="Only the first so many items.")] = None,
    model: given.Model = None,
    column: Column = None,
    epochs: Epochs = None,
    settings: Set = None,
    resume: Resume = False,
) -> None:
    """Go on training a model with a catalogue's titles and descriptions, as RecoBERT does.

    Example: `whyalike train catalog fashion-model --data fashion --epochs 10`
    """
    items = _items(data, column, most)
    _quiet()
    from whyalike.train.catalog import SETTINGS, train_catalog

    chosen = given.training_settings(SETTINGS, epochs, settings)
    _told(train_catalog(items, folder, model=model, settings=chosen, resume=resume))


@app.command("similar")
def similar(
    item: Annotated[str, typer.Argument(help="The id of an item.")],
    data: Annotated[str, typer.Option(help="The catalogue: a file, or `wine`, `fashion`.")],
    model: given.Model = None,
    count: Annotated[int, typer.Option(help="How many to show.")] = 3,
    method: Annotated[str, typer.Option(help="How to explain them.")] = "bti",
    most: Annotated[int | None, typer.Option(help="Only the first so many items.")] = None,
    column: Column = None,
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


@app.command("student")
def student(
    folder: Folder,
    source: Annotated[str, typer.Option(help="Texts in the teacher's language: a file, or a data set.")],
    target: Annotated[str, typer.Option(help="The same texts, row by row, in the other language.")],
    teacher: Annotated[str | None, typer.Option(help="The model to learn from. Default: the embedded one.")] = None,
    model: given.Model = None,
    column: Column = None,
    epochs: Epochs = None,
    settings: Set = None,
    resume: Resume = False,
) -> None:
    """Distil a model into another language: both texts of a parallel pair are embedded as the teacher embeds the first.

    Example: `whyalike train student en-de --source stsb-en-train --target stsb-de-train`
    """
    from whyalike.data_sets import read_parallel

    parallel = read_parallel(source, target, given.columns(column))
    _quiet()
    from whyalike.train.student import SETTINGS, train_student

    chosen = given.training_settings(SETTINGS, epochs, settings)
    _told(train_student(parallel, folder, teacher=teacher, student=model, settings=chosen, resume=resume))


def _items(data: str, column: list[str] | None, most: int | None) -> list[Item]:
    from whyalike.data_sets import read_items

    items, dropped = read_items(data, given.columns(column))
    if dropped:
        Console(stderr=True).print(f"{dropped} items without title or description were left out.", style="yellow")
    return items[:most]


def _range(lowest: float | None, highest: float | None) -> tuple[float, float] | None:
    if (lowest is None) != (highest is None):
        raise BadInput("Give both --lowest and --highest, or neither.")
    return None if lowest is None or highest is None else (lowest, highest)


def _quiet() -> None:
    from whyalike.cli.progress import quiet_models

    quiet_models()


def _told(trained: Trained) -> None:
    if trained.was_complete:
        typer.echo(f"The training is complete; the model is in {trained.folder}")
        return
    first, last = trained.losses[0], trained.losses[-1]
    typer.echo(
        f"loss {first[1]:.4f} at step {first[0]}, {last[1]:.4f} at step {last[0]}; the model is in {trained.folder}"
    )
