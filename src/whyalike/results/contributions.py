"""What each unit of one text adds to its embedding. Computed once per text; any pair is a small product of two of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from whyalike.results.records import NOTHING_MEASURED, Measured, MethodRecord, ModelRecord
from whyalike.results.result import Result
from whyalike.results.sides import Side, Unit, group, sum_rows

ROUNDING = 4e-6  # relative to an embedding; a remainder below this is float32 rounding


@dataclass(frozen=True, slots=True, eq=False)
class Contributions(Result):
    """What each unit of one text adds to its embedding: ``embedding == tokens.sum(0) + remainder``.

    Where the method does not claim to add up, the remainder is zero and the equation does not hold.

    The embedding of a late-interaction model is a vector per output token, so what a unit adds is one too: its arrays have an
    axis ``outputs`` more. That of a sparse model is kept at the terms whose weight is not zero, named in ``terms``.
    """

    side: Side
    tokens: Float[np.ndarray, "tokens *space"]
    remainder: Float[np.ndarray, "*space"]  # biases, or the reference: the part that no token can be given
    embedding: Float[np.ndarray, "*dim"]
    states: Float[np.ndarray, "tokens hidden"]  # hidden states in the middle of the model, used by aligned=True
    method: MethodRecord
    model: ModelRecord
    measured: Measured = NOTHING_MEASURED
    terms: tuple[str, ...] = ()  # the vocabulary terms that the columns stand for, in a sparse model

    def __repr__(self) -> str:
        size = f"{len(self.side)} {self.side.unit}s × {' × '.join(map(str, self.tokens.shape[1:]))}"
        return f"Contributions({self.side.text[:40]!r}, {size}, {self.method.name}, {self.model.name})"

    @property
    def nbytes(self) -> int:
        return self.tokens.nbytes + self.states.nbytes

    def by(self, unit: Unit) -> Contributions:
        """The same contributions, summed over words or sentences."""
        side, labels = group(self.side, unit)
        tokens, states = (sum_rows(rows, labels, len(side)) for rows in (self.tokens, self.states))
        return replace(self, side=side, tokens=tokens, states=states)

    def to_columns(self) -> dict[str, list[Any]]:
        """One row per unit: its text, kind, character offsets, and its share ``⟨c_i, e⟩/‖e‖²`` of the embedding."""
        embedding = self.embedding.astype(np.float64).ravel()
        tokens = self.tokens.astype(np.float64).reshape(len(self.side), -1)
        own_space = tokens.shape[1] == len(embedding)
        shares = tokens @ embedding / max(float(embedding @ embedding), 1e-24) if own_space else None
        return {
            "text": list(self.side.labels),
            "kind": list(self.side.kinds),
            "start": self.side.offsets[:, 0].tolist(),
            "end": self.side.offsets[:, 1].tolist(),
            "norm": np.linalg.norm(tokens, axis=1).tolist(),
            "share": [None] * len(self.side) if shares is None else shares.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "side": self.side.to_dict(),
            "tokens": self.tokens.tolist(),
            "remainder": self.remainder.tolist(),
            "embedding": self.embedding.tolist(),
            "states": self.states.tolist(),
            "method": asdict(self.method),
            "model": asdict(self.model),
            "measured": self.measured.to_dict(),
            "terms": list(self.terms),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The products of one text's contributions with some vectors, computed without the contributions themselves."""

    side: Side
    values: Float[np.ndarray, "vectors tokens"]
    embedding: Float[np.ndarray, "*dim"]
    states: Float[np.ndarray, "tokens hidden"]
    method: MethodRecord
    model: ModelRecord
