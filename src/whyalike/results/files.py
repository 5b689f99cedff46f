"""Results as files: to keep, to send, to read back without a model.

Formats, by the ending of the file:

- ``.json``: an `Explanation`, `OneSided`, `Comparison`, `Contrast` or `Evaluation`. One JSON object with ``format``,
  ``version`` (1) and the fields of the result by their own names. Numbers read back to the same doubles.
- ``.safetensors``: `Contributions`, one or a list. Tensors ``N.tokens``, ``N.remainder``, ``N.embedding``, ``N.states`` for the
  N-th text; the metadata entry ``whyalike`` is JSON with ``format``, ``version`` (1), ``single`` and the records of each text.
- ``.csv``, ``.parquet``: the table of a result, to be read by others.
- ``.html``, ``.svg``, ``.png``, ``.pdf``: its picture. ``.tex``: the matrix of an `Explanation`, for a paper.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from whyalike.errors import BadInput, DamagedFile, MissingExtra, UnknownVersion
from whyalike.results import comparison, contrast, evaluation, explanation, one_sided
from whyalike.results.comparison import Comparison, Entry
from whyalike.results.contrast import Contrast
from whyalike.results.contributions import Contributions
from whyalike.results.evaluation import Evaluation
from whyalike.results.explanation import Explanation
from whyalike.results.matching import Matching
from whyalike.results.one_sided import OneSided
from whyalike.results.read_records import read_measured, read_measured_sides, read_method, read_model
from whyalike.results.result import Result
from whyalike.results.sides import Side
from whyalike.results.terms import SharedTerms
from whyalike.storage.reading import Fields, parse_json, read_text
from whyalike.storage.writing import whole_file, write_bytes, write_text

CONTRIBUTIONS = "whyalike contributions"
READ_BACK = (".json", ".safetensors")
DRAWN = (".svg", ".png", ".pdf")  # in a layout, light or dark
ARRAYS = ("tokens", "remainder", "embedding", "states")


def save(
    result: Result | Sequence[Contributions],
    path: str | os.PathLike[str],
    *,
    half: bool = False,
    layout: str = "full",
    dark: bool | None = None,
) -> Path:
    """Writes a result in the format of the file's ending. The file appears whole or not at all.

    Args:
        result: An explanation, a one-sided explanation, a comparison, a contrast, an evaluation, or contributions (one, or a
            list).
        path: Ends in .json, .csv, .parquet, .html, .svg, .png, .pdf or (an explanation) .tex; for contributions
            .safetensors, .csv or .parquet.
        half: Store contributions in float16, half the size. The relative error is kept as ``measured.storage_error``.
        layout: Of .svg, .png and .pdf: ``"full"``, ``"slide"`` (16:9, large type) or ``"column"`` (3.35 inches, for a paper).
        dark: Draw .svg, .png or .pdf on dark paper. None: .png and .pdf are light, and .svg follows the reader's preference.

    Returns:
        The path.

    Raises:
        BadInput: The ending is another one, or does not fit the result.
        CannotWrite: The system refused to write.
    """
    target = Path(path)
    if (layout != "full" or dark is not None) and target.suffix not in DRAWN:
        raise BadInput(
            f"layout and dark are for {', '.join(DRAWN)}; {target.name} ends in {target.suffix!r}. Leave them out."
        )
    writers = _writers(result, half, layout, dark)
    if target.suffix not in writers:
        kind = type(result).__name__ if not isinstance(result, Sequence) else "list of Contributions"
        raise BadInput(f"{target.name} ends in {target.suffix!r}; {kind} can be saved as {', '.join(writers)}.")
    writers[target.suffix](target)
    return target


def load(path: str | os.PathLike[str]) -> Any:
    """Reads what `save` wrote as .json or .safetensors: the same kind of result.

    Raises:
        BadInput: The file is a table or a picture, by its ending.
        DamagedFile: The file is missing, not one of ours, or damaged.
        UnknownVersion: Another release wrote it in a version this one does not read.
    """
    if Path(path).suffix in (".csv", ".parquet", ".html", ".svg", ".png"):
        raise BadInput(
            f"{Path(path).name} is a table or a picture, from which no result can be read back. "
            f"Give the file that was saved as {' or '.join(READ_BACK)}."
        )
    if Path(path).suffix == ".safetensors":
        return _load_contributions(Path(path))
    text = read_text(path, DamagedFile)
    try:
        found = parse_json(text)
    except ValueError as error:
        raise DamagedFile(f"{path} is not JSON ({error}). Expected a file written by whyalike.save.") from error
    return result_from_dict(found, source=str(path))


def result_from_dict(found: Any, source: str = "the given value") -> Any:
    """The inverse of `to_dict` of any result; refuses what is damaged, inconsistent or of another version."""
    known: Mapping[str, tuple[int, Callable[[Fields, str], Any]]] = {
        explanation.FORMAT: (explanation.VERSION, _explanation),
        one_sided.FORMAT: (one_sided.VERSION, _one_sided),
        comparison.FORMAT: (comparison.VERSION, _comparison),
        contrast.FORMAT: (contrast.VERSION, _contrast),
        evaluation.FORMAT: (evaluation.VERSION, _evaluation),
    }
    name = found.get("format") if isinstance(found, dict) else None
    if not isinstance(name, str) or name not in known:
        raise DamagedFile(
            f"{source} is not a whyalike result: its 'format' should be one of {', '.join(map(repr, known))}."
        )
    version, read = known[name]
    _check_version(found.get("version"), version, source)
    try:
        return read(Fields(found), source)
    except ValueError as error:
        raise DamagedFile(f"{source} is damaged: {error}. Expected the fields of a {name}.") from error


def explanation_from_dict(found: Any, source: str = "the given value") -> Explanation:
    """The inverse of `Explanation.to_dict`."""
    result = result_from_dict(found, source)
    if not isinstance(result, Explanation):
        raise DamagedFile(f"{source} is a {result.to_dict()['format']}; expected a {explanation.FORMAT}.")
    return result


def _check_version(stated: object, known: int, source: str) -> None:
    if stated != known:
        raise UnknownVersion(
            f"{source} has version {stated!r:.40}; this release reads version {known}. "
            "Explain the pair again, or use the release that wrote the file."
        )


def _writers(result: Any, half: bool, layout: str, dark: bool | None) -> dict[str, Callable[[Path], None]]:
    """How to write a result, by the ending of the file."""
    if isinstance(result, Contributions) or (isinstance(result, Sequence) and not isinstance(result, str)):
        parts = [result] if isinstance(result, Contributions) else list(result)
        if not parts or not all(isinstance(part, Contributions) for part in parts):
            raise BadInput(f"A list to save should hold Contributions, at least one; got {result!r:.60}.")
        table = [part.to_columns() | {"document": [number] * len(part.side)} for number, part in enumerate(parts)]
        columns = {name: [value for each in table for value in each[name]] for name in table[0]}
        single = isinstance(result, Contributions)
        return {
            ".safetensors": lambda path: _save_contributions(parts, path, single, half),
            ".csv": lambda path: write_table(columns, path),
            ".parquet": lambda path: write_table(columns, path),
        }
    if half:
        raise BadInput("half=True is for contributions. Leave it out.")
    if not isinstance(result, Result):
        raise BadInput(f"{type(result).__name__} cannot be saved. Expected a result of whyalike.")
    rows = {"rows": list(result.rows)} if isinstance(result, Evaluation) else {}
    writers: dict[str, Callable[[Path], None]] = {
        ".json": lambda path: write_text(
            path, json.dumps(result.to_dict() | rows, ensure_ascii=False, allow_nan=False)
        ),
        ".csv": lambda path: write_table(result.to_columns(), path),
        ".parquet": lambda path: write_table(result.to_columns(), path),
    }
    if isinstance(result, Explanation | Comparison | Contrast):
        writers |= dict.fromkeys((".html", *DRAWN), lambda path: write_picture(result, path, path.suffix, layout, dark))
    if isinstance(result, Explanation):
        writers[".tex"] = lambda path: write_picture(result, path, ".tex", layout, dark)
    return writers


def write_table(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Columns as CSV or Parquet, by the ending of the file."""
    (_write_csv if path.suffix == ".csv" else _write_parquet)(columns, path)


