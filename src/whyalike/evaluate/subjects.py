"""What is evaluated: a method as it is written, a method of one's own, a function, or a file of matrices."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.fingerprint import version_of
from whyalike.errors import BadInput
from whyalike.methods import Method, Random
from whyalike.methods.cache import ContributionCache
from whyalike.methods.function_method import FunctionMethod, read_matrices
from whyalike.methods.method import Options
from whyalike.methods.spec import MethodSpec, View, parse_method
from whyalike.methods.tangents import GIBIBYTE
from whyalike.results.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Subject:
    """A method in a view, under the name it has in tables."""

    name: str
    method: Method
    view: View | None = None

    def explanations(
        self,
        pairs: Sequence[tuple[str, str]],
        encoder: Encoder,
        cache: ContributionCache | None = None,
        *,
        progress: bool = False,
    ) -> list[Explanation]:
        """One explanation per pair. Subjects that share a cache share the contributions of one method."""
        aligned = self.view == "aligned"  # words are aligned, not tokens
        unit = "word" if aligned else self.method.unit
        cache = ContributionCache(GIBIBYTE) if cache is None else cache
        prompts = encoder.pair_prompts
        options = Options(unit, prompts, True, aligned, progress=progress, total=len(pairs), cache=cache)
        spec = MethodSpec(self.name, self.method, self.view)
        found = self.method.explain_pairs(encoder, pairs, options)
        return [self._without_identity(spec.viewed(e)) for e in found]

    def _without_identity(self, e: Explanation) -> Explanation:
        """Random contributions are drawn by text: in a pair of equal texts each word would find itself, not by chance."""
        if not isinstance(self.method, Random) or e.left.text != e.right.text:
            return e
        return replace(e, matrix=np.random.default_rng(self.method.seed).permutation(e.matrix, axis=1))

    def at_layer_of(self, e: Explanation) -> Subject:
        """The subject at the layer of one of its explanations: for other weights it might choose another layer itself."""
        layer = e.method.layer
        if getattr(self.method, "layer", 0) is not None or not isinstance(layer, int):
            return self
        return replace(self, method=replace(cast(Any, self.method), layer=layer))


def make_subject(
    given: str | Method | MethodSpec | Subject | Callable[[str, str], Any] | os.PathLike[str],
) -> Subject:
    """A subject from what a user gives.

    Args:
        given: A method as it is written (``"bilrp@5+aligned"``), a `Method`, a function ``(left, right) -> matrix`` over words
            (`whyalike.split_words`), or the path of a file of matrices (.jsonl).
    """
    if isinstance(given, Subject):
        return given
    if isinstance(given, os.PathLike) or (isinstance(given, str) and given.endswith(".jsonl")):
        method = read_matrices(Path(given))
        return Subject(method.called, method)
    if not isinstance(given, str | Method | MethodSpec) and callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        return Subject(name, FunctionMethod(given, name, version_of(given)))
    spec = parse_method(given)
    return Subject(spec.name, spec.method, spec.view)


def parse_subjects(
    subjects: Sequence[str | Method | MethodSpec | Subject | Callable[[str, str], Any] | os.PathLike[str]],
) -> list[Subject]:
    """Subjects from what a user gives, each once."""
    found = [make_subject(each) for each in subjects]
    if not found:
        raise BadInput("Expected at least one method to evaluate, such as bilrp.")
    if len({each.name for each in found}) < len(found):
        raise BadInput(
            "Two methods have the same name. Give each once, or give Subject(name, method) with other names."
        )
    return found
