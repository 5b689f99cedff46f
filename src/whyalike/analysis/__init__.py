"""What encoders attend to, over a corpus.

``ANALYSES`` is the table: help, options, the report and the documents are made from it. Each analysis is a function of its own
name in a file of its own name, loaded when it runs, so the table loads no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from whyalike.errors import BadInput

if TYPE_CHECKING:
    from whyalike.analysis.section import Section

Needs = Literal["pairs", "nothing", "pairs in two languages"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an analysis, as given with ``--set NAME=VALUE``."""

    type: type[int] | type[float] | type[str]
    help: str

    def read(self, name: str, text: str) -> Any:
        try:
            return self.type(text)
        except ValueError:
            raise BadInput(f"{name} should be a {self.type.__name__}; got {text!r}.") from None


@dataclass(frozen=True, slots=True)
class Analysis:
    """One question about a model and a corpus."""

    name: str
    question: str
    needs: Needs = "pairs"
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    explains: bool = True  # whether it uses a method, a layer and taggers
    paper: str = ""  # where it is from: BiLRP is Vasileiou & Eberle 2024, Siamese is Möller et al. 2024

    @property
    def command(self) -> str:
        """Its name on the command line."""
        return self.name.replace("_", "-")

    def run(self, corpus: Any, **parameters: Any) -> Section:
        """The findings on a `Corpus` (a `BilingualCorpus` for languages)."""
        section: Section = getattr(import_module(f"whyalike.analysis.{self.name}"), self.name)(corpus, **parameters)
        return section


_ALL = (
    Analysis(
        "parts_of_speech",
        "Which parts of speech does the model compare, in sum and on average?",
        paper="BiLRP, Figures 3, 9",
    ),
    Analysis(
        "roles",
        "Which syntactic roles do the strongest word pairs join?",
        parameters={"top": Parameter(float, "share of a pair's word pairs that count as the strongest")},
        paper="Siamese, Figure 6",
    ),
    Analysis(
        "negation",
        "How much does the word “not” contribute to the score, and does the model choose the right paraphrase of a "
        "negated sentence?",
        parameters={
            "explained": Parameter(int, "how many wrong choices to explain"),
            "sentences": Parameter(str, "simple: sentences with one plain “not”; every: all with the word"),
        },
        paper="Siamese, Figure 8",
    ),
    Analysis(
        "adjectives",
        "How do synonyms and opposites in the same sentence score?",
        needs="nothing",
        paper="Siamese, Figure 9",
    ),
    Analysis(
        "lexical",
        "Which words always, or never, match themselves?",
        parameters={"least": Parameter(int, "occurrences from which a word counts")},
        paper="Siamese, Tables 3, 4, Figures 10, 12",
    ),
    Analysis(
        "languages",
        "What changes when the same pairs are read in two languages, or mixed?",
        needs="pairs in two languages",
        parameters={"example": Parameter(int, "pair to show, counted from 0")},
        paper="BiLRP, Figures 4, 7",
    ),
    Analysis(
        "models", "Where do models err, and what do they match when texts are alike or not?", paper="BiLRP, Figure 5"
    ),
    Analysis(
        "references",
        "How near are texts to the neutral input that integrated Jacobians start from?",
        parameters={
            "reference": Parameter(str, "pad, mask, unk or zero"),
            "positions": Parameter(str, "own: the text's positions; model: what the model gives the reference"),
        },
        explains=False,
        paper="Siamese, Figure 2",
    ),
)
ANALYSES: Mapping[str, Analysis] = MappingProxyType({each.name: each for each in _ALL})
