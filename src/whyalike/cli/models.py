"""``whyalike models``"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from whyalike.encoders.available import available_models


def command() -> None:
    """List the models on this machine, by the name that `--model` takes. Any other Hugging Face name or path works too.

    Looks at the embedded default, at folders under `$WHYALIKE_MODELS` (default: ~/.cache/whyalike/models), and at the
    Hugging Face cache. Loads nothing.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("model", "kind", "architecture", "layers", "width", "where"):
        table.add_column(heading, no_wrap=heading == "model", overflow="ignore" if heading == "model" else "fold")
    found = available_models()
    for model in found:
        table.add_row(
            model.name, model.kind, model.architecture, str(model.layers or "?"), str(model.width or "?"), model.where
        )
    console = Console(highlight=False)
    longest = max((len(model.name) for model in found), default=0)
    console.print(table, width=max(console.width, longest + 40), soft_wrap=True)
