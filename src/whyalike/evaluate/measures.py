"""The measures, by name. To know what exists, read this table: help, options and documents are made from it. Loads no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from whyalike.errors import unknown

if TYPE_CHECKING:
    from whyalike.evaluate.measure import Measure

Needs = Literal["pairs", "scored pairs", "alignments", "truth"]


@dataclass(frozen=True, slots=True)
class MeasureEntry:
    """A measure before its code is loaded."""

    question: str
    needs: Needs
    home: str  # module and class
    parameters: tuple[str, ...] = ()

    def load(self) -> type[Measure]:
        module, _, name = self.home.partition(":")
        found: type[Measure] = getattr(import_module(f"whyalike.evaluate.{module}"), name)
        return found


MEASURES: Mapping[str, MeasureEntry] = MappingProxyType(
    {
        "perturbation": MeasureEntry(
            "Does the score fall soon when the most important words are deleted, and return soon when they are put back?",
            "pairs",
            "perturbation:ScorePerturbation",
            ("step", "removal", "greedy"),
        ),
        "perturbation_embedding": MeasureEntry(
            "Does the embedding return soon when the most important tokens are put back into a masked text?",
            "pairs",
            "perturbation:EmbeddingPerturbation",
            ("step", "terms", "special_tokens", "rounding", "scale"),
        ),
        "conservation": MeasureEntry(
            "Do the parts sum to the score, with the model's biases and without?",
            "pairs",
            "sums:Conservation",
            ("without_biases",),
        ),
        "ground_truth": MeasureEntry(
            "Does the matrix agree with a known truth, such as the nouns a model was trained to count?",
            "truth",
            "sums:GroundTruth",
        ),
        "randomization": MeasureEntry(
            "Does the explanation change when the model's weights are randomized, block by block?",
            "pairs",
            "randomization:Randomization",
            ("seed",),
        ),
        "agreement": MeasureEntry(
            "How far do two methods, layers or models agree on the same pairs?", "pairs", "agreement:Agreement"
        ),
        "balance": MeasureEntry("How large are the positive and the negative parts?", "pairs", "sums:Balance"),
        "human": MeasureEntry(
            "Do the strongest word pairs agree with human word alignments?", "alignments", "human:Human", ("possible",)
        ),
        "sts": MeasureEntry(
            "Does the model's own similarity correlate with human scores?", "scored pairs", "agreement:Sts"
        ),
    }
)


def make_measure(name: str, **parameters: Any) -> Measure:
    """A measure by name, with parameters."""
    if name not in MEASURES:
        raise unknown("measure", name, MEASURES)
    return MEASURES[name].load()(**parameters)
