"""Does a model heed *not*? (Siamese paper, section 5.2 and Figure 8; SemAntoNeg, Vahtola et al. 2022)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whyalike.analysis.corpus import Corpus
from whyalike.analysis.negated_sentences import OTHERS, PROBES, SENTENCES, Negated
from whyalike.analysis.section import Column, Row, Section, View, model_colour
from whyalike.api import explain_pairs
from whyalike.data.tables import find_data_file
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, unknown
from whyalike.language.words import reads_english
from whyalike.methods import Method
from whyalike.methods.spec import MethodSpec
from whyalike.storage.reading import Fields, is_file, parse_json, read_text

RELATIVE = 0.9  # the share of sentences below which the relative size is stated
CHOICES = "semantoneg/SemAntoNeg_v1.0.json"


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


def probe(encoder: Encoder) -> list[Row]:
    """Each of 20 sentences against itself with *not*, against itself with *now*, and, on average, against the 19 others.

    Scores are divided by the sentence's score with itself, so that a dot product can be read like a cosine.
    """
    plain, negated, harmless = (encoder.embed([text.format(word) for text in PROBES]) for word in ("", "not ", "now "))
    score = encoder.record.score
    rows = []
    for number, text in enumerate(PROBES):
        own = score(plain[number], plain[number])
        others = [score(plain[number], other) for at, other in enumerate(plain) if at != number]
        rows.append(
            {
                "sentence": text.format(""),
                "with_not": score(plain[number], negated[number]) / own,
                "with_now": score(plain[number], harmless[number]) / own,
                "unrelated": float(np.mean(others)) / own,
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


def picks_of(corpus: Corpus, encoder: Encoder, choices: Sequence[Choice]) -> list[int]:
    """A model's choices, kept in the folder of the corpus."""

    def compute(some: Sequence[Choice]) -> list[Row]:
        return [{"pick": pick} for pick in choose(some, encoder)]

    return [int(row["pick"]) for row in corpus.compute_rows("choices", encoder, choices, compute)]


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
    """What *not* does: to 20 sentences of ours, to those of the corpus that have it, and, with ``choices``, to a choice."""
    if sentences not in SENTENCES:
        raise unknown("choice of sentences", sentences, SENTENCES)
    found = SENTENCES[sentences]([text for pair in corpus.pairs for text in pair])
    english = all(reads_english(each) for each in corpus.taggers)
    if not (found or choices or english):
        raise BadInput('No text of these pairs has a "not" of its own. Give a corpus that has some.')
    says: list[str] = []
    tables: dict[str, list[Row]] = {}
    values: dict[str, list[Row]] = {}
    probes: dict[str, list[Row]] = {}
    wrongs: dict[str, list[Row]] = {}
    for name, encoder in corpus.encoders.items():
        if english:
            probes[name] = tables[f"{name}: test sentences"] = probe(encoder)
            says.append(_said_of_probe(name, probes[name]))
        if rows := _rows_of_not(corpus, encoder, found):
            values[name] = tables[f"{name}: not"] = rows
            says.append(_said(name, rows))
        if choices:
            wrong = _wrong(corpus, encoder, choices)
            says.append(
                f"{name} chooses the right paraphrase of a negated sentence in {1 - len(wrong) / len(choices):.1%} of "
                f"{len(choices):,} cases."
            )
            if misled := _misled(corpus, encoder, wrong[:explained]):
                says.append(_said_of_wrong(name, misled, len(wrong)))
                wrongs[name] = tables[f"{name}: wrong paraphrases"] = misled
    return Section(
        "negation",
        "Negation",
        tuple(says),
        tables,
        lambda altair: _charts(altair, probes, values),
        explained="A model that reads negation scores “The door is not open” and “The door is open” clearly "
        "lower than two "
        "sentences that mean the same. Scores are given as a share of a sentence's score with itself. “now” "
        "stands in the "
        "same place as “not” and changes little: what it costs is the price of any added word.",
        views=_views(probes, values, wrongs),
    )


def _rows_of_not(corpus: Corpus, encoder: Encoder, found: Sequence[Negated]) -> list[Row]:
    compute = partial(
        attributions_to_not, encoder=encoder, method=corpus.method, layer=corpus.layer, progress=corpus.progress
    )
    return corpus.compute_rows("negation", encoder, found, compute)


def _wrong(corpus: Corpus, encoder: Encoder, choices: Sequence[Choice]) -> list[tuple[str, str]]:
    """Sentences with the paraphrase the model chose, where it is not the right one."""
    picked = picks_of(corpus, encoder, choices)
    return [
        (choice.text, choice.others[pick]) for choice, pick in zip(choices, picked, strict=True) if pick != choice.right
    ]


def _misled(corpus: Corpus, encoder: Encoder, wrong: Sequence[tuple[str, str]]) -> list[Row]:
    compute = partial(what_misled, encoder=encoder, method=corpus.method, layer=corpus.layer, progress=corpus.progress)
    return corpus.compute_rows("wrong-paraphrases", encoder, wrong, compute)


