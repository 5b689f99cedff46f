"""An evaluation to look at: in the terminal, and as one page with plots that works from disk, offline."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from whyalike.errors import MissingExtra
from whyalike.evaluate.measure import Row
from whyalike.evaluate.run import Evaluation
from whyalike.render import page


def picture(evaluation: Evaluation) -> Table:
    """The table for a rich console; the best of the headline stands out."""
    columns = page.columns_of(_shown(evaluation.table))
    table = Table(title=f"{evaluation.measure} · {evaluation.asked['model']}", title_justify="left", box=None)
    for name in columns:
        heading = name.replace("comprehensiveness", "compr.").replace("sufficiency", "suff.").replace("_", " ")
        table.add_column(heading, justify="left" if name == "subject" else "right", overflow="fold")
    best = _best(evaluation)
    for line in evaluation.table:
        style = "bold" if line["subject"] == best else ""
        table.add_row(*(page.shown(line.get(name)) for name in columns), style=style)
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
    altair = page.chart_tools()
    charts = {f"chart-{number}": chart for number, chart in enumerate(_charts(altair, evaluation))}
    title = f"{evaluation.measure} · {evaluation.asked['model']}"
    table = page.table(_shown(evaluation.table), best=_best(evaluation))
    places = "".join(page.place(name) for name in charts)
    return page.page(title, f"<h1>{escape(title)}</h1>{table}{places}{_significance(evaluation)}", charts)


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


def _shown(lines: Sequence[Row]) -> list[Row]:
    return [{name: value for name, value in line.items() if not name.endswith("_deviation")} for line in lines]


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
    return f'<h2>More than chance?</h2><p class="caption">{caption}</p>{page.table(shown)}'


def _best(evaluation: Evaluation) -> str | None:
    controls = {row["subject"] for row in evaluation.rows if row.get("control")}
    known = [
        line
        for line in evaluation.table
        if line.get(evaluation.headline) is not None and line["subject"] not in controls
    ]
    if evaluation.higher_is_better is None or not known:
        return None
    pick = max if evaluation.higher_is_better else min
    return str(pick(known, key=lambda line: line[evaluation.headline])["subject"])
