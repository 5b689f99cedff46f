"""The middle of a sparse model's explanation: the vocabulary terms that both texts have, between the words that give them."""

from __future__ import annotations

from html import escape

from rich.table import Table
from rich.text import Text

from whyalike.colours import shade_class
from whyalike.results.explanation import Explanation
from whyalike.results.numbers import signed
from whyalike.results.terms import Term
from whyalike.results.words import printable

MOST = 10  # terms that are shown
TITLE = "word → vocabulary term → word"


def rest_of(explanation: Explanation) -> str:
    """How many terms are not shown, and what they add; empty where all are."""
    left_out = explanation.terms()[MOST:]
    if not left_out:
        return ""
    return f"{len(left_out)} more terms add {signed(sum(term.value for term in left_out))}"


def table(explanation: Explanation) -> Table | None:
    """The strongest terms for a rich console; None where the model has no terms."""
    if explanation.shared_terms is None:
        return None
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=TITLE, title_justify="left", title_style="dim")
    for heading, side in (
        ("left", "right"),
        ("term", "left"),
        ("right", "left"),
        ("adds", "right"),
        ("share", "right"),
    ):
        found.add_column(heading, header_style="dim", justify=side)  # type: ignore[arg-type]
    for term in explanation.terms(MOST):
        words = (Text(_word(term.left, term.left_share)), Text(_word(term.right, term.right_share)))
        shown = Text(printable(term.term), "bold")
        found.add_row(words[0], shown, words[1], signed(term.value), f"{term.share:.0%}")
    if rest := rest_of(explanation):
        found.caption, found.caption_justify = rest, "left"
    return found


def section(explanation: Explanation) -> str:
    """The same as HTML, every text escaped; empty where the model has no terms."""
    if explanation.shared_terms is None:
        return ""
    terms = explanation.terms(MOST)
    largest = max((abs(term.value) for term in terms), default=0.0)
    rows = "".join(_row(term, largest) for term in terms)
    rest = rest_of(explanation)
    return (
        f'<table class="pairs terms"><caption class="caption">{TITLE}</caption>'
        '<tr><th scope="col">left</th><th scope="col">term</th><th scope="col">right</th><th scope="col">adds</th>'
        f'<th scope="col">share</th></tr>{rows}</table>' + (f'<p class="caption">{rest}</p>' if rest else "")
    )


def _row(term: Term, largest: float) -> str:
    words = (escape(_word(term.left, term.left_share)), escape(_word(term.right, term.right_share)))
    name = f'<td class="{shade_class(term.value, largest)}">{escape(printable(term.term))}</td>'
    return (
        f"<tr><td>{words[0]}</td>{name}<td>{words[1]}</td><td>{signed(term.value)}</td><td>{term.share:.0%}</td></tr>"
    )


def _word(label: str, share: float) -> str:
    """The word that gives most of a term's weight, and how much of it where that is not nearly all."""
    return printable(label) if share >= 0.995 else f"{printable(label)} ({share:.0%})"
