"""The README's tables of agreement with people, made of the results: what stands there is what was measured.

    python -m experiments.evaluation.people

writes them into the README, each below the comment that names it.
A subject that was not judged on all pairs of a set has the number of its pairs behind the value, as in `0.446 (0.52) [200]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from experiments.evaluation.run import RESULTS

Line = Mapping[str, Any]
README = RESULTS.parent / "README.md"
SETS = {
    "MTRef": "multimwa-mtref-dev",
    "Wikipedia": "multimwa-wiki-dev",
    "Edinburgh++": "edinburgh",
    "iSTS headlines": "ists-headlines",
    "images": "ists-images",
    "answers": "ists-answers",
}
MODELS = {"MiniLM": ("MiniLM", 6), "mpnet": ("all-mpnet-base-v2", 12)}  # the name in results, and the layers
CHUNKED = ("iSTS headlines", "images", "answers")
NUMBERS = {
    "AP": "average_precision",
    "P": "precision_at_links",
    "F1": "f1",
    "1st": "first_partner",
    "RR": "reciprocal_rank",
}
KINDS = {
    **{f"EQUI above {kind}": f"EQUI_above_{kind}" for kind in ("OPPO", "REL", "SIMI", "SPE1", "SPE2")},
    "rises with people's score": "chunks_by_human_score",
}


def subjects_of(layers: int) -> list[str]:
    """In the order of the tables."""
    late = layers - 1
    path = f"integrated_jacobians@{late}"
    bilrp = [f"bilrp@{layer}{view}" for layer in (0, layers // 2, late) for view in ("", "+equal", "+aligned")]
    paths = [path, f"{path}+equal", f"{path}:null", f"{path}+aligned"]
    baselines = [f"contextual_cosine@{layers // 2}", "exact_match", "random", "tfidf_vectors"]
    return [*bilrp, "token_outputs", "token_outputs+aligned", *paths, "hessian_product", "bti", *baselines]


def judged(model: str, name: str) -> dict[str, Line]:
    """Every subject's line on a set, from the run with the most pairs that has it."""
    found: dict[str, Line] = {}
    for path in sorted(RESULTS.glob(f"human-{SETS[name]}-{MODELS[model][0]}*.json")):
        for line in json.loads(path.read_text(encoding="utf-8"))["table"]:
            if line["subject"] not in found or line["pairs"] > found[line["subject"]]["pairs"]:
                found[line["subject"]] = line
    return found


def by_set(model: str) -> str:
    """A column per set: average precision, and how often a word's partner comes first."""
    columns = {name: judged(model, name) for name in SETS}
    whole = {name: max(line["pairs"] for line in lines.values()) for name, lines in columns.items()}
    best = {
        name: max(line["average_precision"] for line in _on_all_pairs(lines).values())
        for name, lines in columns.items()
    }

    def cell(name: str, subject: str) -> str:
        line = columns[name].get(subject)
        if line is None:
            return "–"
        value = _digits(line["average_precision"], 3)
        shown = f"**{value}**" if line["average_precision"] == best[name] else value
        fewer = "" if line["pairs"] == whole[name] else f" [{line['pairs']}]"
        return f"{shown} ({_digits(line['first_partner'], 2)}){fewer}"

    heads = [model, *(f"{name}, {whole[name]}" for name in SETS)]
    return _markdown(heads, subjects_of(MODELS[model][1]), lambda subject: [cell(name, subject) for name in SETS])


def in_full(model: str, name: str) -> str:
    """A column per number, on one set."""
    lines = judged(model, name)
    whole = max(line["pairs"] for line in lines.values())
    complete = _on_all_pairs(lines).values()
    best = {number: max(line[number] for line in complete) for number in NUMBERS.values()}
    order = subjects_of(MODELS[model][1])
    order += [subject for subject in lines if subject not in order and subject.startswith("integrated_jacobians")]

    def cells(subject: str) -> list[str]:
        line = lines[subject]
        fewer = "" if line["pairs"] == whole else f" [{line['pairs']}]"
        values = [(number, _digits(line[number], 3)) for number in NUMBERS.values()]
        shown = [f"**{value}**" if line[number] == best[number] else value for number, value in values]
        return [shown[0] + fewer, *shown[1:]]

    return _markdown([f"{model}, {whole} pairs", *NUMBERS], [each for each in order if each in lines], cells)


def kinds(model: str) -> str:
    """A column per kind of chunks: headlines / images / answers. Subjects that were judged on all pairs of all three."""
    lines = [_on_all_pairs(judged(model, name)) for name in CHUNKED]

    def cells(subject: str) -> list[str]:
        return [" / ".join(_digits(each[subject][number], 2) for each in lines) for number in KINDS.values()]

    layers = MODELS[model][1]
    left_out = (*(f"bilrp@{layers // 2}{view}" for view in ("", "+equal", "+aligned")), "bti", "tfidf_vectors")
    shown = [each for each in subjects_of(layers) if each not in left_out and all(each in some for some in lines)]
    return _markdown([model, *KINDS], shown, cells)


def tables() -> dict[str, str]:
    """All of them, under what they are."""
    return {
        **{f"{model}, every set": by_set(model) for model in MODELS},
        **{f"{model}, MTRef in full": in_full(model, "MTRef") for model in MODELS},
        **{f"{model}, kinds of links": kinds(model) for model in MODELS},
    }


def _on_all_pairs(lines: Mapping[str, Line]) -> dict[str, Line]:
    whole = max(line["pairs"] for line in lines.values())
    return {subject: line for subject, line in lines.items() if line["pairs"] == whole}


def _digits(value: float, count: int) -> str:
    return f"{value:.{count}f}".replace("-", "−")


def _markdown(heads: Sequence[str], lines: Iterable[str], cells: Callable[[str], Sequence[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *([line, *cells(line)] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def written(text: str) -> str:
    """The README with every table as the results have it."""
    for name, table in tables().items():
        pattern = rf"(<!-- {re.escape(name)} -->\n\n)(\|.*\n)*"
        text, count = re.subn(pattern, lambda found, new=table: f"{found[1]}{new}\n", text)
        if count != 1:
            raise SystemExit(f"README.md has {count} places for the table {name!r}; expected one comment of that name.")
    return text


def main() -> None:
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
