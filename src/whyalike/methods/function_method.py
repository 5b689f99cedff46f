"""Methods of one's own without a class: any function from two texts to a matrix, or a file of matrices made elsewhere.

A matrix has one row per word of the left text and one column per word of the right text, words as `whyalike.split_words` gives
them. A file is JSON lines: objects with ``left``, ``right`` and ``matrix``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.fingerprint import digest_of
from whyalike.encoders.tokens import Reading
from whyalike.errors import BadInput, DamagedFile
from whyalike.language.words import split_words
from whyalike.methods.method import PairMethod
from whyalike.results.explanation import Explanation
from whyalike.results.sides import group
from whyalike.storage.reading import Fields, parse_json, read_text

Matrix = Float[np.ndarray, "left right"]


@dataclass(frozen=True, slots=True)
class FunctionMethod(PairMethod):
    """A function ``(left, right) -> matrix`` as a method. It does not add up to the score."""

    name: ClassVar[str] = "function"
    title: ClassVar[str] = "a function of your own"
    summary: ClassVar[str] = "a function of your own: (left, right) -> matrix of words"
    paper: ClassVar[str] = "yours"
    function: Callable[[str, str], Any] = field(repr=False)
    called: str = "function"
    version: str = ""  # a digest of its code, or of a file's content: an edited function is another one
    layer: int | None = field(default=None, init=False)

    def explain(self, encoder: Encoder, left: Reading, right: Reading, budget: int) -> Explanation:
        matrix = np.asarray(self.function(left.side.text, right.side.text), dtype=np.float64)
        return explain_matrix(self, encoder, left, right, matrix)

    def check(self, encoder: Encoder) -> None:
        if not callable(self.function):
            raise BadInput(
                f"A method from a function needs a function (left, right) -> matrix; got {self.function!r:.60}."
            )


def explain_matrix(method: PairMethod, encoder: Encoder, left: Reading, right: Reading, matrix: Matrix) -> Explanation:
    """A matrix over the texts' own words as an explanation. The score is the model's."""
    sides = [group(reading.side, "word")[0] for reading in (left, right)]
    own = [side.own for side in sides]
    if matrix.shape == tuple(len(split_words(side.text)) for side in sides):  # of a text that was cut, the words read
        matrix = matrix[np.ix_(*(side.word_of[side.own] for side in sides))]
    if matrix.shape != (len(own[0]), len(own[1])) or not np.isfinite(matrix).all():
        raise BadInput(
            f"The matrix for {left.side.text[:40]!r} and {right.side.text[:40]!r} should be {len(own[0])} × {len(own[1])} "
            f"finite numbers, one per pair of words (whyalike.split_words); got the shape {matrix.shape}."
        )
    whole = np.zeros((len(sides[0]), len(sides[1])))
    whole[np.ix_(*own)] = matrix
    embeddings = [encoder.embed_with_prompt([reading.side.text], reading.prompt)[0] for reading in (left, right)]
    return Explanation(
        left=sides[0],
        right=sides[1],
        matrix=whole,
        left_terms=np.zeros(len(sides[0])),
        right_terms=np.zeros(len(sides[1])),
        constant=0.0,
        score=encoder.record.score(*embeddings),
        method=method.record(encoder),
        model=encoder.record,
    )


def read_matrices(path: Path) -> FunctionMethod:
    """A file of matrices, JSON lines with ``left``, ``right`` and ``matrix``, as a method."""
    known: dict[tuple[str, str], Matrix] = {}
    text = read_text(path, DamagedFile)
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                given = Fields(parse_json(line))
                rows = given.list("matrix")
                columns = len(rows[0]) if rows and isinstance(rows[0], list) else 0
                known[given.text("left"), given.text("right")] = given.numbers("matrix", len(rows), columns)
            except ValueError as error:
                raise DamagedFile(
                    f"Line {number} of {path} is no matrix: {error}. Expected JSON with left, right and matrix."
                ) from error

    def find(left: str, right: str) -> Matrix:
        if (left, right) not in known:
            raise BadInput(
                f"{path.name} has no matrix for {left[:40]!r} and {right[:40]!r}. Add it, or evaluate fewer pairs."
            )
        return known[left, right]

    return FunctionMethod(find, path.stem, digest_of(text))
