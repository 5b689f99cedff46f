"""``whyalike contrast``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyalike.cli import given, shown
from whyalike.cli.given import By


def command(
    query: Annotated[str, typer.Argument(help="The query: a text, `-` for standard input, or `@FILE`.")],
    a: Annotated[str, typer.Argument(help="The text that came first.")],
    b: Annotated[str, typer.Argument(help="The text that came after it.")],
    method: Annotated[str, typer.Option(help="A method that adds up; `whyalike methods` lists them.")] = "bilrp",
    model: given.Model = None,
    layer: given.Layer = None,
    by: Annotated[By, typer.Option(help="Units to show.")] = By.word,
    settings: given.Settings = None,
    pooling: given.Pooling = None,
    prompts: given.Prompts = None,
    truncate: given.Truncate = False,
    html: Annotated[Path | None, typer.Option(help="Write the picture as a web page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the contrast as JSON instead of the picture.")] = False,
) -> None:
    """Explain why a text is closer to a query than another: the difference of the scores, word by word.

    Example: `whyalike contrast "guitar music" "A man plays guitar." "A man plays chess."`
    """
    texts = given.read_texts(query, a, b)
    given.check_folders(html)
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading the model"):
        from whyalike.encoders.load import load_encoder
        from whyalike.front_door import contrast

        (chosen,) = given.methods_of([method], settings, None, None)
        encoder = load_encoder(model, pooling=pooling)
    with loading("Explaining"):
        sides = given.both_prompts(prompts)
        found = contrast(
            *texts, encoder=encoder, method=chosen, layer=layer, unit=by.value, prompts=sides, truncate=truncate
        )
    shown.hand_over(found, as_json=as_json, html=html)
