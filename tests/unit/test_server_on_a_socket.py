"""The server on a real socket: clients that are slow, silent or rude, and whatever schemathesis can think of."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.serving import serving
from whyalike.server.app import create_app
from whyalike.server.settings import ServerSettings

SECONDS = 0.5


@pytest.fixture(scope="module")
def impatient() -> Iterator[int]:
    """The port of a server that waits for half a second only."""
    chosen = ServerSettings(max_seconds=SECONDS)
    with serving(create_app(chosen), chosen) as port:
        yield port


def talk(port: int, pieces: list[bytes], pause: float) -> bytes:
    """All a server says to a client that sends piece by piece and then waits."""
    heard = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        for piece in pieces:
            try:
                line.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                break
            time.sleep(pause)
        while True:
            try:
                part = line.recv(65536)
            except ConnectionResetError:
                return heard
            if not part:
                return heard
            heard += part


HEAD = b"POST /api/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW = {
    "silent": [],
    "head": [HEAD],
    "dripping head": [HEAD, *[b"X-A: b\r\n"] * 20],
    "body": [HEAD + b"Content-Length: 100\r\n\r\n", b"{"],
    "second head": [b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", *[b"G"] * 1],
}


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_client_is_told_so_and_let_go(impatient: int, name: str) -> None:
    start = time.monotonic()
    heard = talk(impatient, SLOW[name], 0.1)
    assert b"HTTP/1.1 408" in heard
    assert json.loads(heard.rsplit(b"\r\n\r\n", 1)[1])["error"]["type"] == "TooSlow"
    assert time.monotonic() - start < 10 * SECONDS
    assert httpx.get(f"http://127.0.0.1:{impatient}/healthz").json()["status"] == "ok"


@pytest.mark.parametrize("noise", [b"\x16\x03\x01\x00\xa5", b"hello\r\n\r\n", HEAD + b"Content-Length: -1\r\n\r\n"])
def test_what_is_not_http_is_refused(impatient: int, noise: bytes) -> None:
    assert b"HTTP/1.1 4" in talk(impatient, [noise], 0.0)
    assert httpx.get(f"http://127.0.0.1:{impatient}/healthz").json()["status"] == "ok"


def test_many_silent_connections_leave_the_server_free(impatient: int) -> None:
    lines = [socket.create_connection(("127.0.0.1", impatient)) for _ in range(200)]
    try:
        assert httpx.get(f"http://127.0.0.1:{impatient}/healthz").json()["status"] == "ok"
        for line in lines:
            line.settimeout(10)
            assert b" 408 " in line.recv(4096)
    finally:
        for line in lines:
            line.close()


BODY = b'{"left": "a man", "right": "a dog"}'
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


def test_a_body_of_two_lengths_is_refused_at_once_and_the_connection_ends(impatient: int) -> None:
    # Before, it was taken as chunked, and so waited for as long as the model took to load.
    start = time.monotonic()
    heard = talk(impatient, [HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS], 0.0)
    assert heard.startswith(b"HTTP/1.1 400")
    assert heard.count(b"HTTP/1.1") == 1
    assert json.loads(heard.rsplit(b"\r\n\r\n", 1)[1])["error"]["type"] == "AmbiguousLength"
    assert time.monotonic() - start < SECONDS


STRANGE_HOSTS = [
    "[",
    "[::1",
    "[::1]evil.com",
    "[::1]:x",
    "127.0.0.1:x",
    "127.0.0.1:",
    "127.0.0.1:80:80",
    ":80",
    "]",
    "[]",
    "",
]


@pytest.mark.parametrize("host", STRANGE_HOSTS)
def test_a_host_that_is_none_is_refused(impatient: int, host: str) -> None:
    request = b"GET /healthz HTTP/1.1\r\nConnection: close\r\nHost: %s\r\n\r\n" % host.encode()
    assert b"HTTP/1.1 421" in talk(impatient, [request], 0.0)


@pytest.mark.parametrize("host", ["[::1]", "[::1]:8000", "127.0.0.1:8000", "LOCALHOST", "localhost:65535"])
def test_a_host_of_loopback_is_answered(impatient: int, host: str) -> None:
    request = b"GET /healthz HTTP/1.1\r\nConnection: close\r\nHost: %s\r\n\r\n" % host.encode()
    assert b"HTTP/1.1 200" in talk(impatient, [request], 0.0)


@pytest.fixture(scope="module")
def patient() -> Iterator[int]:
    with serving(create_app(), ServerSettings()) as port:
        yield port


api = schemathesis.openapi.from_dict(create_app().app.openapi())  # type: ignore[attr-defined]


@api.parametrize()
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_no_request_the_description_allows_or_forbids_breaks_the_server(case: schemathesis.Case, patient: int) -> None:
    # What a schema cannot say (methods times layers at once, a text too long for the model) may be refused too.
    case.call_and_validate(base_url=f"http://127.0.0.1:{patient}", excluded_checks=[positive_data_acceptance])
