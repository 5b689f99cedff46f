"""What is judged: a method with its parameters, its remainder kept apart or spread; or a baseline that needs no model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, unknown
from whyalike.explanation import Explanation, MethodRecord
from whyalike.front_door import choose_method, explain_pairs
from whyalike.methods import METHODS, Method, TokenEmbeddings
from whyalike.sides import Unit, group

Spread = Literal["equal", "proportional"]
BASELINES = ("contextual_cosine", "exact_match")
_FORM = re.compile(r"(?P<name>\w+)(@(?P<layer>\d+))?(:(?P<reference>\w+))?(\+(?P<spread>\w+))?")


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that gives every pair of texts a matrix. ``method`` is None for exact word match."""

    name: str
    method: Method | None
    spread: Spread | None = None

    def explanations(
        self, pairs: Sequence[tuple[str, str]], encoder: Encoder, *, truncate: bool = True
    ) -> Iterator[Explanation]:
        """One explanation per pair, in the method's finest unit."""
        method = self.method or METHODS["random"]()
        unit: Unit | None = "word" if getattr(method, "normalize", None) is True else None  # cosines do not sum
        for e in explain_pairs(pairs, encoder=encoder, method=method, unit=unit, truncate=truncate, progress=False):
            if self.method is None:
                yield _exact_match(e)
            else:
                yield e.spread(self.spread) if self.spread else e


def subject(text: str) -> Subject:
    """A subject from how it is written: ``NAME[@LAYER][:REFERENCE][+SPREAD]``.

    ``integrated_jacobians@3:null+equal`` is integrated Jacobians at layer 3 from the null reference, what no token owns
    spread equally. ``contextual_cosine@3`` compares states as BERTScore does; ``exact_match`` finds the same word.

    >>> subject("bilrp@2").method                                                           # doctest: +SKIP
    BiLRP(layer=2)
    """
    found = _FORM.fullmatch(text)
    if found is None:
        raise BadInput(f"{text!r} should be NAME[@LAYER][:REFERENCE][+SPREAD], such as integrated_jacobians@3+equal.")
    name, layer, reference, spread = found["name"], found["layer"], found["reference"], found["spread"]
    if spread not in (None, "equal", "proportional"):
        raise unknown("way to spread", spread, ("equal", "proportional"))
    if name == "exact_match":
        return Subject(text, None)
    if name not in (*METHODS, "contextual_cosine"):
        raise unknown("method", name, (*METHODS, *BASELINES))
    method = TokenEmbeddings(normalize=True) if name == "contextual_cosine" else choose_method(name)
    changes: dict[str, Any] = {} if layer is None else {"layer": int(layer)}
    changes |= {} if reference is None else {"reference": reference}
    known = {each.name for each in fields(cast(Any, method))}
    for parameter in changes:
        if parameter not in known:
            raise BadInput(f"{name} has no {parameter}, so {text!r} says nothing. Leave it out.")
    if spread and not method.adds_up:
        raise BadInput(f"{name} makes no claim to add up, so there is nothing to spread. Leave '+{spread}' out.")
    return Subject(text, replace(cast(Any, method), **changes), cast("Spread | None", spread))


def _exact_match(e: Explanation) -> Explanation:
    """1 between words that are the same but for the case of their letters."""
    (left, _), (right, _) = group(e.left, "word"), group(e.right, "word")
    matrix = np.array(
        [
            [float(one.casefold() == other.casefold() and {kind, kinds} == {"text"}) for other, kinds in _words(right)]
            for one, kind in _words(left)
        ]
    )
    nothing = np.zeros(len(left)), np.zeros(len(right))
    method = MethodRecord("exact_match", {"layer": None}, False)
    return replace(
        e,
        left=left,
        right=right,
        matrix=matrix,
        left_terms=nothing[0],
        right_terms=nothing[1],
        constant=0.0,
        method=method,
        measured={},
    )


def _words(side: Any) -> list[tuple[str, str]]:
    return list(zip(side.labels, side.kinds, strict=True))
