"""A report as one page: findings first, each with a link to what shows it, then the evidence, then a model card."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from whyalike.analysis.model_findings import ModelFinding
from whyalike.analysis.profile import DRAWS, SURE
from whyalike.analysis.report import Report
from whyalike.render import page, views
from whyalike.render.analysis import contents, section_parts

STYLE = """ol.findings{list-style:none;padding:0;margin:1rem 0;display:grid;gap:.8rem;counter-reset:finding}
ol.findings>li{counter-increment:finding;background:var(--panel);border-left:4px solid var(--line);border-radius:.3rem;
padding:.7rem 1rem;max-width:56rem}
ol.findings>li.warns,ol.findings>li.differs{border-left-color:var(--mark)}
ol.findings h3{margin:0;font-size:1.08rem}
ol.findings h3::before{content:counter(finding) ". "}
ol.findings p{margin:.3rem 0}
.badge{color:var(--mark);font-size:.8rem;font-weight:600;white-space:nowrap;margin-left:.6rem}
pre{background:var(--panel);padding:1rem;white-space:pre-wrap;overflow-wrap:anywhere;border-radius:.3rem;font-size:.85rem}
button{font:inherit;padding:.3rem .9rem;border-radius:.3rem;border:1px solid var(--line);background:var(--panel);
color:var(--ink);cursor:pointer}"""
COPY = """document.getElementById("copy-card").addEventListener("click",async event=>{
const card=document.getElementById("card-text");
const told=document.getElementById("copied");
try{await navigator.clipboard.writeText(card.textContent);told.textContent="Copied."}
catch{getSelection().selectAllChildren(card);told.textContent="Selected: copy it with the keyboard."}});"""


def to_report(report: Report, *, data: str, card: str) -> str:
    """The whole report as one page that works from disk, offline. ``card`` is its model card in Markdown."""
    title = title_of(report)
    parts, charts = section_parts(report.sections)
    titles = {each.name: each.title for each in report.sections}
    headings = {"findings": heading_of(report), "numbers": "Numbers", **titles, "model-card": "Model card"}
    body = (
        f'<h1>{escape(title)}</h1><p class="caption">{escape(_caption(report, data))}</p>{contents(headings)}'
        f'<section aria-labelledby="findings"><h2 id="findings">{escape(headings["findings"])}</h2>{_intro()}'
        f"{_findings(report.headlines, titles)}{_badges(report.headlines)}{_others(report, titles)}{_missing(report)}</section>"
        f'<section aria-labelledby="numbers"><h2 id="numbers">Numbers</h2>'
        f"{views.table(report.overview, 'overview')}</section>{parts}{_card(card)}"
    )
    return page.page(title, body, charts, style=STYLE, script=COPY)


def title_of(report: Report) -> str:
    names = list(report.models)
    if len(names) == 1:
        return f"What {names[0]} finds alike"
    return f"{', '.join(names[:-1])} and {names[-1]}: what they find alike, compared"


def heading_of(report: Report) -> str:
    count = {1: "One finding", 2: "Two findings", 3: "Three findings", 4: "Four findings", 5: "Five findings"}
    return count.get(len(report.headlines), "Findings")


def _caption(report: Report, data: str) -> str:
    scored = ", with human scores" if report.scored else ""
    return f"{report.pairs:,} pairs of {data}{scored} · explained with {report.description}"


def _intro() -> str:
    return (
        "<p>An embedding model gives two texts a score. Here every score is split into parts, one for each pair of a word of "
        "one text and a word of the other; the parts add up to the score. A positive part <em>raises</em> the score, a "
        "negative one <em>lowers</em> it. “Share of what raises the scores” means: of the sum of all positive parts.</p>"
    )


def _findings(findings: Sequence[ModelFinding], titles: dict[str, str]) -> str:
    items = []
    for each in findings:
        kind = "differs" if each.differs else "warns" if each.warns else ""
        badge = {"differs": "clear difference", "warns": "mind this"}.get(kind)
        shown = f'<span class="badge">{badge}</span>' if badge else ""
        items.append(
            f'<li class="{kind}"><h3>{escape(each.headline)}{shown}</h3><p>{escape(each.sentence)}</p>'
            f"{_evidence(each, titles)}</li>"
        )
    return f'<ol class="findings">{"".join(items)}</ol>'


def _evidence(finding: ModelFinding, titles: dict[str, str]) -> str:
    links = [f'<a href="#{name}">{escape(titles[name])}</a>' for name in finding.evidence if name in titles]
    return f"<p>Evidence: {' · '.join(links)}</p>" if links else ""


def _badges(findings: Sequence[ModelFinding]) -> str:
    if not any(each.differs for each in findings):
        return ""
    return (
        f'<p class="caption">Clear difference: the models differ in one direction in {SURE:.0%} of {DRAWS:,} samples of the '
        "same pairs or test sentences, drawn with replacement. Other differences may be chance.</p>"
    )


def _others(report: Report, titles: dict[str, str]) -> str:
    if not report.others:
        return ""
    items = "".join(
        f"<li><strong>{escape(each.headline)}.</strong> {escape(each.sentence)} {_evidence(each, titles)}</li>"
        for each in report.others
    )
    return f"<details><summary>Also found ({len(report.others)})</summary><ul>{items}</ul></details>"


def _missing(report: Report) -> str:
    if not report.missing:
        return ""
    return f"<h3>Not measured</h3><ul>{''.join(f'<li>{escape(each)}</li>' for each in report.missing)}</ul>"


def _card(card: str) -> str:
    return (
        '<section aria-labelledby="model-card"><h2 id="model-card">Model card</h2>'
        "<p>Markdown for the model's README; also written as <code>model-card.md</code> beside this page.</p>"
        '<p><button type="button" id="copy-card">Copy</button> <span id="copied" role="status"></span></p>'
        f'<pre id="card-text" tabindex="0" role="region" aria-label="Model card in Markdown">{escape(card)}</pre></section>'
    )
