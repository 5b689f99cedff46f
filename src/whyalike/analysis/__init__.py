"""What encoders attend to, over a corpus. ``ANALYSES`` is the list."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Names and what they ask; the functions are in the files of the same names, which need the extra `analysis`.
ANALYSES: Mapping[str, str] = MappingProxyType(
    {
        "parts_of_speech": "which parts of speech are compared, in sum and on average",
        "roles": "which syntactic roles the strongest attributions join",
        "negation": "what *not* adds, and whether the right paraphrase is chosen",
        "adjectives": "synonyms and opposites in the same sentence",
        "lexical": "which words always, or never, match themselves",
        "languages": "the same pairs in two languages, and mixed",
        "models": "where models err, and what they match when texts are alike or not",
        "references": "how near texts are to the neutral input that integrated Jacobians start from",
    }
)
