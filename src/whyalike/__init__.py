"""Why does this model find these two texts alike? Token pair by token pair, with parts that add up to the score.

Names are loaded when first used, so that ``import whyalike`` takes no torch.
"""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whyalike import errors, render
    from whyalike.comparison import Comparison
    from whyalike.contrasts import Contrast
    from whyalike.encoders.encoder import Encoder
    from whyalike.encoders.load import load_encoder
    from whyalike.explanation import Contributions, Explanation, OneSided, Pair
    from whyalike.files import load, save
    from whyalike.front_door import contrast, contributions, explain, explain_against, explain_pairs
    from whyalike.matching import Match, Matching
    from whyalike.methods import (
        BTI,
        METHODS,
        BiLRP,
        Gradients,
        HessianProduct,
        IntegratedGradients,
        IntegratedJacobians,
        Random,
        TfidfVectors,
        TokenEmbeddings,
        TokenOutputs,
    )
    from whyalike.pairs import explain_parts
    from whyalike.side_by_side import compare
    from whyalike.sides import Side
    from whyalike.word_vectors import load_word_vectors

__version__ = version("whyalike")

_HOMES = {
    "BTI": "methods",
    "METHODS": "methods",
    "BiLRP": "methods",
    "Comparison": "comparison",
    "Contrast": "contrasts",
    "Gradients": "methods",
    "IntegratedGradients": "methods",
    "Match": "matching",
    "Matching": "matching",
    "TfidfVectors": "methods",
    "load_word_vectors": "word_vectors",
    "Contributions": "explanation",
    "Encoder": "encoders.encoder",
    "Explanation": "explanation",
    "HessianProduct": "methods",
    "IntegratedJacobians": "methods",
    "OneSided": "explanation",
    "Pair": "explanation",
    "Random": "methods",
    "Side": "sides",
    "TokenEmbeddings": "methods",
    "TokenOutputs": "methods",
    "compare": "side_by_side",
    "contrast": "front_door",
    "contributions": "front_door",
    "errors": "errors",
    "explain": "front_door",
    "explain_against": "front_door",
    "explain_pairs": "front_door",
    "explain_parts": "pairs",
    "load": "files",
    "load_encoder": "encoders.load",
    "render": "render",
    "save": "files",
}
_MODULES = ("errors", "render")

__all__ = [
    "BTI",
    "METHODS",
    "BiLRP",
    "Comparison",
    "Contrast",
    "Contributions",
    "Encoder",
    "Explanation",
    "Gradients",
    "HessianProduct",
    "IntegratedGradients",
    "IntegratedJacobians",
    "Match",
    "Matching",
    "OneSided",
    "Pair",
    "Random",
    "Side",
    "TfidfVectors",
    "TokenEmbeddings",
    "TokenOutputs",
    "compare",
    "contrast",
    "contributions",
    "errors",
    "explain",
    "explain_against",
    "explain_pairs",
    "explain_parts",
    "load",
    "load_encoder",
    "load_word_vectors",
    "render",
    "save",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'whyalike' has no attribute {name!r}")
    home = importlib.import_module(f"whyalike.{_HOMES[name]}")
    found = home if name in _MODULES else getattr(home, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
