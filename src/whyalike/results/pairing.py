"""Contributions × contributions → Explanation. No model is needed from here on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from whyalike.errors import BadInput, MismatchedParts
from whyalike.results.contributions import ROUNDING, Contributions, Products
from whyalike.results.explanation import Explanation
from whyalike.results.late_interaction import bring_to_document, bring_to_query, find_winners
from whyalike.results.records import NOTHING_MEASURED, ModelRecord
from whyalike.results.terms import SharedTerms

Array = np.ndarray[Any, Any]
SHARPNESS = 20.0  # of the shares in an aligned view: a partner nearer by 0.05 in cosine gets e times as much


def explain_parts(left: Contributions, right: Contributions, *, aligned: bool = False) -> Explanation:
    """Why the two texts behind these contributions are alike.

    The similarity is bilinear in the embeddings, so with ``e = Σ c_i + ρ`` on both sides it falls apart exactly::

        s = ⟨e, e'⟩/Z = Σ_ij ⟨c_i, c'_j⟩/Z + Σ_i ⟨c_i, ρ'⟩/Z + Σ_j ⟨ρ, c'_j⟩/Z + ⟨ρ, ρ'⟩/Z

    with ``Z = ‖e‖·‖e'‖`` for cosine and 1 for dot. Costs one matrix product. ``aligned`` gives each unit's total to its
    likeliest partners, see `align`. In a late-interaction model the products are those of each query vector with the document
    vector that it met; in a sparse model those at the terms that both texts have.
    """
    _check_that_they_belong_together(left, right)
    meeting = _meet(left, right)
    scale = left.model.scale(left.embedding, right.embedding)
    rows, columns = meeting.left.tokens / scale, meeting.right.tokens
    rest, other_rest = meeting.left.remainder / scale, meeting.right.remainder
    whole = Explanation(
        left=left.side,
        right=right.side,
        matrix=rows @ columns.T,
        left_terms=rows @ other_rest,
        right_terms=columns @ rest,
        constant=float(rest @ other_rest),
        score=float(meeting.left.embedding @ meeting.right.embedding) / scale,
        method=left.method,
        model=left.model,
        measured={"left": left.measured, "right": right.measured},
        shared_terms=SharedTerms(meeting.terms, rows, columns) if left.terms and right.terms else None,
    )
    return align(whole, left, right) if aligned else whole


@dataclass(frozen=True, slots=True, eq=False)
class _Vectors:
    """What is known of one text in the space where the two texts meet."""

    tokens: Float[np.ndarray, "tokens space"]
    remainder: Float[np.ndarray, "space"]
    embedding: Float[np.ndarray, "dim"]


@dataclass(frozen=True, slots=True, eq=False)
class _Meeting:
    """Both texts in a space where their score is a plain product."""

    left: _Vectors
    right: _Vectors
    terms: tuple[str, ...] = ()  # what the columns of a sparse model stand for


def _meet(left: Contributions, right: Contributions) -> _Meeting:
    if left.model.kind == "multi-vector":
        winners = find_winners(left.embedding, right.embedding)
        return _Meeting(_vectors(left), _vectors(right, lambda array: bring_to_query(array, winners)))
    if left.terms or right.terms:
        shared, own, other = np.intersect1d(left.terms, right.terms, assume_unique=True, return_indices=True)
        sides = _vectors(left, lambda array: array[..., own]), _vectors(right, lambda array: array[..., other])
        return _Meeting(*sides, tuple(shared.tolist()))
    return _Meeting(_vectors(left), _vectors(right))


def _vectors(part: Contributions, bring: Callable[[Array], Array] = lambda array: array) -> _Vectors:
    """The arrays of a text, in float64, brought to where the texts meet, every output vector after the other."""
    tokens, *single = (bring(array.astype(np.float64)) for array in (part.tokens, part.remainder, part.embedding))
    return _Vectors(tokens.reshape(len(tokens), single[0].size), *(array.ravel() for array in single))


def vectors_of(part: Contributions) -> Float[np.ndarray, "vectors *space"]:
    """The vectors whose products with another text explain the pair: the contributions, and the remainder if there is one."""
    return np.concatenate([part.tokens, part.remainder[None]]) if part.remainder.any() else part.tokens


def vectors_brought(
    part: Contributions, other: Float[np.ndarray, "*dim"], *, is_query: bool = True
) -> Float[np.ndarray, "vectors *dim"]:
    """The `vectors_of` a text where those of another text are, whose embedding is known: to be multiplied there."""
    vectors = vectors_of(part)
    if part.model.kind != "multi-vector":
        return vectors
    if is_query:
        return bring_to_document(vectors, find_winners(part.embedding, other), len(other))
    return bring_to_query(vectors, find_winners(other, part.embedding))


def explain_products(
    part: Contributions, products: Products, *, is_query: bool = True, aligned: bool = False
) -> Explanation:
    """The same, where of one text only the products with the `vectors_brought` of the other are known.

    ``is_query`` says whether the text whose contributions are known is the query, so the left one, of a late-interaction model.
    The other one is always the right text of the result.
    """
    _check_that_they_belong_together(part, products)
    pair = (part.embedding, products.embedding) if is_query else (products.embedding, part.embedding)
    scale = part.model.scale(*pair)
    values = products.values.astype(np.float64) / scale
    count = len(part.side)
    matrix = values[:count]
    vectors = vectors_brought(part, products.embedding, is_query=is_query).astype(np.float64)
    against = vectors.reshape(len(vectors), -1) @ (products.embedding.astype(np.float64).ravel() / scale)
    left_terms = against[:count] - matrix.sum(1)
    if np.abs(left_terms).sum() <= ROUNDING * np.abs(matrix).sum():  # the other text has no remainder
        left_terms = np.zeros(count)
    right_terms = values[count] if len(values) > count else np.zeros(matrix.shape[1])
    rest = float(against[count]) if len(values) > count else 0.0
    whole = Explanation(
        left=part.side,
        right=products.side,
        matrix=matrix,
        left_terms=left_terms,
        right_terms=right_terms,
        constant=rest - float(right_terms.sum()),
        score=part.model.score(*pair),
        method=part.method,
        model=part.model,
        measured={"left": part.measured, "right": NOTHING_MEASURED},
    )
    return align(whole, part, products) if aligned else whole


def align(whole: Explanation, left: Contributions, right: Contributions | Products) -> Explanation:
    """The same explanation with each unit's total of the matrix at its likeliest partners, as people align words.

    A unit that adds much to an embedding has large products with everything, so that the largest cells stand where the large
    units are, not where the partners are. Here the total ``R_i`` of a row is shared out by ``softmax_j(cos(h_i, h'_j)/τ)``, the
    total ``C_j`` of a column by ``softmax_i``, and the matrix is the mean of both. ``h`` are the states in the middle of the
    model. The matrix keeps its sum, and the background is untouched: all parts still add up.
    """
    if not left.states.shape[1]:
        raise no_states(left.model)
    rows, columns = (_directions(part.states) for part in (left, right))
    likeness = np.exp(SHARPNESS * (rows @ columns.T - 1))
    by_row = whole.matrix.sum(1, keepdims=True) * likeness / likeness.sum(1, keepdims=True)
    by_column = whole.matrix.sum(0, keepdims=True) * likeness / likeness.sum(0, keepdims=True)
    method = replace(whole.method, parameters={**whole.method.parameters, "aligned": True})  # the result says so
    return replace(whole, matrix=(by_row + by_column) / 2, method=method)


def no_states(model: ModelRecord) -> BadInput:
    return BadInput(f"{model.name!r} gives no hidden states to align words by. Leave out aligned=True.")


def _directions(tokens: Float[np.ndarray, "tokens space"]) -> Float[np.ndarray, "tokens space"]:
    tokens = tokens.astype(np.float64)
    return tokens / np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-12)


def _check_that_they_belong_together(left: Contributions, right: Contributions | Products) -> None:
    for what in ("model", "method"):
        ours, theirs = getattr(left, what), getattr(right, what)
        if ours != theirs:
            raise MismatchedParts(
                f"The two texts were explained with different {what}s: {ours} and {theirs}. "
                f"Compute both with one call of contributions(), or with the same {what}."
            )
