"""The public functions: texts in, explanations out.

Arguments are checked when a function is called. The work is done by the method: see `methods.method.Method`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from whyalike.data.pairs import COLUMNS, NumberedPair, check_text, number_pairs
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.load import as_encoder
from whyalike.encoders.score_range import score_range_of
from whyalike.errors import BadInput, WhyalikeError, unknown
from whyalike.methods import DEFAULT_METHOD, DEFAULT_METHODS
from whyalike.methods.cache import ContributionCache
from whyalike.methods.method import Method, Options, PairMethod
from whyalike.methods.spec import MethodSpec, parse_method
from whyalike.methods.tangents import GIBIBYTE
from whyalike.results.comparison import Comparison, Entry, name_entries
from whyalike.results.contrast import Contrast
from whyalike.results.contributions import Contributions
from whyalike.results.explanation import Explanation
from whyalike.results.one_sided import OneSided
from whyalike.results.records import ScoreRange
from whyalike.results.sides import UNITS, Unit
from whyalike.results.skipped import Skipped

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

AnyMethod = str | Method | MethodSpec
Prompts = tuple[str | None, str | None]


def explain(
    left: str,
    right: str,
    *,
    encoder: Encoder | str | os.PathLike[str] | SentenceTransformer | None = None,
    method: AnyMethod | None = None,
    layer: int | None = None,
    unit: Unit | None = None,
    prompts: Prompts = (None, None),
    truncate: bool = False,
    aligned: bool = False,
    budget: int = GIBIBYTE,
) -> Explanation:
    """Why an encoder finds two texts alike: a matrix over pairs of words whose sum is the score.

    Args:
        left: The first text.
        right: The second text.
        encoder: A model's name or path, a SentenceTransformer, or an `Encoder`. None: the embedded all-MiniLM-L6-v2.
        method: How to explain, such as ``"bilrp"``, ``"bilrp@6"`` or ``"integrated_jacobians@3,tolerance=0.05"``.
            None: bilrp; for a function as an encoder, shapley.
        layer: Layer whose hidden states are attributed (0 = embeddings). None: the method's default.
        unit: ``"token"``, ``"word"`` or ``"sentence"``. None: the method's finest.
        prompts: Names of the model's prompts for the two texts, such as ``("query", "document")``.
        truncate: Explain the beginning of a text that is longer than the model reads. Otherwise that is an error.
        aligned: Give each word's total to its likeliest partners, as people align words. All parts still add up.
        budget: Memory for intermediate results, in bytes.

    Returns:
        The explanation. ``e.matrix.sum() + e.background`` is the score.

    Raises:
        BadInput: An argument is wrong, a text is empty, or too long.
        UnsupportedModel: The model cannot be explained by this method.

    Example:
        >>> e = explain("A man plays guitar.", "Someone makes music.")                      # doctest: +SKIP
        >>> e.score, e.by_word().top_pairs(3)                                               # doctest: +SKIP
    """
    request = _request(encoder, method, layer, unit, prompts, truncate, aligned, budget)
    return next(
        request.explain([NumberedPair(1, check_text(left, "The left text"), check_text(right, "The right text"))])
    )


class PairsOptions(TypedDict, total=False):
    """The keyword arguments of `explain_pairs`, for its two signatures."""

    encoder: Encoder | str | os.PathLike[str] | SentenceTransformer | None
    method: AnyMethod | None
    layer: int | None
    unit: Unit | None
    prompts: Prompts
    truncate: bool
    aligned: bool
    budget: int
    progress: bool
    columns: tuple[str, str]
    cache: ContributionCache | None


@overload
def explain_pairs(
    pairs: Iterable[Any], *, on_error: Literal["raise"] = "raise", **options: Unpack[PairsOptions]
) -> Iterator[Explanation]: ...
@overload
def explain_pairs(
    pairs: Iterable[Any], *, on_error: Literal["skip"], **options: Unpack[PairsOptions]
) -> Iterator[Explanation | Skipped]: ...
def explain_pairs(
    pairs: Iterable[Any],
    *,
    encoder: Encoder | str | os.PathLike[str] | SentenceTransformer | None = None,
    method: AnyMethod | None = None,
    layer: int | None = None,
    unit: Unit | None = None,
    prompts: Prompts = (None, None),
    truncate: bool = False,
    aligned: bool = False,
    budget: int = GIBIBYTE,
    progress: bool = True,
    columns: tuple[str, str] = COLUMNS,
    on_error: Literal["raise", "skip"] = "raise",
    cache: ContributionCache | None = None,
) -> Iterator[Explanation] | Iterator[Explanation | Skipped]:
    """Explanations of many pairs, in order, as an iterator. Texts are batched; a text in several pairs is explained once.

    Pairs are read a few hundred at a time, so any number of them fits in memory.

    Args:
        pairs: Pairs of texts: a list, an iterator, or a pandas or polars data frame.
        columns: The two columns of a data frame.
        on_error: ``"raise"`` stops at a pair that cannot be explained, with its number. ``"skip"`` yields a `Skipped` for it.
        cache: Contributions to share between calls; see `ContributionCache`.
        progress: Show a progress bar if it takes longer than two seconds.
        encoder, method, layer, unit, prompts, truncate, aligned, budget: As in `explain`.

    Yields:
        One `Explanation` per pair.
    """
    if on_error not in ("raise", "skip"):
        raise unknown("on_error", on_error, ("raise", "skip"))
    total = len(pairs) if isinstance(pairs, Sized) else None
    request = _request(encoder, method, layer, unit, prompts, truncate, aligned, budget, progress, total, cache)
    numbered = number_pairs(pairs, columns)
    if on_error == "skip":
        return request.explain_or_skip(numbered)
    return request.explain(numbered)


def contributions(
    texts: Sequence[str],
    *,
    encoder: Encoder | str | os.PathLike[str] | SentenceTransformer | None = None,
    method: AnyMethod | None = None,
    layer: int | None = None,
    unit: Unit | None = None,
    prompt: str | None = None,
    truncate: bool = False,
    budget: int = GIBIBYTE,
    progress: bool = True,
) -> list[Contributions]:
    """What each word of each text adds to its embedding. Keep them: any pair is then one small product (`explain_parts`).

    Args:
        texts: The texts.
        prompt: Name of the model's prompt for all of them.
        encoder, method, layer, unit, truncate, budget, progress: As in `explain_pairs`.

    Returns:
        One `Contributions` per text, in order.

    Example:
        >>> parts = contributions(["A man plays guitar.", "Someone makes music."])          # doctest: +SKIP
        >>> explain_parts(*parts).score                                                     # doctest: +SKIP
    """
    if isinstance(texts, str):
        raise BadInput("contributions() takes a list of texts; got one str. Write contributions([text]).")
    request = _request(encoder, method, layer, unit, (prompt, prompt), truncate, False, budget, progress)
    return request.spec.method.contributions(
        request.encoder,
        [check_text(text, f"Text {number}") for number, text in enumerate(texts, 1)],
        request.options,
    )


def contrast(
    query: str,
    a: str,
    b: str,
    *,
    encoder: Encoder | str | os.PathLike[str] | SentenceTransformer | None = None,
    method: AnyMethod | None = None,
    layer: int | None = None,
    unit: Unit | None = None,
    prompts: Prompts = (None, None),
    truncate: bool = False,
    budget: int = GIBIBYTE,
) -> Contrast:
    """Why ``a`` scores higher than ``b`` for a query (or lower): the difference of the two scores, word by word.

    Args:
        query: The text both are compared with.
        a: The one text.
        b: The other text.
        encoder, method, layer, unit, prompts, truncate, budget: As in `explain`.

    Example:
        >>> contrast("guitar music", "A man plays guitar.", "A man plays chess.").top(3)    # doctest: +SKIP
    """
    request = _request(encoder, method, layer, unit, prompts, truncate, False, budget)
    texts = [check_text(text, f"The text {name!r}") for name, text in (("query", query), ("a", a), ("b", b))]
    return Contrast(*request.explain([NumberedPair(1, texts[0], texts[1]), NumberedPair(2, texts[0], texts[2])]))


def explain_against(
    text: str,
    other: str,
    *,
    encoder: Encoder | str | os.PathLike[str] | SentenceTransformer | None = None,
    method: AnyMethod | None = None,
    layer: int | None = None,
    unit: Unit | None = None,
    prompts: Prompts = (None, None),
    truncate: bool = False,
    budget: int = GIBIBYTE,
) -> OneSided:
    """What each word of a (long) text adds to its score against a fixed other text.

    Costs one backward pass (one per step for integrated Jacobians), whatever the length. Equals the row sums of the pair's
    matrix plus its left terms.

    Args:
        text: The text to explain.
        other: The text it is compared with.
        encoder, method, layer, unit, prompts, truncate, budget: As in `explain`.
    """
    request = _request(encoder, method, layer, unit, prompts, truncate, False, budget)
    texts = check_text(text, "The text"), check_text(other, "The other text")
    return request.spec.method.explain_against(request.encoder, *texts, request.options)


def compare(
    left: str,
    right: str,
    *,
    methods: Sequence[AnyMethod] | None = None,
    encoders: Sequence[Encoder | str | os.PathLike[str] | SentenceTransformer] | None = None,
    layers: Sequence[int | None] = (None,),
    unit: Unit = "word",
    prompts: Prompts = (None, None),
    truncate: bool = False,
    aligned: bool = False,
    budget: int = GIBIBYTE,
) -> Comparison:
    """One pair explained by every method given, on every encoder, at every layer.

    Words are the same for every model, so models with different tokenizers can be compared.

    Args:
        left: The first text.
        right: The second text.
        methods: Methods as in `explain`. None: bilrp, integrated_jacobians, token_outputs and bti; for a function as an
            encoder, shapley and leave_one_out.
        encoders: Encoders as in `explain`. None: the embedded one.
        layers: Layers; None is the method's default.
        unit: ``"word"`` or ``"sentence"``: tokens differ from model to model.
        aligned: As in `explain`, for the methods that do not match words by themselves.
        prompts, truncate, budget: As in `explain`.

    Example:
        >>> compare("A man plays guitar.", "Someone makes music.", methods=["bilrp", "bti"])    # doctest: +SKIP
    """
    if unit not in ("word", "sentence"):
        raise BadInput(f"Explanations are compared in words or sentences, not in tokens; got unit={unit!r}.")
    for name, given in (("methods", methods), ("layers", layers), ("encoders", encoders)):
        if given is not None and (isinstance(given, str) or not isinstance(given, Sequence) or not given):
            raise BadInput(f"{name} should be a list with at least one entry; got {given!r}.")
    chosen = [as_encoder(each) for each in encoders or [None]]
    if aligned and methods and all(map(_matches, methods)):
        raise BadInput("These methods match words by themselves, so there is nothing to align. Leave out aligned=True.")
    requests = [  # checked before any work is done
        _request(encoder, method, layer, unit, prompts, truncate, aligned and not _matches(method), budget)
        for encoder in chosen
        for method, layer in product(methods or DEFAULT_METHODS[encoder.record.kind], layers)
    ]
    if aligned and not any(request.options.aligned for request in requests):
        raise BadInput("These methods match words by themselves, so there is nothing to align. Leave out aligned=True.")
    pair = NumberedPair(1, check_text(left, "The left text"), check_text(right, "The right text"))
    views = ["aligned" if request.options.aligned else request.spec.view for request in requests]
    names = name_entries(
        [request.spec.method.record(request.encoder) for request in requests],
        [request.encoder.record for request in requests],
        views,
    )
    entries = []
    for name, request in zip(names, requests, strict=True):
        start = time.perf_counter()
        e = next(request.explain([pair]))
        entries.append(Entry(name, e, time.perf_counter() - start))
    return Comparison(tuple(entries))


def _matches(method: AnyMethod) -> bool:
    """Whether a method matches words by itself, so that there is nothing to align."""
    return isinstance(parse_method(method).method, PairMethod)


@dataclass(frozen=True, slots=True)
class _Request:
    """What was asked for, checked."""

    encoder: Encoder
    spec: MethodSpec
    options: Options
    score_range: ScoreRange | None

    def _view(self, e: Explanation) -> Explanation:
        """An explanation as asked for, with what is known of the model's scores."""
        return self.spec.viewed(replace(e, model=replace(e.model, score_range=self.score_range)))

    def explain(self, pairs: Iterable[NumberedPair]) -> Iterator[Explanation]:
        texts = (pair.check() for pair in pairs)
        found = self.spec.method.explain_pairs(self.encoder, texts, self.options)
        return map(self._view, found)

    def explain_or_skip(self, pairs: Iterable[NumberedPair]) -> Iterator[Explanation | Skipped]:
        """Pairs one group at a time: those that cannot be read are put aside first, the others explained together."""
        skipped: dict[int, Skipped] = {}
        order: list[int] = []

        def good() -> Iterator[tuple[str, str]]:
            for pair in pairs:
                order.append(pair.number)
                try:
                    texts = pair.check()
                    for text, prompt in zip(texts, self.options.prompts, strict=True):
                        self.encoder.read([text], prompt=prompt, truncate=self.options.truncate)
                except WhyalikeError as error:
                    skipped[pair.number] = Skipped(pair.number, pair.left, pair.right, str(error))
                    continue
                yield texts

        found = self.spec.method.explain_pairs(self.encoder, good(), self.options)
        for e in map(self._view, found):
            while order[0] in skipped:
                yield skipped.pop(order.pop(0))
            order.pop(0)
            yield e
        yield from (skipped.pop(number) for number in order)


