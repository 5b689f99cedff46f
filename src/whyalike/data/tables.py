"""Tables of texts from files, and the public data sets by name. Nothing is taken silently: a bad row is named.

A file is CSV, TSV, JSON lines or Parquet, by its ending. A data set is looked for under ``$WHYALIKE_DATA``, then under
``../shared/data`` beside the working directory; whyalike ships none.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from whyalike.errors import BadInput, MissingExtra, unknown
from whyalike.storage.reading import is_file, is_unicode, parse_json

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DataSet:
    """Where a data set lies in its folder, and which of its columns hold what."""

    file: str
    columns: Mapping[str, str]  # what we call it -> what the file calls it
    header: tuple[str, ...] | None = None  # of a file that has none
    scores: tuple[float, float] = (0.0, 1.0)  # lowest and highest
    quoted: bool = True  # whether quotation marks hold fields together
    broken_bytes: bool = False  # some letters are cut in the middle; they are shown as �
    leaves_gaps: bool = False  # rows with an empty field are dropped, and counted, not refused


_PAIR = {"left": "sentence1", "right": "sentence2", "score": "score"}
_SICK = {"left": "sentence_A", "right": "sentence_B", "score": "relatedness_score"}
_ITEM = {"id": "id", "title": "title", "text": "description"}

DATA_SETS: Mapping[str, DataSet] = MappingProxyType(
    {
        **{
            f"stsb-{language}-{split}": DataSet(
                f"stsb/{language}-{split}.csv", _PAIR, ("sentence1", "sentence2", "score"), (0.0, 5.0)
            )
            for language in ("en", "de", "ru", "zh")
            for split in ("train", "dev", "test")
        },
        "sick-train": DataSet("sick/SICK_train.txt", _SICK, scores=(1.0, 5.0), quoted=False),
        "sick-dev": DataSet("sick/SICK_trial.txt", _SICK, scores=(1.0, 5.0), quoted=False),
        "sick-test": DataSet("sick/SICK_test_annotated.txt", _SICK, scores=(1.0, 5.0), quoted=False),
        "biosses-train": DataSet("biosses/train.tsv", _PAIR, scores=(0.0, 4.0)),
        "biosses-dev": DataSet("biosses/dev.tsv", _PAIR, scores=(0.0, 4.0)),
        "biosses-test": DataSet("biosses/test.tsv", _PAIR, scores=(0.0, 4.0)),
        "qqp": DataSet(
            "qqp/dev.tsv",
            {"left": "q1", "right": "q2", "score": "label"},
            ("label", "q1", "q2", "id"),
            broken_bytes=True,
        ),
        "wine": DataSet("wine/winemag-sample.csv", _ITEM, leaves_gaps=True),
        "fashion": DataSet("fashion/descriptions.csv", _ITEM),
    }
)


class Item(NamedTuple):
    """An entry of a catalogue."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the columns asked for, and where each stood in its file, counted from 1."""

    name: str
    rows: tuple[Row, ...]
    numbers: tuple[int, ...]
    scores: tuple[float, float]
    dropped: int = 0  # rows with a gap, of a data set known to have some

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)


