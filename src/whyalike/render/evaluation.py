"""An evaluation to look at: in the terminal, and as one page with plots that works from disk, offline."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from whyalike.errors import MissingExtra
from whyalike.evaluate.measure import Row
from whyalike.evaluate.run import Evaluation
from whyalike.render import page
from whyalike.storage.writing import whole_file, write_text, writing

CLOUDS = {  # what the papers draw: BiLRP, Figure 6; Siamese, Figures 3, 4 and 5
    "conservation": (("score", "matrix"), ("activation", "relevance")),
    "agreement": tuple(("mean_score", number) for number in ("spearman", "pearson", "top_3", "top_10")),
    "balance": (("positive", "negative"), ("score", "positive")),
    "sts": (("human", "predicted"),),
}
DISTRIBUTIONS = {"balance": ("positive", "negative")}  # Siamese, Figure 5
OWN_SCALES = ("conservation",)  # sums of one method can be a hundred times those of another
WIDE = 500  # pixels of a name before it is cut


def picture(evaluation: Evaluation, width: int = 100) -> Group:
    """The table for a rich console of so many columns; the best of the headline stands out. What does not fit goes on below."""
    title, notes = Text(_title(evaluation), style="italic"), [Text(n, style="dim italic") for n in evaluation.notes]
    if not evaluation.table:  # there was nothing to say of any pair, as the notes tell
        return Group(title, *notes)
    lines, best = _shown(evaluation.table), _best(evaluation)
    cells = {name: [page.shown(line.get(name)) for line in lines] for name in page.columns_of(lines)}
    names = cells.pop("subject")
    room = min(max(len(name) for name in ("subject", *names)), max(20, width // 2))
    parts: list[Any] = [title]
    for some in _beside(cells, width - room - 2):
        table = Table(box=None)
        table.add_column("subject", width=room, overflow="fold")
        for name, wide in some.items():
            table.add_column(name.replace("_", " "), justify="right", width=wide)
        for name, *numbers in zip(names, *(cells[column] for column in some), strict=True):
            table.add_row(*map(Text, (name, *numbers)), style="bold" if name == best else "")
        parts.append(table)
    return Group(*parts, *notes)


def _beside(cells: Mapping[str, Sequence[str]], room: int) -> list[dict[str, int]]:
    """Columns with their widths, as many beside each other as there is room for; no number and no word is broken."""
    found: list[dict[str, int]] = [{}]
    for name, texts in cells.items():
        words = name.split("_")
        wide = max(len(name) // 2, *map(len, words), *map(len, texts))
        if found[-1] and sum(found[-1].values()) + 2 * len(found[-1]) + wide + 2 > room:
            found.append({})
        found[-1][name] = wide
    return found


def save(evaluation: Evaluation, folder: str | os.PathLike[str]) -> page.Saved:
    """`result.json`, `rows.parquet` (where pyarrow is at hand) and `report.html` (where altair is)."""
    place = Path(folder)
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    written, left_out = [place / "result.json"], {}
    text = json.dumps(evaluation.to_dict(), indent=1, ensure_ascii=False)
    write_text(written[0], text + "\n")
    for name, write in (("rows.parquet", _parquet), ("report.html", _html)):
        try:
            write(evaluation, place / name)
        except MissingExtra as error:
            left_out[name] = error
            continue
        written.append(place / name)
    return page.Saved(written, left_out)


def _parquet(evaluation: Evaluation, path: Path) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", "Parquet files", "tables") from error
    names = dict.fromkeys(name for row in evaluation.rows for name in row if name not in ("counts", "chunks"))
    plain = [{name: row.get(name) for name in names} for row in evaluation.rows]
    with whole_file(path) as part:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(plain), part)


def _html(evaluation: Evaluation, path: Path) -> None:
    write_text(path, to_html(evaluation))


def to_html(evaluation: Evaluation) -> str:
    """One self-contained page: plots, the table, what is more than chance. Every name is escaped."""
    altair = page.chart_tools()
    charts = {f"chart-{number}": chart for number, chart in enumerate(_charts(altair, evaluation))}
    title = _title(evaluation)
    table = page.table(_shown(evaluation.table), best=_best(evaluation))
    notes = "".join(f'<p class="caption">{escape(note)}</p>' for note in evaluation.notes)
    places = "".join(page.place(name) for name in charts)
    return page.page(title, f"<h1>{escape(title)}</h1>{table}{notes}{places}{_significance(evaluation)}", charts)


def _title(evaluation: Evaluation) -> str:
    return f"{evaluation.measure} · {evaluation.request['model'].rstrip('/').rsplit('/', 1)[-1]}"


def _charts(altair: Any, evaluation: Evaluation) -> list[Any]:
    rows = [row for row in evaluation.rows if row.get(evaluation.headline) is not None]
    names = list(dict.fromkeys(row["subject"] for row in evaluation.rows))
    curves = sorted({name for row in rows for name in row if name.startswith("curve")})
    charts = [
        *([_means(altair, evaluation.headline, rows, names)] if rows else []),
        *(_curves(altair, curve, rows, names, evaluation.request["parameters"]["step"]) for curve in curves),
        *(_clouds(altair, x, y, evaluation, names) for x, y in CLOUDS.get(evaluation.measure, ())),
        *(_distribution(altair, each, rows, names) for each in DISTRIBUTIONS.get(evaluation.measure, ())),
    ]
    if any("stage" in row for row in rows):
        charts = [_stages(altair, evaluation.headline, rows)]
    return [
        chart.configure_axis(labelLimit=WIDE).configure_legend(labelLimit=WIDE).configure_header(labelLimit=WIDE)
        for chart in charts
    ]


def _means(altair: Any, headline: str, rows: Sequence[Row], names: list[str]) -> Any:
    values = [{"subject": row["subject"], "value": row[headline]} for row in rows]
    base = altair.Chart(altair.Data(values=values)).encode(y=altair.Y("subject:N", sort=names, title=None))
    axis = altair.X("mean(value):Q", title=headline.replace("_", " "), scale=altair.Scale(zero=False))
    points = base.mark_point(filled=True, size=70, color="#b35806").encode(x=axis)
    bands = base.mark_errorbar(extent="ci", color="#b35806").encode(x=altair.X("value:Q", title=""))
    return (bands + points).properties(width=620, title="mean, with its 95 % interval")


def _stages(altair: Any, headline: str, rows: Sequence[Row]) -> Any:
    """A line for each subject, from one stage of the model to the next."""
    values = [
        {"subject": row["subject"].replace(f", {row['stage']}", ""), "stage": row["stage"], "value": row[headline]}
        for row in rows
    ]
    names, stages = (list(dict.fromkeys(value[key] for value in values)) for key in ("subject", "stage"))
    base = altair.Chart(altair.Data(values=values)).encode(
        x=altair.X("stage:N", sort=stages, title="randomized", axis=altair.Axis(labelAngle=0)),
        color=_colours(altair, names),
    )
    line = base.mark_line(point=True).encode(y=altair.Y("mean(value):Q", title=headline.replace("_", " ")))
    band = base.mark_errorband(extent="ci", opacity=0.15).encode(y=altair.Y("value:Q", title=""))
    return (band + line).properties(width=620, title="mean, with its 95 % interval")


def _colours(altair: Any, names: list[str]) -> Any:
    scheme = "tableau10" if len(names) <= 10 else "tableau20"
    legend = altair.Legend(symbolOpacity=1)
    return altair.Color("subject:N", sort=names, scale=altair.Scale(scheme=scheme), legend=legend)


def _curves(altair: Any, curve: str, rows: Sequence[Row], names: list[str], step: float) -> Any:
    title, x, y, first = _described(curve)
    points = [
        {"subject": row["subject"], "share": round(step * number, 9), "value": value}
        for row in rows
        for number, value in enumerate(row.get(curve, ()), first)
    ]
    lines = altair.Chart(altair.Data(values=_mean_curve(points))).encode(
        x=altair.X("share:Q", title=x), color=_colours(altair, names)
    )
    height = altair.Y("low:Q", title=y, scale=altair.Scale(zero=False))
    band = lines.mark_area(opacity=0.15).encode(y=height, y2="high:Q")
    return (band + lines.mark_line().encode(y="value:Q")).properties(width=620, title=title)


def _described(curve: str) -> tuple[str, str, str, int]:
    """What a curve shows, its axes, and after how many steps it begins."""
    if curve == "curve":
        return "tokens put back, the most relevant first", "share of tokens back", "distance to the embedding", 0
    _, way, order = curve.split("_", 2)
    by = order.replace("_", " ")
    if way == "gone":
        return f"words taken away, by {by}", "share of words away", "score", 1
    return f"words put back, by {by}", "share of words back", "score", 1


def _clouds(altair: Any, x: str, y: str, evaluation: Evaluation, names: list[str]) -> Any:
    """For each subject a point for every pair of texts, or for every text where a row has a number for each."""
    points = [
        {"subject": row["subject"], x: one, y: other}
        for row in evaluation.rows
        for one, other in zip(*(_several(row.get(name)) for name in (x, y)), strict=True)
    ]
    titles = [name.replace("_", " ") for name in (x, y)]
    cloud = (
        altair.Chart(altair.Data(values=points))
        .mark_circle(opacity=0.4, color="#b35806")
        .encode(
            x=altair.X(f"{x}:Q", title=titles[0]),
            y=altair.Y(f"{y}:Q", title=titles[1]),
            tooltip=[f"{x}:Q", f"{y}:Q", "subject:N"],
        )
    )
    several = len(names) > 1
    panels = cloud.properties(width=270 if several else 420, height=200 if several else 320)
    panels = panels.facet(altair.Facet("subject:N", sort=names, title=None), columns=3)
    if evaluation.measure in OWN_SCALES:
        panels = panels.resolve_scale(x="independent", y="independent")
    return panels.resolve_axis(x="independent", y="independent").properties(title=f"{titles[1]} by {titles[0]}")


def _distribution(altair: Any, number: str, rows: Sequence[Row], names: list[str]) -> Any:
    """How often a number is how large: a curve for each subject."""
    title = number.replace("_", " ")
    values = [{"subject": row["subject"], "value": row[number]} for row in rows]
    return (
        altair.Chart(altair.Data(values=values))
        .transform_density("value", as_=["value", "density"], groupby=["subject"])
        .mark_area(opacity=0.3, line=True)
        .encode(
            x=altair.X("value:Q", title=title),
            y=altair.Y("density:Q", stack=None, title="density"),
            color=_colours(altair, names),
        )
        .properties(width=620, title=f"distribution of {title} sums over the pairs")
    )


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _mean_curve(points: Sequence[Row]) -> list[Row]:
    """Mean and 95 % interval at every share."""
    found: dict[tuple[str, float], list[float]] = {}
    for point in points:
        found.setdefault((point["subject"], point["share"]), []).append(point["value"])
    rows = []
    for (subject, share), values in found.items():
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        mean, wide = float(np.mean(values)), 1.96 * spread / len(values) ** 0.5
        rows.append({"subject": subject, "share": share, "value": mean, "low": mean - wide, "high": mean + wide})
    return rows


def _shown(lines: Sequence[Row]) -> list[Row]:
    """Without deviations; long names short."""
    return [
        {
            name.replace("comprehensiveness", "compr.").replace("sufficiency", "suff."): value
            for name, value in line.items()
            if not name.endswith("_deviation")
        }
        for line in lines
    ]


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
