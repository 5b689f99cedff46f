"""``whyalike explain``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyalike.cli import given, shown
from whyalike.cli.given import By
from whyalike.whole_files import write_bytes, write_text


def command(
    left: given.Left,
    right: given.Right,
    method: Annotated[str, typer.Option(help="How to explain; `whyalike methods` lists them.")] = "bilrp",
    model: given.Model = None,
    layer: given.Layer = None,
    by: Annotated[By, typer.Option(help="Units to show.")] = By.word,
    settings: given.Settings = None,
    corpus: given.Corpus = None,
    vectors: given.Vectors = None,
    pooling: given.Pooling = None,
    prompts: given.Prompts = None,
    truncate: given.Truncate = False,
    spread: Annotated[bool, typer.Option("--spread", help="Share the background among the words.")] = False,
    background: Annotated[
        bool, typer.Option("--background", help="Show the three components of the background, where there is one.")
    ] = False,
    aligned: Annotated[
        bool, typer.Option("--aligned", help="Give each word's total to its likeliest partners, as people align words.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write the picture as a web page.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write the picture as an image (needs the extra `plots`).")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the texts with links between their strongest pairs.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the explanation as JSON instead of the picture.")
    ] = False,
) -> None:
    """Explain why a model finds two texts alike.

    Example: `whyalike explain "A man plays guitar." "Someone makes music." --html why.html`
    """
    texts = given.read_texts(left, right)
    given.check_folders(html, png, svg)
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading the model"):
        from whyalike.encoders.load import load_encoder
        from whyalike.front_door import explain

        (chosen,) = given.methods_of([method], settings, corpus, vectors)
        encoder = load_encoder(model, pooling=pooling)
    with loading("Explaining"):
        sides = given.both_prompts(prompts)
        found = explain(
            *texts,
            encoder=encoder,
            method=chosen,
            layer=layer,
            unit=by.value,
            prompts=sides,
            truncate=truncate,
            aligned=aligned,
        )
    found = found.spread() if spread else found
    from whyalike import render

    if png is not None:
        write_bytes(png, render.to_png(found))
    if svg is not None:
        write_text(svg, render.to_svg(found))
    shown.hand_over(found, as_json=as_json, html=html, wrote=(png, svg), background=background)