def write_picture(result: Any, path: Path, kind: str, layout: str = "full", dark: bool | None = None) -> None:
    """Draws a result as ``.html``, ``.svg``, ``.png``, ``.pdf`` or ``.tex``, whatever the path ends in."""
    from whyalike import render

    drawn: str | bytes
    if kind in DRAWN:
        draw: dict[str, Callable[..., str | bytes]] = {
            ".svg": render.to_svg,
            ".png": render.to_png,
            ".pdf": render.to_pdf,
        }
        drawn = draw[kind](result, layout=layout, dark=dark if kind == ".svg" else bool(dark))
    else:
        drawn = render.to_html(result) if kind == ".html" else render.to_tex(result)
    write_bytes(path, drawn.encode() if isinstance(drawn, str) else drawn)


def _write_csv(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_parquet(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", "Parquet files", "tables") from error
    with whole_file(path) as part:
        pyarrow.parquet.write_table(pyarrow.table({name: list(values) for name, values in columns.items()}), part)


def _save_contributions(parts: Sequence[Contributions], path: Path, single: bool, half: bool) -> None:
    from safetensors.numpy import save_file

    tensors, texts = {}, []
    for number, part in enumerate(parts):
        measured = part.measured.to_dict()
        for name in ARRAYS:
            array = np.ascontiguousarray(getattr(part, name))
            tensors[f"{number}.{name}"] = array
            if half and name in ("tokens", "states"):
                tensors[f"{number}.{name}"] = array.astype(np.float16)
                if name == "tokens":
                    size = max(float(np.linalg.norm(array)), 1e-24)
                    measured["storage_error"] = (
                        float(np.linalg.norm(array - array.astype(np.float16).astype(array.dtype))) / size
                    )
                    if not np.isfinite(measured["storage_error"]):
                        raise BadInput("These contributions are too large for float16. Save them without half=True.")
        records = {"method": asdict(part.method), "model": asdict(part.model), "measured": measured}
        terms = {"terms": [*part.terms]} if part.terms else {}
        texts.append({"side": part.side.to_dict(), **records, **terms})
    about = {"format": CONTRIBUTIONS, "version": 1, "single": single, "texts": texts}
    with whole_file(path) as target:
        save_file(tensors, target, metadata={"whyalike": json.dumps(about, ensure_ascii=False, allow_nan=False)})


def _load_contributions(path: Path) -> Contributions | list[Contributions]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as found:
            about = (found.metadata() or {}).get("whyalike")
            tensors = {name: found.get_tensor(name) for name in found.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DamagedFile(
            f"{path} cannot be read as safetensors: {reason}. Expected a file written by whyalike.save."
        ) from error
    try:
        given = Fields(parse_json(about or ""))
        if given["format"] != CONTRIBUTIONS:
            raise ValueError(f"its 'format' should be {CONTRIBUTIONS!r}")
        _check_version(given["version"], 1, str(path))
        parts = [_contributions(Fields(each, f"text {n}"), n, tensors) for n, each in enumerate(given.list("texts"))]
        if given.flag("single") and len(parts) != 1:
            raise ValueError(f"it says that it holds one text, and has {len(parts)}")
    except ValueError as error:
        raise DamagedFile(f"{path} is damaged: {error}. Expected contributions written by whyalike.save.") from error
    return parts[0] if given.flag("single") else parts


def _contributions(given: Fields, number: int, tensors: Mapping[str, Any]) -> Contributions:
    side, model = Side.from_dict(given.fields("side")), read_model(given.fields("model"))
    terms = given.texts("terms") if "terms" in given.value else ()
    more = int(model.kind == "multi-vector")  # an axis of output vectors
    arrays = {}
    for name, dimensions in zip(ARRAYS, (2 + more, 1 + more, 1 + more, 2), strict=True):
        array = tensors.get(f"{number}.{name}")
        if array is None or array.ndim != dimensions or array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ValueError(
                f"the array {name!r} of text {number} is missing, or not {dimensions}-dimensional finite numbers"
            )
        arrays[name] = array.astype(np.float32) if array.dtype == np.float16 else array
    space, dim = arrays["tokens"].shape[1:], len(terms) if terms else model.dim
    embedding = (*arrays["embedding"].shape[:more], dim)
    shapes = (len(side), *space), space, embedding, (len(side), arrays["states"].shape[1])
    if tuple(arrays[name].shape for name in ARRAYS) != shapes or (terms and len(set(terms)) != space[-1]):
        raise ValueError(
            f"the arrays of text {number} do not fit its {len(side)} {side.unit}s and dimension {model.dim}"
        )
    measured, method = read_measured(given.fields("measured")), read_method(given.fields("method"))
    return Contributions(side=side, method=method, model=model, measured=measured, terms=terms, **arrays)


def _explanation(given: Fields, source: str) -> Explanation:
    left, right = (Side.from_dict(given.fields(name)) for name in ("left", "right"))
    matching = None if given.value.get("matching") is None else Matching.from_dict(given.fields("matching"))
    for side, name in ((left, "left_saliency"), (right, "right_saliency")):
        if matching is not None and side.unit == "word" and len(getattr(matching, name)) != len(side):
            raise ValueError(f"{name} has {len(getattr(matching, name))} values for {len(side)} words")
    found = Explanation(
        left=left,
        right=right,
        matrix=given.numbers("matrix", len(left), len(right)),
        left_terms=given.numbers("left_terms", len(left)),
        right_terms=given.numbers("right_terms", len(right)),
        constant=given.number("constant"),
        score=given.number("score"),
        method=read_method(given.fields("method")),
        model=read_model(given.fields("model")),
        measured=read_measured_sides(given.fields("measured")),
        matching=matching,
        shared_terms=SharedTerms.from_dict(given.fields("shared_terms"), len(left), len(right))
        if "shared_terms" in given.value
        else None,
    )
    _check_residual(found.residual, given, found.score, source)
    return found


def _check_residual(residual: float, given: Fields, score: float, source: str) -> None:
    stated = given.number("residual")
    if not abs(residual - stated) <= 1e-9 * max(1.0, abs(score)):  # also where either is NaN
        raise DamagedFile(f"{source} is damaged: its parts leave {residual!r}, but it states a residual of {stated!r}.")


def _one_sided(given: Fields, source: str) -> OneSided:
    side = Side.from_dict(given.fields("side"))
    found = OneSided(
        side=side,
        values=given.numbers("values", len(side)),
        background=given.number("background"),
        score=given.number("score"),
        other=Side.from_dict(given.fields("other")),
        method=read_method(given.fields("method")),
        model=read_model(given.fields("model")),
        measured=read_measured(given.fields("measured")),
    )
    _check_residual(found.residual, given, found.score, source)
    return found


def _comparison(given: Fields, source: str) -> Comparison:
    entries = []
    for number, each in enumerate(given.list("entries"), 1):
        entry = Fields(each, f"entry {number}")
        e = explanation_from_dict(entry["explanation"], f"entry {number} of {source}")
        entries.append(Entry(entry.text("name"), e, entry.number("seconds")))
    return Comparison(tuple(entries))


def _contrast(given: Fields, source: str) -> Contrast:
    a, b = (explanation_from_dict(given.fields(name)["explanation"], f"{name!r} of {source}") for name in ("a", "b"))
    return Contrast(a, b)


def _evaluation(given: Fields, source: str) -> Evaluation:
    given.check_finite()
    headline = given.text("headline")
    for each in (*given.list("rows"), *given.list("table")):
        row = Fields(each, "a row")
        row.text("subject")
        if row.value.get(headline) is not None:
            row.number(headline)
    for each in given.list("rows"):
        Fields(each, "a row").whole("case")
    return Evaluation(
        measure=given.text("measure"),
        request=given.fields("request").value,
        rows=tuple(given.list("rows")),
        table=tuple(given.list("table")),
        headline=headline,
        higher_is_better=None if given["higher_is_better"] is None else given.flag("higher_is_better"),
        notes=given.texts("notes"),
    )
