"""How a method is written, on every command and in the API: ``NAME[@LAYER][:REFERENCE][,PARAMETER=VALUE…][+VIEW]``.

| written | means |
| --- | --- |
| ``bilrp`` | the method with its defaults |
| ``bilrp@6`` | at layer 6 |
| ``integrated_jacobians@3:null`` | from the null reference |
| ``integrated_jacobians@0,tolerance=0.05`` | with another parameter |
| ``bilrp@5+aligned`` | each word's total is given to its likeliest partners |
| ``integrated_jacobians+equal`` | the background is spread over the tokens, equally (or ``+proportional``) |
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast, get_args

from whyalike.errors import BadInput, unknown
from whyalike.methods import METHODS
from whyalike.methods.method import Method
from whyalike.results.explanation import Explanation

FORM = "NAME[@LAYER][:REFERENCE][,PARAMETER=VALUE…][+VIEW]"
View = Literal["equal", "proportional", "aligned"]
VIEWS: tuple[View, ...] = get_args(View)
_FORM = re.compile(r"(?P<name>\w+)(@(?P<layer>\d+))?(:(?P<reference>\w+))?(?P<more>(,\w+=[\w.-]+)*)(\+(?P<view>\w+))?")


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """A method, and how its explanations are viewed: as they are, aligned, or with the background spread over the tokens."""

    name: str  # as written
    method: Method
    view: View | None = None

    @property
    def aligned(self) -> bool:
        return self.view == "aligned"

    def viewed(self, e: Explanation) -> Explanation:
        """An explanation of the method in this view. (Aligned ones are made so from the beginning.)"""
        return e if self.view is None or self.view == "aligned" else e.spread(self.view)


def parse_method(method: str | Method | MethodSpec, layer: int | None = None) -> MethodSpec:
    """A method as it is written, or as it is; at a layer where one is given.

    >>> parse_method("bilrp@2").method                                                      # doctest: +SKIP
    BiLRP(layer=2, biases='shared')
    """
    if isinstance(method, str):
        spec = _parse(method)
    elif isinstance(method, Method):
        spec = MethodSpec(method.name, method)
    elif isinstance(method, MethodSpec):
        spec = method
    else:
        raise BadInput(f"A method should be a name such as 'bilrp@6', or a Method; got {method!r:.60}.")
    if layer is None:
        return spec
    if "@" in spec.name:
        raise BadInput(f"{spec.name!r} and layer={layer} both give a layer. Give it once.")
    return replace(spec, method=_changed(spec.method, {"layer": layer}, spec.name))


def _parse(text: str) -> MethodSpec:
    if (first := re.split(r"[@:,+]", text, maxsplit=1)[0]) not in METHODS:
        raise unknown("method", first, METHODS)
    found = _FORM.fullmatch(text)
    if found is None:
        raise BadInput(f"{text!r:.100} should be {FORM}, such as integrated_jacobians@3,tolerance=0.05+equal.")
    name, layer, reference, view = found["name"], found["layer"], found["reference"], found["view"]
    if view not in (None, *VIEWS):
        raise unknown("view", view, VIEWS)
    if (layer is not None and ",layer=" in text) or (reference is not None and ",reference=" in text):
        raise BadInput(f"{text!r} gives its layer or its reference twice. Give it once.")
    changes: dict[str, Any] = {} if layer is None else {"layer": int(layer)}
    changes |= {} if reference is None else {"reference": reference}
    changes |= {key: read_value(value) for key, value in (each.split("=") for each in found["more"].split(",")[1:])}
    method = _changed(METHODS[name](), changes, text)
    if view and not method.adds_up:
        raise BadInput(f"{name} does not add up to the score, so the view '+{view}' does not apply. Remove it.")
    return MethodSpec(text, method, cast("View | None", view))


def _changed(method: Method, changes: dict[str, Any], text: str) -> Method:
    known = {each.name for each in fields(cast(Any, method)) if each.init}
    for parameter in changes:
        if parameter not in known:
            raise BadInput(f"{method.name} has no {parameter}, so {text!r} cannot be used. Leave it out.")
    return replace(cast(Any, method), **changes)


def read_value(text: str) -> Any:
    """A parameter's value as written: a number, None, True or False where it reads as one, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
