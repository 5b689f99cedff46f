"""``whyalike compare``"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from whyalike.cli import options, output


class By(StrEnum):
    """Units in which explanations can be compared."""

    word = "word"
    sentence = "sentence"


def command(
    left: options.Left,
    right: options.Right,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method, written as in `explain`. Can be repeated. Default: bilrp, integrated_jacobians, token_outputs, bti."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Hugging Face name or path. Can be repeated. Default: the embedded model."),
    ] = None,
    layer: Annotated[
        list[int] | None, typer.Option(help="Layer. Can be repeated. Default: each method's default.")
    ] = None,
    by: Annotated[By, typer.Option(help="Units to compare in.")] = By.word,
    settings: options.MethodSettings = None,
    corpus: options.Corpus = None,
    vectors: options.Vectors = None,
    pooling: options.Pooling = None,
    prompts: options.Prompts = None,
    truncate: options.Truncate = False,
    html: Annotated[Path | None, typer.Option(help="Write the pictures as a web page.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all explanations and their agreement as JSON instead.")
    ] = False,
) -> None:
    """Explain one pair with several methods, models or layers, side by side, and measure their agreement.

    Example: `whyalike compare "A man plays guitar." "Someone makes music." --method bilrp --method bti --html compared.html`
    """
    texts = options.read_texts(left, right)
    options.check_folders(html)
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.api import DEFAULT_METHODS, compare
        from whyalike.encoders.load import load_encoder

        methods = options.parse_methods(method or list(DEFAULT_METHODS["dense"]), settings, corpus, vectors)
        encoders = [load_encoder(name, pooling=pooling) for name in model or (None,)]
    with loading("Explaining"):
        sides = options.both_prompts(prompts)
        compared = compare(
            *texts,
            methods=methods,
            encoders=encoders,
            layers=layer or (None,),
            unit=by.value,
            prompts=sides,
            truncate=truncate,
        )
    output.print_result(compared, as_json=as_json, html=html)
