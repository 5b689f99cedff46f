"""An explanation as an Altair chart, for notebooks and for charts of one's own."""

from __future__ import annotations

import json
from typing import Any

from whyalike.colours import NEGATIVE, PAPER, POSITIVE, rgb
from whyalike.errors import BadInput, MissingExtra
from whyalike.render.scene import Scene, scene_of
from whyalike.results.explanation import Explanation

WIDEST = 100  # rows or columns


def to_figure(explanation: Explanation) -> Any:
    """An `altair.VConcatChart`: the heat map above the parts that add up. ``.save("x.png")`` writes it."""
    try:
        import altair
    except ImportError as error:
        raise MissingExtra("altair", "figures", "plots") from error
    scene = scene_of(explanation)
    if max(scene.grid.values.shape) > WIDEST:
        raise BadInput(
            f"The matrix is {len(scene.grid.rows)} by {len(scene.grid.columns)}, "
            f"too large for a figure (at most {WIDEST} each way). Draw it by sentence, or as HTML or SVG."
        )
    below = (
        [scene.caption, *scene.notes] if scene.parts or scene.matched else [scene.caption, scene.closing, *scene.notes]
    )
    title = altair.TitleParams(f"score {scene.score:.3f}", subtitle=below, anchor="start")
    charts = [_heat_map(altair, scene)] if scene.grid.rows else []
    charts += [_matches(altair, scene)] if scene.matched else [_parts(altair, scene)] if scene.parts else []
    return (
        altair.vconcat(*charts, spacing=24)
        .properties(title=title, padding=16)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=13, labelLimit=220)
        .configure_title(fontSize=17, subtitleFontSize=12, subtitleColor="#666", offset=12)
    )


def _heat_map(altair: Any, scene: Scene) -> Any:
    grid = scene.grid
    headings = [[(heading.label, heading.kind == "text") for heading in each] for each in (grid.rows, grid.columns)]
    rows = [
        {"row": i, "column": j, "value": float(value)}
        for i, line in enumerate(grid.values)
        for j, value in enumerate(line)
    ]
    # Numbers place the cells, so that a word may occur twice; the labels are looked up.
    axes = {
        "x": altair.X("column:O", axis=_axis(altair, headings[1], labelAngle=-40, orient="top")),
        "y": altair.Y("row:O", axis=_axis(altair, headings[0])),
    }
    scale = altair.Scale(
        domain=[-scene.limit, 0, scene.limit],
        range=[rgb(NEGATIVE), rgb(PAPER), rgb(POSITIVE)],
        interpolate="rgb",
        clamp=True,
    )
    base = altair.Chart(altair.Data(values=rows)).encode(**axes)
    size = {"width": 52 * len(headings[1]), "height": 30 * len(headings[0])}
    cells = base.mark_rect(stroke="white").encode(
        color=altair.Color(
            "value:Q", scale=scale, title="score" if scene.matched else "adds", legend=altair.Legend(gradientLength=120)
        )
    )
    dark = altair.datum.value
    light_ink = (dark > 0.55 * scene.limit) | (dark < -0.55 * scene.limit)
    large_enough = (dark >= 0.005) | (dark <= -0.005)  # what rounds to nothing stays blank
    shown = base.transform_filter(large_enough)
    numbers = shown.mark_text(fontSize=11).encode(
        text=altair.Text("value:Q", format="+.2f"),
        color=altair.condition(light_ink, altair.value("white"), altair.value("#222")),
    )
    return (cells + numbers).properties(**size)


def _axis(altair: Any, headings: list[tuple[str, bool]], **options: Any) -> Any:
    """An axis of labels; what is no word of the text leans, and is paler."""
    look_up = f"{json.dumps([label for label, _ in headings])}[datum.value]"
    own = f"{json.dumps([is_text for _, is_text in headings])}[datum.value]"
    return altair.Axis(
        labelExpr=look_up,
        labelFontStyle=altair.condition(own, altair.value("normal"), altair.value("italic")),
        labelColor=altair.condition(own, altair.value("#222"), altair.value("#767676")),
        title=None,
        ticks=False,
        domain=False,
        labelPadding=6,
        **options,
    )


def _parts(altair: Any, scene: Scene) -> Any:
    rows = [{"part": part.name, "value": part.value} for part in scene.parts]
    rows.append({"part": "score", "value": scene.score})
    order = [row["part"] for row in rows]
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("part:N", sort=order, axis=altair.Axis(title=None, ticks=False, domain=False)),
        x=altair.X(
            "value:Q", axis=altair.Axis(title=scene.closing, grid=True, titleFontSize=12, titleFontWeight="normal")
        ),
    )
    shade = altair.condition(altair.datum.value > 0, altair.value(rgb(POSITIVE)), altair.value(rgb(NEGATIVE)))
    return base.mark_bar(height=16).encode(color=shade).properties(width=max(420, 52 * len(scene.right)), height=80)


def _matches(altair: Any, scene: Scene) -> Any:
    labels = [(f"{match.left} ↔ {match.right}", True) for match in scene.matches]
    rows = [{"order": number, "score": match.score} for number, match in enumerate(scene.matches)]
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("order:O", axis=_axis(altair, labels)),  # a pair of words may occur twice
        x=altair.X("score:Q", axis=altair.Axis(title=scene.closing, titleFontSize=12, titleFontWeight="normal")),
    )
    size = {"width": max(420, 52 * len(scene.grid.columns)), "height": max(40, 24 * len(rows))}
    return base.mark_bar(height=14, color=rgb(POSITIVE)).properties(**size)
