"""``whyalike contrast``"""

from __future__ import annotations

from typing import Annotated

import typer

from whyalike.cli import options, output
from whyalike.cli.options import By


def command(
    query: Annotated[str, typer.Argument(help="The query: a text, `-` for standard input, or `@FILE`.")],
    a: Annotated[str, typer.Argument(help="The text that ranks higher.")],
    b: Annotated[str, typer.Argument(help="The text that ranks lower.")],
    method: options.Method = "bilrp",
    model: options.Model = None,
    layer: options.Layer = None,
    by: Annotated[By, typer.Option(help="Units to show.")] = By.word,
    settings: options.MethodSettings = None,
    pooling: options.Pooling = None,
    prompts: options.Prompts = None,
    truncate: options.Truncate = False,
    background: options.Background = False,
    html: options.Html = None,
    png: options.Png = None,
    svg: options.Svg = None,
    pdf: options.Pdf = None,
    layout: options.PictureLayout = options.Layout.full,
    dark: options.Dark = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the contrast as JSON instead of the picture.")] = False,
) -> None:
    """Explain why a text is closer to a query than another: the difference of the scores, word by word.

    Example: `whyalike contrast "guitar music" "A man plays guitar." "A man plays chess."`
    """
    texts = options.read_texts(query, a, b)
    pictures = output.Pictures(html, png, svg, pdf, layout=layout, dark=dark)
    pictures.check()
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading the model"):
        from whyalike.api import contrast
        from whyalike.encoders.load import load_encoder

        (chosen,) = options.parse_methods([method], settings, None, None)
        encoder = load_encoder(model, pooling=pooling)
    with loading("Explaining"):
        sides = options.both_prompts(prompts)
        found = contrast(
            *texts, encoder=encoder, method=chosen, layer=layer, unit=by.value, prompts=sides, truncate=truncate
        )
    output.print_result(found, as_json=as_json, pictures=pictures, background=background)
