"""How much each unit of one text adds to its score against a fixed other text."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from whyalike.results.records import NOTHING_MEASURED, Measured, MethodRecord, ModelRecord
from whyalike.results.result import Result
from whyalike.results.sides import Side, Unit, group, sum_rows
from whyalike.results.spans import MIN_SHARE, Span, heavy, join_runs, make_spans

FORMAT, VERSION = "whyalike one-sided explanation", 1


@dataclass(frozen=True, slots=True, eq=False)
class OneSided(Result):
    """How much each unit of one text adds to its score against a fixed other: ``score == values.sum() + background``.

    ``values[i] = ⟨c_i, e'⟩ / Z``: the row sum of the pair's matrix plus its left term.
    """

    side: Side
    values: Float[np.ndarray, "tokens"]
    background: float  # ⟨ρ, e'⟩ / Z: what no unit of this text accounts for
    score: float
    other: Side
    method: MethodRecord
    model: ModelRecord
    measured: Measured = NOTHING_MEASURED

    def __repr__(self) -> str:
        top = ", ".join(
            f"{text:.30} {value:+.3f}"
            for text, value in (self.by("word") if self.side.unit == "token" else self).top(3)
        )
        return f"OneSided(score {self.score:.3f}: {top}; {self.method.name}, {self.model.name})"

    @property
    def residual(self) -> float:
        """Rounding error: the score minus all parts."""
        return self.score - float(self.values.sum()) - self.background

    def by(self, unit: Unit) -> OneSided:
        """The same values, summed over words or sentences."""
        side, labels = group(self.side, unit)
        return replace(self, side=side, values=sum_rows(self.values, labels, len(side)))

    def top(self, count: int = 10, *, special_tokens: bool = False) -> list[tuple[str, float]]:
        """The units that add most, largest first.

        Args:
            count: How many.
            special_tokens: Also special tokens and the prompt.
        """
        order = self.side.strongest(self.values, count, special_tokens)
        labels = self.side.labels
        return [(labels[index], float(self.values[index])) for index in order]

    def spans(self, *, max_spans: int | None = None, min_share: float = MIN_SHARE) -> list[Span]:
        """The highlights of the text: runs of words with a large value, as JSON-ready dictionaries.

        Args:
            max_spans: At most so many, those with the largest weights. None: all.
            min_share: Smallest weight of a word, as a share of the largest.

        Returns:
            Dictionaries with ``start``, ``end``, ``text``, ``weight`` and ``partner`` (None here), in the order of the text.
        """
        worded = self.by("word") if self.side.unit == "token" else self
        labels = join_runs(worded.side, heavy(worded.values, worded.side, min_share))
        weights = sum_rows(worded.values, labels, int(labels.max(initial=-1)) + 1)
        return make_spans(worded.side, labels, weights, [None] * len(weights), max_spans, min_share)

    def to_columns(self) -> dict[str, list[Any]]:
        """One row per unit: its text, kind, character offsets and value."""
        return {
            "text": list(self.side.labels),
            "kind": list(self.side.kinds),
            "start": self.side.offsets[:, 0].tolist(),
            "end": self.side.offsets[:, 1].tolist(),
            "value": self.values.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: what `whyalike.save` writes."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "score": self.score,
            "side": self.side.to_dict(),
            "values": self.values.tolist(),
            "background": self.background,
            "residual": self.residual,
            "other": self.other.to_dict(),
            "method": asdict(self.method),
            "model": asdict(self.model),
            "measured": self.measured.to_dict(),
        }
