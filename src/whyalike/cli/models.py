"""``whyalike models``"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from whyalike.models_at_hand import models_at_hand


def command() -> None:
    """List the models at hand on this machine; any other Hugging Face name or path works too.

    Looks at the embedded default, at folders under `$WHYALIKE_MODELS` (default: ~/.cache/whyalike/models), and at the
    Hugging Face cache. Loads nothing.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("model", "kind", "layers", "wide", "where"):
        table.add_column(heading, overflow="fold")
    for model in models_at_hand():
        table.add_row(model.name, model.kind, str(model.layers or "?"), str(model.width or "?"), model.where)
    Console(highlight=False).print(table)
