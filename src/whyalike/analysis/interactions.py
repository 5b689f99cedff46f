"""The table all analyses read: one row per pair of words, one per pair of texts, in Parquet files.

Pairs are explained some at a time, and each share is written as it is finished, so that memory is bounded and a killed run
goes on. Words are the tagger's, tied to the model's tokens by character offsets: a token that lies in two words is
shared between them by characters. Special tokens stand as words of their own, with themselves as part of speech; a token in no
word of the tagger's stands as ``other``: every pair's rows sum to its matrix.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from tqdm import tqdm

from whyalike.analysis.relations import raised
from whyalike.analysis.words import Tagged, Tagger
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, DamagedFile, MissingExtra
from whyalike.explanation import Explanation
from whyalike.front_door import choose_method, explain_pairs
from whyalike.methods import Method
from whyalike.runs import check_asked, digest, read_asked, write_asked
from whyalike.sides import Side

try:
    import polars as pl
except ImportError as missing:
    raise MissingExtra("polars", "analyses of a corpus", "analysis") from missing

ASKED = "asked.json"
TOGETHER = 128  # pairs in a file
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Interactions:
    """The finished table of a model and its pairs."""

    folder: Path
    asked: Mapping[str, Any]

    @property
    def words(self) -> pl.LazyFrame:
        """One row per pair of words: ``pair``, and of each side the word, its place (−1: none), tag and role; ``value``."""
        return pl.scan_parquet(self.folder / "words-*.parquet")

    @property
    def pairs(self) -> pl.LazyFrame:
        """One row per pair of texts: the texts, ``label`` (null where there is none), ``score``, its parts, the residual."""
        return pl.scan_parquet(self.folder / "pairs-*.parquet")

    @property
    def name(self) -> str:
        return str(self.asked["model"])


def interactions(
    pairs: Sequence[tuple[str, str]],
    folder: str | os.PathLike[str],
    *,
    encoder: Encoder,
    tagger: Tagger | tuple[Tagger, Tagger],
    method: str | Method = "bilrp",
    layer: int | None = None,
    labels: Sequence[float] | None = None,
    progress: bool = True,
) -> Interactions:
    """Explain all pairs and write the table into a folder; the same call again goes on where a killed one was.

    ``labels`` are human scores, 0…1. ``tagger`` may be two, one for each side.
    """
    if not pairs:
        raise BadInput("Expected at least one pair to analyse.")
    if labels is not None and len(labels) != len(pairs):
        raise BadInput(f"There are {len(pairs)} pairs, but {len(labels)} labels. Give one label per pair, or none.")
    chosen, place = choose_method(method, layer), Path(folder)
    asked = {
        "model": encoder.record.name,
        "fingerprint": encoder.record.fingerprint,
        "method": str(chosen),
        "pairs": len(pairs),
        "data": digest([list(map(list, pairs)), list(labels) if labels is not None else None]),
    }
    state = place / ASKED
    if state.is_file():
        check_asked(state, asked, place, "Give another folder.")
    elif place.exists() and any(place.iterdir()):
        raise BadInput(f"{place} exists and holds something else. Give another folder, or empty this one.")
    else:
        write_asked(state, asked)
    taggers = tagger if isinstance(tagger, tuple) else (tagger, tagger)
    todo = [start for start in range(0, len(pairs), TOGETHER) if not _file(place, "pairs", start).is_file()]
    numbers = [number for start in todo for number in range(start, min(start + TOGETHER, len(pairs)))]
    explained = explain_pairs(
        [pairs[number] for number in numbers], encoder=encoder, method=chosen, truncate=True, progress=False
    )
    with tqdm(
        total=len(pairs),
        initial=len(pairs) - len(numbers),
        desc="Explaining",
        unit="pair",
        disable=not (progress and todo),
    ) as bar:
        for start in todo:
            mine = range(start, min(start + TOGETHER, len(pairs)))
            tagged = [tag([pairs[number][side] for number in mine]) for side, tag in enumerate(taggers)]
            some = zip(mine, islice(explained, len(mine)), *tagged, strict=True)
            _write(place, start, list(_counted(some, bar)), labels)
    return Interactions(place, asked)


def read_interactions(folder: str | os.PathLike[str]) -> Interactions:
    """A finished table."""
    place = Path(folder)
    if not (place / ASKED).is_file():
        raise BadInput(f"{place} holds no table of interactions. Make one with `whyalike analyze`.")
    asked = read_asked(place / ASKED)
    missing = [start for start in range(0, asked["pairs"], TOGETHER) if not _file(place, "pairs", start).is_file()]
    if missing:
        raise DamagedFile(
            f"{place} is not finished: pairs from {missing[0]} on are missing. Run the same command again."
        )
    return Interactions(place, asked)


Explained = tuple[int, Explanation, list[Tagged], list[Tagged]]


def _counted(some: Iterable[Explained], bar: Any) -> Iterator[Explained]:
    for each in some:
        bar.update()
        yield each


def _write(place: Path, start: int, some: Sequence[Explained], labels: Sequence[float] | None) -> None:
    """The words first: where the file of pairs is there, so is theirs."""
    words = [frame for number, e, left, right in some for frame in [_words(number, e, left, right)]]
    texts = [
        {
            "pair": number,
            "left": e.left.text,
            "right": e.right.text,
            "label": None if labels is None else float(labels[number]),
            "score": e.score,
            "matrix": float(e.matrix.sum()),
            "left_terms": float(e.left_terms.sum()),
            "right_terms": float(e.right_terms.sum()),
            "constant": e.constant,
            "residual": e.residual,
            "cut": e.left.cut + e.right.cut,
        }
        for number, e, _, _ in some
    ]
    for name, frame in (
        ("words", pl.concat(words)),
        ("pairs", pl.DataFrame(texts, schema_overrides={"label": pl.Float64})),
    ):
        path = _file(place, name, start)
        part = path.with_suffix(f".{os.getpid()}.part")
        frame.write_parquet(part)
        os.replace(part, path)


def _file(place: Path, name: str, start: int) -> Path:
    return place / f"{name}-{start:08d}.parquet"


def _words(number: int, e: Explanation, left: Sequence[Tagged], right: Sequence[Tagged]) -> pl.DataFrame:
    rows, columns = (_in_words(side, words) for side, words in ((e.left, left), (e.right, right)))
    values = rows.shares.T @ e.matrix @ columns.shares
    one, other = np.indices(values.shape).reshape(2, -1)
    frame = {"pair": np.full(values.size, number, dtype=np.int32)}
    for name, side, index in (("left", rows, one), ("right", columns, other)):
        frame |= {
            name: np.array(side.labels, dtype=object)[index],
            f"{name}_at": np.array(side.places, dtype=np.int32)[index],
            f"{name}_pos": np.array(side.tags, dtype=object)[index],
            f"{name}_role": np.array(side.roles, dtype=object)[index],
        }
    text = {name: pl.String for name, column in frame.items() if column.dtype == object}
    return pl.DataFrame({**frame, "value": values.ravel()}, schema_overrides=text)


@dataclass(frozen=True, slots=True, eq=False)
class InWords:
    """A side in a tagger's words, with its special tokens beside them."""

    labels: tuple[str, ...]
    places: tuple[int, ...]  # among the tagger's words; -1 for special tokens and what lies in no word
    tags: tuple[str, ...]
    roles: tuple[str, ...]  # of coordinated and multi-word parts that of the nearest word above that is neither
    shares: Float[np.ndarray, "units words"]


def _in_words(side: Side, words: Sequence[Tagged]) -> InWords:
    shares = side.shares([(word.start, word.end) for word in words])
    alone = [index for index in range(len(side)) if not shares[index].any()]
    beside = np.zeros((len(side), len(alone)))
    beside[alone, range(len(alone))] = 1.0
    kinds = [side.labels[index] if side.kinds[index] == "special" else OTHER for index in alone]
    return InWords(
        labels=(*(word.text for word in words), *(side.labels[index] for index in alone)),
        places=(*range(len(words)), *(-1 for _ in alone)),
        tags=(*(word.pos for word in words), *kinds),
        roles=(*raised(words), *("" for _ in alone)),
        shares=np.concatenate([shares, beside], axis=1),
    )
