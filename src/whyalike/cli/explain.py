"""``whyalike explain``"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from whyalike.errors import BadInput


class By(StrEnum):
    """The units to show."""

    token = "token"
    word = "word"
    sentence = "sentence"


def command(
    left: Annotated[
        str,
        typer.Argument(help="A text, `-` for standard input, or `@FILE` (`@@…`: a text with an @)."),
    ],
    right: Annotated[str, typer.Argument(help="The other text, given in the same ways.")],
    method: Annotated[str, typer.Option(help="How to explain; `whyalike methods` lists them.")] = "bilrp",
    model: Annotated[
        str | None, typer.Option(help="A Hugging Face name or a path. Default: the embedded model.")
    ] = None,
    layer: Annotated[
        int | None, typer.Option(help="Whose hidden states count as the tokens. 0: the embeddings.")
    ] = None,
    by: Annotated[By, typer.Option(help="Units to show.")] = By.word,
    pooling: Annotated[
        str | None, typer.Option(help="Pooling for a plain transformer: mean, cls, lasttoken, …")
    ] = None,
    prompts: Annotated[str | None, typer.Option(help="The model's prompts for both sides: `query,document`.")] = None,
    truncate: Annotated[bool, typer.Option("--truncate", help="Cut texts that are too long, and say so.")] = False,
    spread: Annotated[bool, typer.Option("--spread", help="Share what no token owns among the tokens.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the picture as a web page.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write the picture as an image (needs the extra `plots`).")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the explanation as JSON instead of the picture.")
    ] = False,
) -> None:
    """Explain why a model finds two texts alike.

    Example: `whyalike explain "A man plays guitar." "Someone makes music." --html why.html`
    """
    if left == right == "-":
        raise BadInput("Only one of the two texts can come from standard input. Give the other as text or @FILE.")
    texts = [_text(left), _text(right)]
    for path in (html, png):
        if path is not None and not path.absolute().parent.is_dir():
            raise BadInput(
                f"The folder of {str(path)!r} does not exist, so nothing can be written there. Make it first."
            )
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading the model"):
        from whyalike.encoders.load import load_encoder
        from whyalike.front_door import explain

        encoder = load_encoder(model, pooling=pooling)
    with loading("Explaining"):
        sides = tuple(name or None for name in prompts.split(",")) if prompts else (None, None)
        if len(sides) != 2:
            raise BadInput(f"--prompts takes two names with a comma between, such as query,document; got {prompts!r}.")
        whole = explain(*texts, encoder=encoder, method=method, layer=layer, prompts=sides, truncate=truncate)
    shown = whole.by(by.value)
    shown = shown.spread() if spread else shown
    from whyalike import render

    if html is not None:
        html.write_text(render.to_html(shown), encoding="utf-8")
    if png is not None:
        render.to_figure(shown).save(str(png), format="png", scale_factor=2)
    if as_json:
        sys.stdout.write(json.dumps(shown.to_dict(), ensure_ascii=False) + "\n")
        return
    from whyalike.render.terminal import picture

    console = Console(highlight=False)
    console.print(picture(shown, console.width))
    for path in (html, png):
        if path is not None:
            Console(stderr=True, highlight=False).print(f"Wrote {path}", markup=False)


def _text(argument: str) -> str:
    if argument == "-":
        return sys.stdin.read().removesuffix("\n")
    if argument.startswith("@@"):
        return argument[1:]
    if not argument.startswith("@"):
        return argument
    try:
        return Path(argument[1:]).read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The file {argument[1:]!r} could not be read as UTF-8 text: {error}.") from error
