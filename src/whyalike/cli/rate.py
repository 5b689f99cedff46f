"""``whyalike rate``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def command(
    folder: Annotated[Path, typer.Argument(help="A study that `whyalike evaluate rating --out FOLDER` prepared.")],
    result: Annotated[bool, typer.Option("--result", help="Print what raters have said so far, as JSON.")] = False,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.")] = 8000,
    token: Annotated[
        str | None, typer.Option(envvar="WHYALIKE_TOKEN", help="Requests to the API need this bearer token.")
    ] = None,
) -> None:
    """Open the page on which people rate a study's explanations, or print what they have said.

    Example: `whyalike rate study --port 8080`, then `whyalike rate study --result`
    """
    from whyalike.evaluate.rating import Study

    study = Study(folder)
    if result:
        typer.echo(json.dumps(study.result(), indent=1))
        return
    from whyalike.server.listen import server
    from whyalike.server.settings import LOOPBACK, Settings
    from whyalike.server.study import create_study

    settings = Settings(hosts=LOOPBACK if host in (*LOOPBACK, "::1") else None, token=token)
    Console(stderr=True, highlight=False).print(
        f"whyalike study: http://{host}:{port}   (Ctrl+C ends it)", markup=False
    )
    if settings.hosts is None and token is None:
        warning = "Others can reach this server, and it asks for no token: set --token or WHYALIKE_TOKEN."
        Console(stderr=True, highlight=False).print(warning, style="yellow", markup=False)
    server(create_study(study, settings), settings, host, port).run()
