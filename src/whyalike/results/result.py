"""What every result can do: become a table, plain JSON values, or a file."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from whyalike.results.frames import make_frame


class Result(ABC):
    """A result of whyalike. Subclasses are frozen dataclasses."""

    __slots__ = ()

    @abstractmethod
    def to_columns(self) -> dict[str, list[Any]]:
        """The table behind `to_frame`: a list of values per column."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""

    def to_frame(self) -> Any:
        """A polars (or pandas) data frame of `to_columns`."""
        return make_frame(self.to_columns())

    def save(self, path: str | os.PathLike[str], *, layout: str = "full", dark: bool | None = None) -> Path:
        """Writes the result in the format of the file's ending, see `whyalike.save`."""
        from whyalike.results.files import save

        return save(self, path, layout=layout, dark=dark)
