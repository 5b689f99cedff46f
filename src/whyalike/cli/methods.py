"""``whyalike methods``"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


def command() -> None:
    """List the methods: what each does, whether its parts add up, and the paper it comes from."""
    from whyalike.methods import METHODS

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("method", "adds up", "what it does", "paper"):
        table.add_column(heading, overflow="fold")
    for name, method in METHODS.items():
        table.add_row(name, "yes" if method.adds_up else "no", method.summary, method.paper)
    Console(highlight=False).print(table)
