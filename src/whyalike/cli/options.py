"""What commands are given on the command line, made into what the API takes: texts, methods with settings, places to write."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyalike.errors import BadInput, unknown
from whyalike.storage.reading import read_text

if TYPE_CHECKING:
    from whyalike import methods
    from whyalike.methods.spec import MethodSpec
    from whyalike.train.trainer import TrainingSettings


class By(StrEnum):
    """Units of a picture."""

    token = "token"
    word = "word"
    sentence = "sentence"


Model = Annotated[str | None, typer.Option(help="Hugging Face name or path. Default: the embedded model.")]
Layer = Annotated[
    int | None,
    typer.Option(
        help="Layer whose hidden states are attributed (0 = embeddings). Default: chosen by the method; "
        "bilrp takes the first layer where the word pairs are at most twice as large as the score."
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="How to explain: `NAME[@LAYER][:REFERENCE][,PARAMETER=VALUE…][+VIEW]`, such as `bilrp@6` or "
        "`integrated_jacobians@3,tolerance=0.05`. `whyalike methods` lists the names."
    ),
]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="Name of a column in your file, such as `left=question`. Can be repeated."),
]
Scores = Annotated[
    str | None, typer.Option("--scores", help="Range of the scores in your file, such as `0:5`. Default: 0:1.")
]
Left = Annotated[
    str,
    typer.Argument(help="A text, `-` for standard input, or `@FILE`. Write `@@` for a text that itself begins with @."),
]
Right = Annotated[str, typer.Argument(help="The other text, given in the same ways.")]
Pooling = Annotated[str | None, typer.Option(help="Pooling for a plain transformer: mean, cls, lasttoken, …")]
Prompts = Annotated[
    str | None, typer.Option(help="Names of the model's prompts for the two texts, such as `query,document`.")
]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Cut texts that are longer than the model reads; the result says so.")
]
MethodSettings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Parameter of the method, such as `tolerance=0.001` or `top_k=3`. Can be repeated."),
]
Html = Annotated[Path | None, typer.Option(help="Write the picture as a web page.")]
Png = Annotated[Path | None, typer.Option(help="Write the picture as an image (needs the extra `plots`).")]
Svg = Annotated[Path | None, typer.Option(help="Write the picture as a drawing.")]
Pdf = Annotated[Path | None, typer.Option(help="Write the picture as PDF, fonts embedded (needs the extra `plots`).")]
Tex = Annotated[Path | None, typer.Option(help="Write the matrix as LaTeX (TikZ), for a paper.")]
Background = Annotated[
    bool, typer.Option("--background", help="Show the components of the background, where there is one.")
]
Aligned = Annotated[
    bool,
    typer.Option(
        "--aligned",
        help="Show which word goes with which: each word's total goes to its best partners. The sum stays the same.",
    ),
]
Dark = Annotated[bool, typer.Option("--dark", help="Draw --png, --svg and --pdf on dark paper.")]


class Layout(StrEnum):
    """Of a picture."""

    full = "full"
    slide = "slide"
    column = "column"


PictureLayout = Annotated[
    Layout,
    typer.Option(
        help="Of --png, --svg and --pdf: all, a slide (16:9, large type), or a column of a paper (3.35 inches)."
    ),
]
Corpus = Annotated[Path | None, typer.Option(help="For tfidf_vectors: file with one text per line, to count words in.")]
Vectors = Annotated[
    str | None, typer.Option(help="For tfidf_vectors: a text file of word vectors, or a spaCy pipeline.")
]


def read_texts(*arguments: str) -> list[str]:
    if arguments.count("-") > 1:
        raise BadInput("Only one of the texts can come from standard input. Give the others as text or @FILE.")
    return [_text(argument) for argument in arguments]


def _text(argument: str) -> str:
    if argument == "-":
        return sys.stdin.read().removesuffix("\n")
    if argument.startswith("@@"):
        return argument[1:]
    return read_text(Path(argument[1:])).removesuffix("\n") if argument.startswith("@") else argument


def check_folders(*paths: Path | None) -> None:
    """Refuses, before any work is done, to write where nothing can be written."""
    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise BadInput(
                f"The folder of {str(path)!r} does not exist, so nothing can be written there. Make it first."
            )


def both_prompts(given: str | None) -> tuple[str | None, str | None]:
    if not given:
        return None, None
    names = [name or None for name in given.split(",")]
    if len(names) != 2:
        raise BadInput(f"--prompts takes two names with a comma between, such as query,document; got {given!r}.")
    return names[0], names[1]


def parse_methods(
    names: list[str], settings: list[str] | None, corpus: Path | None, vectors: str | None
) -> list[MethodSpec]:
    """Methods as written, each with the settings that are its own: `top_k=3` for all that have it, `bti.top_k=3` for one.

    A setting that no method has is refused.
    """
    from whyalike.methods import TfidfVectors
    from whyalike.methods.spec import parse_method

    specs = [parse_method(name) for name in names]
    if not any(isinstance(spec.method, TfidfVectors) for spec in specs) and (corpus is not None or vectors is not None):
        raise BadInput("--corpus and --vectors are for tfidf_vectors, which is not among the methods asked for.")
    if corpus is not None and vectors is not None:
        fitted = TfidfVectors.fit([line for line in read_text(corpus).splitlines() if line.strip()], vectors)
        specs = [
            replace(spec, method=replace(fitted, top_k=spec.method.top_k))
            if isinstance(spec.method, TfidfVectors)
            else spec
            for spec in specs
        ]
    for setting in settings or ():
        owner, key, value = _setting(setting)
        if key == "layer" and (twice := [spec.name for spec in specs if "@" in spec.name]):
            raise BadInput(f"{twice[0]!r} and --set {setting} both give a layer. Give it once.")
        takers = [spec for spec in specs if owner in ("", spec.method.name) and key in _parameters(spec.method)]
        if not takers:
            known = sorted(
                {
                    f"{spec.method.name}.{each}" if len(names) > 1 else each
                    for spec in specs
                    for each in _parameters(spec.method)
                }
            )
            raise unknown(f"parameter of {', '.join(names)}", f"{owner}.{key}" if owner else key, known)
        specs = [
            replace(spec, method=replace(spec.method, **{key: value})) if spec in takers else spec  # type: ignore[type-var]
            for spec in specs
        ]
    return specs


def _parameters(method: methods.Method) -> list[str]:
    return [each.name for each in fields(method) if each.init]  # type: ignore[arg-type]


def _setting(setting: str) -> tuple[str, str, Any]:
    """Whose, which, and its value."""
    from whyalike.methods.spec import read_value

    name, equals, value = setting.partition("=")
    owner, _, key = name.rpartition(".")
    if not equals or not key:
        raise BadInput(f"--set takes NAME=VALUE, such as tolerance=0.001; got {setting!r}.")
    return owner, key, read_value(value)


def training_settings(defaults: TrainingSettings, epochs: float | None, settings: list[str] | None) -> TrainingSettings:
    """A training's settings with those that were given."""
    return with_settings(defaults if epochs is None else replace(defaults, epochs=epochs), settings)


