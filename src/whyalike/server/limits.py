"""What stands before every request: size, time, the token; and what every answer carries: security headers."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from whyalike.server.settings import ServerSettings

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
HOST = re.compile(
    r"(?P<name>\[[0-9a-f:.]+\]|[^\s:\[\]]+)(:\d{1,5})?", re.ASCII | re.IGNORECASE
)  # RFC 9110, section 7.2
OPEN = (
    "/healthz",
    "/api",
    "/api/openapi.json",
)  # answered without a token: they say nothing of the models or the texts


class Refused(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class Limits:
    """An ASGI layer around the app. The whole body is read here, within its limits, before the app sees the request."""

    def __init__(self, app: App, settings: ServerSettings) -> None:
        self.app, self.settings = app, settings

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            _check_framing(scope)
            self._check_host(scope)
            self._check_token(scope)
            body = await self._body(scope, receive)
        except Refused as refused:
            await _answer(send, refused)
            return
        sent = False

        async def replay() -> Message:
            nonlocal sent
            if sent:
                return await receive()  # the client going away
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_headers()]
            await send(message)

        await self.app(scope, replay, with_headers)

    def _check_host(self, scope: MutableMapping[str, Any]) -> None:
        """A page from elsewhere whose name was made to point at loopback must not reach a server without a token."""
        if self.settings.hosts is None:
            return
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        parsed = HOST.fullmatch(host)
        name = host if parsed is None else parsed["name"]
        if parsed is None or name.lower() not in self.settings.hosts:
            raise Refused(
                421, "WrongHost", f"This server does not answer to {name!r}. Expected {', '.join(self.settings.hosts)}."
            )

    def _check_token(self, scope: MutableMapping[str, Any]) -> None:
        wanted = self.settings.token
        if wanted is None or scope["path"] in OPEN or not scope["path"].startswith("/api"):
            return
        given = dict(scope["headers"]).get(b"authorization")
        if given is None:
            raise Refused(401, "MissingToken", "This server needs its token. Send it as 'Authorization: Bearer …'.")
        if not hmac.compare_digest(given, f"Bearer {wanted}".encode()):
            raise Refused(
                401, "WrongToken", "The token is not right. Send this server's own as 'Authorization: Bearer …'."
            )

    async def _body(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        most = self.settings.max_body
        too_large = Refused(413, "BodyTooLarge", f"The request is larger than the {most} bytes this server takes.")
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if not stated.isdigit() or int(stated) > most:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(self.settings.max_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "Disconnected", "The request ended before its body did.")
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError as error:
            seconds = self.settings.max_seconds
            raise Refused(408, "TooSlow", f"The request was not sent within {seconds:g} seconds.") from error


def _check_framing(scope: MutableMapping[str, Any]) -> None:
    """Two statements of how long a body is: whoever stands before this server may believe the other one (RFC 9112, 6.1)."""
    names = [name for name, _ in scope["headers"]]
    if b"transfer-encoding" in names and b"content-length" in names:
        raise Refused(
            400, "AmbiguousLength", "The request has both Content-Length and Transfer-Encoding. Send one of them."
        )


def _headers() -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def refusal(refused: Refused) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """A refusal as status, headers and body."""
    body = json.dumps({"error": {"type": refused.kind, "message": str(refused)}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_headers()]
    if refused.status == 400:  # where the next request would begin is not known
        headers.append((b"connection", b"close"))
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return refused.status, headers, body


async def _answer(send: Send, refused: Refused) -> None:
    status, headers, body = refusal(refused)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
