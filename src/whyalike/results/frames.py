"""Results as data frames: polars where it is installed, otherwise pandas."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from whyalike.errors import MissingExtra


def make_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """A `polars.DataFrame`, or a `pandas.DataFrame` where polars is not installed."""
    for library in ("polars", "pandas"):
        if importlib.util.find_spec(library) is not None:
            return importlib.import_module(library).DataFrame({name: list(values) for name, values in columns.items()})
    raise MissingExtra("polars or pandas", "data frames", "tables")
