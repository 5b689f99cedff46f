"""A study: blinded, shuffled, every answer kept."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.families import LEFT, RIGHT, tiny_encoder
from tests.unit.test_server import call, post
from whyalike.cli import app
from whyalike.errors import BadInput, DamagedFile
from whyalike.evaluate.rating import ANSWERS, ITEMS, RatingStudy, prepare
from whyalike.evaluate.run import cases_of
from whyalike.evaluate.subjects import Subject
from whyalike.server.settings import ServerSettings
from whyalike.server.study import create_study
from whyalike.statistics import krippendorff_alpha

PAIRS = [(LEFT, RIGHT), ("The dog runs.", "A cat walks over the hill.")]
METHODS = ["bilrp", "token_outputs", "random"]


@pytest.fixture
def study(tmp_path: Path) -> RatingStudy:
    return prepare(cases_of(PAIRS), tmp_path / "study", encoder=tiny_encoder(), subjects=METHODS, progress=False)


def test_nothing_tells_which_method_made_an_item(study: RatingStudy) -> None:
    text = (study.folder / ITEMS).read_text()
    assert not any(name in text for name in METHODS)
    assert len(study.items) == 6
    assert len({item["id"] for item in study.items}) == 6
    for item in study.items:
        assert max(abs(word["value"]) for side in ("left", "right") for word in item[side]) <= 1
        assert {word["kind"] for word in item["left"]} == {"text"}
        for pair in item["pairs"]:
            assert item["left"][pair["left_index"]]["label"] == pair["left"]
            assert item["right"][pair["right_index"]]["label"] == pair["right"]


def test_a_rater_sees_every_item_once_and_loses_nothing(study: RatingStudy) -> None:
    seen = []
    while (state := study.next_item("Ada"))["item"]:
        assert study.next_item("Ada") == state  # closed and opened again
        seen.append(state["item"]["id"])
        study.answer(" Ada ", seen[-1], 1 + len(seen) % 5)
        study = RatingStudy(study.folder)  # the server was started anew
    assert sorted(seen) == sorted(item["id"] for item in study.items)
    others = []
    while item := study.next_item("Grace")["item"]:
        others.append(item["id"])
        study.answer("Grace", item["id"], 3)
    assert others != seen  # an order of their own
    with (study.folder / ANSWERS).open("a") as out:
        out.write('{"rater": "Ad')  # cut off by a crash
    again = RatingStudy(study.folder)
    assert len(again.answers()) == 12
    again.answer("Eve", study.items[0]["id"], 2)
    assert RatingStudy(study.folder).answers()["Eve", study.items[0]["id"]] == 2
    assert len(again.answers()) == 13


def test_the_result_gives_means_deviations_and_agreement(study: RatingStudy) -> None:
    key = json.loads((study.folder / "key.json").read_text())["items"]
    scores = {"bilrp": 5, "token_outputs": 4, "random": 1}
    assert study.result()["agreement_alpha"] is None
    for rater in ("a", "b"):
        for item, made in key.items():
            study.answer(rater, item, 2)
            study.answer(rater, item, scores[made["subject"]])  # changed their mind
    found = study.result()
    assert {line["subject"]: line["mean_opinion"] for line in found["table"]} == scores
    assert all(line["answers"] == 4 and line["items"] == 2 and line["deviation"] == 0 for line in found["table"])
    assert found["raters"] == 2
    assert found["agreement_alpha"] == 1
    for item in key:
        study.answer("b", item, 1)
        study.answer("c", item, 3)
    bilrp = next(line for line in study.result()["table"] if line["subject"] == "bilrp")
    assert bilrp["deviation"] == pytest.approx(np.std([5, 5, 1, 1, 3, 3], ddof=1))
    assert bilrp["deviation_of_raters"] == pytest.approx(np.std([5, 1, 3], ddof=1))


def test_raters_and_the_result_are_told_of_texts_that_were_cut(tmp_path: Path) -> None:
    long = "The old ship was lost at sea. " * 20  # 40 tokens are read
    made = prepare(
        cases_of([(long, RIGHT), (LEFT, RIGHT)]),
        tmp_path / "study",
        encoder=tiny_encoder(),
        subjects=["token_outputs", "random"],
        progress=False,
    )
    assert sorted(item["cut"] for item in made.items) == [[], [], ["left"], ["left"]]
    assert made.cut == made.result()["items_cut"] == 2


def test_what_cannot_be_explained_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subject, "explanations", lambda *arguments: pytest.fail("work was done"))
    for pairs, subjects, message in (
        (PAIRS, ["bilrp", "bilrp@99"], "layer"),
        ([PAIRS[0], ("A dog.", "\ud800")], ["bilrp"], "Pair 2: "),
    ):
        with pytest.raises(BadInput, match=message):
            prepare(cases_of(pairs), tmp_path / "study", encoder=tiny_encoder(), subjects=subjects, progress=False)
    assert not (tmp_path / "study").exists()


def test_a_damaged_study_is_refused(study: RatingStudy) -> None:
    for name in ("key.json", "items.json"):
        (study.folder / name).write_text("[{")
        with pytest.raises(DamagedFile, match=f"{name} is damaged"):
            RatingStudy(study.folder).result()


def alpha_by_loops(ratings: list[list[int]]) -> float:
    """Krippendorff's alpha, all pairs of ratings one by one."""
    units = [unit for unit in ratings if len(unit) > 1]
    every = [value for unit in units for value in unit]
    observed = sum(
        2 * sum((one - other) ** 2 for one, other in combinations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(every)
    expected = 2 * sum((one - other) ** 2 for one, other in combinations(every, 2)) / (len(every) * (len(every) - 1))
    return 1 - observed / expected


def test_agreement_is_krippendorffs_alpha() -> None:
    ratings = [[1, 2, 3], [2, 2], [5, 4, 4, 5], [3], [1, 5]]
    answers = {(f"r{n}", f"i{m}"): score for m, unit in enumerate(ratings) for n, score in enumerate(unit)}
    assert krippendorff_alpha(answers) == pytest.approx(alpha_by_loops(ratings))
    assert krippendorff_alpha({("a", "x"): 3, ("b", "x"): 3}) is None  # nothing differs, so nothing can be said


def test_what_is_no_answer_is_refused(study: RatingStudy, tmp_path: Path) -> None:
    item = study.items[0]["id"]
    for rater, which, score in (
        ("", item, 3),
        ("x" * 41, item, 3),
        ("a\x00", item, 3),
        ("a", "none", 3),
        ("a", item, 6),
    ):
        with pytest.raises(BadInput):
            study.answer(rater, which, score)
    assert not (study.folder / ANSWERS).exists()
    with pytest.raises(BadInput, match="holds no study"):
        RatingStudy(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    for taken, message in (
        (study.folder, "with different settings: subjects was"),
        (tmp_path / "other", "holds something else"),
        (tmp_path / "other" / "file", "is a file; expected a folder"),
    ):
        with pytest.raises(BadInput, match=message):
            prepare(cases_of(PAIRS), taken, encoder=tiny_encoder(), subjects=METHODS[:2])
    with pytest.raises(BadInput, match="have the same name"):
        prepare(cases_of(PAIRS), tmp_path / "new", encoder=tiny_encoder(), subjects=["random", "random"])
    with pytest.raises(BadInput, match="at least one pair"):
        prepare([], tmp_path / "new", encoder=tiny_encoder(), subjects=METHODS)


def test_the_page_asks_and_keeps(study: RatingStudy) -> None:
    served = create_study(study, ServerSettings())
    assert call(served, "GET", "/").status_code == 200
    first = post(served, "/api/next", {"rater": "Ada"}).json()
    second = post(served, "/api/answer", {"rater": "Ada", "item": first["item"]["id"], "score": 4}).json()
    assert second["done"] == 1
    assert second["item"]["id"] != first["item"]["id"]
    assert RatingStudy(study.folder).answers() == {("Ada", first["item"]["id"]): 4}
    for body, status in (
        ({"rater": "Ada", "item": "none", "score": 4}, 400),
        ({"rater": "Ada", "item": "x", "score": 9}, 422),
    ):
        assert post(served, "/api/answer", body).status_code == status


def test_the_commands_prepare_and_tell(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("left,right\nA man plays.,Someone makes music.\n")
    folder = str(tmp_path / "study")
    common = ["--data", str(tmp_path / "pairs.csv"), "--method", "token_outputs", "--method", "random"]
    done = CliRunner().invoke(app, ["evaluate", "rating", *common, "--out", folder], catch_exceptions=False)
    assert "2 explanations to rate" in done.stdout
    study = RatingStudy(Path(folder))
    study.answer("Ada", study.items[0]["id"], 5)
    told = json.loads(CliRunner().invoke(app, ["rate", folder, "--result"], catch_exceptions=False).stdout)
    assert sorted(line["answers"] for line in told["table"]) == [0, 1]
    with pytest.raises(BadInput, match="needs a folder"):
        CliRunner().invoke(app, ["evaluate", "rating", *common], catch_exceptions=False)
