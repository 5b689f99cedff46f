"""``whyalike rate``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from whyalike.cli.serve import Host, Port, Token, run


def command(
    folder: Annotated[Path, typer.Argument(help="A study that `whyalike evaluate rating --out FOLDER` prepared.")],
    result: Annotated[bool, typer.Option("--result", help="Print the ratings so far, as JSON.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Token = None,
) -> None:
    """Serve the page on which people rate explanations, or print the ratings so far.

    Example: `whyalike rate study --port 8080`, then `whyalike rate study --result`
    """
    from whyalike.evaluate.rating import RatingStudy

    study = RatingStudy(folder)
    if result:
        typer.echo(json.dumps(study.result(), indent=1))
        return
    from whyalike.server.settings import ServerSettings, hosts_for
    from whyalike.server.study import create_study
    from whyalike.storage.run_folder import locked

    settings = ServerSettings(hosts=hosts_for(host), token=token)
    with locked(folder):
        run("study", create_study(study, settings), settings, host, port)
