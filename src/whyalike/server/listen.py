"""The app on a socket. The only door to uvicorn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from whyalike.errors import MissingExtra
from whyalike.server.limits import Limits, Refused, refusal
from whyalike.server.settings import ServerSettings

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as missing:
    raise MissingExtra("uvicorn", "the web explorer", "server") from missing


def server(app: Limits, settings: ServerSettings, host: str, port: int) -> uvicorn.Server:
    """Ready to ``run()``."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=_watched(settings.max_seconds),  # type: ignore[arg-type]  # called, never subclassed
            ws="none",
            log_level="warning",
            timeout_keep_alive=5,
            limit_concurrency=settings.max_connections,
            server_header=False,
        )
    )


def _watched(seconds: float) -> Callable[..., H11Protocol]:
    """Connections that must send the head of a request in so many seconds: uvicorn itself waits for it for ever."""

    def connection(**options: Any) -> H11Protocol:
        made = H11Protocol(**options)
        asyncio.get_running_loop().call_later(seconds, _look, made, None, seconds)
        return made

    return connection


def _look(connection: H11Protocol, before: Any, seconds: float) -> None:
    """Let go a connection that has begun no request since the last look and is waiting for no answer."""
    transport, request = connection.transport, connection.cycle
    if transport is None or transport.is_closing():
        return
    if request is before and (request is None or request.response_complete):
        transport.write(_too_slow(seconds))
        transport.close()
        return
    asyncio.get_running_loop().call_later(seconds, _look, connection, request, seconds)


def _too_slow(seconds: float) -> bytes:
    status, headers, body = refusal(Refused(408, "TooSlow", f"No request was sent within {seconds:g} seconds."))
    lines = [b"HTTP/1.1 %d Request Timeout" % status, *(b": ".join(header) for header in headers), b"connection: close"]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
