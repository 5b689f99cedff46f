"""What do people think of explanations? The BTI paper's human study as a tool: blinded, shuffled, safely stored.

A study is a folder: `request.json` (how it was prepared), `items.json` (what raters see, without a word of which method made
it), `key.json` (which method made which item), `answers.jsonl` (one line per answer, on disk before the rater sees the next).
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from whyalike.colours import shade_step
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, DamagedFile
from whyalike.evaluate.measure import Case, Row
from whyalike.evaluate.run import check_subjects, check_texts
from whyalike.evaluate.subjects import Subject, parse_subjects
from whyalike.language.segmenter import segmentation
from whyalike.results.explanation import Explanation
from whyalike.results.words import printable, word_values, words_of
from whyalike.statistics import krippendorff_alpha
from whyalike.storage.reading import Fields, parse_json, read_text
from whyalike.storage.run_folder import JsonLog, RunFolder, digest
from whyalike.storage.writing import append_line, drop_cut_off_line, write_text

ITEMS, KEY, ANSWERS = "items.json", "key.json", "answers.jsonl"
SCALE = {1: "not at all", 2: "a little", 3: "partly", 4: "mostly", 5: "fully"}
LONGEST_NAME = 40
SHOWN = 8  # pairs of an item


def prepare(
    cases: Sequence[Case],
    folder: str | os.PathLike[str],
    *,
    encoder: Encoder,
    subjects: Sequence[str | Subject],
    seed: int = 0,
    progress: bool = True,
) -> RatingStudy:
    """A study: every pair explained by every subject, in an order that tells nothing.

    The same call again gives the same study, with the answers it has by then.
    """
    place = Path(folder)
    if not cases:
        raise BadInput("A study needs at least one pair.")
    judged_by = parse_subjects(subjects)
    check_subjects(judged_by, {"": encoder})
    check_texts(cases, {"": encoder})
    request = {
        "model": asdict(encoder.record),
        "subjects": [[each.name, each.view, asdict(each.method.record(encoder))] for each in judged_by],
        "seed": seed,
        "pairs": len(cases),
        "data": digest([(case.number, case.left, case.right) for case in cases]),
        **segmentation(text for case in cases for text in (case.left, case.right)),
    }
    with RunFolder.open(place, request):
        if not all((place / name).is_file() for name in (ITEMS, KEY)):
            _write(cases, place, encoder, judged_by, seed, progress)
        return RatingStudy(place)


def _write(
    cases: Sequence[Case], place: Path, encoder: Encoder, judged_by: Sequence[Subject], seed: int, progress: bool
) -> None:
    pairs = [(case.left, case.right) for case in cases]
    made = [
        (case.number, judged.name, e)
        for judged in tqdm(judged_by, desc="Explaining", disable=not progress)
        for case, e in zip(cases, judged.explanations(pairs, encoder), strict=True)
    ]
    draw = random.Random(seed)  # noqa: S311  (an order, not a secret)
    draw.shuffle(made)
    items = [{"id": f"{draw.getrandbits(48):012x}", **_blind(e)} for _, _, e in made]
    key = {item["id"]: {"case": case, "subject": name} for item, (case, name, _) in zip(items, made, strict=True)}
    write_text(place / ITEMS, json.dumps(items, ensure_ascii=False))
    write_text(place / KEY, json.dumps({"model": encoder.record.name, "seed": seed, "items": key}))


def _blind(e: Explanation) -> dict[str, Any]:
    """What can be seen of an explanation without who made it: words with their colours, the strongest pairs; no numbers.

    Values are given as shares of the largest, since the size of the numbers would tell methods apart.
    """
    worded = e.by_word()
    words = {
        name: words_of(side, values)
        for name, side, values in zip(("left", "right"), (worded.left, worded.right), word_values(worded), strict=True)
    }
    own = {name: [number for number, word in enumerate(each) if word.kind == "text"] for name, each in words.items()}
    largest = max((abs(words[name][n].value) for name in own for n in own[name]), default=0.0) or 1.0
    strongest = [pair for pair in worded.top_pairs(SHOWN) if pair.value > 0]
    limit = max((pair.value for pair in strongest), default=1.0)
    sides = {
        name: [{**words[name][n]._asdict(), "value": words[name][n].value / largest} for n in numbers]
        for name, numbers in own.items()
    }
    pairs = [
        {
            "left": printable(pair.left),
            "right": printable(pair.right),
            "value": pair.value / limit,
            "shade": shade_step(pair.value, limit),
            "left_index": own["left"].index(pair.left_index),
            "right_index": own["right"].index(pair.right_index),
            "kinds": ["text", "text"],
        }
        for pair in strongest
    ]
    cut = [name for name in own if getattr(e, name).truncated]
    return {**sides, "pairs": pairs, "cut": cut, "matches": [], "limit": 1.0, "word_limit": 1.0}


@dataclass(slots=True)
class RatingStudy:
    """A prepared study. Answers are appended and written through; the last answer of a rater to an item counts."""

    folder: Path
    items: list[dict[str, Any]] = field(init=False)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not (self.folder / ITEMS).is_file() or not (self.folder / KEY).is_file():
            raise BadInput(
                f"{self.folder} holds no study. Prepare one with `whyalike evaluate rating --out {self.folder}`."
            )
        with _damaged(self.folder / ITEMS):
            self.items = [_item(Fields(each, f"item {n}")) for n, each in enumerate(_list(self.folder / ITEMS), 1)]

    @property
    def cut(self) -> int:
        """How many items are of texts longer than the model reads. Their raters are told."""
        return sum(bool(item.get("cut")) for item in self.items)

    def next_item(self, rater: str) -> dict[str, Any]:
        """What a rater sees next, in an order of their own, and how far they are; no item when all are rated."""
        name = _checked_name(rater)
        done = {item for who, item in self.answers() if who == name}
        order = list(range(len(self.items)))
        random.Random(name).shuffle(order)  # noqa: S311
        item = next((self.items[n] for n in order if self.items[n]["id"] not in done), None)
        return {
            "item": item,
            "done": len(done),
            "total": len(self.items),
            "scale": {str(k): v for k, v in SCALE.items()},
        }

    def answer(self, rater: str, item: str, score: int) -> None:
        """Keep an answer. It is on disk when this returns."""
        name = _checked_name(rater)
        if score not in SCALE:
            raise BadInput(f"A rating is 1 to 5; got {score!r}.")
        if item not in {each["id"] for each in self.items}:
            raise BadInput(f"The study has no item {item!r}.")
        with self._lock:
            drop_cut_off_line(self.folder / ANSWERS)  # its rater never saw it accepted
            append_line(
                self.folder / ANSWERS, {"rater": name, "item": item, "score": score, "time": round(time.time(), 3)}
            )

    def answers(self) -> dict[tuple[str, str], int]:
        """The last answer of each rater to each item. A last line cut off by a crash does not count."""
        known = {item["id"] for item in self.items}

        def check(entry: Fields) -> None:
            entry.text("rater"), entry.choice("item", known)
            if entry.whole("score") not in SCALE:
                raise ValueError(f"'score' should be 1 to 5; got {entry['score']}")

        log = JsonLog.read(self.folder / ANSWERS, check)
        return {(entry["rater"], entry["item"]): entry["score"] for entry in log}

    def result(self) -> dict[str, Any]:
        """Mean opinion score of each method, the deviation of its answers and of its raters' means, sample size, agreement."""
        model, made_by = self._key()
        answers = self.answers()
        table: list[Row] = []
        for name in sorted(set(made_by.values())):
            own = [(who, item, n) for (who, item), n in answers.items() if made_by[item] == name]
            scores = [score for _, _, score in own]
            judges = [
                float(np.mean([n for who, _, n in own if who == judge])) for judge in sorted({who for who, *_ in own})
            ]
            table.append(
                {
                    "subject": name,
                    "mean_opinion": float(np.mean(scores)) if scores else None,
                    "deviation": _deviation(scores),
                    "deviation_of_raters": _deviation(judges),  # as the paper gives it: over the judges
                    "answers": len(own),
                    "items": len({item for _, item, _ in own}),
                }
            )
        raters = sorted({rater for rater, _ in answers})
        return {
            "model": model,
            "table": table,
            "raters": len(raters),
            "items_cut": self.cut,
            "agreement_alpha": krippendorff_alpha(answers),
        }

    def _key(self) -> tuple[str, dict[str, str]]:
        """The model, and which method made each item."""
        path = self.folder / KEY
        with _damaged(path):
            key = Fields(parse_json(read_text(path, DamagedFile)))
            items = key.fields("items")
            return key.text("model"), {item["id"]: items.fields(item["id"]).text("subject") for item in self.items}


@contextmanager
def _damaged(path: Path, place: str = "", advice: str = "Prepare the study again.") -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        where = f"{place} of {path}" if place else str(path)
        raise DamagedFile(f"{where} is damaged: {error}. {advice}") from error


def _list(path: Path) -> list[Any]:
    found = parse_json(read_text(path, DamagedFile))
    if not isinstance(found, list) or not found:
        raise ValueError("expected a list of items")
    return found


def _item(given: Fields) -> dict[str, Any]:
    given.text("id"), given.texts("cut")
    for name in ("left", "right", "pairs"):
        given.list(name)
    return given.value


def _deviation(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _checked_name(rater: str) -> str:
    name = " ".join(rater.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadInput(f"A rater's name has 1 to {LONGEST_NAME} letters; got {rater!r}.")
    return name
