"""``whyalike serve``"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from whyalike.server.limits import Limits
    from whyalike.server.settings import ServerSettings

Host = Annotated[
    str,
    typer.Option(
        help="Address to listen on. With any address but 127.0.0.1 other machines can connect; then set --token."
    ),
]
Port = Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)]
Token = Annotated[str | None, typer.Option(envvar="WHYALIKE_TOKEN", help="Requests to the API need this bearer token.")]


def command(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]MODEL",
            help="Model to serve: Hugging Face name or path. Can be repeated. With NAME= the page shows that name. "
            "Default: the embedded model.",
        ),
    ] = None,
    max_characters: Annotated[int, typer.Option(help="Longest text, in characters.")] = 20_000,
    max_body: Annotated[int, typer.Option(help="Largest request, in bytes.")] = 2**20,
    max_seconds: Annotated[
        float, typer.Option(help="Time limit in seconds, for receiving a request and for answering it.")
    ] = 60.0,
    max_waiting: Annotated[int, typer.Option(help="Requests running or waiting; further ones get status 503.")] = 1,
    max_connections: Annotated[int, typer.Option(help="Connections open at once.")] = 1000,
    token: Token = None,
) -> None:
    """Serve the web explorer and its JSON API.

    Example: `whyalike serve --port 8080 --model ours=runs/7/checkpoint --model sentence-transformers/all-mpnet-base-v2`
    """
    from whyalike.cli.progress import loading, quiet_models

    with loading("Starting"):
        quiet_models()
        from whyalike.encoders.load import check_model
        from whyalike.server.app import create_app
        from whyalike.server.settings import DEFAULT, ServerSettings, hosts_for, parse_models

        settings = ServerSettings(
            models=parse_models(model) if model else {DEFAULT: None},
            max_characters=max_characters,
            max_body=max_body,
            max_seconds=max_seconds,
            max_waiting=max_waiting,
            max_connections=max_connections,
            hosts=hosts_for(host),
            token=token,
        )
        for source in settings.models.values():
            check_model(source)
        app = create_app(settings)
    run("explorer", app, settings, host, port)


def run(name: str, app: Limits, settings: ServerSettings, host: str, port: int) -> None:
    """Serve until it is ended; says where, and warns where everyone may come in."""
    from whyalike.server.listen import server

    console = Console(stderr=True, highlight=False)
    console.print(f"whyalike {name}: http://{host}:{port}   (Ctrl+C ends it)", markup=False)
    if settings.hosts is None and settings.token is None:
        warning = "Others can reach this server, and it asks for no token: set --token or WHYALIKE_TOKEN."
        console.print(warning, style="yellow", markup=False)
    server(app, settings, host, port).run()
