"""Which words of two texts people say correspond: readers for the public sets, and a plain format for one's own.

Every reader gives the texts as the set has them, already cut into words, with one blank between: so a word of the set is a
span of characters, and an explanation is brought into the set's words by character offsets, never by guessing at strings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from whyalike.data.tables import find_data_file
from whyalike.errors import BadInput, unknown
from whyalike.results.explanation import Explanation
from whyalike.results.sides import Side
from whyalike.storage.reading import is_file, parse_json, read_text

Link = tuple[int, int]
SETS = {
    "multimwa-mtref-dev": "multimwa/mtref-dev.tsv",
    "multimwa-mtref-train": "multimwa/mtref-train.tsv",
    "multimwa-wiki-dev": "multimwa/wiki-dev.tsv",
    "edinburgh": "edinburgh/gold.train.sure+poss.json",
    "ists-headlines": "ists/STSint.input.headlines.wa",
    "ists-images": "ists/STSint.input.images.wa",
    "ists-answers": "ists/STSint.input.answers-students.wa",
}


@dataclass(frozen=True, slots=True)
class Chunks:
    """Two chunks people put together: how they relate (EQUI, OPPO, SPE1, SIMI, REL …), and how alike they are, 0 to 5."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    kind: str
    score: float


@dataclass(frozen=True, slots=True)
class Aligned:
    """A pair of texts in words, and which of them correspond."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link] = frozenset()
    chunks: tuple[Chunks, ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        return " ".join(self.left), " ".join(self.right)

    def gold(self, *, possible: bool = True) -> Float[np.ndarray, "left right"]:
        found = np.zeros((len(self.left), len(self.right)))
        for row, column in self.sure | (self.possible if possible else frozenset()):
            found[row, column] = 1.0
        return found


def read_alignments(source: str | os.PathLike[str]) -> list[Aligned]:
    """A public set by name, or a file: ``.wa`` (iSTS), ``.json`` (Edinburgh++), ``.tsv``.

    A ``.tsv`` of three columns is one's own: the two texts, words separated by spaces, and links ``i-j`` counted from 0. One of
    eight or more is MultiMWA's.
    """
    path = Path(source)
    if not is_file(path) and str(source) in SETS:
        path = find_data_file(SETS[str(source)])
    if not is_file(path):
        raise unknown("file or set of alignments", str(source), SETS)
    reader = {".wa": _ists, ".json": _edinburgh, ".tsv": _tsv}.get(path.suffix)
    if reader is None:
        raise BadInput(f"{path.name} ends in {path.suffix!r}; expected .tsv, .json (Edinburgh++) or .wa (iSTS).")
    found = list(reader(path))
    if not found:
        raise BadInput(f"{path.name} has no aligned pairs. Expected at least one.")
    return found


def in_words(e: Explanation, aligned: Aligned) -> Float[np.ndarray, "left right"]:
    """An explanation's matrix in the words of the alignment. A word the model did not read has zeros.

    What adds up is summed over the units of a word; cosines, which do not, are averaged; exact match is of the words
    themselves.
    """
    if e.method.cells == "same words":
        left, right = ([word.casefold() for word in words] for words in (aligned.left, aligned.right))
        return np.array([[float(one == other) for other in right] for one in left])
    rows, columns = (membership(side, words) for side, words in ((e.left, aligned.left), (e.right, aligned.right)))
    if e.method.cells == "means":
        rows, columns = (each / np.maximum(each.sum(0), 1e-12) for each in (rows, columns))
    return rows.T @ e.matrix @ columns


def membership(side: Side, words: tuple[str, ...]) -> Float[np.ndarray, "units words"]:
    """How much of each unit lies in each of the set's words, which stand with one blank between."""
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])[:-1]
    return side.shares([(int(start), int(start) + len(word)) for start, word in zip(starts, words, strict=True)])


def _words(text: str) -> tuple[str, ...]:
    """Parted by blanks and nothing else: other spaces, such as that of 10 000, belong to a word."""
    return tuple(word for word in text.split(" ") if word)


def _links(text: str, path: Path, number: int, sizes: tuple[int, int]) -> frozenset[Link]:
    found = set()
    for part in text.split():
        match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", part, re.ASCII)
        if match is None:
            raise BadInput(f"Row {number} of {path.name} has the link {part!r:.60}; expected i-j, counted from 0.")
        link = int(match[1]), int(match[2])
        if link[0] >= sizes[0] or link[1] >= sizes[1]:
            raise BadInput(
                f"Row {number} of {path.name} links {part}, but its texts have {sizes[0]} and {sizes[1]} words."
            )
        found.add(link)
    return frozenset(found)


