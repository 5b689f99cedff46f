"""Tables over one or several models: one row per thing, one column per measure and model."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from whyalike.analysis.section import Column, Form, Row, View
from whyalike.render import page
from whyalike.results.numbers import plain, signed

MOST_ROWS = 100  # on the page; files have all


def joined(view: View) -> list[Row]:
    """Rows matched by their keys, in the order of the first model that has them; what a model has not is None."""
    found: dict[tuple[Any, ...], Row] = {}
    for model, rows in view.rows.items():
        for row in rows:
            key = tuple(row[column.name] for column in view.keys)
            line = found.setdefault(key, {column.name: row[column.name] for column in view.keys})
            line.update({heading(column, model, view): row.get(column.name) for column in view.values})
    wanted = [*(column.name for column in view.keys)]
    wanted += [heading(column, model, view) for column in view.values for model in view.rows]
    return [{name: line.get(name) for name in wanted} for line in found.values()]


def heading(column: Column, model: str, view: View) -> str:
    """A column's name in a file: with the model's where there are several."""
    return column.name if len(view.rows) == 1 else f"{column.name} {model}"


def write(value: Any, form: Form) -> str:
    """A number as people read it."""
    if value is None or form == "text":
        return page.shown(value)
    if form == "count":
        return f"{value:,}"
    if form == "share":
        return f"{value:.0%}" if value >= 0.1 else f"{value:.1%}"
    if form == "times":
        return f"{value:.1f} ×"
    return signed(value) if form == "signed" else plain(value)


def table(view: View, name: str) -> str:
    """The view with its title, what its columns mean, and all rows as a file."""
    rows = joined(view)
    several = len(view.rows) > 1
    body = "".join(f"<tr>{_cells(view, row)}</tr>" for row in rows[:MOST_ROWS])
    content = f"<thead>{_head(view, several)}</thead><tbody>{body}</tbody>"
    meanings = "; ".join(f"{each.heading}: {each.meaning}" for each in view.values if each.meaning)
    notes = [view.note, f"{meanings[0].upper()}{meanings[1:]}." if meanings else ""]
    if len(rows) > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS} of {len(rows):,} rows; the file has all.")
    below = "".join(f'<p class="caption">{escape(note)}</p>' for note in notes if note)
    return f"<h3>{escape(view.title)}</h3>{below}{page.scrolling(content, view.title, len(rows))}{page.csv_link(rows, name)}"


def _head(view: View, several: bool) -> str:
    rows = ' rowspan="2"' if several and len(view.values) > 1 else ""
    keys = "".join(f'<th scope="col" class="text"{rows}>{escape(each.heading)}</th>' for each in view.keys)
    if not several:
        values = "".join(f'<th scope="col">{escape(each.heading)}</th>' for each in view.values)
        return f"<tr>{keys}{values}</tr>"
    if len(view.values) == 1:  # the title says what it is
        return f"<tr>{keys}{''.join(f'<th scope=col>{escape(model)}</th>' for model in view.rows)}</tr>"
    groups = "".join(
        f'<th scope="colgroup" colspan="{len(view.rows)}">{escape(each.heading)}</th>' for each in view.values
    )
    models = "".join(f'<th scope="col">{escape(model)}</th>' for _ in view.values for model in view.rows)
    return f"<tr>{keys}{groups}</tr><tr>{models}</tr>"


def _cells(view: View, row: Row) -> str:
    first, *others = view.keys
    keys = f'<th scope="row" class="text">{escape(page.shown(row[first.name]))}</th>'
    keys += "".join(f'<td class="text">{escape(page.shown(row[each.name]))}</td>' for each in others)
    return keys + "".join(
        f"<td>{escape(write(row[heading(each, model, view)], each.form))}</td>"
        for each in view.values
        for model in view.rows
    )


def plain_table(view: View) -> Sequence[Sequence[str]]:
    """Heading and rows of a view as texts, the models beside each other: for media without HTML."""
    (measure,) = view.values
    lines = [[*(each.heading for each in view.keys), *view.rows]]
    for row in joined(view):
        keys = [page.shown(row[each.name]) for each in view.keys]
        lines.append([*keys, *(write(row[heading(measure, model, view)], measure.form) for model in view.rows)])
    return lines
