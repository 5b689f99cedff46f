"""The command line: one command per file, each loads, calls the API, prints. Data on stdout, all else on stderr."""

from __future__ import annotations

import os
import sys

import typer
from rich.console import Console
from rich.markup import escape

from whyalike.cli import analyze, compare, contrast, evaluate, explain, methods, models, rate, serve, train
from whyalike.errors import WhyalikeError

app = typer.Typer(
    name="whyalike",
    help="Why does this model find these two texts alike? Word pair by word pair; the pairs add up to the score.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("explain")(explain.command)
app.command("compare")(compare.command)
app.command("analyze")(analyze.command)
app.command("report")(analyze.report_command)
app.command("contrast")(contrast.command)
app.command("evaluate")(evaluate.command)
app.command("methods")(methods.command)
app.command("models")(models.command)
app.command("rate")(rate.command)
app.command("serve")(serve.command)
app.add_typer(train.app, name="train")


def main() -> None:
    """Runs a command. Errors we foresee are one line and exit code 1; a traceback is a bug."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except WhyalikeError as error:
        _tell(str(error))
        sys.exit(1)
    except BrokenPipeError:
        _drop_output()
        sys.exit(0)
    except OSError as error:
        if error.strerror is None:
            raise
        _drop_output()
        _tell(f"{error.filename or 'The output'}: {error.strerror}. Give a file or folder that can be used.")
        sys.exit(1)


def _drop_output() -> None:
    """What could not be written to standard output would be tried again, and fail again, when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(message: str) -> None:
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"[bold red]whyalike:[/] {escape(message)}")
