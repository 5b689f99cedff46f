"""Every error whyalike raises on purpose. One base to catch; each message says what, what was expected, what to do.

::

    WhyalikeError
    ├── BadInput            the caller can fix it; also a ValueError
    │   ├── TextTooLong
    │   ├── EmptyText
    │   ├── UnknownName     a method, layer, unit, prompt, reference … that does not exist
    │   ├── MismatchedParts two texts explained by different models or methods
    │   └── TooManyCalls    a function may not be called so often; nothing was spent on it
    ├── ModelError
    │   ├── UnknownModel    not found, or not what it claims to be
    │   └── UnsupportedModel found, but cannot be explained honestly
    ├── FileError
    │   ├── DamagedFile
    │   ├── UnknownVersion
    │   ├── CannotWrite     a full disk, a folder without permission
    │   └── FolderInUse     another process works in it
    └── MissingExtra        an optional library is not installed
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


class WhyalikeError(Exception):
    """The base of all errors raised on purpose."""


class BadInput(WhyalikeError, ValueError):
    """The caller asked for something that cannot be done as asked."""


class TextTooLong(BadInput):
    """A text has more tokens than the encoder reads."""


class EmptyText(BadInput):
    """A text that leaves the tokenizer without a single token."""


class UnknownName(BadInput):
    """A name that is not in the table it was looked up in."""


class MismatchedParts(BadInput):
    """Contributions that do not belong together."""


class TooManyCalls(BadInput):
    """More calls of a function would be needed than the user allows. Says what was spent before."""

    def __init__(self, message: str, *, calls: int, texts: int) -> None:
        super().__init__(message)
        self.calls, self.texts = calls, texts


class ModelError(WhyalikeError):
    """Something about the model."""


class UnknownModel(ModelError):
    """No such model, or its files are not the ones expected."""


class UnsupportedModel(ModelError):
    """A model whose explanation would be wrong or meaningless."""


class FileError(WhyalikeError):
    """Something about a file of ours."""


class DamagedFile(FileError):
    """Not a whyalike file, or a broken one."""


class UnknownVersion(FileError):
    """A whyalike file of a version this release does not read."""


class CannotWrite(FileError):
    """The system refused to write a file."""


class FolderInUse(FileError):
    """Another process works in the folder of a run."""


class MissingExtra(WhyalikeError, ImportError):
    """An optional library is needed."""

    def __init__(self, library: str, purpose: str, extra: str) -> None:
        super().__init__(f"{library} is needed for {purpose}. Install it with `pip install 'whyalike[{extra}]'`.")


def unknown(kind: str, name: object, known: Iterable[object]) -> UnknownName:
    """The error for a name that is not there, with the names that are."""
    return UnknownName(f"There is no {kind} {name!r}. Known: {', '.join(map(str, known))}.")


def reword(message: str, replacements: Sequence[tuple[str, str]]) -> str:
    """A message in the words of another surface: the command line has options, the page has controls."""
    for pattern, replacement in replacements:
        message = re.sub(pattern, replacement, message)
    return message
