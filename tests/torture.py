"""Kills every kind of long run at random moments, takes it up again, and compares its files with an undisturbed run's.

    make torture                                  every run, ten kills each
    python -m tests.torture --kills 3 train       only those whose names have "train" in them

A run is a command, in a process forked from this one, which has imported all it needs. It is killed (SIGKILL) at a moment
drawn from the time it takes undisturbed, up to three times in a row in one folder, and then left to end. The files of its
folder must then be, byte for byte, those of the undisturbed run.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

for _name in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

import altair  # noqa: F401  (imported before the fork, to kill work and not imports)
import polars  # noqa: F401
import pyarrow.parquet  # noqa: F401
import spacy  # noqa: F401
import tqdm
import vl_convert  # noqa: F401

import whyalike.analysis.report
import whyalike.render.evaluation
import whyalike.train.catalog
import whyalike.train.nouns
import whyalike.train.similarity
import whyalike.train.student  # noqa: F401
from tests.families import tiny_folder
from whyalike.cli import main
from whyalike.evaluate.rating import ANSWERS, RatingStudy

SUBJECTS, VERBS = ("man", "woman", "dog", "cat", "child"), ("runs", "plays", "does not walk", "sings")
PLACES = ("river", "hill", "house", "stage")
IN_A_ROW = 3  # kills in one folder at most
SLOWER = 20.0  # a run may take so many times as long before it is said to hang


class Run(NamedTuple):
    """A command that works in a folder, and what it takes to go on."""

    name: str
    words: tuple[str, ...]  # {} is the folder
    again: tuple[str, ...] = ()


class Result(NamedTuple):
    name: str
    kills: int
    seconds: float
    different: list[str]


def data(folder: Path) -> dict[str, str]:
    """Tiny models, and pairs of our own."""
    texts = [f"the {one} {verb} near the old {place}" for one in SUBJECTS for verb in VERBS for place in PLACES]
    draw = random.Random(0)
    pairs = [(text, draw.choice(texts)) for text in texts for _ in range(2)]
    scored = [f"{left},{right},{draw.random():.2f}" for left, right in pairs]
    upper = [
        f"{left.upper()},{right.upper()},{row.rsplit(',', 1)[1]}"
        for (left, right), row in zip(pairs, scored, strict=True)
    ]
    for name, rows in (("pairs", scored), ("translated", upper), ("dev", scored[:20])):
        (folder / f"{name}.csv").write_text("\n".join(["left,right,score", *rows]) + "\n")
    links = [f"{left}\t{right}\t0-0 1-1 2-2" for left, right in pairs]
    (folder / "links.tsv").write_text("\n".join(links) + "\n")
    items = [f'"{n}","{text.split()[1]} {n}","{text}, and {other}."' for n, (text, other) in enumerate(pairs)]
    (folder / "items.csv").write_text("\n".join(["id,title,text", *items]) + "\n")
    model = tiny_folder(str(folder / "tiny"), normalize=True)
    found = {name: str(folder / f"{name}.csv") for name in ("pairs", "translated", "dev", "items")}
    return {**found, "links": str(folder / "links.tsv"), "model": model}


def runs(given: dict[str, str]) -> Iterator[Run]:
    pairs, model = ("--data", given["pairs"]), ("--model", given["model"])
    some = ("--pairs", "40")
    methods = (
        "--method",
        "bilrp",
        "--method",
        "bilrp+aligned",
        "--method",
        "random",
        "--method",
        "integrated_jacobians",
    )
    for measure in ("balance", "conservation", "agreement", "perturbation", "sts"):
        chosen = () if measure == "sts" else methods
        yield Run(f"evaluate {measure}", ("evaluate", measure, *pairs, *some, *model, *chosen, "--out", "{}"))
    yield Run("evaluate human", ("evaluate", "human", "--data", given["links"], *some, *model, *methods, "--out", "{}"))
    yield Run("evaluate rating", ("evaluate", "rating", *pairs, *some, *model, *methods, "--out", "{}"))
    for name in ("parts-of-speech", "roles", "negation", "lexical", "models", "references"):
        yield Run(f"analyze {name}", ("analyze", name, *pairs, *model, "--out", "{}"))
    yield Run("analyze adjectives", ("analyze", "adjectives", *model, "--out", "{}"))
    languages = ("--translated", given["translated"], "--tagger", "english", "--tagger", "german")
    yield Run("analyze languages", ("analyze", "languages", *pairs, *languages, *model, "--out", "{}"))
    yield Run("report", ("report", *pairs, *model, "--out", "{}"))
    yield Run("explain", ("explain", *pairs, *model, "--out", "{}/table.parquet"))
    steps = ("--set", "batch_size=8", "--set", "max_steps=60", "--set", "checkpoint_every=7")
    for kind in ("tuned", "exact", "dot"):
        words = ("train", "similarity", "{}", *pairs, *model, "--as", kind, "--dev", given["dev"], *steps)
        yield Run(f"train {kind}", words, ("--resume",))
    nouns = ("train", "nouns", "{}", *pairs, "--test", given["dev"], *model, *steps)
    yield Run("train nouns", nouns, ("--resume",))
    catalog = ("train", "catalog", "{}", "--data", given["items"], *model, *steps)
    yield Run("train catalog", catalog, ("--resume",))
    parallel = ("--source", given["pairs"], "--target", given["translated"], "--teacher", given["model"])
    yield Run("train student", ("train", "student", "{}", *parallel, *model, *steps), ("--resume",))


def start(work: Callable[[], object], log: Path) -> int:
    """Does some work in a process of its own; its number."""
    child = os.fork()
    if child:
        return child
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1), os.dup2(out, 2)
    code = 1
    try:
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:
        import traceback

        traceback.print_exc()
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(code)


def ended(child: int, within: float) -> int | None:
    """The exit code, negative for a signal; None where it goes on."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def command(words: tuple[str, ...], folder: Path) -> Callable[[], None]:
    def work() -> None:
        if any(word.startswith("{}/") for word in words):
            folder.mkdir(exist_ok=True)
        sys.argv = ["whyalike", *(word.replace("{}", str(folder)) for word in words)]
        main()

    return work


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def torture(run: Run, place: Path, kills: int, draw: random.Random) -> Result:
    log = place / "log.txt"
    began = time.monotonic()
    if ended(start(command(run.words, place / "whole"), log), 600):
        raise SystemExit(f"{run.name} fails undisturbed:\n{log.read_text()[-2000:]}")
    seconds = time.monotonic() - began
    whole, killed, trials, different = files(place / "whole"), 0, 0, set[str]()
    while killed < kills:
        folder = place / f"killed-{trials}"
        trials += 1
        for _ in range(draw.randint(1, IN_A_ROW)):
            child = start(command((*run.words, *run.again), folder), log)
            if ended(child, draw.uniform(0, seconds)) is not None:
                break  # it was done before
            kill(child)
            killed += 1
        child = start(command((*run.words, *run.again), folder), log)
        code = ended(child, SLOWER * seconds + 60)
        if code is None:
            kill(child)
        if code != 0:
            different.add(f"exit code {code} in {folder.name}")
        found = files(folder)
        different |= {name for name in whole.keys() | found.keys() if whole.get(name) != found.get(name)}
    return Result(run.name, killed, seconds, sorted(different))


