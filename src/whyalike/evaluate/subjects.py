"""What is judged: a method with its parameters, its remainder kept apart or spread; or a baseline that needs no model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast, get_args

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, unknown
from whyalike.explanation import Contributions, Explanation, MethodRecord
from whyalike.front_door import choose_method, contributions, explain_pairs
from whyalike.methods import METHODS, Method, Random, TokenEmbeddings
from whyalike.methods.first_order import FirstOrder
from whyalike.methods.method import read_value
from whyalike.pairs import explain_parts
from whyalike.sides import Unit, group

View = Literal["equal", "proportional", "aligned"]
Parts = tuple[Contributions, Contributions]  # of the two texts of a pair
BASELINES = ("contextual_cosine", "exact_match")
_FORM = re.compile(r"(?P<name>\w+)(@(?P<layer>\d+))?(:(?P<reference>\w+))?(?P<more>(,\w+=[\w.-]+)*)(\+(?P<view>\w+))?")


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that gives every pair of texts a matrix. ``method`` is None for exact word match."""

    name: str
    method: Method | None
    view: View | None = None  # what no token owns spread over the tokens, or each word's total given to its partners

    @property
    def unit(self) -> Unit | None:
        """What it is computed in: the method's finest, or words where cells of tokens do not sum to a word's."""
        return "word" if getattr(self.method, "normalize", None) is True else None

    def explanations(self, pairs: Sequence[tuple[str, str]], encoder: Encoder) -> list[Explanation]:
        """One explanation per pair, as the subject looks at it."""
        return [self.seen(source) for source in self.sources(pairs, encoder)]

    def at_layer_of(self, e: Explanation) -> Subject:
        """The subject at the layer of an explanation of its own: for other weights it might choose another itself."""
        layer = e.method.parameters.get("layer")
        if self.method is None or getattr(self.method, "layer", 0) is not None or not isinstance(layer, int):
            return self
        return replace(self, method=replace(cast(Any, self.method), layer=layer))

    @property
    def looks_at(self) -> Method:
        """The method whose contributions it looks at; where it needs none, one that costs no more than the score."""
        return self.method or METHODS["random"]()

    def sources(
        self,
        pairs: Sequence[tuple[str, str]],
        encoder: Encoder,
        *,
        progress: bool = False,
    ) -> list[Explanation | Parts]:
        """What the subject looks at, per pair: the same for all subjects of one method, so that it is computed once."""
        method = self.looks_at
        if isinstance(method, FirstOrder):
            return list(explain_pairs(pairs, encoder=encoder, method=method, truncate=True, progress=progress))
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        parts = contributions(texts, encoder=encoder, method=method, unit=self.unit, truncate=True, progress=progress)
        known = dict(zip(texts, parts, strict=True))
        return [(known[left], known[right]) for left, right in pairs]

    def seen(self, source: Explanation | Parts) -> Explanation:
        """A source of its method as the subject looks at it. Words are aligned, not tokens."""
        if isinstance(source, Explanation):
            return source
        if self.view == "aligned":
            left, right = (part.by("word") for part in source)
            return explain_parts(left, right, aligned=True)
        left, right = source
        if isinstance(self.method, Random) and left.side.text == right.side.text:
            right = _shuffled(right, self.method.seed)  # drawn by text: a word would find itself, and not by chance
        e = explain_parts(left, right)
        if self.method is None:
            return _exact_match(e)
        return e if self.view is None else e.spread(self.view)


def subject(text: str) -> Subject:
    """A subject from how it is written: ``NAME[@LAYER][:REFERENCE][,PARAMETER=VALUE…][+VIEW]``.

    ``integrated_jacobians@3:null+equal`` is integrated Jacobians at layer 3 from the null reference, what no token owns
    spread equally; ``integrated_jacobians@0,tolerance=0.05`` has that tolerance; ``bilrp@5+aligned`` gives each word's total
    to its likeliest partners. ``contextual_cosine@3`` compares states as BERTScore does; ``exact_match`` finds the same word.

    >>> subject("bilrp@2").method                                                           # doctest: +SKIP
    BiLRP(layer=2)
    """
    found = _FORM.fullmatch(text)
    if found is None:
        form = "NAME[@LAYER][:REFERENCE][,PARAMETER=VALUE…][+VIEW]"
        raise BadInput(f"{text!r} should be {form}, such as integrated_jacobians@3,tolerance=0.05+equal.")
    name, layer, reference, view = found["name"], found["layer"], found["reference"], found["view"]
    if view not in (None, *get_args(View)):
        raise unknown("view", view, get_args(View))
    if name == "exact_match":
        if text != name:
            raise BadInput(f"exact_match has no layer, parameters or view, so {text!r} says nothing. Leave it out.")
        return Subject(text, None)
    if name not in (*METHODS, "contextual_cosine"):
        raise unknown("method", name, (*METHODS, *BASELINES))
    method = TokenEmbeddings(normalize=True) if name == "contextual_cosine" else choose_method(name)
    changes: dict[str, Any] = {} if layer is None else {"layer": int(layer)}
    changes |= {} if reference is None else {"reference": reference}
    changes |= {key: read_value(value) for key, value in (each.split("=") for each in found["more"].split(",")[1:])}
    known = {each.name for each in fields(cast(Any, method))}
    for parameter in changes:
        if parameter not in known:
            raise BadInput(f"{name} has no {parameter}, so {text!r} says nothing. Leave it out.")
    if (layer is not None and ",layer=" in text) or (reference is not None and ",reference=" in text):
        raise BadInput(f"{text!r} says its layer or its reference twice. Say it once.")
    if name == "contextual_cosine" and "layer" not in changes:
        raise BadInput("contextual_cosine compares the states of a layer. Name it, as in contextual_cosine@3.")
    if view and not method.adds_up:
        raise BadInput(f"{name} makes no claim to add up, so there is nothing to share out. Leave '+{view}' out.")
    return Subject(text, replace(cast(Any, method), **changes), cast("View | None", view))


def chosen(subjects: Sequence[str | Subject]) -> list[Subject]:
    """Subjects as written or as made, each once."""
    found = [subject(each) if isinstance(each, str) else each for each in subjects]
    if not found:
        raise BadInput("Expected at least one subject to judge, such as bilrp.")
    if len({each.name for each in found}) < len(found):
        raise BadInput("Two subjects have the same name. Give each once, or name them apart.")
    return found


def _shuffled(part: Contributions, seed: int) -> Contributions:
    return replace(part, tokens=np.random.default_rng(seed).permutation(part.tokens))


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
