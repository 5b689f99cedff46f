"""A full disk: one line that names the folder, what was written stays whole, and the run goes on when there is room."""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path

import pytest

import whyalike
from tests.analysis_corpus import PAIRS, make_corpus
from tests.families import LEFT, RIGHT, tiny_encoder, tiny_folder
from tests.unit.test_training import train
from whyalike.cli import main
from whyalike.errors import CannotWrite
from whyalike.evaluate.rating import ANSWERS, prepare
from whyalike.evaluate.run import ROWS, cases_of, evaluate
from whyalike.render import evaluation as page
from whyalike.render.analysis import save as save_section
from whyalike.storage.writing import append_line, whole_file, write_text


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files of so many bytes: what is longer meets the error a full disk gives."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with redirect_stderr(StringIO()):  # pytest keeps it in a file
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def refused(work: Callable[[], object], size: int, folder: Path) -> None:
    with room_for(size), pytest.raises(CannotWrite, match="there is no room left in") as error:
        work()
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)


def test_an_evaluation_goes_on_when_there_is_room(tmp_path: Path) -> None:
    cases = cases_of([(f"{left} {n}", right) for n in range(6) for left, right in PAIRS])

    def run(folder: Path) -> page.page.Saved:
        found = evaluate("balance", cases, encoder=tiny_encoder(), subjects=["bilrp"], folder=folder, progress=False)
        return page.save(found, folder)

    run(tmp_path / "whole")
    size = (tmp_path / "whole" / ROWS).stat().st_size
    refused(lambda: run(tmp_path / "full"), size // 2, tmp_path / "full")
    lines = (tmp_path / "full" / ROWS).read_text().split("\n")
    assert len(lines) > 4
    assert lines[-1] == ""
    assert [json.loads(line)["case"] for line in lines[:-1]] == list(range(len(lines) - 1))
    refused(lambda: run(tmp_path / "full"), size + 10, tmp_path / "full")  # the page is longer
    assert not list((tmp_path / "full").glob("*part"))
    run(tmp_path / "full")
    assert files(tmp_path / "full") == files(tmp_path / "whole")


def test_an_analysis_goes_on_when_there_is_room(tmp_path: Path) -> None:
    from whyalike.analysis.parts_of_speech import parts_of_speech

    encoder = tiny_encoder()

    def run(folder: Path) -> object:
        return save_section(parts_of_speech(make_corpus(encoder, folder)), folder, "")

    run(tmp_path / "whole")
    sizes = sorted({len(content) for content in files(tmp_path / "whole").values()})
    for size in (sizes[1] - 1, sizes[len(sizes) // 2] - 1, sizes[-1] - 1):
        refused(lambda: run(tmp_path / "full"), size, tmp_path / "full")
        whole = files(tmp_path / "whole")
        assert all(whole[name] == content for name, content in files(tmp_path / "full").items())
    run(tmp_path / "full")
    assert files(tmp_path / "full") == files(tmp_path / "whole")


def test_a_training_goes_on_when_there_is_room(tmp_path: Path) -> None:
    start = tiny_folder(str(tmp_path / "tiny"), "bert")
    train("tuned", start, tmp_path / "whole")
    sizes = {name: len(content) for name, content in files(tmp_path / "whole").items()}
    weights = sizes["model.safetensors"]
    for size in (100, 4_000, weights - 1, weights + 1_000):  # the request, a configuration, the weights, the optimizer
        refused(lambda: train("tuned", start, tmp_path / "full", resume=True), size, tmp_path / "full")
    train("tuned", start, tmp_path / "full", resume=True)
    assert files(tmp_path / "full") == files(tmp_path / "whole")


def test_an_answer_that_cannot_be_kept_is_not_accepted(tmp_path: Path) -> None:
    study = prepare(
        cases_of([(LEFT, RIGHT)]), tmp_path / "s", encoder=tiny_encoder(), subjects=["bilrp"], progress=False
    )
    study.answer("Ada", study.items[0]["id"], 5)
    size = (study.folder / ANSWERS).stat().st_size
    refused(lambda: study.answer("Grace", study.items[0]["id"], 1), size + 10, study.folder)
    assert study.answers() == {("Ada", study.items[0]["id"]): 5}
    study.answer("Grace", study.items[0]["id"], 1)
    assert len(study.answers()) == 2


@pytest.mark.parametrize("option", ["--html", "--png", "--svg"])
def test_a_full_device_is_one_line(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny_folder(str(tmp_path / "tiny"), "bert")
    monkeypatch.setattr("sys.argv", ["whyalike", "explain", LEFT, RIGHT, "--model", model, option, "/dev/full"])
    with pytest.raises(SystemExit, match="1"):
        main()
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("whyalike: /dev/full cannot be written: there is no room left in /dev.")


def test_full_standard_output_is_one_line(tmp_path: Path) -> None:
    model = tiny_folder(str(tmp_path / "tiny"), "bert")
    command = [sys.executable, "-c", "from whyalike.cli import main; main()", "explain", LEFT, RIGHT, "--model", model]
    for more in ([], ["--json"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*command, *more], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        assert done.returncode == 1
        assert done.stderr.strip() == (
            "whyalike: The output: No space left on device. Give a file or folder that can be used."
        )


def test_closed_standard_output_is_no_error(tmp_path: Path) -> None:
    model = tiny_folder(str(tmp_path / "tiny"), "bert")
    html = tmp_path / "e.html"
    words = [sys.executable, "-c", "from whyalike.cli import main; main()", "explain", LEFT, RIGHT, "--model", model]
    for more in ("", "--json", f"--html {html}"):
        closed = f"{shlex.join(words)} {more} >&-"
        done = subprocess.run(["sh", "-c", closed], stderr=subprocess.PIPE, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert html.read_text().endswith("</html>\n")


def test_a_device_is_written_to_and_a_link_is_followed(tmp_path: Path) -> None:
    write_text(Path(os.devnull), "nothing")
    assert not Path(os.devnull).is_file()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text(tmp_path / "link", "text")
    assert (tmp_path / "target").read_text() == "text"
    assert (tmp_path / "link").is_symlink()


def test_other_refusals_are_told_too(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path / "none" / "file", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (Path("/"), "Is a directory"),
    ):
        with pytest.raises(CannotWrite, match=f"{path}.* cannot be written: {why}"):
            write_text(path, "text")
    with pytest.raises(CannotWrite, match="No such file or directory"):
        append_line(tmp_path / "none" / "rows.jsonl", {})
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "x"):
        1 / 0  # noqa: B018
    assert not list(tmp_path.iterdir())
    with pytest.raises(CannotWrite, match="cannot be written"):
        whyalike.save(whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder()), tmp_path / "none" / "e.json")