def torture_answers(study: Path, place: Path, kills: int, draw: random.Random) -> Result:
    """No answer that a rater saw accepted is lost."""
    accepted, different = place / "accepted.txt", set[str]()

    def work() -> None:
        opened = RatingStudy(study)
        with accepted.open("a") as out:
            for number in range(10_000):
                item, score = opened.items[number % len(opened.items)]["id"], 1 + number % 5
                rater = f"rater {os.getpid()} {number // len(opened.items)}"
                opened.answer(rater, item, score)
                out.write(f"{rater},{item},{score}\n")
                out.flush()

    for _ in range(kills):
        child = start(work, place / "log.txt")
        ended(child, draw.uniform(0.01, 0.3))
        kill(child)
        with (study / ANSWERS).open("a") as out:
            out.write('{"rater": "cut o')  # as if it had been cut off while it was written
        found = RatingStudy(study).answers()
        for line in accepted.read_text().splitlines():
            rater, item, score = line.split(",")
            if found.get((rater, item)) != int(score):
                different.add(line)
    return Result(f"answers ({len(accepted.read_text().splitlines()):,} accepted)", kills, 0.0, sorted(different))


tqdm.tqdm.monitor_interval = 0  # a thread that may hold a lock while a process is forked


def _share(
    number: int, of: int, chosen: list[str], kills: int, seed: int, root: Path, results: "multiprocessing.Queue[Result]"
) -> None:
    given = data(root)
    for index, run in enumerate(each for each in runs(given) if any(part in each.name for part in chosen)):
        if index % of != number:
            continue
        place = root / f"run-{index}"
        place.mkdir()
        results.put(torture(run, place, kills, random.Random(f"{seed} {run.name}")))
        if run.name == "evaluate rating":
            (place / "answers").mkdir()
            results.put(torture_answers(place / "whole", place / "answers", kills, random.Random(seed)))


def torture_all() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[""], help="parts of the names of runs; all without")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    fork = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[Result] = fork.Queue()
    with tempfile.TemporaryDirectory(prefix="torture-") as root:
        workers = []
        for number in range(asked.processes):
            (place := Path(root) / str(number)).mkdir()
            share = (number, asked.processes, asked.names, asked.kills, asked.seed, place, results)
            workers.append(fork.Process(target=_share, args=share))
            workers[-1].start()
        failed = 0
        while any(worker.is_alive() for worker in workers) or not results.empty():
            try:
                found = results.get(timeout=1)
            except Exception:  # nothing yet
                continue
            failed += bool(found.different)
            same = "same" if not found.different else f"DIFFERENT: {', '.join(found.different)[:300]}"
            print(f"{found.name:28} {found.kills:3} kills in runs of {found.seconds:5.1f} s   {same}", flush=True)
        failed += sum(bool(worker.exitcode) for worker in workers)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(torture_all())