def _tsv(path: Path) -> Iterator[Aligned]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        cells = line.split("\t")
        if not line.strip():
            continue
        if len(cells) == 3:
            texts, sure, possible = cells[:2], cells[2], ""
        elif len(cells) >= 8:  # id, left, its parse, right, its parse, two marks, sure links, possible ones
            texts, sure, possible = [cells[1], cells[3]], cells[7], cells[8] if len(cells) > 8 else ""
        else:
            raise BadInput(
                f"Row {number} of {path.name} has {len(cells)} columns; expected 3: two texts and links i-j."
            )
        left, right = map(_words, texts)
        if not left or not right:
            raise BadInput(f"Row {number} of {path.name} has an empty text. Fix or drop the row.")
        sizes = len(left), len(right)
        yield Aligned(left, right, _links(sure, path, number, sizes), _links(possible, path, number, sizes))


def _edinburgh(path: Path) -> Iterator[Aligned]:
    try:
        rows = parse_json(read_text(path))
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(f"{path.name} is not JSON: {error}. Expected a list of pairs, as in Edinburgh++.") from error
    needed = ("source", "target", "sureAlign", "possibleAlign")
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in needed):
            raise BadInput(
                f"Pair {number} of {path.name} should have the texts {', '.join(needed)}, as in Edinburgh++."
            )
        left, right = _words(row["source"]), _words(row["target"])
        if not left or not right:
            raise BadInput(f"Pair {number} of {path.name} has an empty text. Fix or drop it.")
        sizes = len(left), len(right)
        sure, possible = (_links(row[name], path, number, sizes) for name in ("sureAlign", "possibleAlign"))
        yield Aligned(left, right, sure, possible)


_CHUNKS = re.compile(r"^([\d ]+)<==>([\d ]+)//([^/]*)//([^/]*)//", re.ASCII)
_SCORE = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def _ists(path: Path) -> Iterator[Aligned]:
    """Chunks with their type; words of two chunks that people put together count as links, all with all."""
    text = read_text(path)
    for number, block in enumerate(re.findall(r"<sentence.*?</sentence>", text, re.DOTALL), 1):
        sides = [
            tuple(line.partition(" ")[2].rsplit(":", 1)[0].strip() for line in _lines(block, name))
            for name in ("source", "translation")
        ]
        chunks = tuple(_chunks(_lines(block, "alignment"), f"Sentence {number} of {path.name}"))
        links = {
            (i, j) for chunk in chunks for i in chunk.left for j in chunk.right if chunk.kind not in ("NOALI", "ALIC")
        }
        if not all(sides) or not all(word and " " not in word for side in sides for word in side):
            raise BadInput(
                f"Sentence {number} of {path.name} has no words, or words with blanks in them. Fix or drop it."
            )
        if any(
            max(one) >= len(side)
            for chunk in chunks
            for one, side in zip((chunk.left, chunk.right), sides, strict=True)
        ):
            raise BadInput(
                f"Sentence {number} of {path.name} puts words together that it does not have. Fix or drop it."
            )
        yield Aligned(sides[0], sides[1], frozenset(links), chunks=chunks)


def _lines(block: str, name: str) -> list[str]:
    found = re.search(rf"<{name}>\n(.*?)</{name}>", block, re.DOTALL)
    return [line for line in found[1].splitlines() if line.strip()] if found else []


def _chunks(lines: list[str], where: str) -> Iterator[Chunks]:
    for line in lines:
        match = _CHUNKS.match(line)
        if match is None:
            raise BadInput(
                f"{where} has the alignment {line!r:.60}; expected `1 2 <==> 3 // EQUI // 5 // …`, as in iSTS."
            )
        if any(len(number) > 9 for side in (1, 2) for number in match[side].split()):
            raise BadInput(f"{where} has the alignment {line!r:.60}, with the number of a word that no text has.")
        left, right = (tuple(int(number) - 1 for number in match[side].split() if int(number)) for side in (1, 2))
        kind = match[3].strip().split("_")[0]
        score = match[4].strip()
        if left and right:
            yield Chunks(left, right, kind, float(score) if _SCORE.fullmatch(score) else float("nan"))
