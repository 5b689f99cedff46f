"""Does a model heed *not*? (Siamese paper, section 5.2 and Figure 8; SemAntoNeg, Vahtola et al. 2022)"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.section import Row, Section
from whyalike.api import explain_pairs
from whyalike.data.tables import find_data_file
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, unknown
from whyalike.methods import Method
from whyalike.methods.spec import MethodSpec
from whyalike.storage.reading import Fields, is_file, parse_json, read_text

NOT = re.compile(r"(?<![\w'’-])not(?![\w'’-])\s*", re.IGNORECASE)
NO_NEGATION = re.compile(r"\bor not\b|\bnot only\b", re.IGNORECASE)  # *whether or not*, *not only … but also*
OTHERS = ("no", "never", "nothing", "nobody", "none", "neither", "nor", "without", "cannot")
OTHER_NEGATION = re.compile(rf"n['’]t\b|\b({'|'.join(OTHERS)})\b", re.IGNORECASE)
RELATIVE = 0.9  # the share of sentences below which the relative size is stated
CHOICES = "semantoneg/SemAntoNeg_v1.0.json"


class Negated(NamedTuple):
    """A sentence with *not*, the same without it, and where the word stands."""

    text: str
    without: str
    start: int
    end: int


def simple_negations(texts: Sequence[str]) -> list[Negated]:
    """The sentences whose only negation is one *not* that stands alone, with that word taken out."""
    found = []
    for text in dict.fromkeys(texts):
        matches = list(NOT.finditer(text))
        if len(matches) == 1 and not OTHER_NEGATION.search(text) and not NO_NEGATION.search(text):
            (match,) = matches
            without = (text[: match.start()] + text[match.end() :]).strip()
            if without and match.end() < len(text):
                found.append(Negated(text, without, match.start(), match.start() + 3))
    return found


def every_negation(texts: Sequence[str]) -> list[Negated]:
    """All sentences with a *not* between spaces, whatever else they deny, as often as they come: the paper's 87 of STSb."""
    places = [(text, text.find(" not ")) for text in texts]
    return [Negated(text, text[:at] + text[at + 4 :], at + 1, at + 4) for text, at in places if at >= 0]


SENTENCES = {"simple": simple_negations, "every": every_negation}


def attributions_to_not(
    found: Sequence[Negated],
    encoder: Encoder,
    method: str | Method | MethodSpec,
    layer: int | None,
    *,
    progress: bool = True,
) -> list[Row]:
    """What *not* adds to the similarity of each sentence with itself unnegated: its row of the matrix, all words together.

    A *not* the model does not read, in a text longer than it reads, is left out.
    """
    pairs = [(each.text, each.without) for each in found]
    rows = []
    for each, e in zip(
        found,
        explain_pairs(pairs, encoder=encoder, method=method, layer=layer, truncate=True, progress=progress),
        strict=True,
    ):
        share = e.left.shares([(each.start, each.end)])[:, 0]
        if not share.any():
            continue
        value = float(share @ e.matrix.sum(1))
        whole = float(e.matrix.sum())
        rows.append(
            {
                "text": each.text,
                "score": e.score,
                "value": value,
                "relative": abs(value) / abs(e.score or 1.0),
                "of_attributions": abs(value) / abs(whole or 1.0),
            }
        )
    return rows


class Choice(NamedTuple):
    """A sentence and three others, of which one means the same."""

    text: str
    others: tuple[str, ...]
    right: int


def read_choices(source: Path | None = None) -> list[Choice]:
    """SemAntoNeg, or a file of its form: JSON lines with input, sentences and label."""
    path = source or find_data_file(CHOICES)
    if not is_file(path):
        raise BadInput(f"There is no file {str(path)!r}. Set WHYALIKE_DATA to the folder of the data sets.")
    found = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = Fields(parse_json(line))
            choice = Choice(row.text("input"), row.texts("sentences"), row.whole("label"))
            choice.others[choice.right]
        except (ValueError, IndexError) as error:
            message = (
                f"Row {number} of {path.name} should have input, sentences and the label of one of them ({error})."
            )
            raise BadInput(message) from error
        found.append(choice)
    return found


def choose(choices: Sequence[Choice], encoder: Encoder) -> list[int]:
    """Which of the sentences the model finds most like the first."""
    texts = list(dict.fromkeys(text for choice in choices for text in (choice.text, *choice.others)))
    embeddings = dict(zip(texts, encoder.embed(texts), strict=True))
    score = encoder.record.score
    return [
        int(np.argmax([score(embeddings[choice.text], embeddings[other]) for other in choice.others]))
        for choice in choices
    ]


