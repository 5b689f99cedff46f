"""Charts, tables and sentences on one page that works from disk, offline. Every text is escaped."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from whyalike.errors import MissingExtra

Row = Mapping[str, Any]
STYLE = """body{font:15px/1.55 system-ui,'DejaVu Sans',sans-serif;
margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1b1b1b;background:#fff}
h1{font-size:1.5rem;margin:.2rem 0}
h2{font-size:1.15rem;margin:2.2rem 0 .3rem;border-top:1px solid #ddd;padding-top:1rem}
h3{font-size:.95rem;margin:1.2rem 0 .2rem}
table{border-collapse:collapse;margin:.4rem 0;font-variant-numeric:tabular-nums}
td,th{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #e4e4e4}
td,th:first-child{white-space:nowrap}
td:first-child,th:first-child{text-align:left}
th{font-weight:600;vertical-align:bottom}
.best{font-weight:700}
.caption{color:#5c5c5c;margin:.2rem 0}
.scroll{overflow:auto}
.tall{max-height:28rem}
.chart{max-width:100%;overflow-x:auto}
ul.says{margin:.4rem 0;padding-left:1.2rem}
.charts{display:flex;flex-wrap:wrap;gap:1.5rem}
a.csv{font-size:.85rem}
nav a{margin-right:1rem}"""

MOST_WHOLE = 30  # rows of a table that is shown whole


class Saved(NamedTuple):
    """The files that were written, and those that were not, for want of an extra."""

    written: list[Path]
    left_out: dict[str, MissingExtra]


def chart_tools() -> Any:
    """Altair, or what to install."""
    try:
        import altair
        import vl_convert  # noqa: F401  (brings the script that draws)
    except ImportError as error:
        raise MissingExtra("altair", "pages with plots", "plots") from error
    return altair


def page(title: str, body: str, charts: Mapping[str, Any] | None = None) -> str:
    """A whole page; ``body`` is HTML, and each chart is drawn where the body has ``place(name)``."""
    scripts = ""
    if charts:
        chart_tools()
        import vl_convert

        specs = json.dumps({name: chart.to_dict() for name, chart in charts.items()}).replace("<", "\\u003c")
        draw = (
            f"const specs={specs};for(const [name,spec] of Object.entries(specs))"
            "vegaEmbed(document.getElementById(name),spec,{actions:{export:true,source:false,compiled:false,editor:false}})"
            ".then(()=>document.querySelector('#'+CSS.escape(name)+' summary').setAttribute('aria-label','Save the chart'));"
        )
        bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub asks for a snippet
        scripts = f"<script>{bundle}</script><script>{draw}</script>"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>{body}</main>{scripts}</body></html>"
    )


def place(name: str) -> str:
    return f'<div id="{escape(name)}" class="chart"></div>'


def table(rows: Sequence[Row], *, best: str | None = None, name: str | None = None) -> str:
    """Rows as a table; the one whose first value is ``best`` stands out. With a name, the reader can take it along as CSV."""
    columns = columns_of(rows)
    head = "".join(f"<th>{escape(column.replace('_', ' '))}</th>" for column in columns)
    lines = "".join(
        f"<tr{' class=' + chr(34) + 'best' + chr(34) if best is not None and row.get(columns[0]) == best else ''}>"
        + "".join(f"<td>{escape(shown(row.get(column)))}</td>" for column in columns)
        + "</tr>"
        for row in rows
    )
    link = ""
    if name is not None:
        data = base64.b64encode(to_csv(rows).encode()).decode()
        link = f'<a class="csv" download="{escape(name)}.csv" href="data:text/csv;base64,{data}">{escape(name)}.csv</a>'
    tall = " tall" if len(rows) > MOST_WHOLE else ""
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    label = escape(name or "Table")
    return f'<div class="scroll{tall}" tabindex="0" role="group" aria-label="{label}">{whole}</div>{link}'


def to_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns_of(rows), restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def columns_of(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        small = 0 < abs(value) < 0.001
        return (f"{value:.1e}" if small else f"{value:.3f}").replace("-", "−")
    return str(value)
