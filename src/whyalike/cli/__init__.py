"""The command line: one command per file, each loads, calls the API, prints. Data on stdout, all else on stderr."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from whyalike.cli import analyze, compare, contrast, evaluate, explain, methods, models, rate, serve, train
from whyalike.cli.once import OnceCommand
from whyalike.cli.wording import in_command_line_words
from whyalike.errors import WhyalikeError

app = typer.Typer(
    name="whyalike",
    help="Why does this model find these two texts alike? Word pair by word pair; the pairs add up to the score.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
COMMANDS = (
    ("explain", explain.command, None),
    ("compare", compare.command, None),
    ("contrast", contrast.command, None),
    ("evaluate", evaluate.command, evaluate.epilog()),
    ("analyze", analyze.command, analyze.epilog()),
    ("report", analyze.report_command, None),
    ("rate", rate.command, None),
    ("serve", serve.command, None),
    ("methods", methods.command, None),
    ("models", models.command, None),
)
for name, function, epilog in COMMANDS:
    app.command(name, cls=OnceCommand, epilog=epilog)(function)
app.add_typer(train.app, name="train")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"whyalike {version('whyalike')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Runs a command. Errors we foresee are one line and exit code 1; a traceback is a bug."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: what is printed is not wanted
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (until the process ends)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except WhyalikeError as error:
        _print_error(in_command_line_words(str(error)))
        sys.exit(1)
    except BrokenPipeError:
        _drop_output()
        sys.exit(0)
    except OSError as error:
        if error.strerror is None:
            raise
        _drop_output()
        _print_error(f"{error.filename or 'The output'}: {error.strerror}. Give a file or folder that can be used.")
        sys.exit(1)


def _drop_output() -> None:
    """What could not be written to standard output would be tried again, and fail again, when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(message: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]whyalike:[/] {escape(message)}")
