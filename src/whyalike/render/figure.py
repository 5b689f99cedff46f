"""An explanation as an Altair chart, for PNG, SVG and papers. The only door to altair."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from whyalike.errors import BadInput, MissingExtra
from whyalike.explanation import Explanation
from whyalike.render.scene import NEGATIVE, PAPER, POSITIVE, Scene, scene_of

WIDEST = 100  # rows or columns


def to_figure(explanation: Explanation) -> Any:
    """An `altair.VConcatChart`: the heat map above the parts that add up. ``.save("x.png")`` writes it."""
    try:
        import altair
        import vl_convert  # noqa: F401  (what altair saves PNG and SVG with)
    except ImportError as error:
        raise MissingExtra("altair", "figures and PNG files", "plots") from error
    scene = scene_of(explanation)
    if max(len(scene.rows), len(scene.columns)) > WIDEST:
        raise BadInput(
            f"The matrix is {len(scene.rows)} by {len(scene.columns)}, too large for a figure (at most {WIDEST} each way). "
            "Draw it by sentence, or as HTML or SVG."
        )
    title = altair.TitleParams(f"score {scene.score:.3f}", subtitle=[scene.caption, *scene.notes], anchor="start")
    charts = [_heat_map(altair, scene)] if scene.rows else []
    charts.append(_parts(altair, scene) if scene.parts else _matches(altair, scene))
    return (
        altair.vconcat(*charts, spacing=24)
        .properties(title=title, padding=16)
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=13, labelLimit=220)
        .configure_title(fontSize=17, subtitleFontSize=12, subtitleColor="#666", offset=12)
    )


def to_png(explanation: Explanation) -> bytes:
    """The figure as an image."""
    out = io.BytesIO()
    to_figure(explanation).save(out, format="png", scale_factor=2)
    return out.getvalue()


def _heat_map(altair: Any, scene: Scene) -> Any:
    rows = [
        {"row": i, "column": j, "value": float(value)}
        for i, values in enumerate(scene.cells[np.ix_(scene.rows, scene.columns)])
        for j, value in enumerate(values)
    ]
    # Numbers place the cells, so that a word may occur twice; the labels are looked up.
    axes = {
        "x": altair.X(
            "column:O",
            axis=_axis(altair, [scene.right[number].label for number in scene.columns], labelAngle=-40, orient="top"),
        ),
        "y": altair.Y("row:O", axis=_axis(altair, [scene.left[number].label for number in scene.rows])),
    }
    scale = altair.Scale(
        domain=[-scene.limit, 0, scene.limit], range=[_rgb(NEGATIVE), _rgb(PAPER), _rgb(POSITIVE)], interpolate="rgb"
    )
    base = altair.Chart(altair.Data(values=rows)).encode(**axes)
    size = {"width": 52 * len(scene.columns), "height": 30 * len(scene.rows)}
    cells = base.mark_rect(stroke="white").encode(
        color=altair.Color(
            "value:Q", scale=scale, title="adds" if scene.parts else "score", legend=altair.Legend(gradientLength=120)
        )
    )
    dark = altair.datum.value
    light_ink = (dark > 0.55 * scene.limit) | (dark < -0.55 * scene.limit)
    shown = (
        base if scene.parts else base.transform_filter(dark != 0)
    )  # between words that are not matched there is no value
    numbers = shown.mark_text(fontSize=11).encode(
        text=altair.Text("value:Q", format="+.2f"),
        color=altair.condition(light_ink, altair.value("white"), altair.value("#222")),
    )
    return (cells + numbers).properties(**size)


def _axis(altair: Any, labels: list[str], **options: Any) -> Any:
    import json

    look_up = f"{json.dumps(labels)}[datum.value]"
    return altair.Axis(labelExpr=look_up, title=None, ticks=False, domain=False, labelPadding=6, **options)


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
    shade = altair.condition(altair.datum.value > 0, altair.value(_rgb(POSITIVE)), altair.value(_rgb(NEGATIVE)))
    return base.mark_bar(height=16).encode(color=shade).properties(width=max(420, 52 * len(scene.right)), height=130)


def _matches(altair: Any, scene: Scene) -> Any:
    labels = [f"{match.left} ↔ {match.right}" for match in scene.matches]
    rows = [{"order": number, "score": match.score} for number, match in enumerate(scene.matches)]
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("order:O", axis=_axis(altair, labels)),  # a pair of words may occur twice
        x=altair.X("score:Q", axis=altair.Axis(title=scene.closing, titleFontSize=12, titleFontWeight="normal")),
    )
    size = {"width": max(420, 52 * len(scene.columns)), "height": max(40, 24 * len(rows))}
    return base.mark_bar(height=14, color=_rgb(POSITIVE)).properties(**size)


def _rgb(triple: tuple[int, int, int]) -> str:
    return f"rgb{triple}".replace(" ", "")
