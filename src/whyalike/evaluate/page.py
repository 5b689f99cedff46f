"""An evaluation to look at: in the terminal, and as one page with plots that works from disk, offline."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from whyalike.errors import MissingExtra
from whyalike.evaluate.measure import Row
from whyalike.evaluate.run import Evaluation

STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1b1b1b}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}.best{font-weight:700}.caption{color:#5c5c5c}.scroll{overflow-x:auto}"""


def picture(evaluation: Evaluation) -> Table:
    """The table for a rich console; the best of the headline stands out."""
    columns = _columns(evaluation.table)
    table = Table(title=f"{evaluation.measure} · {evaluation.asked['model']}", title_justify="left", box=None)
    for name in columns:
        heading = name.replace("comprehensiveness", "compr.").replace("sufficiency", "suff.").replace("_", " ")
        table.add_column(heading, justify="left" if name == "subject" else "right", overflow="fold")
    best = _best(evaluation)
    for line in evaluation.table:
        style = "bold" if line["subject"] == best else ""
        table.add_row(*(_text(line.get(name)) for name in columns), style=style)
    return table


def save(evaluation: Evaluation, folder: str | os.PathLike[str]) -> list[Path]:
    """`result.json`, `rows.parquet` (where pyarrow is at hand) and `report.html` (where altair is)."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = [place / "result.json"]
    text = json.dumps(evaluation.to_dict(), indent=1, ensure_ascii=False)
    written[0].write_text(text + "\n", encoding="utf-8")
    for name, write in (("rows.parquet", _parquet), ("report.html", _html)):
        try:
            write(evaluation, place / name)
        except MissingExtra:
            continue
        written.append(place / name)
    return written


def _parquet(evaluation: Evaluation, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", "Parquet files", "tables") from error
    plain = [
        {name: value for name, value in row.items() if name not in ("counts", "chunks")} for row in evaluation.rows
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(plain), path)


def _html(evaluation: Evaluation, path: Path) -> None:
    path.write_text(to_html(evaluation), encoding="utf-8")


def to_html(evaluation: Evaluation) -> str:
    """One self-contained page: plots, the table, what is more than chance. Every name is escaped."""
    try:
        import altair
        import vl_convert  # noqa: F401  (brings the script that draws)
    except ImportError as error:
        raise MissingExtra("altair", "pages with plots", "plots") from error
    # A name may hold anything, and charts put it into a script.
    rows = tuple({**row, "subject": str(row["subject"]).replace("<", "‹")} for row in evaluation.rows)
    charts = _charts(altair, replace(evaluation, rows=rows))
    drawn = altair.vconcat(*charts).configure_view(stroke=None).to_html(inline=True)
    title = escape(f"{evaluation.measure} · {evaluation.asked['model']}")
    body = f"<h1>{title}</h1>{_table(evaluation.table, _best(evaluation))}{_significance(evaluation)}"
    head = f"<title>{title}</title><style>{STYLE}</style></head>"
    # The script comes first, and may hold anything: the page's own tags are the last of their kind.
    for tag, new in (("</head>", head), ("<body>", f"<body>{body}")):
        before, _, after = drawn.rpartition(tag)
        drawn = before + new + after
    return str(drawn)


def _charts(altair: Any, evaluation: Evaluation) -> list[Any]:
    rows = [row for row in evaluation.rows if row.get(evaluation.headline) is not None]
    names = list(dict.fromkeys(row["subject"] for row in rows))
    values = [{"subject": row["subject"], "value": row[evaluation.headline]} for row in rows]
    base = altair.Chart(altair.Data(values=values)).encode(y=altair.Y("subject:N", sort=names, title=None))
    axis = altair.X("mean(value):Q", title=evaluation.headline.replace("_", " "), scale=altair.Scale(zero=False))
    bars = base.mark_point(filled=True, size=70, color="#b35806").encode(x=axis)
    bands = base.mark_errorbar(extent="ci", color="#b35806").encode(x=altair.X("value:Q", title=""))
    charts = [(bands + bars).properties(width=620, title="mean, with its 95 % interval")]
    for curve in sorted({name for row in rows for name in row if name.startswith("curve")}):
        points = [
            {"subject": row["subject"], "step": step, "value": value}
            for row in rows
            for step, value in enumerate(row.get(curve, ()), 1)
        ]
        lines = altair.Chart(altair.Data(values=_mean_curve(points))).encode(
            x=altair.X("step:Q"), color=altair.Color("subject:N", sort=names)
        )
        band = lines.mark_area(opacity=0.15).encode(y=altair.Y("low:Q", title=curve.replace("_", " ")), y2="high:Q")
        charts.append(
            (band + lines.mark_line().encode(y="value:Q")).properties(width=620, title=curve.replace("_", " "))
        )
    scatter = {
        "conservation": ("score", "matrix"),
        "agreement": ("mean_score", "spearman"),
        "balance": ("score", "positive"),
        "sts": ("human", "predicted"),
    }
    if evaluation.measure in scatter:
        x, y = scatter[evaluation.measure]
        points = [
            {"subject": row["subject"], x: row[x], y: row[y]} for row in evaluation.rows if row.get(y) is not None
        ]
        cloud = (
            altair.Chart(altair.Data(values=points))
            .mark_circle(opacity=0.4)
            .encode(
                x=altair.X(f"{x}:Q"),
                y=altair.Y(f"{y}:Q"),
                color=altair.Color("subject:N", sort=names),
                tooltip=[f"{x}:Q", f"{y}:Q", "subject:N"],
            )
        )
        charts.append(cloud.properties(width=420, height=320))
    return charts


def _mean_curve(points: Sequence[Row]) -> list[Row]:
    """Mean and 95 % interval at every step."""
    found: dict[tuple[str, int], list[float]] = {}
    for point in points:
        found.setdefault((point["subject"], point["step"]), []).append(point["value"])
    rows = []
    for (subject, step), values in found.items():
        mean, wide = float(np.mean(values)), 1.96 * float(np.std(values)) / len(values) ** 0.5
        rows.append({"subject": subject, "step": step, "value": mean, "low": mean - wide, "high": mean + wide})
    return rows


def _table(lines: Sequence[Row], best: str | None) -> str:
    columns = _columns(lines)
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    rows = "".join(
        f"<tr{_marked(line['subject'] == best)}>"
        + "".join(f"<td>{escape(_text(line.get(name)))}</td>" for name in columns)
        + "</tr>"
        for line in lines
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _marked(is_best: bool) -> str:
    return ' class="best"' if is_best else ""


def _significance(evaluation: Evaluation) -> str:
    lines = evaluation.significance()
    if not lines:
        return ""
    shown = [
        {
            "subject": f"{line['one']} − {line['other']}",
            **{k: line[k] for k in ("pairs", "mean_difference", "p", "p_adjusted")},
        }
        for line in lines
    ]
    caption = f"Wilcoxon's signed-rank test on {escape(evaluation.headline)}; adjusted by Holm for so many comparisons"
    return f'<h2>More than chance?</h2><p class="caption">{caption}</p>{_table(shown, None)}'


def _columns(lines: Sequence[Row]) -> list[str]:
    return [name for name in dict.fromkeys(key for line in lines for key in line) if not name.endswith("_deviation")]


def _best(evaluation: Evaluation) -> str | None:
    known = [line for line in evaluation.table if line.get(evaluation.headline) is not None]
    if evaluation.higher_is_better is None or not known:
        return None
    pick = max if evaluation.higher_is_better else min
    return str(pick(known, key=lambda line: line[evaluation.headline])["subject"])


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        small = 0 < abs(value) < 0.001
        return (f"{value:.1e}" if small else f"{value:.3f}").replace("-", "−")
    return str(value)
