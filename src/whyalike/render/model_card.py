"""A report as Markdown that can be pasted into a model's README. Words of the corpus are escaped."""

from __future__ import annotations

import re

from whyalike.analysis.report import Report
from whyalike.render.views import plain_table

MARKS = re.compile(r"([\\`*_\[\]<>|#~&$])")


def model_card(report: Report, *, data: str, command: str) -> str:
    """What was measured, on what, the findings, a small table, and the command that does it again."""
    names = " and ".join(map(as_text, report.models))
    header, *rows = plain_table(report.overview)
    digests = ", ".join(f"{as_text(name)} ({digest[:12]})" for name, digest in report.models.items())
    lines = [
        f"## What {names} find{'s' if len(report.models) == 1 else ''} alike",
        "",
        f"Every similarity score was split into the parts that pairs of words add to it, with whyalike, over {report.pairs:,} "
        f"pairs of texts of {as_text(data)}{' with human scores' if report.scored else ''}.",
        "",
        *(
            f"{number}. **{as_text(each.headline)}.** {as_text(each.sentence)}"
            for number, each in enumerate(report.headlines, 1)
        ),
        "",
        f"| {' | '.join(map(as_text, header))} |",
        f"| {' | '.join('---' for _ in header)} |",
        *(f"| {' | '.join(map(as_text, row))} |" for row in rows),
        "",
        f"Model (first letters of its digest): {digests}. Method: {as_text(report.description)}.",
        "",
        *(f"Not measured: {as_text(each)}" + "\n" for each in report.missing),
        "To measure it again:",
        "",
        *_fenced(command),
    ]
    return "\n".join(lines) + "\n"


def as_text(text: str) -> str:
    """A text that Markdown shows as it is: one line, nothing of it markup."""
    return MARKS.sub(r"\\\1", " ".join(text.split()))


def _fenced(command: str) -> list[str]:
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, command, fence]
