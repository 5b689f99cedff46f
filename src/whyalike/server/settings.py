"""What the operator of a server decides: which models, how much at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whyalike.errors import BadInput

DEFAULT = "all-MiniLM-L6-v2"  # what the embedded model is called on the page
MEBIBYTE = 2**20
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Safe defaults for a server on one's own machine. A request names one of ``models``, never a path."""

    models: dict[str, str | None] = field(default_factory=lambda: {DEFAULT: None})  # name shown -> what to load
    max_characters: int = 20_000  # of one text
    max_body: int = MEBIBYTE  # bytes of one request
    max_seconds: float = 60.0  # for sending a request, and for answering it
    max_waiting: int = 1  # requests at work or waiting; the next gets 503, and a page asks again by itself
    max_connections: int = 1000  # open at once
    kept: int = 64 * MEBIBYTE  # bytes of explanations kept for the next who asks the same
    hosts: tuple[str, ...] | None = LOOPBACK  # names the server answers to; None: any
    token: str | None = field(default=None, repr=False)  # where given, requests need "Authorization: Bearer …"

    def __post_init__(self) -> None:
        if not self.models:
            raise BadInput("A server needs at least one model.")
        if not all(name.strip() for name in self.models):
            raise BadInput("A model's name is empty. Give a Hugging Face name or a path with --model, or leave it out.")
        for name in ("max_characters", "max_body", "max_seconds", "max_waiting", "max_connections"):
            if getattr(self, name) <= 0:
                raise BadInput(f"{name} should be above 0; got {getattr(self, name)!r}.")
        if self.token is not None and not self.token.strip():
            raise BadInput("The token is empty. Give one, or leave it out.")
        if self.token is not None and not re.fullmatch(r"[!-~]([ -~]*[!-~])?", self.token):
            raise BadInput(
                "A request cannot carry the token: it begins or ends with a space, or is not printable ASCII. "
                "Use letters, digits and punctuation."
            )


def parse_models(given: Sequence[str]) -> dict[str, str | None]:
    """Models by the names to show: each is a Hugging Face name or a path, or ``NAME=`` and one of them.

    >>> parse_models(["ours=runs/7/checkpoint", "sentence-transformers/all-mpnet-base-v2"])
    {'ours': 'runs/7/checkpoint', 'sentence-transformers/all-mpnet-base-v2': 'sentence-transformers/all-mpnet-base-v2'}
    """
    models: dict[str, str | None] = {}
    for each in given:
        name, sign, source = each.partition("=")
        if not sign or _is_path(each):
            name = source = each
        if name in models:
            raise BadInput(
                f"Two models have the name {name!r}: {models[name]} and {source}. Give one another name with --model NAME=PATH."
            )
        models[name] = source
    return models


def _is_path(given: str) -> bool:
    try:
        return Path(given).expanduser().exists()
    except (OSError, RuntimeError, ValueError):  # too long, no home, a zero byte
        return False


def hosts_for(address: str) -> tuple[str, ...] | None:
    """The names a server at this address answers to: on loopback its own, elsewhere any."""
    return LOOPBACK if address in (*LOOPBACK, "::1") else None
