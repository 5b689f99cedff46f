"""What commands are given on the command line, made into what the API takes: texts, methods with settings, places to write."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyalike.errors import BadInput, unknown
from whyalike.untrusted import read_text

if TYPE_CHECKING:
    from whyalike.methods import Method
    from whyalike.train.trainer import Settings as Training


class By(StrEnum):
    """Units of a picture."""

    token = "token"
    word = "word"
    sentence = "sentence"


Model = Annotated[str | None, typer.Option(help="A Hugging Face name or a path. Default: the embedded model.")]
Layer = Annotated[
    int | None,
    typer.Option(
        help="Layer whose hidden states are attributed (0 = embeddings). Default: the method's own; bilrp takes the first "
        "layer at which the pairs are of the size of the score."
    ),
]
Left = Annotated[str, typer.Argument(help="A text, `-` for standard input, or `@FILE` (`@@…`: a text with an @).")]
Right = Annotated[str, typer.Argument(help="The other text, given in the same ways.")]
Pooling = Annotated[str | None, typer.Option(help="Pooling for a plain transformer: mean, cls, lasttoken, …")]
Prompts = Annotated[str | None, typer.Option(help="The model's prompts for both sides: `query,document`.")]
Truncate = Annotated[bool, typer.Option("--truncate", help="Cut texts that are too long, and say so.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the method, such as `tolerance=0.001` or `top_k=3`. Can be repeated."),
]
Corpus = Annotated[Path | None, typer.Option(help="For tfidf_vectors: a file with one text a line to count words in.")]
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
    return _content(Path(argument[1:])).removesuffix("\n") if argument.startswith("@") else argument


def _content(path: Path) -> str:
    return read_text(path)


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


def methods_of(names: list[str], settings: list[str] | None, corpus: Path | None, vectors: str | None) -> list[Method]:
    """Methods by name, each with the settings that are its own: `top_k=3` for all that have it, `bti.top_k=3` for one.

    Whatever no method takes is refused, not passed over.
    """
    from whyalike.front_door import choose_method
    from whyalike.methods import TfidfVectors

    methods = [choose_method(name) for name in names]
    if "tfidf_vectors" not in names and (corpus is not None or vectors is not None):
        raise BadInput("--corpus and --vectors are for tfidf_vectors, which is not among the methods asked for.")
    if corpus is not None and vectors is not None:
        texts = [line for line in _content(corpus).splitlines() if line.strip()]
        fitted = TfidfVectors.fit(texts, vectors)
        methods = [fitted if method.name == "tfidf_vectors" else method for method in methods]
    for setting in settings or ():
        owner, key, value = _setting(setting)
        takers = [method for method in methods if owner in ("", method.name) and key in _parameters(method)]
        if not takers:
            known = sorted({f"{m.name}.{each}" if len(names) > 1 else each for m in methods for each in _parameters(m)})
            raise unknown(f"parameter of {', '.join(names)}", f"{owner}.{key}" if owner else key, known)
        methods = [replace(m, **{key: value}) if m in takers else m for m in methods]  # type: ignore[type-var]
    return methods


def _parameters(method: Method) -> list[str]:
    return [each.name for each in fields(method) if each.init]  # type: ignore[arg-type]


def _setting(setting: str) -> tuple[str, str, Any]:
    """Whose, which, and its value."""
    from whyalike.methods.method import read_value

    name, equals, value = setting.partition("=")
    owner, _, key = name.rpartition(".")
    if not equals or not key:
        raise BadInput(f"--set takes NAME=VALUE, such as tolerance=0.001; got {setting!r}.")
    return owner, key, read_value(value)


def training_settings(defaults: Training, epochs: float | None, settings: list[str] | None) -> Training:
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
