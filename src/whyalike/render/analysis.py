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

from whyalike.analysis.frames import pl
from whyalike.analysis.section import Section
from whyalike.errors import MissingExtra
from whyalike.render import page, views
from whyalike.render.html import fragment
from whyalike.storage.writing import whole_file, write_text, writing

SHORT = 12  # rows of a table that is not folded away


def to_page(
    sections: Sequence[Section], title: str, caption: str = "", charts_of: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """One page with a part for each section. ``charts_of`` are charts already drawn, by section."""
    parts, charts = section_parts(sections, charts_of)
    links = contents({each.name: each.title for each in sections}) if len(sections) > 1 else ""
    head = f'<h1>{escape(title)}</h1><p class="caption">{escape(caption)}</p>{links}'
    return page.page(title, head + parts, charts)


def contents(headings: Mapping[str, str]) -> str:
    """Links to the parts of a page."""
    items = "".join(f'<li><a href="#{escape(name)}">{escape(title)}</a></li>' for name, title in headings.items())
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def section_parts(
    sections: Sequence[Section], charts_of: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[str, dict[str, Any]]:
    """The HTML of all sections that have something to show, and their charts by place."""
    altair = page.chart_tools()
    charts: dict[str, Any] = {}
    parts = []
    for section in sections:
        if section.is_empty:
            continue
        own = (charts_of or {}).get(section.name)
        own = section.charts(altair) if own is None else own
        drawn = {f"{section.name}-{name}": chart for name, chart in own.items()}
        charts |= drawn
        parts.append(_section(section, drawn))
    return "".join(parts), charts


def _section(section: Section, drawn: Mapping[str, Any]) -> str:
    """What was measured, what was found, charts, pictures, tables; nothing of what is not there."""
    name = escape(section.name)
    explained = f"<p>{escape(section.explained)}</p>" if section.explained else ""
    says = "".join(f"<li>{escape(sentence)}</li>" for sentence in section.says)
    listed = f'<ul class="says">{says}</ul>' if says else ""
    places = "".join(page.place(place, _described(chart)) for place, chart in drawn.items())
    placed = f'<div class="charts">{places}</div>' if places else ""
    pictures = "".join(f"<h3>{escape(each)}</h3>{fragment(e, compact=True)}" for each, e in section.pictures.items())
    tables = _tables(section)
    short = sum(map(len, section.tables.values())) <= SHORT * max(1, len(section.tables))
    opened = " open" if short or not (drawn or pictures) else ""
    folded = f"<details{opened}><summary>Tables</summary>{tables}</details>" if tables else ""
    return (
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(section.title)}</h2>'
        f"{explained}{listed}{placed}{pictures}{folded}</section>"
    )


def _tables(section: Section) -> str:
    if section.views:
        return "".join(
            views.table(view, f"{section.name}-{number}" if number else section.name)
            for number, view in enumerate(section.views)
            if any(view.rows.values())
        )
    return "".join(
        f"<h3>{escape(name)}</h3>{page.table(rows, name=_file_name(section, name))}"
        for name, rows in section.tables.items()
        if rows
    )


def _described(chart: Any) -> str:
    return str(chart.to_dict().get("description", ""))


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
