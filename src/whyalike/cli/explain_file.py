"""``whyalike explain --data``: every pair of a file, one row per word pair, resumable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from tqdm import tqdm

from whyalike.api import explain_pairs
from whyalike.data.pairs import NumberedPair
from whyalike.data.tables import evenly, read_table
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.language.segmenter import segmentation
from whyalike.methods.spec import MethodSpec, parse_method
from whyalike.results.explanation import Explanation
from whyalike.results.files import write_table
from whyalike.results.skipped import Skipped
from whyalike.storage.run_folder import REQUEST, RunFolder, compute_rows, digest
from whyalike.storage.writing import write_text

Row = dict[str, Any]
ENDINGS = (".parquet", ".csv", ".jsonl")
ROWS = "pairs.jsonl"
WORK = ".work"  # added to the name of the file: the folder in which a run that is not finished is kept


def explain_file(
    data: str,
    out: Path,
    encoder: Encoder,
    spec: MethodSpec,
    columns: dict[str, str],
    count: int | None,
    *,
    spread: bool,
    aligned: bool,
    layer: int | None,
    **options: Any,
) -> None:
    """Writes ``out``; and beside it ``OUT.rejects.jsonl`` with the rows that could not be explained, and why."""
    if out.suffix not in ENDINGS:
        raise BadInput(f"{out.name} ends in {out.suffix!r}; expected {', '.join(ENDINGS)}.")
    spec = parse_method(spec, layer)
    table = read_table(data, ("left", "right"), columns, blanks=True)
    chosen = evenly(len(table), count)
    pairs = [(table.numbers[index], table.rows[index]["left"], table.rows[index]["right"]) for index in chosen]
    request: dict[str, Any] = {
        "model": asdict(encoder.record),
        "method": [spec.view, asdict(spec.method.record(encoder))],
        "options": {**options, "spread": spread, "aligned": aligned},
        "data": digest(pairs),
        **segmentation(text for _, *texts in pairs for text in texts),
    }
    work = out.with_name(out.name + WORK)
    with (
        RunFolder.open(work, request, advice=f"Delete {work}, or give another --out."),
        tqdm(total=len(pairs), unit="pair", smoothing=0, disable=None) as bar,
    ):

        def compute(some: Sequence[tuple[int, str, str]]) -> list[Row]:
            found = explain_pairs(
                [NumberedPair(*each) for each in some],
                encoder=encoder,
                method=spec,
                aligned=aligned,
                on_error="skip",
                progress=False,
                **options,
            )
            rows = [_entry(number, each, spread) for (number, _, _), each in zip(some, found, strict=True)]
            bar.update(len(some))
            return rows

        entries = compute_rows(work / ROWS, pairs, compute)
        bar.update(len(pairs) - bar.n)
        bar.close()
        _write_all(entries, out, len(pairs))
        for name in (ROWS, REQUEST):  # in this order, so that a run killed in between is taken up again
            (work / name).unlink()
    with suppress(OSError):  # another process has begun there
        work.rmdir()


def _write_all(entries: Sequence[Row], out: Path, count: int) -> None:
    """The table, and the rows that are not in it; says what was written."""
    rejected = [entry["rejected"] for entry in entries if "rejected" in entry]
    rows = [row for entry in entries for row in entry.get("rows", ())]
    _write(rows, out)
    say = Console(stderr=True, highlight=False)
    say.print(f"Wrote {out}: {len(rows):,} word pairs of {count - len(rejected):,} pairs of texts.", markup=False)
    rejects = out.with_name(out.name + ".rejects.jsonl")
    if rejected:
        write_text(rejects, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rejected))
        counts = f"{len(rejected):,} of {count:,} rows could not be explained"
        say.print(f"{counts}: see {rejects}. The first:", markup=False)
        say.print(f"  row {rejected[0]['row']}: {rejected[0]['reason']}", markup=False)
    else:
        rejects.unlink(missing_ok=True)


def _entry(number: int, found: Explanation | Skipped, spread: bool) -> Row:
    if isinstance(found, Skipped):
        return {"rejected": {"row": number, "left": found.left, "right": found.right, "reason": found.reason}}
    e = found.spread() if spread else found
    columns = e.to_columns()
    return {
        "rows": [
            {"row": number, "score": e.score, **dict(zip(columns, values, strict=True))}
            for values in zip(*columns.values(), strict=True)
        ]
    }


def _write(rows: Sequence[Row], out: Path) -> None:
    if out.suffix == ".jsonl":
        write_text(out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        return
    names = list(rows[0]) if rows else ["row", "score"]
    write_table({name: [row[name] for row in rows] for name in names}, out)
