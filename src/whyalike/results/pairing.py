"""Contributions × contributions → Explanation. No model is needed from here on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from whyalike.errors import BadInput, MismatchedParts
from whyalike.results.contributions import ROUNDING, Contributions, Products
from whyalike.results.explanation import Explanation
from whyalike.results.records import NOTHING_MEASURED, ModelRecord

SHARPNESS = 20.0  # of the shares in an aligned view: a partner nearer by 0.05 in cosine gets e times as much


def explain_parts(left: Contributions, right: Contributions, *, aligned: bool = False) -> Explanation:
    """Why the two texts behind these contributions are alike.

    The similarity is bilinear in the embeddings, so with ``e = Σ c_i + ρ`` on both sides it falls apart exactly::

        s = ⟨e, e'⟩/Z = Σ_ij ⟨c_i, c'_j⟩/Z + Σ_i ⟨c_i, ρ'⟩/Z + Σ_j ⟨ρ, c'_j⟩/Z + ⟨ρ, ρ'⟩/Z

    with ``Z = ‖e‖·‖e'‖`` for cosine and 1 for dot. Costs one matrix product. ``aligned`` gives each unit's total to its
    likeliest partners, see `align`.
    """
    _check_that_they_belong_together(left, right)
    scale = left.model.scale(left.embedding, right.embedding)
    rows, columns = left.tokens.astype(np.float64) / scale, right.tokens.astype(np.float64)
    rest, other_rest = left.remainder.astype(np.float64) / scale, right.remainder.astype(np.float64)
    whole = Explanation(
        left=left.side,
        right=right.side,
        matrix=rows @ columns.T,
        left_terms=rows @ other_rest,
        right_terms=columns @ rest,
        constant=float(rest @ other_rest),
        score=left.model.score(left.embedding, right.embedding),
        method=left.method,
        model=left.model,
        measured={"left": left.measured, "right": right.measured},
    )
    return align(whole, left, right) if aligned else whole


def vectors_of(part: Contributions) -> Float[np.ndarray, "vectors space"]:
    """The vectors whose products with another text explain the pair: the contributions, and the remainder if there is one."""
    return np.concatenate([part.tokens, part.remainder[None]]) if part.remainder.any() else part.tokens


def explain_products(left: Contributions, right: Products, *, aligned: bool = False) -> Explanation:
    """The same, where of the right text only the products with the left one's `vectors_of` are known."""
    _check_that_they_belong_together(left, right)
    scale = left.model.scale(left.embedding, right.embedding)
    values, embedding = right.values.astype(np.float64) / scale, right.embedding.astype(np.float64) / scale
    count = len(left.side)
    matrix = values[:count]
    left_terms = left.tokens.astype(np.float64) @ embedding - matrix.sum(1)
    if np.abs(left_terms).sum() <= ROUNDING * np.abs(matrix).sum():  # the right text has no remainder
        left_terms = np.zeros(count)
    right_terms = values[count] if len(values) > count else np.zeros(matrix.shape[1])
    rest = float(left.remainder.astype(np.float64) @ embedding) if len(values) > count else 0.0
    whole = Explanation(
        left=left.side,
        right=right.side,
        matrix=matrix,
        left_terms=left_terms,
        right_terms=right_terms,
        constant=rest - float(right_terms.sum()),
        score=left.model.score(left.embedding, right.embedding),
        method=left.method,
        model=left.model,
        measured={"left": left.measured, "right": NOTHING_MEASURED},
    )
    return align(whole, left, right) if aligned else whole


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
