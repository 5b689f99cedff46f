"""The table all analyses read: one row per pair of words, one per pair of texts, in Parquet files.

Pairs are explained some at a time, and each share is written as it is finished, so that memory is bounded and a killed run
goes on. Words are the tagger's, tied to the model's tokens by character offsets: a token that lies in two words is
shared between them by characters. Special tokens stand as words of their own, with themselves as part of speech; the prompt as
``prompt``; a token in no word of the tagger's as ``other``: every pair's rows sum to its matrix. A word the model did not read,
in a text longer than it reads, has no rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from tqdm import tqdm

from whyalike.analysis.frames import pl
from whyalike.api import explain_pairs
from whyalike.data.pairs import check_text
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, DamagedFile, MissingExtra
from whyalike.language.relations import raise_to_parent
from whyalike.language.segmenter import segmentation
from whyalike.language.words import NamedTagger, Tagged, Tagger, name_of
from whyalike.methods import Method
from whyalike.methods.spec import MethodSpec, parse_method
from whyalike.results.explanation import Explanation
from whyalike.results.sides import Side
from whyalike.storage.reading import Fields
from whyalike.storage.run_folder import REQUEST, RunFolder, digest, read_request
from whyalike.storage.writing import whole_file

VERSION = 2  # of the tables
TOGETHER = 128  # pairs in a file
ROWS_TOGETHER = 500_000  # written at a time
OTHER, PROMPT = "other", "prompt"


@dataclass(frozen=True, slots=True)
class Interactions:
    """The finished table of a model and its pairs."""

    folder: Path
    request: Mapping[str, Any]

    def __repr__(self) -> str:
        return (
            f"Interactions({self.request['pairs']:,} pairs, {self.request['model']['name']}, in {str(self.folder)!r})"
        )

    @property
    def files(self) -> list[pl.LazyFrame]:
        """The rows of words, file by file; all rows of a pair are in one."""
        return [pl.scan_parquet(path) for path in sorted(self.folder.glob("words-*.parquet"))]

    @property
    def words(self) -> pl.LazyFrame:
        """One row per pair of words: ``pair``, and of each side the word, its place (−1: none), tag and role; ``value``."""
        return pl.scan_parquet(self.folder / "words-*.parquet")

    @property
    def pairs(self) -> pl.LazyFrame:
        """One row per pair of texts: the texts, ``label`` (null where there is none), ``score``, its parts, the residual, and
        the relative error of the integration where there is one.
        """
        return pl.scan_parquet(self.folder / "pairs-*.parquet")

    @property
    def similarity(self) -> str:
        return str(self.request["model"]["similarity"])


def interactions(
    pairs: Sequence[tuple[str, str]],
    folder: str | os.PathLike[str],
    *,
    encoder: Encoder,
    tagger: Tagger | tuple[Tagger, Tagger],
    method: str | Method | MethodSpec = "bilrp",
    layer: int | None = None,
    labels: Sequence[float] | None = None,
    progress: bool = True,
) -> Interactions:
    """Explain all pairs and write the table into a folder; the same call again goes on where a killed one was.

    ``labels`` are human scores, 0…1. ``tagger`` may be two, one for each side.
    """
    if not pairs:
        raise BadInput("Expected at least one pair to analyse.")
    if labels is not None and not all(isinstance(each, int | float) and 0 <= each <= 1 for each in labels):
        wrong = next(each for each in labels if not isinstance(each, int | float) or not 0 <= each <= 1)
        raise BadInput(f"Labels are human scores from 0 to 1; got {wrong!r}. Divide them by the largest there can be.")
    if labels is not None and len(labels) != len(pairs):
        raise BadInput(f"There are {len(pairs)} pairs, but {len(labels)} labels. Give one label per pair, or none.")
    spec, place = parse_method(method, layer), Path(folder)
    taggers = tagger if isinstance(tagger, tuple) else (tagger, tagger)
    for number, pair in enumerate(pairs, 1):
        for text in pair:
            check_text(text, f"A text of pair {number}")
    request = {
        "version": VERSION,
        "model": asdict(encoder.record),
        "prompt": encoder.prompt_text(None),
        "method": asdict(spec.method.record(encoder)),
        "view": spec.view,
        "taggers": [name_of(each) for each in taggers],
        "together": TOGETHER,
        "pairs": len(pairs),
        "data": digest([list(map(list, pairs)), list(labels) if labels is not None else None]),
        **segmentation(text for pair in pairs for text in pair),
    }
    with RunFolder.open(place, request):
        todo = [start for start in range(0, len(pairs), TOGETHER) if not _is_finished(place, start)]
        shares = [range(start, min(start + TOGETHER, len(pairs))) for start in todo]
        for side, each in enumerate(taggers):
            if isinstance(each, NamedTagger):
                each.check([pairs[number][side] for share in shares for number in share])
        with tqdm(
            total=len(pairs),
            initial=len(pairs) - sum(map(len, shares)),
            desc="Explaining",
            unit="pair",
            smoothing=0,
            disable=not (progress and todo),
        ) as bar:
            for share in shares:
                texts = [pairs[number] for number in share]
                explained = explain_pairs(texts, encoder=encoder, method=spec, truncate=True, progress=False)
                tagged = [_tagged(tag, [text[side] for text in texts]) for side, tag in enumerate(taggers)]
                _write(place, share.start, list(zip(share, explained, *tagged, strict=True)), labels)
                bar.update(len(share))
    return Interactions(place, request)


def read_interactions(folder: str | os.PathLike[str]) -> Interactions:
    """A finished table."""
    place = Path(folder)
    if not (place / REQUEST).is_file():
        raise BadInput(f"{place} holds no table of interactions. Make one with `whyalike analyze`.")
    request = read_request(place / REQUEST)
    if request.get("version") != VERSION:
        raise BadInput(f"{place} was made by another version of whyalike. Make it again in another folder.")
    try:
        fields = Fields(request)
        fields.fields("model").text("similarity")
        count, together = (fields.whole(name, least=1) for name in ("pairs", "together"))
    except ValueError as error:
        raise DamagedFile(f"{place / REQUEST} is damaged: {error}. Make the table again in another folder.") from error
    missing = next((start for start in range(0, count, together) if not _is_finished(place, start)), None)
    if missing is not None:
        raise DamagedFile(f"{place} is not finished: pairs from {missing} on are missing. Run the same command again.")
    return Interactions(place, request)


Explained = tuple[int, Explanation, list[Tagged], list[Tagged]]


def _is_finished(place: Path, start: int) -> bool:
    return all(_file(place, name, start).is_file() for name in ("words", "pairs"))


def _tagged(tagger: Tagger, texts: Sequence[str]) -> list[list[Tagged]]:
    found = tagger(texts)
    if len(found) != len(texts):
        raise BadInput(f"The tagger {name_of(tagger)} gave {len(found)} lists of words for {len(texts)} texts.")
    for text, words in zip(texts, found, strict=True):
        for word in words:
            if not 0 <= word.start < word.end <= len(text):
                raise BadInput(
                    f"The tagger {name_of(tagger)} gave {word}, which does not lie in the text {text!r:.60}."
                )
    return found


def _write(place: Path, start: int, some: Sequence[Explained], labels: Sequence[float] | None) -> None:
    """The words first: where the file of pairs is there, so is theirs."""
    _write_words(_file(place, "words", start), (_words(*each) for each in some))
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
            "error": max((side.error for side in e.measured.values() if side.error is not None), default=None),
        }
        for number, e, _, _ in some
    ]
    with whole_file(_file(place, "pairs", start)) as part:
        pl.DataFrame(texts, schema_overrides={"label": pl.Float64, "error": pl.Float64}).write_parquet(part)


def _write_words(path: Path, frames: Iterable[pl.DataFrame]) -> None:
    """Some rows at a time: the pairs of long texts have millions."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", "Parquet files", "analysis") from error
    writer, waiting = None, []
    with whole_file(path) as part:
        for frame in _ending(frames):
            waiting += [] if frame is None else [frame]
            if waiting and (frame is None or sum(map(len, waiting)) >= ROWS_TOGETHER):
                rows = pl.concat(waiting).to_arrow(compat_level=pl.CompatLevel.oldest())
                writer = writer or pyarrow.parquet.ParquetWriter(part, rows.schema)
                writer.write_table(rows)
                waiting = []
        assert writer is not None
        writer.close()


def _ending(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame | None]:
    yield from frames
    yield None


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
    read = [number for number in range(len(words)) if shares[:, number].any()]
    alone = [index for index in range(len(side)) if not shares[index].any()]
    beside = np.zeros((len(side), len(alone)))
    beside[alone, range(len(alone))] = 1.0
    kinds = [{"prompt": PROMPT, "text": OTHER}.get(side.kinds[index], side.labels[index]) for index in alone]
    roles = raise_to_parent(words)
    return InWords(
        labels=(*(words[number].text for number in read), *(side.labels[index] for index in alone)),
        places=(*read, *(-1 for _ in alone)),
        tags=(*(words[number].pos for number in read), *kinds),
        roles=(*(roles[number] for number in read), *("" for _ in alone)),
        shares=np.concatenate([shares[:, read], beside], axis=1),
    )
