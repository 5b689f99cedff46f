"""Contributions × contributions → Explanation. No model is needed from here on."""

from __future__ import annotations

import numpy as np

from whyalike.errors import MismatchedParts
from whyalike.explanation import Contributions, Explanation


def explain_parts(left: Contributions, right: Contributions) -> Explanation:
    """Why the two texts behind these contributions are alike.

    The similarity is bilinear in the embeddings, so with ``e = Σ c_i + ρ`` on both sides it falls apart exactly::

        s = ⟨e, e'⟩/Z = Σ_ij ⟨c_i, c'_j⟩/Z + Σ_i ⟨c_i, ρ'⟩/Z + Σ_j ⟨ρ, c'_j⟩/Z + ⟨ρ, ρ'⟩/Z

    with ``Z = ‖e‖·‖e'‖`` for cosine and 1 for dot. Costs one matrix product.
    """
    _check_that_they_belong_together(left, right)
    scale = left.model.scale(left.embedding, right.embedding)
    rows, columns = left.tokens.astype(np.float64) / scale, right.tokens.astype(np.float64)
    rest, other_rest = left.remainder.astype(np.float64) / scale, right.remainder.astype(np.float64)
    return Explanation(
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


def _check_that_they_belong_together(left: Contributions, right: Contributions) -> None:
    for what in ("model", "method"):
        ours, theirs = getattr(left, what), getattr(right, what)
        if ours != theirs:
            raise MismatchedParts(
                f"The two texts were explained with different {what}s: {ours} and {theirs}. "
                f"Compute both with one call of contributions(), or with the same {what}."
            )
