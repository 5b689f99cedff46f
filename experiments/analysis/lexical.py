"""Do the words that the Siamese paper found at the top and at the bottom stand there with us?

    python -m experiments.analysis.lexical pairs --out table4.tsv
    whyalike analyze lexical --data table4.tsv --model MPNET --method integrated_jacobians --layer 8 --set least=3 --out words
    python -m experiments.analysis.lexical beside words/lexical-all-mpnet-base-v2.parquet
    python -m experiments.analysis.lexical places --model MPNET

The paper explains 400,000 pairs, we far fewer, in which its words are rare. So `pairs` takes every pair of the QQP file whose
questions share a word of its Table 4, top half, and 1,000 more, spread evenly. `places` scores its sentences on place names.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import polars as pl

import whyalike
from whyalike.data.tables import evenly, read_scored_pairs
from whyalike.statistics import rank_correlation

# Möller, Nikolaev & Padó (2024), Table 4: off-the-shelf all-mpnet-base-v2, layer 8; words of more than one letter and signs.
TOP = {
    "auckland": 0.737,
    "cambodia": 0.713,
    "somme": 0.656,
    "sahara": 0.533,
    "shotgun": 0.514,
    "surgical": 0.507,
    "hacking": 0.503,
    "swiss": 0.502,
    "turkey": 0.496,
    "edmonton": 0.490,
    "anger": 0.477,
    "pune": 0.472,
    "kerala": 0.461,
    "goa": 0.455,
    "coding": 0.455,
    "wikipedia": 0.454,
    "enfield": 0.453,
    "vocabulary": 0.449,
    "furniture": 0.447,
}
BOTTOM = {
    "their": 0.008,
    "'": 0.007,
    "the": 0.007,
    "that": 0.007,
    '"': 0.005,
    "those": 0.005,
    "[": 0.004,
    "(": 0.004,
    "@": 0.004,
    ",": 0.002,
    "ones": 0.002,
    "{": 0.002,
    ")": 0.002,
    "\\": 0.001,
    "_": 0.001,
    "]": 0.001,
    "}": 0.000,
    "<s>": 0.000,
    "</s>": 0.000,
}
SPECIAL = {"[CLS]": "<s>", "[SEP]": "</s>"}


def chosen_pairs(more: int) -> list[tuple[str, str]]:
    """Pairs that share a word of the paper's top, then so many others."""
    pairs, _ = read_scored_pairs("qqp")
    with_word = [pair for pair in pairs if _words(pair[0]) & _words(pair[1]) & TOP.keys()]
    return list(dict.fromkeys([*with_word, *(pairs[number] for number in evenly(len(pairs), more))]))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def beside(table: Path) -> None:
    """The paper's words with their place among all of ours: 0 is the largest mean, 1 the smallest."""
    found = pl.read_parquet(table).with_columns(place=(pl.col("rank") - 1) / (pl.len() - 1))
    known = {SPECIAL.get(row["word"], row["word"]): row for row in found.iter_rows(named=True)}
    ours, theirs = [], []
    for name, words in (("top", TOP), ("bottom", BOTTOM)):
        seen = [known[word] for word in words if word in known]
        places = [row["place"] for row in seen]
        tenth = sum(place <= 0.1 if name == "top" else place >= 0.9 for place in places)
        print(
            f"{name}: {len(seen)} of the paper's {len(words)} words are among our {len(found)}; {tenth} in our {name} tenth"
        )
        for word, value in words.items():
            if word in known:
                row = known[word]
                print(
                    f"  {word:12} paper {value:.3f}  here {row['mean']:.3f} ({row['count']} times), place {row['place']:.2f}"
                )
                ours.append(row["mean"])
                theirs.append(value)
    print(f"rank correlation with the paper's means: {rank_correlation(ours, theirs):.2f}")


def places(model: str | None) -> None:
    """The paper's two sentences on a place, section 5.4: the score, and what the place adds with itself at layer 8."""
    encoder = whyalike.load_encoder(model)
    for place in ("Auckland", "Cambodia", "Granville", "the USA", "Europe"):
        pair = f"A puppy was born in {place}.", f"How many hurricanes occur in {place} each year?"
        e = whyalike.explain(*pair, encoder=encoder, layer=8).by_word()
        word = place.split()[-1]
        own = e.matrix[e.left.labels.index(word), e.right.labels.index(word)]
        print(f"{place:12} score {e.score:.3f}, with itself {own:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    taking = commands.add_parser("pairs")
    taking.add_argument("--out", type=Path, required=True)
    taking.add_argument("--more", type=int, default=1000)
    commands.add_parser("beside").add_argument("table", type=Path)
    commands.add_parser("places").add_argument("--model")
    given = parser.parse_args()
    if given.command == "places":
        places(given.model)
    elif given.command == "beside":
        beside(given.table)
    else:
        pl.DataFrame(chosen_pairs(given.more), schema=["left", "right"], orient="row").write_csv(
            given.out, separator="\t"
        )


if __name__ == "__main__":
    main()
