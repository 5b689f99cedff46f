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
STYLE = """:root{color-scheme:light dark;--ink:#1b1b1b;--paper:#fff;--soft:#5a5a5a;--line:#dcdcdc;--panel:#f5f5f2;
--link:#0b5cad;--mark:#8f4400}
@media (prefers-color-scheme:dark){:root{--ink:#eaeaea;--paper:#17181a;--soft:#adadad;--line:#3a3c40;--panel:#212326;
--link:#7db7f0;--mark:#f0a35a}}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,'DejaVu Sans',sans-serif;margin:0;color:var(--ink);background:var(--paper)}
main,header{max-width:72rem;margin:0 auto;padding:0 1rem}
main{padding-bottom:4rem}
a{color:var(--link)}
h1{font-size:1.7rem;line-height:1.25;margin:1.5rem 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.6rem 0 .3rem;border-top:1px solid var(--line);padding-top:1.2rem}
h3{font-size:1rem;margin:1.4rem 0 .2rem;overflow-wrap:anywhere}
p,li{max-width:48rem;overflow-wrap:anywhere}
table{border-collapse:collapse;margin:.4rem 0;font-variant-numeric:tabular-nums;font-size:.93rem}
td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid var(--line)}
th{font-weight:600;vertical-align:bottom}
td.text,th.text,td:first-child,th:first-child{text-align:left}
td{white-space:nowrap}
td.text{white-space:normal;min-width:7rem;max-width:30rem;overflow-wrap:anywhere}
th[scope=colgroup]{text-align:center;border-bottom:none}
tbody th{font-weight:400;min-width:7rem;max-width:30rem;overflow-wrap:anywhere;vertical-align:top}
.best{font-weight:700}
.caption{color:var(--soft);margin:.2rem 0;overflow-wrap:anywhere}
.scroll{overflow:auto;max-width:100%}
.tall{max-height:28rem}
.scroll:focus-visible,a:focus-visible,summary:focus-visible,
button:focus-visible{outline:2px solid var(--link);outline-offset:2px}
ul.says{margin:.4rem 0;padding-left:1.2rem}
.charts{display:flex;flex-wrap:wrap;gap:1.5rem;align-items:flex-start}
figure.chart{margin:.8rem 0;max-width:100%}
figure.chart>div{overflow-x:auto;max-width:100%}
figure.chart svg{max-width:100%;height:auto;min-width:min(100%,20rem)}
figcaption{color:var(--soft);font-size:.88rem;max-width:28rem}
a.csv{font-size:.85rem}
details{margin:.6rem 0}
summary{cursor:pointer}
nav ul{list-style:none;margin:.8rem 0;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem}
.skip{position:absolute;left:-100vw;top:0;background:var(--paper);padding:.5rem 1rem;z-index:2}
.skip:focus{left:0}
.vega-embed .vega-actions a{color:#222}
.vega-embed summary{opacity:.45!important}
@media (max-width:40rem){body{font-size:15px}h1{font-size:1.4rem}td,th{padding:.2rem .45rem}}
@media print{.skip,nav,.vega-embed summary{display:none}}"""

MOST_WHOLE = 30  # rows of a table that is shown whole
# What is drawn takes the page's own ink, so that charts fit a light and a dark page without being drawn again.
INK = "currentColor"
CHART_STYLE = {
    "background": None,
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": INK,
        "gridOpacity": 0.15,
        "labelFontSize": 12,
        "titleFontSize": 12,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12},
    "header": {"labelColor": INK, "titleColor": INK},
    "title": {"color": INK},
    "view": {"stroke": None},
}
POLICY = "default-src 'none';style-src 'unsafe-inline';script-src 'unsafe-inline' 'unsafe-eval';img-src data: blob:"


class Saved(NamedTuple):
    """The files that were written, and those that were not, since an extra is missing."""

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


def page(title: str, body: str, charts: Mapping[str, Any] | None = None, *, style: str = "", script: str = "") -> str:
    """A whole page; ``body`` is HTML, and each chart is drawn where the body has ``place(name)``."""
    scripts = f"<script>{script}</script>" if script else ""
    if charts:
        chart_tools()
        import vl_convert

        specs = json.dumps({name: chart.to_dict() for name, chart in charts.items()}).replace("<", "\\u003c")
        options = {
            "renderer": "svg",
            "config": CHART_STYLE,
            "actions": {"export": True, "source": False, "compiled": False, "editor": False},
        }
        draw = (
            f"const specs={specs};for(const [name,spec] of Object.entries(specs))"
            f"vegaEmbed(document.getElementById(name),spec,{json.dumps(options)}).then(()=>"
            "document.getElementById(name).querySelector('summary')?.setAttribute('aria-label','Save this chart'));"
        )
        bundle = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub asks for a snippet
        scripts += f"<script>{bundle}</script><script>{draw}</script>"
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body>"
        f'<a class="skip" href="#content">Skip to the content</a><main id="content">{body}</main>{scripts}</body></html>'
    )


def place(name: str, caption: str = "") -> str:
    """Where a chart is drawn, with what it shows beneath it."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure class="chart"><div id="{escape(name)}"></div>{below}</figure>'


def table(rows: Sequence[Row], *, best: str | None = None, name: str | None = None) -> str:
    """Rows as a table; the one whose first value is ``best`` stands out. With a name, the reader can take it along as CSV."""
    columns = columns_of(rows)
    texts = {column for column in columns[1:] if any(isinstance(row.get(column), str) for row in rows)}
    kind = {column: ' class="text"' if column in texts else "" for column in columns}
    head = "".join(f'<th scope="col"{kind[column]}>{escape(column.replace("_", " "))}</th>' for column in columns)
    lines = "".join(
        f"<tr{' class=' + chr(34) + 'best' + chr(34) if best is not None and row.get(columns[0]) == best else ''}>"
        + "".join(f"<td{kind[column]}>{escape(shown(row.get(column)))}</td>" for column in columns)
        + "</tr>"
        for row in rows
    )
    return scrolling(f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody>", name or "table", len(rows)) + (
        csv_link(rows, name) if name is not None else ""
    )


def scrolling(content: str, label: str, count: int) -> str:
    """A table that scrolls by itself where it is wider than the page, or long; the keyboard can reach it."""
    tall = " tall" if count > MOST_WHOLE else ""
    region = f'tabindex="0" role="group" aria-label="Table: {escape(label)}"'
    return f'<div class="scroll{tall}" {region}><table>{content}</table></div>'


def csv_link(rows: Sequence[Row], name: str) -> str:
    data = base64.b64encode(to_csv(rows).encode()).decode()
    return f'<a class="csv" download="{escape(name)}.csv" href="data:text/csv;base64,{data}">{escape(name)}.csv</a>'


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
