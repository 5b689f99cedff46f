"""``whyalike compare``"""

from __future__ import annotations

from enum import StrEnum
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
    aligned: options.Aligned = False,
    background: options.Background = False,
    html: options.Html = None,
    png: options.Png = None,
    svg: options.Svg = None,
    pdf: options.Pdf = None,
    layout: options.PictureLayout = options.Layout.full,
    dark: options.Dark = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all explanations and their agreement as JSON instead.")
    ] = False,
) -> None:
    """Explain one pair with several methods, models or layers: what all see, what only one sees, how far they agree.

    Example: `whyalike compare "A man plays guitar." "Someone makes music." --method bilrp --method bti --html compared.html`
    """
    texts = options.read_texts(left, right)
    pictures = output.Pictures(html, png, svg, pdf, layout=layout, dark=dark)
    pictures.check()
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.api import compare
        from whyalike.encoders.load import load_encoder
        from whyalike.methods import DEFAULT_METHODS

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
            aligned=aligned,
        )
    output.print_result(compared, as_json=as_json, pictures=pictures, background=background)
