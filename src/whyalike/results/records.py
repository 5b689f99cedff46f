"""Who made a result, and what was measured on the way: the model, the method, the measurements of one text."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

Cells = Literal["sums", "means", "same words"]
ModelKind = Literal["dense", "multi-vector", "sparse", "cross-encoder", "function"]
Similarity = Literal["cosine", "dot", "maxsim", "meanmaxsim"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)


@dataclass(frozen=True, slots=True)
class MethodRecord:
    """Which method made a result, with which parameters, and whether its parts claim to add up to the score.

    ``cells`` says how the cells of several tokens become the cell of one word: they are summed (everything that adds up),
    averaged (cosines), or computed again from the words themselves (exact match).
    """

    name: str
    parameters: dict[str, Any]
    adds_up: bool
    cells: Cells = "sums"

    @property
    def layer(self) -> int | str | None:
        """Layer whose hidden states are attributed; a name ("embeddings") or None for methods without a number."""
        return self.parameters.get("layer")

    @property
    def layer_reason(self) -> str | None:
        """Why the method chose the layer itself; None where it was given."""
        return self.parameters.get("layer_chosen")

    @property
    def spread(self) -> str | None:
        """How the background was spread over the units; None where it was not."""
        return self.parameters.get("spread")

    @property
    def aligned(self) -> bool:
        """Whether totals were given to the likeliest partners."""
        return bool(self.parameters.get("aligned"))


@dataclass(frozen=True, slots=True)
class ScoreRange:
    """What a model's scores mean, seen on sentences of ours (`encoders/score_range.py`)."""

    unrelated: float  # 19 of 20 pairs of unrelated sentences score less
    related: float  # the median of two sentences about one thing
    same: float  # 3 of 4 pairs of sentences that mean the same score more


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Which model made a result, and how it compares embeddings."""

    name: str
    similarity: Similarity
    pooling: str
    layers: int
    dim: int
    max_tokens: int | None
    fingerprint: str  # digest of everything that affects an embedding; tells two models of one name apart
    pooling_assumed: bool = False  # the model states no pooling, so mean pooling was assumed
    kind: ModelKind = "dense"  # what an embedding is: one vector, one per token, weights of terms; or a user's function
    score_range: ScoreRange | None = field(default=None, compare=False)  # None where it was not looked at

    @property
    def has_states(self) -> bool:
        """Whether the model shows hidden states. A function does not."""
        return self.kind != "function"

    def scale(self, left: Float[np.ndarray, "*left"], right: Float[np.ndarray, "*right"]) -> float:
        """``Z``: the product of the norms for cosine, the number of the query's vectors for meanmaxsim, 1 for dot and maxsim.

        As in sentence-transformers a zero norm counts as 1e-12.
        """
        if self.similarity == "meanmaxsim":
            return float(len(left))
        if self.similarity != "cosine":
            return 1.0
        norms = [max(float(np.linalg.norm(each.astype(np.float64))), 1e-12) for each in (left, right)]
        return norms[0] * norms[1]

    def score(self, left: Float[np.ndarray, "*left"], right: Float[np.ndarray, "*right"]) -> float:
        """The model's own similarity of two embeddings; in a late-interaction model the left one is the query's."""
        left, right = left.astype(np.float64), right.astype(np.float64)
        products = left @ right.T
        return float(products.max(1).sum() if self.kind == "multi-vector" else products) / self.scale(left, right)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a method measured on one text. A value that does not apply to the method is None."""

    steps: int | None = None  # integration steps
    error: float | None = (
        None  # of the integral, relative to its true value; of sampled contributions, relative to their size
    )
    rule: str | None = None  # quadrature rule
    steps_in_float64: int | None = None
    reference_size: float | None = None  # norm of the reference's embedding, relative to the text's
    words_without_vector: int | None = None
    gradient_vanishes: str | None = None  # why: "no words" or "same direction"
    embeddings: int | None = None  # of this text with units removed, each different one counted once
    storage_error: float | None = None  # of contributions stored in float16, relative

    def to_dict(self) -> dict[str, Any]:
        """Only what was measured."""
        return {name: value for name, value in asdict(self).items() if value is not None}


NOTHING_MEASURED = Measured()
