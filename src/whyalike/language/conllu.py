"""Gold annotations from CoNLL-U files, tied to the characters of their texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from whyalike.errors import BadInput
from whyalike.language.words import NamedTagger, Tagged, Tagger
from whyalike.storage.reading import is_file, read_text
from whyalike.storage.run_folder import digest


def read_conllu(path: Path) -> dict[str, list[Tagged]]:
    """Each sentence's text with its words. Words that share one stretch of characters (German *im* = in dem) share its span."""
    if not is_file(path):
        raise BadInput(f"There is no file {str(path)!r:.200}. Expected gold annotations in CoNLL-U.")
    found = {}
    blocks = read_text(path).split("\n\n")
    for number, block in enumerate(blocks, 1):
        lines = block.split("\n")
        texts = [line.split("=", 1)[1].strip() for line in lines if line.startswith("# text =")]
        rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
        if not rows:
            continue
        if not texts or any(len(row) != 10 for row in rows):
            raise BadInput(f"Sentence {number} of {path.name} has no '# text =' or a row that is not of ten columns.")
        found[texts[0]] = list(_words(texts[0], rows, f"Sentence {number} of {path.name}"))
    return found


def _words(text: str, rows: list[list[str]], where: str) -> Iterator[Tagged]:
    ids = [row[0] for row in rows if row[0].isdigit()]
    numbers = {identity: number for number, identity in enumerate(ids)}
    place, covered, span = 0, 0, (0, 0)
    for identity, form, _, pos, _, _, head, relation, _, _ in rows:
        if re.fullmatch(r"\d{1,9}\.\d{1,9}", identity, re.ASCII):
            continue  # an empty node: in no text
        if re.fullmatch(r"\d{1,9}(-\d{1,9})?", identity, re.ASCII) is None:
            raise BadInput(f"{where}: the number of a word is {identity!r:.40}; expected 3, or 3-4.")
        last = int(identity.split("-")[-1])
        if last > covered:  # not inside a stretch that was found already
            start = text.find(form, place)
            if start < 0 or not form:
                raise BadInput(f"{where}: the word {form!r:.60} is not in its text.")
            span, place, covered = (start, start + len(form)), start + len(form), last
        if "-" not in identity:
            yield Tagged(*span, form, pos, relation.split(":")[0], numbers.get(head, -1))


def gold_tagger(path: Path) -> Tagger:
    """A tagger that knows the file's texts, and no others."""
    known = read_conllu(path)

    def check(texts: Sequence[str]) -> None:
        for text in texts:
            if text not in known:
                raise BadInput(f"{path.name} has no annotation of the text {text!r:.80}. Use a tagger for other texts.")

    def tag(texts: Sequence[str]) -> list[list[Tagged]]:
        check(texts)
        return [known[text] for text in texts]

    return NamedTagger(f"{path.name} {digest(read_text(path))}", tag, check)
