"""MaxSim with its winners held: which vector of the document each vector of the query meets is a gate.

``maxsim = Σ_k max_l ⟨q_k, d_l⟩ = Σ_k ⟨q_k, d_{l(k)}⟩``. With ``l(k)`` held it is linear in both texts, as the product of two
embeddings is: either text's vectors can be brought to the places of the other's, and multiplied there.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int


def find_winners(
    query: Float[np.ndarray, "left dim"], document: Float[np.ndarray, "right dim"]
) -> Int[np.ndarray, "left"]:
    """For each vector of the query the vector of the document with the largest product."""
    return (query.astype(np.float64) @ document.astype(np.float64).T).argmax(1)


def bring_to_query(
    vectors: Float[np.ndarray, "*units right dim"], winners: Int[np.ndarray, "left"]
) -> Float[np.ndarray, "*units left dim"]:
    """The document's vectors, each where the query's vectors are that it wins."""
    return vectors[..., winners, :]


def bring_to_document(
    vectors: Float[np.ndarray, "*units left dim"], winners: Int[np.ndarray, "left"], count: int
) -> Float[np.ndarray, "*units right dim"]:
    """The query's vectors, summed where the one of the document's ``count`` vectors is that wins them."""
    wins = winners == np.arange(count)[:, None]
    return wins.astype(vectors.dtype) @ vectors
