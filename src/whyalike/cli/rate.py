"""``whyalike rate``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from whyalike.cli.serve import Host, Port, Token, run


def command(
    folder: Annotated[Path, typer.Argument(help="A study that `whyalike evaluate rating --out FOLDER` prepared.")],
    result: Annotated[bool, typer.Option("--result", help="Print what raters have said so far, as JSON.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
) -> None:
    """Open the page on which people rate a study's explanations, or print what they have said.

    Example: `whyalike rate study --port 8080`, then `whyalike rate study --result`
    """
    from whyalike.evaluate.rating import Study

    study = Study(folder)
    if result:
        typer.echo(json.dumps(study.result(), indent=1))
        return
    from whyalike.runs import held
    from whyalike.server.settings import Settings, hosts_for
    from whyalike.server.study import create_study

    settings = Settings(hosts=hosts_for(host), token=token)
    with held(folder):
        run("study", create_study(study, settings), settings, host, port)