def read_table(
    source: str | os.PathLike[str],
    needed: Sequence[str],
    columns: Mapping[str, str] | None = None,
    *,
    blanks: bool = False,
) -> Table:
    """The needed columns of a file or of a data set by name.

    Args:
        source: A file, or the name of a data set. ``biosses-train+biosses-dev`` are two data sets, one after the other.
        needed: The columns: left, right, score, …
        columns: Their names in the file where they differ, such as ``{"left": "question"}``.
        blanks: Keep rows with a missing or blank text, as an empty text. Otherwise the first one raises `BadInput`.
    """
    for name in columns or ():
        if name not in needed:
            raise unknown("column to name", name, needed)
    parts = str(source).split("+")
    if len(parts) > 1 and all(part in DATA_SETS for part in parts):
        return _joined(str(source), [read_table(part, needed, columns, blanks=blanks) for part in parts])
    known = DATA_SETS.get(str(source)) if not is_file(Path(source)) else None
    path = find_data_file(known.file) if known else Path(source)
    if not is_file(path):
        raise unknown("file or data set", str(source), DATA_SETS)
    called = {name: name for name in needed} | dict(known.columns if known else {}) | dict(columns or {})
    rows, numbers, dropped = [], [], 0
    for number, row in _numbered(path, known or DataSet("", {})):
        if known and known.leaves_gaps and not all(str(row.get(called[name]) or "").strip() for name in needed):
            dropped += 1
            continue
        missing = [called[name] for name in needed if called[name] not in row]
        if missing:
            have = ", ".join(map(repr, row)) or "none"
            ours = next(name for name in needed if called[name] == missing[0])
            yours = next((name for name in row if name not in called.values()), "COLUMN")
            raise BadInput(
                f"{path.name} has no column {missing[0]!r} (row {number} has {have:.300}). "
                f"Name yours, as in columns={{{ours!r}: {yours!r}}}."
            )
        rows.append({name: _value(name, row[called[name]], path, number, blanks) for name in needed})
        numbers.append(number)
    if not rows:
        raise BadInput(f"{path.name} has no rows. Expected at least one.")
    return Table(str(source), tuple(rows), tuple(numbers), known.scores if known else (-math.inf, math.inf), dropped)


def _joined(name: str, tables: Sequence[Table]) -> Table:
    if len({table.scores for table in tables}) > 1:
        raise BadInput(f"{name} joins data sets whose scores have different ranges. Read them one by one.")
    rows, numbers = (tuple(each for table in tables for each in getattr(table, part)) for part in ("rows", "numbers"))
    return Table(name, rows, numbers, tables[0].scores, sum(table.dropped for table in tables))


def read_scored_pairs(
    source: str | os.PathLike[str],
    *,
    columns: Mapping[str, str] | None = None,
    scores: tuple[float, float] | None = None,
) -> tuple[list[tuple[str, str]], list[float]]:
    """Pairs of texts, and their scores brought to 0…1 from the range they are given in (0…1 where it is not said)."""
    table = read_table(source, ("left", "right", "score"), columns)
    lowest, highest = scores or (table.scores if math.isfinite(table.scores[0]) else (0.0, 1.0))
    if not lowest < highest:
        raise BadInput(f"The range of scores should rise; got {lowest} to {highest}.")
    for row, number in zip(table.rows, table.numbers, strict=True):
        if not lowest <= row["score"] <= highest:
            raise BadInput(
                f"Row {number} of {table.name} has the score {row['score']:g}; expected {lowest:g} to {highest:g}. "
                "Give the range of your scores, or fix the row."
            )
    pairs = [(row["left"], row["right"]) for row in table.rows]
    return pairs, [(row["score"] - lowest) / (highest - lowest) for row in table.rows]


def has_scores(source: str | os.PathLike[str]) -> bool:
    """Whether a data set by name, or a file in a column ``score``, says how alike its pairs are."""
    parts = str(source).split("+")
    if all(part in DATA_SETS for part in parts):
        return all("score" in DATA_SETS[part].columns for part in parts)
    path = Path(source)
    if not is_file(path):
        raise unknown("file or data set", str(source), DATA_SETS)
    first = next(_numbered(path, DataSet("", {})), (0, {}))[1]
    return "score" in first


def evenly(total: int, count: int | None) -> list[int]:
    """Which of so many rows to take, spread evenly over all; None: every one."""
    if count is not None and count < 1:
        raise BadInput(f"The number of pairs should be above 0; got {count}.")
    wanted = total if count is None else min(count, total)
    return [int(number) for number in np.linspace(0, total - 1, wanted).round()]


