"""Every kind of training on a tiny encoder: the loss falls, the model comes back from disk, a killed run is taken up."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

import whyalike
from tests.families import tiny_folder
from whyalike.cli import app, main
from whyalike.data.truth import Truth, read_truth, write_truth
from whyalike.encoders.load import open_model
from whyalike.encoders.modules import QKVPooling, Shift
from whyalike.errors import BadInput, CannotWrite, DamagedFile, UnknownName
from whyalike.language.taggers import Tagged
from whyalike.storage.writing import PART
from whyalike.train import catalog, losses, nouns, similarity, student
from whyalike.train.trainer import CHECKPOINTS, RECORD, Trained, TrainingSettings, load_record

SUBJECTS, VERBS, PLACES = (
    ("man", "woman", "child", "dog", "cat"),
    ("plays", "sings", "runs", "walks"),
    ("hill", "river", "house"),
)
TEXTS = [f"the {one} {two} on the {three}" for one in SUBJECTS for two in VERBS for three in PLACES]
PAIRS = [(TEXTS[n], TEXTS[(7 * n + 3) % len(TEXTS)]) for n in range(48)]
SCORES = [len(set(left.split()) & set(right.split())) / 6 for left, right in PAIRS]
QUICK = TrainingSettings(max_steps=24, batch_size=8, learning_rate=3e-3, checkpoint_every=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_folder(str(tmp_path_factory.mktemp("tiny")), normalize=True)


def tag(texts: Any) -> list[list[Tagged]]:
    """A tagger that knows our own few words."""
    known = {**dict.fromkeys((*SUBJECTS, *PLACES, "berlin"), "NOUN"), **dict.fromkeys(VERBS, "VERB")}
    found = []
    for text in texts:
        words, at = [], 0
        for word in text.split():
            at = text.index(word, at)
            words.append(Tagged(at, at + len(word), word, known.get(word.casefold(), "X")))
            at += len(word)
        found.append(words)
    return found


ITEMS = [
    catalog.Item(str(n), f"{TEXTS[n].split()[1]} {TEXTS[n].split()[-1]}", f"{TEXTS[n]}, {TEXTS[n]}.") for n in range(20)
]


def train(kind: str, model: str, to: Path, settings: TrainingSettings = QUICK, **options: Any) -> Trained:
    options = {"settings": settings, "progress": False, **options}
    if kind == "nouns":
        return nouns.train_nouns(PAIRS, to, test=PAIRS[:5], model=model, tagger=tag, **options)
    if kind == "catalog":
        return catalog.train_catalog(ITEMS, to, model=model, **options)
    if kind == "student":
        return student.train_student([(text, text.upper() + " !") for text in TEXTS], to, teacher=model, **options)
    name: Any = kind
    return similarity.train_similarity(PAIRS, SCORES, to, model=model, configuration=name, **options)


KINDS = ("tuned", "exact", "dot", "nouns", "catalog", "student")


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_falls_and_the_model_comes_back_the_same(kind: str, folder: str, tmp_path: Path) -> None:
    seen: list[torch.Tensor] = []
    original = SentenceTransformer.save

    def saving(self: SentenceTransformer, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        seen.append(self.eval().encode(TEXTS[:9], convert_to_tensor=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SentenceTransformer, "save", saving)
        trained = train(kind, folder, tmp_path / "out")
    assert np.mean([loss for _, loss in trained.losses[-4:]]) < 0.95 * np.mean([loss for _, loss in trained.losses[:3]])
    assert load_record(tmp_path / "out").losses == trained.losses
    assert len(repr(trained)) < 300
    encoder = whyalike.load_encoder(tmp_path / "out")
    np.testing.assert_allclose(encoder.embed(TEXTS[:9]), seen[-1].numpy(), atol=1e-6)
    assert whyalike.explain(TEXTS[0], TEXTS[1], encoder=encoder).adds_up
    assert not (tmp_path / "out" / CHECKPOINTS).exists()
    trusted = kind in ("exact", "dot", "nouns")  # those have modules of ours
    plain = SentenceTransformer(str(tmp_path / "out"), trust_remote_code=trusted, device="cpu")
    np.testing.assert_allclose(plain.encode(TEXTS[:9]), seen[-1].numpy(), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_ends_as_if_it_had_not_been(kind: str, folder: str, tmp_path: Path) -> None:
    whole = train(kind, folder, tmp_path / "whole")
    owner: Any = {"catalog": catalog.CatalogLoss, "student": student.DistillationLoss}.get(kind, losses.PairLoss)
    original, calls = owner.forward, []

    def dying(self: Any, *args: Any) -> Any:
        calls.append(1)
        if len(calls) == 15:
            raise KeyboardInterrupt
        return original(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, "forward", dying)
        with pytest.raises(KeyboardInterrupt):
            train(kind, folder, tmp_path / "killed")
    (tmp_path / "killed" / CHECKPOINTS / "checkpoint-13").mkdir()  # killed while it was written
    with pytest.raises(BadInput, match="holds an unfinished training"):
        train(kind, folder, tmp_path / "killed")
    with pytest.raises(BadInput, match="with different settings: settings"):
        train(kind, folder, tmp_path / "killed", replace(QUICK, seed=1), resume=True)
    resumed = train(kind, folder, tmp_path / "killed", resume=True)
    assert resumed.losses == whole.losses
    one, other = (open_model(tmp_path / name).state_dict() for name in ("whole", "killed"))
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name
    records = [(tmp_path / name / RECORD).read_bytes() for name in ("whole", "killed")]
    assert records[0] == records[1]


def test_a_training_that_was_saved_is_complete(folder: str, tmp_path: Path) -> None:
    """Whether it was killed while it cleared up, or not at all."""
    out = tmp_path / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whyalike.train.trainer._clear_up", lambda folder: sys.exit(9))
        with pytest.raises(SystemExit):
            train("tuned", folder, out)
    assert (out / CHECKPOINTS).is_dir()
    for _ in range(2):
        again = train("tuned", folder, out, resume=True)
        assert again.was_complete
        assert again.losses == load_record(out).losses
        assert not (out / CHECKPOINTS).exists()
    with pytest.raises(BadInput, match="holds a finished training"):
        train("tuned", folder, out)
    with pytest.raises(BadInput, match="with different settings: settings"):
        train("tuned", folder, out, replace(QUICK, seed=1), resume=True)
    (out / RECORD).write_text("[1e999]")
    with pytest.raises(DamagedFile, match="training.json is damaged"):
        train("tuned", folder, out, resume=True)


def test_a_training_killed_while_it_wrote_its_request_begins_again(folder: str, tmp_path: Path) -> None:
    (tmp_path / "out" / CHECKPOINTS).mkdir(parents=True)
    (tmp_path / "out" / CHECKPOINTS / f"request.json.1{PART}").write_text('{"ki')
    assert train("tuned", folder, tmp_path / "out", resume=True).losses
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="exists and holds something else"):
        train("tuned", folder, tmp_path / "other", resume=True)


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet"])
def test_an_exact_model_needs_its_matrix_alone_and_no_other_texts(family: str, tmp_path: Path) -> None:
    start = tiny_folder(str(tmp_path / "tiny"), family)
    train("exact", start, tmp_path / "out")
    encoder = whyalike.load_encoder(tmp_path / "out")
    for layer in (0, 2):
        method = whyalike.IntegratedJacobians(layer=layer, tolerance=1e-4)
        e = whyalike.explain(*PAIRS[0], encoder=encoder, method=method)
        assert e.matrix.sum() == pytest.approx(e.score, abs=1e-3)
        assert abs(e.constant) < 1e-6
        assert abs(e.left_terms).max() < 1e-3
    texts = [TEXTS[0], TEXTS[0] + " and the old dog walks over the hill and the river .", "a dog"]
    together = encoder.model.encode(texts)
    for text, embedding in zip(texts, together, strict=True):
        np.testing.assert_allclose(encoder.model.encode([text])[0], embedding, atol=1e-5)


@pytest.mark.parametrize("kind", ["tuned", "catalog"])
def test_an_exact_model_stays_exact_when_it_is_trained_further(kind: str, folder: str, tmp_path: Path) -> None:
    train("exact", folder, tmp_path / "exact")
    train(kind, str(tmp_path / "exact"), tmp_path / "further")
    encoder = whyalike.load_encoder(tmp_path / "further")
    e = whyalike.explain(*PAIRS[0], encoder=encoder, method=whyalike.IntegratedJacobians(layer=2, tolerance=1e-4))
    assert e.matrix.sum() == pytest.approx(e.score, abs=1e-3)


def test_a_run_is_not_taken_up_on_other_data(folder: str, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(losses.PairLoss, "forward", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train("tuned", folder, tmp_path / "out")
    with pytest.raises(BadInput, match="holds a run with different data"):
        similarity.train_similarity(
            PAIRS[::-1], SCORES, tmp_path / "out", model=folder, configuration="tuned", settings=QUICK, resume=True
        )


def test_a_shift_is_the_embedding_of_the_reference_of_the_texts_own_length(folder: str, tmp_path: Path) -> None:
    train("exact", folder, tmp_path / "out")
    model = open_model(tmp_path / "out")
    shift = next(stage for stage in model if isinstance(stage, Shift))
    bare = SentenceTransformer(modules=[stage for stage in model if stage is not shift], device="cpu")
    for words in (1, 4, 9):
        ids = torch.tensor([[2, *[0] * words, 3]])
        features = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
        with torch.no_grad():
            literal = bare(features)["sentence_embedding"][0]
        np.testing.assert_allclose(shift.references[words + 2].numpy(), literal.numpy(), atol=1e-6)
    with pytest.raises(ValueError, match="references are known up to 40"):
        shift({"attention_mask": torch.ones(1, 41), "sentence_embedding": torch.zeros(1, 32)})
    with pytest.raises(BadInput, match="is shifted by its reference already"):
        train("exact", str(tmp_path / "out"), tmp_path / "again")


def test_qkv_pooling_is_attention_and_does_not_see_padding() -> None:
    torch.manual_seed(0)
    pooling, states = QKVPooling(8, 2), torch.randn(1, 5, 8)
    with torch.no_grad():
        alone = pooling({"token_embeddings": states, "attention_mask": torch.ones(1, 5)})["sentence_embedding"]
        for before, after in ((0, 3), (2, 0)):
            padded = torch.cat([torch.randn(1, before, 8), states, torch.randn(1, after, 8)], 1)
            mask = torch.tensor([[0] * before + [1] * 5 + [0] * after])
            found = pooling({"token_embeddings": padded, "attention_mask": mask})["sentence_embedding"]
            torch.testing.assert_close(found, alone)
        literal = []
        for head in range(2):
            own = slice(4 * head, 4 * head + 4)
            query = (pooling.query.weight @ states[0, 0] + pooling.query.bias)[own]
            keys, values = (
                (part.weight @ states[0].T).T[:, own] + part.bias[own] for part in (pooling.key, pooling.value)
            )
            weights = torch.tensor([float(query @ key) / 2 for key in keys]).exp()
            literal.append((weights[:, None] * values).sum(0) / weights.sum())
        torch.testing.assert_close(alone[0], torch.cat(literal))
    with pytest.raises(ValueError, match="3 heads do not divide"):
        QKVPooling(8, 3)


def test_texts_of_like_length_together_have_the_same_embeddings(folder: str) -> None:
    model = open_model(folder).eval()
    columns = [model.preprocess([pair[side] for pair in PAIRS[:11]]) for side in (0, 1)]
    columns[0] = model.preprocess([f"{text} and {text}" if n % 3 else text for n, (text, _) in enumerate(PAIRS[:11])])
    found = losses.embed(model, columns)
    for column, embeddings in zip(columns, found, strict=True):
        torch.testing.assert_close(embeddings, model(dict(column))["sentence_embedding"], atol=1e-6, rtol=1e-5)


def test_the_truth_about_nouns_is_the_one_stated(folder: str) -> None:
    truth = nouns.noun_truth(
        [("the dog and the Dog runs", "a dog on the hill"), ("man", "woman"), ("berlin", "Berlin")], tag
    )
    assert [each.score for each in truth] == [2, 0, 1]  # the repeated noun counts twice, a verb never
    assert truth[0].matches == (((4, 7), (2, 5)), ((16, 19), (2, 5)))
    encoder = whyalike.load_encoder(folder)
    for unit in ("token", "word"):
        e = whyalike.explain(truth[0].left, truth[0].right, encoder=encoder, unit=unit)  # type: ignore[arg-type]
        matrix = truth[0].matrix(e.left, e.right)
        assert matrix.sum() == pytest.approx(2)
        assert {(e.left.labels[i], e.right.labels[j]) for i, j in np.argwhere(matrix)} <= {
            ("dog", "dog"),
            ("Dog", "dog"),
        }
    split = whyalike.explain("berlin", "a guitars on Berlin", encoder=encoder)  # unknown words are one token here
    assert nouns.noun_truth([("berlin", "a guitars on Berlin")], tag)[0].matrix(split.left, split.right).sum() == 1
    pieces = Truth("unmaner", "unmaner", (((0, 7), (0, 7)),))
    e = whyalike.explain("uner uner", "uner", encoder=encoder)
    shared = pieces._replace(matches=(((0, 4), (0, 4)), ((5, 9), (0, 4)))).matrix(e.left, e.right)
    assert len(e.left) > 4  # made of pieces
    assert shared.sum() == pytest.approx(2)
    assert shared.max() <= 0.5


def test_the_truth_is_kept_beside_the_model(folder: str, tmp_path: Path) -> None:
    train("nouns", folder, tmp_path / "out")
    assert read_truth(tmp_path / "out/truth-train.jsonl") == nouns.noun_truth(PAIRS, tag)
    assert len(read_truth(tmp_path / "out/truth-test.jsonl")) == 5


def test_the_truth_of_any_text_comes_back(tmp_path: Path) -> None:
    truths = [Truth("a\u2028b\x85c\n", "d\u2029", (((0, 1), (0, 1)),))]
    write_truth(truths, tmp_path / "t.jsonl")
    assert read_truth(tmp_path / "t.jsonl") == truths


def test_catalogue_pairs_are_half_own_half_mixed() -> None:
    titles, texts, labels = catalog.title_description_pairs(ITEMS, 0)
    own = {item.text: item.title for item in ITEMS}
    numbers = {item.text: n for n, item in enumerate(ITEMS)}
    assert labels == [1.0, 0.0] * len(ITEMS)
    assert all(own[text] == title for title, text, label in zip(titles, texts, labels, strict=True) if label)
    assert len(numbers) == len(ITEMS)
    known = {(item.title, item.text) for item in ITEMS}
    mixed = [(title, text) for title, text, label in zip(titles, texts, labels, strict=True) if not label]
    assert sum(pair in known for pair in mixed) < len(mixed) / 4  # some items share a title


def test_masking_follows_berts_rule(folder: str) -> None:
    torch.manual_seed(0)
    loss = catalog.CatalogLoss(open_model(folder))
    ids = torch.randint(5, 50, (200, 30))
    ids[:, 0], ids[:, -1] = 2, 3
    attended = torch.ones_like(ids)
    attended[:, 20:] = 0
    changed, chosen = loss.masked(ids, attended)
    assert not chosen[:, 0].any()
    assert not chosen[:, 20:].any()
    assert 0.13 < chosen[:, 1:20].float().mean() < 0.17
    assert 0.75 < (changed[chosen] == 4).float().mean() < 0.85
    assert torch.equal(changed[~chosen], ids[~chosen])


def test_similar_items_are_explained(folder: str) -> None:
    encoder = whyalike.load_encoder(folder)
    found = catalog.most_similar(ITEMS, "3", encoder=encoder, count=2)
    assert len(found) == 2
    assert found[0].score >= found[1].score
    assert found[0].explanation.left.text == ITEMS[3].text
    assert "3" not in {each.item.id for each in found}
    with pytest.raises(BadInput, match="no item 'none'"):
        catalog.most_similar(ITEMS, "none", encoder=encoder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": PAIRS[:2], "scores": [0.1]}, "2 pairs, 1 scores"),
        ({"pairs": [("a", " ")], "scores": [0.1]}, "Pair 1 has an empty text"),
        ({"pairs": PAIRS[:2], "scores": [0.1, 1.5]}, "Pair 2 has the score 1.5"),
        ({"pairs": PAIRS[:2], "scores": [0.1, float("nan")]}, "Pair 2 has the score nan"),
    ],
)
def test_bad_pairs_are_refused_before_training(options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=message):
        similarity.train_similarity(folder=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_trained_is_refused(folder: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no configuration 'best'"):
        train("best", folder, tmp_path / "out")
    with pytest.raises(BadInput, match="at least two items"):
        catalog.train_catalog(ITEMS[:1], tmp_path / "out", model=folder)
    with pytest.raises(BadInput, match="Item 2 has an empty title"):
        catalog.train_catalog([ITEMS[0], ITEMS[1]._replace(title="")], tmp_path / "out", model=folder)
    with pytest.raises(BadInput, match="Pair 1 has an empty sentence"):
        student.train_student([("a", "")], tmp_path / "out", teacher=folder)
    with pytest.raises(BadInput, match="The teacher's vectors have 384 numbers, the student's 32"):
        student.train_student([("a", "b")], tmp_path / "out", student=folder)
    wrongs: list[dict[str, Any]] = [
        {"epochs": 0},
        {"batch_size": -1},
        {"warmup": 1.0},
        {"max_steps": 0},
        {"batch_size": 1.5},
    ]
    for wrong in (*wrongs, {"weight_decay": -1.0}, {"max_steps": "abc"}, {"batch_size": None}):
        with pytest.raises(BadInput):
            TrainingSettings(**wrong)


@pytest.mark.parametrize("kind", ["similarity", "nouns", "catalog", "student"])
def test_every_command_says_where_the_model_is_and_that_it_is_complete(kind: str, folder: str, tmp_path: Path) -> None:
    pairs, items = tmp_path / "pairs.csv", tmp_path / "items.csv"
    rows = zip(PAIRS, SCORES, strict=True)
    pairs.write_text("left,right,score\n" + "".join(f"{left},{right},{score}\n" for (left, right), score in rows))
    items.write_text("id,title,text\n" + "".join(f'{item.id},{item.title},"{item.text}"\n' for item in ITEMS))
    data = ["--data", str(items if kind == "catalog" else pairs)]
    if kind == "student":
        data = ["--source", str(pairs), "--target", str(pairs), "--teacher", folder]
    quick = ["--model", folder, "--set", "max_steps=2", "--set", "batch_size=8"]
    command = ["train", kind, str(tmp_path / "out"), *data, *quick]
    first, again = (CliRunner().invoke(app, [*command, *more]) for more in ([], ["--resume"]))
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert f"the model is in {tmp_path / 'out'}" in first.stdout
    assert f"The training is complete; the model is in {tmp_path / 'out'}" in again.stdout


def test_an_error_stands_on_a_line_of_its_own_below_the_progress_bar(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, text: str) -> None:
        raise CannotWrite(f"{path} cannot be written")

    pairs = tmp_path / "pairs.csv"
    pairs.write_text("left,right,score\n" + "".join(f"{left},{right},0.5\n" for left, right in PAIRS))
    monkeypatch.setattr("whyalike.train.trainer.write_text", full)
    command = ["train", "similarity", str(tmp_path / "out"), "--data", str(pairs), "--model", folder]
    monkeypatch.setattr("sys.argv", ["whyalike", *command, "--set", "max_steps=4", "--set", "checkpoint_every=2"])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "Training:" in said
    assert [line for line in said.split("\n") if line.startswith("whyalike: ") and "cannot be written" in line], said


def test_the_commands_train_from_files(folder: str, tmp_path: Path) -> None:
    rows = "".join(f"{left}\t{right}\t{5 * score}\n" for (left, right), score in zip(PAIRS, SCORES, strict=True))
    (tmp_path / "pairs.tsv").write_text("question\tanswer\tscore\n" + rows)
    quick = ["--model", folder, "--set", "max_steps=3", "--set", "batch_size=8"]
    names = ["--column", "left=question", "--column", "right=answer"]
    pairs = str(tmp_path / "pairs.tsv")

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["train", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    scored = ["--data", pairs, "--test", pairs, "--scores", "0:5", *names, *quick]
    assert "exact: Spearman " in run("similarity", str(tmp_path / "exact"), *scored)
    assert "shelf: Spearman " in run("similarity", str(tmp_path / "none"), "--as", "shelf", *scored)
    assert "test: Spearman " in run("nouns", str(tmp_path / "nouns"), "--data", pairs, "--test", pairs, *names, *quick)
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item._asdict()) + "\n" for item in ITEMS))
    items = str(tmp_path / "items.jsonl")
    assert "the model is in" in run("catalog", str(tmp_path / "catalog"), "--data", items, *quick)
    assert "score" in run("similar", "3", "--data", items, "--model", str(tmp_path / "catalog"), "--count", "1")
    parallel = ["--source", pairs, "--target", pairs, "--teacher", folder]
    assert "the model is in" in run("student", str(tmp_path / "student"), *parallel, *names, *quick)
    with pytest.raises(BadInput, match="NAME=COLUMN"):
        run("nouns", str(tmp_path / "x"), "--data", pairs, "--column", "left")
    with pytest.raises(UnknownName, match="no setting 'speed'"):
        run("nouns", str(tmp_path / "x"), "--data", pairs, *names, "--set", "speed=9")
    with pytest.raises(BadInput, match="seed should be a whole number"):
        run("nouns", str(tmp_path / "x"), "--data", pairs, *names, "--set", "seed=first")
    with pytest.raises(BadInput, match="should be the lowest and the highest score"):
        run("similarity", str(tmp_path / "x"), "--data", pairs, "--scores", "five", *names)