def _request(
    encoder: Any,
    method: AnyMethod | None,
    layer: int | None,
    unit: Unit | None,
    prompts: Prompts,
    truncate: bool,
    aligned: bool,
    budget: int,
    progress: bool = False,
    total: int | None = None,
    cache: ContributionCache | None = None,
) -> _Request:
    """Everything that was asked for, checked before any work is done."""
    if unit is not None and unit not in UNITS:
        raise unknown("unit", unit, UNITS)
    loaded = as_encoder(encoder)
    spec = parse_method(DEFAULT_METHOD[loaded.record.kind] if method is None else method, layer)
    wanted = spec.method.unit if unit is None else unit
    if UNITS.index(wanted) < UNITS.index(spec.method.unit):
        raise BadInput(
            f"The method {spec.method.name!r} explains {spec.method.unit}s, not {wanted}s. Use unit={spec.method.unit!r}."
        )
    spec.method.check_kind(loaded)
    spec.method.check(loaded)
    prompts = prompts[0] or loaded.pair_prompts[0], prompts[1] or loaded.pair_prompts[1]
    for prompt in prompts:
        loaded.prompt_text(prompt)  # refuses a name the model does not have
    options = Options(wanted, prompts, truncate, aligned or spec.aligned, budget, progress, total, cache)
    return _Request(loaded, spec, options, score_range_of(loaded))
