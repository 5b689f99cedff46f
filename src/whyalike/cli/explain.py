"""``whyalike explain``: one pair, or every pair of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from whyalike.cli import options, output
from whyalike.cli.options import By
from whyalike.errors import BadInput


def command(
    left: Annotated[
        str | None,
        typer.Argument(
            help="A text, `-` for standard input, or `@FILE`. Write `@@` for a text that itself begins with @."
        ),
    ] = None,
    right: Annotated[str | None, typer.Argument(help="The other text, given in the same ways.")] = None,
    data: Annotated[
        str | None,
        typer.Option(help="Explain every pair of a file (.csv, .tsv, .jsonl, .parquet) or of a data set, into --out."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="With --data: file for the word pairs (.parquet, .csv or .jsonl), one row each."),
    ] = None,
    column: options.Column = None,
    pairs: Annotated[int | None, typer.Option(help="With --data: use only N pairs, spread evenly.")] = None,
    method: options.Method = "bilrp",
    model: options.Model = None,
    layer: options.Layer = None,
    by: Annotated[By, typer.Option(help="Explain by token, word or sentence.")] = By.word,
    settings: options.MethodSettings = None,
    corpus: options.Corpus = None,
    vectors: options.Vectors = None,
    pooling: options.Pooling = None,
    prompts: options.Prompts = None,
    truncate: options.Truncate = False,
    spread: Annotated[
        bool,
        typer.Option(
            "--spread",
            help="Spread the background (the part of the score that belongs to no word pair) over the words.",
        ),
    ] = False,
    background: options.Background = False,
    aligned: options.Aligned = False,
    html: options.Html = None,
    png: options.Png = None,
    svg: options.Svg = None,
    pdf: options.Pdf = None,
    tex: options.Tex = None,
    layout: options.PictureLayout = options.Layout.full,
    dark: options.Dark = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the explanation as JSON instead of the picture.")
    ] = False,
) -> None:
    """Explain why a model finds two texts alike.

    Example: `whyalike explain "A man plays guitar." "Someone makes music." --html why.html`

    With --data every pair of a file is explained. If the run is interrupted, the same command resumes it.

    Example: `whyalike explain --data pairs.csv --out pairs.parquet`
    """
    pictures = output.Pictures(html, png, svg, pdf, tex, layout, dark)
    _check(left, right, data, out, column, pairs, pictures, as_json, background)
    pictures.check()
    options.check_folders(out)
    texts = [] if data is not None else options.read_texts(left or "", right or "")
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading the model"):
        from whyalike.api import explain
        from whyalike.encoders.load import load_encoder

        (spec,) = options.parse_methods([method], settings, corpus, vectors)
        encoder = load_encoder(model, pooling=pooling)
    how: dict[str, Any] = {
        "layer": layer,
        "unit": by.value,
        "prompts": options.both_prompts(prompts),
        "truncate": truncate,
    }
    if data is not None and out is not None:
        from whyalike.cli.explain_file import explain_file

        explain_file(data, out, encoder, spec, options.columns(column), pairs, spread=spread, aligned=aligned, **how)
        return
    with loading("Explaining"):
        found = explain(*texts, encoder=encoder, method=spec, aligned=aligned, **how)
    found = found.spread() if spread else found
    output.print_result(found, as_json=as_json, pictures=pictures, background=background)


def _check(
    left: str | None,
    right: str | None,
    data: str | None,
    out: Path | None,
    column: list[str] | None,
    pairs: int | None,
    pictures: output.Pictures,
    as_json: bool,
    background: bool,
) -> None:
    """Either two texts, or a file into a file; options of the other are refused."""
    if data is None:
        if left is None or right is None:
            missing = "left" if left is None else "right"
            raise typer.BadParameter(f"Missing argument '{missing}'. Give two texts, or --data FILE --out FILE.")
        without_effect: dict[str, object] = {"--out": out, "--column": column, "--pairs": pairs}
        where = "two texts; it goes with --data"
    else:
        if left is not None:
            raise BadInput("Give two texts, or --data, not both.")
        if out is None:
            raise BadInput("--data needs --out FILE: .parquet, .csv or .jsonl.")
        without_effect = {f"--{kind[1:]}": path for kind, path in pictures.files.items()}
        without_effect |= {"--json": as_json, "--background": background}
        where = "a file of pairs"
    for option, given in without_effect.items():
        if given:
            raise BadInput(f"{option} has no effect on {where}. Leave it out.")