def what_misled(
    wrong: Sequence[tuple[str, str]],
    encoder: Encoder,
    method: str | Method | MethodSpec,
    layer: int | None,
    *,
    progress: bool = True,
) -> list[Row]:
    """Of sentences with wrongly chosen paraphrases: what negation words of either add to the score, and what all words do."""
    pairs = list(wrong)
    rows = []
    for e in explain_pairs(pairs, encoder=encoder, method=method, layer=layer, truncate=True, progress=progress):
        worded = e.by_word()
        rows_of, columns_of = (
            np.array([_negates(label) for label in side.labels]) for side in (worded.left, worded.right)
        )
        touched = rows_of[:, None] | columns_of[None]
        rows.append(
            {
                "left": e.left.text,
                "right": e.right.text,
                "score": e.score,
                "negation": float(worded.matrix[touched].sum()),
                "matrix": float(worded.matrix.sum()),
            }
        )
    return rows


def _negates(label: str) -> bool:
    word = label.casefold().replace("’", "'")
    return word in ("not", *OTHERS) or word.endswith("n't")


def negation(
    corpus: Corpus, *, choices: Sequence[Choice] = (), explained: int = 100, sentences: str = "simple"
) -> Section:
    """``choices`` are SemAntoNeg's, or alike; of those chosen wrongly, the first ``explained`` are explained. ``sentences``
    are those with a ``simple`` *not*, each once, or ``every`` one with the word.
    """
    if sentences not in SENTENCES:
        raise unknown("choice of sentences", sentences, SENTENCES)
    found = SENTENCES[sentences]([text for pair in corpus.pairs for text in pair])
    if not found and not choices:
        raise BadInput("No text of these pairs has a *not* of its own. Give a corpus that has some.")
    says: list[str] = []
    tables: dict[str, list[Row]] = {}
    values: dict[str, list[Row]] = {}
    for name, encoder in corpus.encoders.items():
        rows = corpus.compute_rows(
            "negation",
            encoder,
            found,
            partial(
                attributions_to_not,
                encoder=encoder,
                method=corpus.method,
                layer=corpus.layer,
                progress=corpus.progress,
            ),
        )
        if rows:
            values[name] = tables[f"{name}: not"] = rows
            says.append(_said(name, rows))
        if choices:
            picked = choose(choices, encoder)
            wrong = [
                (choice.text, choice.others[pick])
                for choice, pick in zip(choices, picked, strict=True)
                if pick != choice.right
            ]
            says.append(
                f"{name} chooses the right paraphrase in {1 - len(wrong) / len(choices):.1%} of {len(choices)} cases."
            )
            misled = corpus.compute_rows(
                "wrong-paraphrases",
                encoder,
                wrong[:explained],
                partial(
                    what_misled, encoder=encoder, method=corpus.method, layer=corpus.layer, progress=corpus.progress
                ),
            )
            if misled:
                added, whole = (float(np.mean([row[part] for row in misled])) for part in ("negation", "matrix"))
                says.append(
                    f"{name}: in {len(misled)} of its {len(wrong)} wrong choices, explained, pairs with a negation word add "
                    f"{added:+.3f} to the score on average, all pairs {whole:+.3f}."
                )
                tables[f"{name}: wrong paraphrases"] = misled
    return Section(
        "negation",
        "Negation",
        tuple(says),
        tables,
        lambda altair: {"cumulative": _chart(altair, values)} if values else {},
    )


def _said(name: str, rows: Sequence[Row]) -> str:
    negative = float(np.mean([row["value"] < 0 for row in rows]))
    score, whole = (float(np.quantile([row[of] for row in rows], RELATIVE)) for of in ("relative", "of_attributions"))
    return (
        f'{name}: {len(rows)} sentences were compared with themselves without "not". The attribution of "not" is negative in '
        f"{negative:.0%}; in {RELATIVE:.0%} of them it is below {score:.0%} of the score and {whole:.0%} of all attributions."
    )


def _chart(altair: Any, values: dict[str, list[Row]]) -> Any:
    points = []
    for name, rows in values.items():
        ordered = sorted(float(row["value"]) for row in rows)
        points += [{"model": name, "value": value, "share": (n + 1) / len(ordered)} for n, value in enumerate(ordered)]
    lines = altair.Chart(altair.Data(values=points)).mark_line(interpolate="step-after")
    zero = altair.Chart(altair.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 3]).encode(x="zero:Q")
    return (
        lines.encode(
            x=altair.X("value:Q", title="attribution to not"),
            y=altair.Y("share:Q", axis=altair.Axis(format="%"), title="share of sentences below"),
            color=altair.Color("model:N", sort=list(values), title=None),
        )
        + zero
    ).properties(width=420, height=260)
