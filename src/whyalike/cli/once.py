"""Commands that refuse an option given twice, unless it can be repeated. (By default the last one would count, silently.)"""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand


class OnceCommand(TyperCommand):
    """A command whose single options can be given once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        parameter: Any
        for parameter, count in Counter(order).items():
            repeatable = parameter.param_type_name != "option" or parameter.multiple or parameter.count
            if count > 1 and not repeatable:
                raise typer.BadParameter(f"It was given {count} times; give it once.", ctx=ctx, param=parameter)
        return list(super().parse_args(ctx, args))