def read_parallel(
    source: str | os.PathLike[str], target: str | os.PathLike[str], columns: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """Every distinct sentence of the pairs with its translation: two files of the same pairs, row by row."""
    one, other = (read_table(each, ("left", "right"), columns) for each in (source, target))
    if len(one) != len(other):
        raise BadInput(f"{source} has {len(one)} rows, {target} has {len(other)}; parallel files have as many.")
    pairs = zip(one.rows, other.rows, strict=True)
    return list(dict.fromkeys((left[side], right[side]) for left, right in pairs for side in ("left", "right")))


def read_items(source: str | os.PathLike[str], columns: Mapping[str, str] | None = None) -> tuple[list[Item], int]:
    """The items of a catalogue, and how many were left out because they have no title or no description."""
    table = read_table(source, ("id", "title", "text"), columns)
    return [Item(**row) for row in table.rows], table.dropped


def _value(name: str, value: Any, path: Path, number: int, blanks: bool) -> Any:
    if name == "score":
        try:
            score = float(value)
        except (TypeError, ValueError, OverflowError):
            score = math.nan
        if isinstance(value, bool) or not math.isfinite(score):
            raise BadInput(
                f"Row {number} of {path.name} has the score {value!r:.60}; expected a number. Fix or drop the row."
            )
        return score
    text = "" if value is None or (isinstance(value, float) and math.isnan(value)) else _as_text(value)
    if text is None or not is_unicode(text):
        raise BadInput(
            f"Row {number} of {path.name} has {value!r:.60} as {name!r}; expected a text. Fix or drop the row."
        )
    if not text.strip() and not blanks:
        raise BadInput(f"Row {number} of {path.name} has an empty {name!r}; expected a text. Fix or drop the row.")
    return text


def _as_text(value: Any) -> str | None:
    """A text, or a number written as one; anything else (a list, an object, bytes) is no text."""
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


def find_data_file(file: str) -> Path:
    """Where a file of the public data sets lies."""
    folders = [Path(os.environ["WHYALIKE_DATA"])] if "WHYALIKE_DATA" in os.environ else []
    folders.append(Path.cwd().parent / "shared" / "data")
    for folder in folders:
        if is_file(folder / file):
            return folder / file
    raise BadInput(
        f"The data set's file {file!r} was not found under {' or '.join(map(str, folders))}. "
        "Set WHYALIKE_DATA to the folder that holds the data sets, or give a file of your own."
    )


def _numbered(path: Path, form: DataSet) -> Iterator[tuple[int, Row]]:
    """Rows counted from 1; what is no table, or not UTF-8, is refused with the row it was met at."""
    number, rows = 0, _rows(path, form)
    while True:
        number += 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise BadInput(
                f"Row {number} of {path.name} is not well-formed: {error}. Fix its quotation marks."
            ) from error
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}. Give a file that can be read.") from error
        except UnicodeDecodeError as error:
            raise BadInput(f"{path.name} is not UTF-8 (near row {number}). Save it as UTF-8.") from error
        yield number, row


def _rows(path: Path, form: DataSet) -> Iterator[Row]:
    if path.suffix == ".parquet":
        yield from _parquet(path)
        return
    with path.open(encoding="utf-8-sig", newline="", errors="replace" if form.broken_bytes else "strict") as lines:
        if path.suffix in (".jsonl", ".json"):
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _json(line, path, number)
        elif path.suffix in (".csv", ".tsv", ".txt"):
            delimiter = "," if path.suffix == ".csv" else "\t"
            quotes: Any = csv.QUOTE_MINIMAL if form.quoted else csv.QUOTE_NONE
            reader = csv.DictReader(lines, fieldnames=form.header, delimiter=delimiter, quoting=quotes, strict=True)
            names = list(reader.fieldnames or ())
            if twice := next((name for name in names if name and names.count(name) > 1), None):
                raise BadInput(f"{path.name} has two columns called {twice!r:.60}. Rename one of them.")
            for row in reader:
                if any(cell.strip() for cell in row.pop(None, ())):
                    raise csv.Error("it has more cells than there are columns")
                yield row
        else:
            raise BadInput(f"{path.name} ends in {path.suffix!r}; expected .csv, .tsv, .jsonl or .parquet.")


def _json(line: str, path: Path, number: int) -> Row:
    try:
        row = parse_json(line)
    except ValueError as error:
        raise BadInput(f"Line {number} of {path.name} is not JSON: {error}. Expected one object per line.") from error
    if not isinstance(row, dict):
        raise BadInput(f"Line {number} of {path.name} is {type(row).__name__}; expected one object per line.")
    return row


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", "Parquet files", "tables") from error
    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches():
            yield from batch.to_pylist()
    except UnicodeDecodeError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise BadInput(f"{path.name} is not a whole Parquet file ({error}). Write it again.") from error