_FITTING: dict[type, tuple[tuple[type, ...], str]] = {  # what may stand for a value of this type
    bool: ((bool,), "True or False"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def with_settings(value: Any, settings: list[str] | None) -> Any:
    """A frozen value (a training's settings, a measure) with the fields that were given; what it does not have is refused,
    and so is what is not of the kind that stands there.
    """
    known = [each.name for each in fields(value) if not each.name.startswith("_")]
    for setting in settings or ():
        owner, key, new = _setting(setting)
        if owner or key not in known:
            raise unknown("setting", f"{owner}.{key}" if owner else key, known)
        old = getattr(value, key)
        fitting, called = _FITTING.get(type(old), ((type(new),), ""))
        if type(new) not in fitting:
            raise BadInput(f"{key} should be {called}, as in {key}={old}; got {new!r}.")
        value = replace(value, **{key: new})
    return value


def columns(given: list[str] | None) -> dict[str, str]:
    """What a file calls its columns: ``left=question``."""
    found = dict(each.split("=", 1) for each in given or () if "=" in each)
    if len(found) != len(given or ()):
        raise BadInput(f"--column takes NAME=COLUMN, such as left=question; got {given}.")
    return found


def score_range(scores: str | None) -> tuple[float, float] | None:
    """``0:5`` as two numbers."""
    if scores is None:
        return None
    try:
        lowest, highest = (float(each) for each in scores.split(":"))
    except ValueError:
        raise BadInput(f"--scores should be the lowest and the highest score, as in 0:5; got {scores!r}.") from None
    return lowest, highest
