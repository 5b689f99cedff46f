"""A real server on a free port of loopback, for as long as a test needs it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from whyalike.server.limits import Limits
from whyalike.server.listen import server as listening
from whyalike.server.settings import ServerSettings


@contextmanager
def serving(app: Limits, settings: ServerSettings) -> Iterator[int]:
    """The port it listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = listening(app, settings, "127.0.0.1", port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(timeout=10)