def _said_of_probe(name: str, rows: Sequence[Row]) -> str:
    negated, harmless, others = (
        float(np.mean([row[column] for row in rows])) for column in ("with_not", "with_now", "unrelated")
    )
    return (
        f"{name}: {len(rows)} short sentences score {negated:.2f} with themselves and an added “not”, "
        f"{harmless:.2f} with an "
        f"added “now”, {others:.2f} with each other."
    )


def _said(name: str, rows: Sequence[Row]) -> str:
    score = float(np.mean([row["score"] for row in rows]))
    negative = float(np.mean([row["value"] < 0 for row in rows]))
    relative, whole = (
        float(np.quantile([row[of] for row in rows], RELATIVE)) for of in ("relative", "of_attributions")
    )
    return (
        f"{name}: the corpus has {len(rows)} sentences with “not” to compare with themselves without it; they "
        f"score {score:.2f} "
        f"on average. The word lowers the score in {negative:.0%} of them; in {RELATIVE:.0%} what it adds or "
        "takes away is "
        f"below {relative:.0%} of the score and {whole:.0%} of the sum of all word pairs."
    )


def _said_of_wrong(name: str, misled: Sequence[Row], wrong: int) -> str:
    added, whole = (float(np.mean([row[part] for row in misled])) for part in ("negation", "matrix"))
    return (
        f"{name}: in {len(misled):,} of {wrong:,} wrong choices, explained, word pairs with a negation word add "
        f"{added:+.3f} to "
        f"the score on average, all word pairs together {whole:+.3f}."
    )


def _views(
    probes: Mapping[str, Sequence[Row]], values: Mapping[str, Sequence[Row]], wrongs: Mapping[str, Sequence[Row]]
) -> tuple[View, ...]:
    return tuple(
        view
        for view in (
            View(
                "Test sentences",
                (Column("sentence", "sentence"),),
                (
                    Column("with_not", "with “not”", "number", "score with the same sentence, “not” added"),
                    Column("with_now", "with “now”", "number", "score with the same sentence, “now” added"),
                    Column("unrelated", "with the others", "number", "mean score with the other sentences"),
                ),
                probes,
            ),
            View(
                "Sentences of the corpus with “not”",
                (Column("text", "sentence"),),
                (
                    Column("score", "score", "number", "of the sentence with itself without “not”"),
                    Column("value", "added by “not”", "signed", "sum of the word pairs of “not”"),
                ),
                values,
            ),
            View(
                "Wrong paraphrases",
                (Column("left", "sentence"), Column("right", "chosen paraphrase")),
                (
                    Column("score", "score", "number"),
                    Column("negation", "added by negation words", "signed", "sum of word pairs with a negation word"),
                ),
                wrongs,
            ),
        )
        if any(view.rows.values())
    )


def _charts(altair: Any, probes: Mapping[str, Sequence[Row]], values: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    charts = {"test-sentences": _chart_of_probes(altair, probes)} if probes else {}
    return charts | ({"cumulative": _chart(altair, values)} if values else {})


def _chart_of_probes(altair: Any, probes: Mapping[str, Sequence[Row]]) -> Any:
    kinds = {"with_not": "with “not” added", "with_now": "with “now” added", "unrelated": "with unrelated ones"}
    rows = [
        {"model": name, "compared": label, "score": row[column]}
        for name, each in probes.items()
        for row in each
        for column, label in kinds.items()
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(
        y=altair.Y("compared:N", sort=list(kinds.values()), title=None, axis=altair.Axis(labelLimit=220)),
        yOffset=altair.YOffset("model:N", sort=list(probes)),
        color=model_colour(altair, list(probes)),
    )
    points = base.mark_tick(opacity=0.45, thickness=2, size=14).encode(x=altair.X("score:Q", title="score"))
    means = base.mark_point(filled=True, size=110, opacity=1).encode(
        x="mean(score):Q", tooltip=["model:N", "compared:N", altair.Tooltip("mean(score):Q", format=".2f")]
    )
    return (points + means).properties(
        width=400,
        height=66 * max(1, len(probes)),
        description="Scores of 20 sentences with themselves, one word added, and with each other; the dots are the means.",
    )


def _chart(altair: Any, values: Mapping[str, Sequence[Row]]) -> Any:
    points = []
    for name, rows in values.items():
        ordered = sorted(float(row["value"]) for row in rows)
        points += [{"model": name, "value": value, "share": (n + 1) / len(ordered)} for n, value in enumerate(ordered)]
    lines = altair.Chart(altair.Data(values=points)).mark_line(interpolate="step-after", strokeWidth=2.5)
    zero = altair.Chart(altair.Data(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 3], color="#888").encode(x="zero:Q")
    return (
        lines.encode(
            x=altair.X("value:Q", title="added to the score by “not”"),
            y=altair.Y("share:Q", axis=altair.Axis(format="%"), title="share of sentences below"),
            color=model_colour(altair, list(values)),
        )
        + zero
    ).properties(
        width=420,
        height=220,
        description="What “not” adds to the score of a sentence of the corpus with itself without the word.",
    )
