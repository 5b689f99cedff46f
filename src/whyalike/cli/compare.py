"""``whyalike compare``"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from whyalike.cli import given, shown


class By(StrEnum):
    """Units in which explanations can be compared."""

    word = "word"
    sentence = "sentence"


def command(
    left: given.Left,
    right: given.Right,
    method: Annotated[
        list[str] | None, typer.Option(help="A method; can be repeated. Default: the four most telling ones.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A Hugging Face name or a path; can be repeated. Default: the embedded model."),
    ] = None,
    layer: Annotated[
        list[int] | None, typer.Option(help="A layer; can be repeated. Default: each method's own.")
    ] = None,
    by: Annotated[By, typer.Option(help="Units to compare in.")] = By.word,
    settings: given.Settings = None,
    corpus: given.Corpus = None,
    vectors: given.Vectors = None,
    pooling: given.Pooling = None,
    prompts: given.Prompts = None,
    truncate: given.Truncate = False,
    html: Annotated[Path | None, typer.Option(help="Write the pictures as a web page.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all explanations and their agreement as JSON instead.")
    ] = False,
) -> None:
    """Explain one pair by several methods, models or layers, side by side, and say how far they agree.

    Example: `whyalike compare "A man plays guitar." "Someone makes music." --method bilrp --method bti --html compared.html`
    """
    texts = given.read_texts(left, right)
    given.check_folders(html)
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.encoders.load import load_encoder
        from whyalike.side_by_side import DEFAULT_METHODS, compare

        methods = given.methods_of(method or list(DEFAULT_METHODS), settings, corpus, vectors)
        encoders = [load_encoder(name, pooling=pooling) for name in model or (None,)]
    with loading("Explaining"):
        sides = given.both_prompts(prompts)
        compared = compare(
            *texts,
            methods=methods,
            encoders=encoders,
            layers=layer or (None,),
            unit=by.value,
            prompts=sides,
            truncate=truncate,
        )
    shown.hand_over(compared, as_json=as_json, html=html)
