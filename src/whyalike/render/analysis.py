"""What an analysis found, on a page and in files: sentences, charts, pictures of explanations, tables."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.frames import pl
from whyalike.analysis.section import Section
from whyalike.errors import MissingExtra
from whyalike.render import page
from whyalike.render.html import fragment
from whyalike.storage.writing import whole_file, write_text, writing


def to_page(
    sections: Sequence[Section], title: str, caption: str = "", charts_of: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """One page with a part for each section: its sentences, its charts, its tables, which can be taken along.

    ``charts_of`` are charts already drawn, by section.
    """
    altair = page.chart_tools()
    charts: dict[str, Any] = {}
    parts = []
    for section in sections:
        own = (charts_of or {}).get(section.name)
        own = section.charts(altair) if own is None else own
        drawn = {f"{section.name}-{name}": chart for name, chart in own.items()}
        charts |= drawn
        says = "".join(f"<li>{escape(sentence)}</li>" for sentence in section.says)
        tables = "".join(
            f"<h3>{escape(name)}</h3>{page.table(rows, name=_file_name(section, name))}"
            for name, rows in section.tables.items()
            if rows
        )
        pictures = "".join(
            f"<h3>{escape(name)}</h3>{fragment(e, compact=True)}" for name, e in section.pictures.items()
        )
        places = "".join(page.place(name) for name in drawn)
        parts.append(
            f'<h2 id="{escape(section.name)}">{escape(section.title)}</h2><ul class="says">{says}</ul>'
            f'<div class="charts">{places}</div>{pictures}<details{" open" if not drawn else ""}>'
            f"<summary>tables</summary>{tables}</details>"
        )
    contents = "".join(f'<a href="#{escape(each.name)}">{escape(each.title)}</a>' for each in sections)
    head = f'<h1>{escape(title)}</h1><p class="caption">{escape(caption)}</p><nav>{contents if len(sections) > 1 else ""}</nav>'
    return page.page(title, head + "".join(parts), charts)


def to_report(sections: Sequence[Section], corpus: Corpus, name: str) -> str:
    """The whole report as one page that works from disk, offline."""
    caption = f"{len(corpus.pairs):,} pairs of {name} · {corpus.description}"
    return to_page(sections, f"What {', '.join(corpus.encoders)} matches", caption)


def save(section: Section, folder: str | os.PathLike[str], title: str) -> page.Saved:
    """`NAME.json`, each table as Parquet, and, where altair is at hand, `NAME.html` and each chart as SVG and PNG."""
    place = Path(folder)
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    written = [place / f"{section.name}.json"]
    write_text(written[0], json.dumps(section.to_dict(), indent=1, ensure_ascii=False) + "\n")
    for name, rows in section.tables.items():
        if rows:
            written.append(place / f"{_file_name(section, name)}.parquet")
            with whole_file(written[-1]) as part:
                pl.DataFrame([dict(row) for row in rows], infer_schema_length=None).write_parquet(part)
    try:
        drawn = section.charts(page.chart_tools())
    except MissingExtra as error:
        return page.Saved(written, {f"{section.name}.html": error})
    written.append(place / f"{section.name}.html")
    write_text(written[-1], to_page([section], section.title, title, {section.name: drawn}))
    for name, chart in drawn.items():
        for kind in ("svg", "png"):
            written.append(place / f"{_file_name(section, name)}.{kind}")
            if kind == "svg":
                write_text(written[-1], _numbered(chart))
            else:
                with whole_file(written[-1]) as part:
                    chart.save(part, format=kind, scale_factor=2)
    return page.Saved(written, {})


def _numbered(chart: Any) -> str:
    """A chart as SVG whose gradients are numbered from 0: vega counts all that a process has drawn."""
    out = StringIO()
    chart.save(out, format="svg")
    names: dict[str, str] = {}
    return re.sub(r"gradient_\d+", lambda found: names.setdefault(found[0], f"gradient_{len(names)}"), out.getvalue())


def _file_name(section: Section, name: str) -> str:
    """A name may hold anything, such as the slash of a hub's model."""
    return re.sub(r"[^\w.-]+", "-", f"{section.name}-{name}")
