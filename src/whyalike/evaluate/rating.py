"""What do people think of explanations? The BTI paper's human study as a tool: blinded, shuffled, safely stored.

A study is a folder: `items.json` (what raters see, without a word of which method made it), `key.json` (which method made
which item), `answers.jsonl` (one line per answer, written through to disk before the rater sees the next item).
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput, DamagedFile
from whyalike.evaluate.measure import Case, Row
from whyalike.evaluate.run import check_subjects, check_texts
from whyalike.evaluate.subjects import Subject, chosen
from whyalike.explanation import Explanation
from whyalike.render.scene import printable, scene_of
from whyalike.runs import is_empty

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
) -> Study:
    """A new study: every pair explained by every subject, in an order that tells nothing."""
    place = Path(folder)
    if place.exists() and not (place.is_dir() and is_empty(place)):
        raise BadInput(f"{place} exists and is not an empty folder. Give a new folder for the study.")
    if not cases:
        raise BadInput("A study needs at least one pair.")
    judged_by = chosen(subjects)
    check_subjects(judged_by, {"": encoder})
    check_texts(cases, {"": encoder})
    place.mkdir(parents=True, exist_ok=True)  # before the work, which would be lost where it cannot be written down
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
    (place / ITEMS).write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8")
    (place / KEY).write_text(json.dumps({"model": encoder.record.name, "seed": seed, "items": key}), encoding="utf-8")
    return Study(place)


def _blind(e: Explanation) -> dict[str, Any]:
    """What can be seen of an explanation without who made it: words with their colours, the strongest pairs; no numbers.

    Values are given as shares of the largest, since the size of the numbers would tell methods apart.
    """
    worded = e.by_word()
    scene = scene_of(worded)
    own = {
        name: [number for number, word in enumerate(getattr(scene, name)) if word.kind == "text"]
        for name in ("left", "right")
    }
    largest = max((abs(getattr(scene, name)[n].value) for name in own for n in own[name]), default=0.0) or 1.0
    strongest = [pair for pair in worded.top_pairs(SHOWN, text_only=True) if pair.value > 0]
    limit = max((pair.value for pair in strongest), default=1.0)
    sides = {
        name: [{**getattr(scene, name)[n]._asdict(), "value": getattr(scene, name)[n].value / largest} for n in numbers]
        for name, numbers in own.items()
    }
    pairs = [
        {
            "left": printable(pair.left),
            "right": printable(pair.right),
            "value": pair.value / limit,
            "left_index": own["left"].index(pair.left_index),
            "right_index": own["right"].index(pair.right_index),
            "kinds": ["text", "text"],
        }
        for pair in strongest
    ]
    cut = [name for name in own if getattr(e, name).truncated]
    return {**sides, "pairs": pairs, "cut": cut, "matches": [], "limit": 1.0, "word_limit": 1.0}


@dataclass(slots=True)
class Study:
    """A prepared study. Answers are appended and written through; the last answer of a rater to an item counts."""

    folder: Path
    items: list[dict[str, Any]] = field(init=False)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        if not (self.folder / ITEMS).is_file() or not (self.folder / KEY).is_file():
            raise BadInput(
                f"{self.folder} holds no study. Prepare one with `whyalike evaluate rating --out {self.folder}`."
            )
        self.items = _read(self.folder / ITEMS)

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
        line = json.dumps({"rater": name, "item": item, "score": score, "time": round(time.time(), 3)}) + "\n"
        with self._lock, (self.folder / ANSWERS).open("a+", encoding="utf-8") as out:
            if out.tell() and not _ends_a_line(self.folder / ANSWERS):
                out.write("\n")  # what a crash cut off stays a line of its own
            out.write(line)
            out.flush()
            os.fsync(out.fileno())

    def answers(self) -> dict[tuple[str, str], int]:
        """The last answer of each rater to each item. A line cut off by a crash is passed over."""
        path = self.folder / ANSWERS
        found: dict[tuple[str, str], int] = {}
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else ():
            try:
                entry = json.loads(line)
                found[entry["rater"], entry["item"]] = entry["score"]
            except (json.JSONDecodeError, KeyError, TypeError):
                continue  # cut off by a crash
        return found

    def result(self) -> dict[str, Any]:
        """Mean opinion score of each method, the deviation of its answers and of its raters' means, sample size, agreement."""
        key: Mapping[str, Any] = _read(self.folder / KEY)
        answers = self.answers()
        table: list[Row] = []
        for name in sorted({entry["subject"] for entry in key["items"].values()}):
            own = [(who, item, n) for (who, item), n in answers.items() if key["items"][item]["subject"] == name]
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
            "model": key["model"],
            "table": table,
            "raters": len(raters),
            "items_cut": self.cut,
            "agreement_alpha": krippendorff_alpha(answers),
        }


def krippendorff_alpha(answers: Mapping[tuple[str, str], int]) -> float | None:
    """Krippendorff's alpha for interval data: 1 where raters agree, 0 where they agree as much as chance.

    ``1 − D_o / D_e``: squared differences of two ratings of one item, against those of any two ratings. Only items that two
    raters have rated count; None where there are none, or where all ratings are the same.
    """
    by_item: dict[str, list[int]] = {}
    for (_, item), score in answers.items():
        by_item.setdefault(item, []).append(score)
    units = [np.array(scores, dtype=float) for scores in by_item.values() if len(scores) > 1]
    if not units:
        return None
    every = np.concatenate(units)
    total = len(every)
    observed = sum(float(((unit[:, None] - unit[None]) ** 2).sum()) / (len(unit) - 1) for unit in units) / total
    expected = float(((every[:, None] - every[None]) ** 2).sum()) / (total * (total - 1))
    return 1 - observed / expected if expected else None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedFile(f"{path} is damaged ({error}). Prepare the study anew.") from error


def _deviation(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as written:
        written.seek(-1, os.SEEK_END)
        return written.read(1) == b"\n"


def _checked_name(rater: str) -> str:
    name = " ".join(rater.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadInput(f"A rater's name has 1 to {LONGEST_NAME} letters; got {rater!r}.")
    return name
