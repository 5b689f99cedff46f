"""Results print in one line, become spans, phrases, frames and files, and come back from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import whyalike
from tests.families import tiny_encoder, tiny_model, tokenizer
from whyalike.errors import BadInput, DamagedFile, EmptyText, UnknownVersion

LEFT, RIGHT, THIRD = "A man plays the guitar. It is loud.", "Someone makes music, and it is loud.", "The dog sleeps."


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert")


@pytest.fixture(scope="module")
def e(encoder: whyalike.Encoder) -> whyalike.Explanation:
    return whyalike.explain(LEFT, RIGHT, encoder=encoder)


def by_hand(matrix: list[list[float]], e: whyalike.Explanation) -> whyalike.Explanation:
    """An explanation in words with these values between the texts' own words, and none elsewhere."""
    from dataclasses import replace

    worded = e.by_word()
    values = np.zeros(worded.matrix.shape)
    values[np.ix_(worded.left.own, worded.right.own)] = matrix
    nothing = np.zeros(len(worded.left)), np.zeros(len(worded.right))
    return replace(worded, matrix=values, left_terms=nothing[0], right_terms=nothing[1], constant=0.0)


def test_every_result_prints_as_one_short_line(e: whyalike.Explanation, encoder: whyalike.Encoder) -> None:
    parts = whyalike.contributions([LEFT], encoder=encoder)
    matched = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="bti")
    results = [
        e,
        e.left,
        matched,
        matched.matching,
        parts[0],
        whyalike.explain_against(LEFT, RIGHT, encoder=encoder),
        whyalike.contrast(LEFT, RIGHT, THIRD, encoder=encoder),
        whyalike.compare(LEFT, RIGHT, methods=["bilrp", "bti"], encoders=[encoder]),
        whyalike.evaluate("balance", [(LEFT, RIGHT)], encoder=encoder, subjects=["bilrp"], progress=False),
    ]
    for result in results:
        assert "\n" not in repr(result)
        assert len(repr(result)) < 300
    assert f"score {e.score:.3f}" in repr(e)
    assert e.by_word().top_pairs(1)[0].left in repr(e)


def test_phrases_join_neighbours_that_go_with_the_same_part_of_the_other_text() -> None:
    encoder = tiny_encoder("bert")
    e = whyalike.explain("ribbed cuffs and a hat", "ribbing at cuffs", encoder=encoder)
    phrased = by_hand([[0.3, 0.0, 0.1], [0.1, 0.0, 0.4], [0, 0, 0], [0, 0, 0], [0, 0.01, 0]], e).by_phrase()
    assert [phrased.left.labels[index] for index in phrased.left.own] == ["ribbed cuffs", "and", "a", "hat"]
    assert [phrased.right.labels[index] for index in phrased.right.own] == ["ribbing at cuffs"]
    (first, second) = phrased.top_pairs(2)
    assert (first.left, first.right, first.value) == ("ribbed cuffs", "ribbing at cuffs", pytest.approx(0.9))
    assert second.value == pytest.approx(0.01)
    assert phrased.left.unit == "phrase"


def test_phrases_end_at_sentences_and_at_punctuation(e: whyalike.Explanation) -> None:
    assert e.left.words[5:7] == (".", "It")
    strong = np.zeros((len(e.left.words), len(e.right.words)))
    strong[[4, 6], 2] = 1.0  # guitar and It, with music; a full stop between them
    phrased = by_hand(strong.tolist(), e).by_phrase()
    assert [phrased.left.labels[index] for index in phrased.left.own] == list(e.left.words)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2, 0.5, 1.0])
def test_phrases_keep_the_sum(share: float, e: whyalike.Explanation) -> None:
    phrased = e.by_phrase(min_share=share)
    assert float(phrased.matrix.sum()) == pytest.approx(float(e.matrix.sum()), abs=1e-12)
    assert phrased.background == pytest.approx(e.background)
    assert (
        sum(pair.value for pair in e.phrase_pairs(10**6, min_share=share)) <= float(phrased.matrix.clip(0).sum()) + 1e-9
    )


def test_spans_are_stretches_of_the_text_with_what_they_add(e: whyalike.Explanation) -> None:
    for name, text in (("left", LEFT), ("right", RIGHT)):
        spans = e.spans(name, min_share=0.0)  # type: ignore[arg-type]
        assert [span["start"] for span in spans] == sorted(span["start"] for span in spans)
        for span in spans:
            assert text[span["start"] : span["end"]] == span["text"] == span["text"].strip()
            partner = span["partner"]
            if partner is not None:
                other = RIGHT if name == "left" else LEFT
                assert other[partner["start"] : partner["end"]] == partner["text"]
        json.dumps(spans, allow_nan=False)
        assert len(e.spans(name, max_spans=2)) <= 2  # type: ignore[arg-type]
        whole = e.one_sided() if name == "left" else e.swapped().one_sided()
        own = float(whole.by("word").values[whole.by("word").side.own].sum())
        assert sum(span["weight"] for span in spans) == pytest.approx(own)
    one_sided = e.one_sided().spans(min_share=0.0)
    assert {span["partner"] for span in one_sided} == {None}
    with pytest.raises(BadInput, match="no side 'top'"):
        e.spans("top")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="min_share is a share"):
        e.spans("left", min_share=2)
    with pytest.raises(BadInput, match="max_spans should be a whole number above 0"):
        e.spans("left", max_spans=0)


def test_frames_have_a_row_per_pair(e: whyalike.Explanation, encoder: whyalike.Encoder, monkeypatch: Any) -> None:
    frame = e.by_word().to_frame()
    assert isinstance(frame, polars.DataFrame)
    assert len(frame) == e.by_word().matrix.size
    assert frame["value"].sum() == pytest.approx(e.matrix.sum())
    contrast = whyalike.contrast(LEFT, RIGHT, THIRD, encoder=encoder).to_frame()
    assert (contrast["a"] - contrast["b"]).to_list() == pytest.approx(contrast["difference"].to_list())
    found = whyalike.evaluate("balance", [(LEFT, RIGHT)], encoder=encoder, subjects=["bilrp", "random"], progress=False)
    assert found.to_frame()["subject"].to_list() == ["bilrp", "random"]
    real = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "polars" else real(name))
    assert isinstance(e.to_frame(), pandas.DataFrame)
    assert len(whyalike.contributions([LEFT], encoder=encoder)[0].to_frame()) == len(e.left)


def test_every_result_is_read_back_from_its_file(
    e: whyalike.Explanation, encoder: whyalike.Encoder, tmp_path: Path
) -> None:
    results = [
        e,
        e.by_phrase(),
        whyalike.explain(LEFT, RIGHT, encoder=encoder, method="integrated_jacobians"),
        whyalike.explain_against(LEFT, RIGHT, encoder=encoder),
        whyalike.contrast(LEFT, RIGHT, THIRD, encoder=encoder),
        whyalike.compare(LEFT, RIGHT, methods=["bilrp", "bti", "exact_match"], encoders=[encoder]),
    ]
    for number, result in enumerate(results):
        again = whyalike.load(whyalike.save(result, tmp_path / f"{number}.json"))
        assert type(again) is type(result)
        assert again.to_dict() == result.to_dict()


def test_an_evaluation_is_a_result(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    pairs = [(LEFT, RIGHT), (LEFT, THIRD)]
    found = whyalike.evaluate("balance", pairs, encoder=encoder, subjects=["bilrp", "random"], progress=False)
    again = whyalike.load(found.save(tmp_path / "found.json"))
    assert again.to_dict() == found.to_dict()
    assert again.rows == found.rows
    assert list(again.to_frame().columns) == list(found.to_frame().columns)
    assert len(pandas.read_csv(found.save(tmp_path / "found.csv"))) == len(found.to_frame()) == 4
    with pytest.raises(BadInput, match="can be saved as .json, .csv, .parquet"):
        found.save(tmp_path / "found.png")
    damaged = json.loads((tmp_path / "found.json").read_text())
    damaged["rows"][0]["positive"] = "much"
    (tmp_path / "damaged.json").write_text(json.dumps(damaged))
    with pytest.raises(DamagedFile, match="'positive' of a row should be a finite number"):
        whyalike.load(tmp_path / "damaged.json")


def test_contributions_are_kept_as_safetensors(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    parts = whyalike.contributions([LEFT, RIGHT], encoder=encoder)
    kept = whyalike.load(whyalike.save(parts, tmp_path / "parts.safetensors"))
    assert [part.to_dict() for part in kept] == [part.to_dict() for part in parts]
    assert whyalike.explain_parts(*kept).score == whyalike.explain_parts(*parts).score
    alone = whyalike.load(whyalike.save(parts[0], tmp_path / "one.safetensors"))
    assert alone.to_dict() == parts[0].to_dict()
    half = whyalike.load(whyalike.save(parts, tmp_path / "half.safetensors", half=True))
    sizes = [(tmp_path / f"{name}.safetensors").stat().st_size for name in ("half", "parts")]
    assert sizes[0] < sizes[1]
    for small, whole in zip(half, parts, strict=True):
        error = np.linalg.norm(small.tokens - whole.tokens) / np.linalg.norm(whole.tokens)
        assert error == pytest.approx(small.measured.storage_error, rel=1e-3)
        assert 0 < error < 1e-3


def test_damaged_contributions_are_refused(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    path = whyalike.save(whyalike.contributions([LEFT], encoder=encoder), tmp_path / "parts.safetensors")
    content = path.read_bytes()
    for damaged in (b"", content[:100], content[:-8], b"\0" * 64):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile):
            whyalike.load(path)
    path.write_bytes(content)
    tensors = load_file(path)
    about = json.loads(_metadata(path))

    def stored(about: Any, tensors: Any) -> Path:
        save_file(tensors, path, metadata={"whyalike": json.dumps(about)})
        return path

    with pytest.raises(UnknownVersion, match="has version 7"):
        whyalike.load(stored({**about, "version": 7}, tensors))
    with pytest.raises(DamagedFile, match="do not fit"):
        whyalike.load(stored(about, {**tensors, "0.tokens": tensors["0.tokens"][:-1]}))
    with pytest.raises(DamagedFile, match="finite numbers"):
        whyalike.load(stored(about, {**tensors, "0.embedding": tensors["0.embedding"] * np.nan}))
    with pytest.raises(DamagedFile, match="is missing"):
        whyalike.load(stored(about, {name: value for name, value in tensors.items() if "states" not in name}))
    with pytest.raises(DamagedFile, match="'format' should be"):
        whyalike.load(stored({**about, "format": "else"}, tensors))


def _metadata(path: Path) -> str:
    from safetensors import safe_open

    with safe_open(path, "numpy") as found:
        return str(found.metadata()["whyalike"])


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet", ".html", ".svg", ".png"])
def test_the_ending_of_a_file_is_its_format(ending: str, e: whyalike.Explanation, tmp_path: Path) -> None:
    path = e.by_word().save(tmp_path / f"e{ending}")
    content = path.read_bytes()
    begins = {
        ".json": b"{",
        ".csv": b"left,",
        ".parquet": b"PAR1",
        ".html": b"<!doctype",
        ".svg": b"<svg",
        ".png": b"\x89PNG",
    }
    assert content.startswith(begins[ending])
    if ending == ".csv":
        assert len(pandas.read_csv(path)) == e.by_word().matrix.size


def test_another_ending_is_refused(e: whyalike.Explanation, encoder: whyalike.Encoder, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="ends in '.txt'; Explanation can be saved as .json, .csv"):
        e.save(tmp_path / "e.txt")
    with pytest.raises(BadInput, match="can be saved as .safetensors"):
        whyalike.save(whyalike.contributions([LEFT], encoder=encoder), tmp_path / "parts.json")
    with pytest.raises(BadInput, match="should hold Contributions"):
        whyalike.save([], tmp_path / "parts.safetensors")
    with pytest.raises(BadInput, match="half=True is for contributions"):
        whyalike.save(e, tmp_path / "e.json", half=True)
    with pytest.raises(BadInput, match="int cannot be saved"):
        whyalike.save(3, tmp_path / "e.json")  # type: ignore[arg-type]
    with pytest.raises(DamagedFile, match="cannot be read"):
        whyalike.load(tmp_path / "nope.json")
    assert not list(tmp_path.iterdir())
    with pytest.raises(BadInput, match=r"e.csv is a table or a picture.* saved as .json or .safetensors"):
        whyalike.load(e.save(tmp_path / "e.csv"))


def test_pairs_come_from_lists_iterators_and_frames(encoder: whyalike.Encoder) -> None:
    pairs = [(LEFT, RIGHT), (LEFT, THIRD)]
    scores = [e.score for e in whyalike.explain_pairs(pairs, encoder=encoder, progress=False)]
    columns = {"left": [LEFT, LEFT], "right": [RIGHT, THIRD]}
    for given in (iter(pairs), pandas.DataFrame(columns), polars.DataFrame(columns)):
        found = whyalike.explain_pairs(given, encoder=encoder, progress=False)
        assert [e.score for e in found] == scores
    renamed = polars.DataFrame({"q": [LEFT], "a": [RIGHT]})
    (e,) = whyalike.explain_pairs(renamed, encoder=encoder, columns=("q", "a"), progress=False)
    assert e.score == scores[0]
    with pytest.raises(BadInput, match="no column 'left' \\(it has q, a\\)"):
        list(whyalike.explain_pairs(renamed, encoder=encoder))


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((LEFT, ""), "The right text of pair 2 is empty"),
        ((" \n", RIGHT), "The left text of pair 2 is blank"),
        ((LEFT, None), "The right text of pair 2 should be a str; got NoneType"),
        ((LEFT,), "Pair 2 should be two texts; got 1"),
        ("ab", "Pair 2 should be two texts; got str"),
    ],
)
def test_the_bad_row_is_named(pair: Any, message: str, encoder: whyalike.Encoder) -> None:
    with pytest.raises(BadInput, match=message):
        list(whyalike.explain_pairs([(LEFT, RIGHT), pair], encoder=encoder, progress=False))


@pytest.mark.parametrize("method", ["bilrp", "bti"])
def test_an_iterator_can_go_on_past_bad_pairs(method: str, encoder: whyalike.Encoder) -> None:
    pairs = [("", RIGHT), (LEFT, RIGHT), (LEFT, "word " * 100), (THIRD, RIGHT), (LEFT, None)]
    found = list(whyalike.explain_pairs(pairs, encoder=encoder, method=method, on_error="skip", progress=False))
    assert [type(each).__name__ for each in found] == ["Skipped", "Explanation", "Skipped", "Explanation", "Skipped"]
    assert [each.number for each in found if isinstance(each, whyalike.Skipped)] == [1, 3, 5]
    assert "is empty" in found[0].reason  # type: ignore[union-attr]
    assert "reads at most" in found[2].reason  # type: ignore[union-attr]


def test_arguments_are_checked_when_a_function_is_called(encoder: whyalike.Encoder) -> None:
    for wrong in ({"method": "magic"}, {"unit": "letter"}, {"layer": 99}, {"on_error": "ignore"}, {"encoder": 3}):
        with pytest.raises(BadInput):
            whyalike.explain_pairs([(LEFT, RIGHT)], **{"encoder": encoder, **wrong})
    with pytest.raises(BadInput, match="nothing to align"):
        whyalike.explain_pairs([(LEFT, RIGHT)], encoder=encoder, method="bti", aligned=True)
    with pytest.raises(BadInput, match="pairs should be pairs of texts"):
        whyalike.explain_pairs("text", encoder=encoder)


def test_an_encoder_is_a_name_a_path_a_model_or_an_encoder(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    for part in (tiny_model("bert"), tokenizer()):
        part.save_pretrained(tmp_path / "model")
    score = whyalike.explain(LEFT, RIGHT, encoder=whyalike.load_encoder(tmp_path / "model")).score
    for given in (whyalike.load_encoder(tmp_path / "model").model, tmp_path / "model", str(tmp_path / "model")):
        assert whyalike.explain(LEFT, RIGHT, encoder=given).score == pytest.approx(score)
    for wrong in (3, ["all-MiniLM-L6-v2"], object()):
        with pytest.raises(
            BadInput, match="encoder should be a model's name, a path, a SentenceTransformer or an Encoder"
        ):
            whyalike.explain(LEFT, RIGHT, encoder=wrong)  # type: ignore[arg-type]


def test_a_named_model_is_loaded_once_and_again_when_it_was_changed(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    from whyalike.encoders.load import as_encoder

    for part in (tiny_model("bert"), tokenizer()):
        part.save_pretrained(tmp_path / "model")
    first = as_encoder(tmp_path / "model")
    assert as_encoder(str(tmp_path / "model")) is first
    (tmp_path / "model" / "more.txt").write_text("changed")
    assert as_encoder(tmp_path / "model") is not first


def test_views_are_part_of_how_a_method_is_written(encoder: whyalike.Encoder) -> None:
    plain = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="integrated_jacobians@1")
    spread = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="integrated_jacobians@1+equal")
    np.testing.assert_allclose(spread.matrix, plain.spread("equal").matrix)
    aligned = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="bilrp@1+aligned", unit="word")
    direct = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="bilrp", layer=1, unit="word", aligned=True)
    np.testing.assert_allclose(aligned.matrix, direct.matrix)
    with pytest.raises(BadInput, match="both give a layer"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, method="bilrp@1", layer=2)


def test_one_cache_serves_several_calls(encoder: whyalike.Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    from whyalike.methods.second_order import TransformerMethod

    computed: list[str] = []
    original = TransformerMethod.of_readings

    def counted(method: Any, encoder: Any, readings: Any, options: Any) -> Any:
        computed.extend(reading.side.text for reading in readings)
        return original(method, encoder, readings, options)

    monkeypatch.setattr(TransformerMethod, "of_readings", counted)
    cache = whyalike.ContributionCache(2**20)
    for unit in ("token", "word", "sentence"):
        for pair in ((LEFT, RIGHT), (LEFT, THIRD)):
            (e,) = whyalike.explain_pairs([pair], encoder=encoder, unit=unit, cache=cache, progress=False)
            assert float(e.matrix.sum()) == pytest.approx(whyalike.explain(*pair, encoder=tiny_encoder("bert")).score)
    assert computed.count(LEFT) - computed.count(THIRD) <= 6  # the comparisons compute their own
    assert len(cache) == 3


def test_functions_and_files_of_matrices_are_evaluated(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    def same_length(left: str, right: str) -> list[list[float]]:
        one, other = (whyalike.split_words(text) for text in (left, right))
        return [[float(len(a) == len(b)) for b in other] for a in one]

    pairs = [(LEFT, RIGHT), (LEFT, THIRD)]
    lines = [
        json.dumps({"left": left, "right": right, "matrix": same_length(left, right)}) + "\n" for left, right in pairs
    ]
    (tmp_path / "mine.jsonl").write_text("".join(lines))
    found = whyalike.evaluate(
        "balance", pairs, encoder=encoder, subjects=[same_length, tmp_path / "mine.jsonl", "bilrp"], progress=False
    )
    table = {line["subject"]: line for line in found.table}
    assert set(table) == {"same_length", "mine", "bilrp"}
    assert table["same_length"]["positive"] == table["mine"]["positive"] > 0
    with pytest.raises(BadInput, match="should be 10 × 9 finite numbers"):
        whyalike.evaluate("balance", pairs, encoder=encoder, subjects=[lambda a, b: [[1.0]]], progress=False)
    (tmp_path / "torn.jsonl").write_text('{"left": "a"}\n')
    with pytest.raises(DamagedFile, match="Line 1 of .* is no matrix"):
        whyalike.evaluate("balance", pairs, encoder=encoder, subjects=[tmp_path / "torn.jsonl"])
    with pytest.raises(BadInput, match="has no matrix for"):
        whyalike.evaluate(
            "balance", [(THIRD, THIRD)], encoder=encoder, subjects=[tmp_path / "mine.jsonl"], progress=False
        )


def test_of_a_text_that_is_cut_a_function_gives_the_words_that_were_read(encoder: whyalike.Encoder) -> None:
    long = " ".join(f"word{number % 7}" for number in range(60))

    def numbers(left: str, right: str) -> np.ndarray:
        return np.outer(np.arange(1, 61), np.ones(len(whyalike.split_words(right))))

    subject = whyalike.evaluate.make_subject(numbers)
    (e,) = subject.explanations([(long, THIRD)], encoder)
    assert e.left.truncated
    assert e.matrix[e.left.own, e.right.own[0]].tolist() == list(range(1, len(e.left.own) + 1))


def test_blank_texts_are_refused_everywhere(encoder: whyalike.Encoder) -> None:
    for call in (
        lambda: whyalike.contributions(["  "], encoder=encoder),
        lambda: whyalike.contrast(LEFT, "", RIGHT, encoder=encoder),
        lambda: whyalike.explain_against("", RIGHT, encoder=encoder),
        lambda: whyalike.compare(LEFT, " ", encoders=[encoder]),
    ):
        with pytest.raises(EmptyText, match="nothing to explain"):
            call()


def test_a_row_that_is_no_pair_is_skipped_with_its_reason(encoder: whyalike.Encoder) -> None:
    rows: list[Any] = [(LEFT, RIGHT), 5, (LEFT, RIGHT, RIGHT), (LEFT, None), (RIGHT, LEFT)]
    found = list(whyalike.explain_pairs(rows, encoder=encoder, on_error="skip", progress=False))
    assert [isinstance(each, whyalike.Skipped) for each in found] == [False, True, True, True, False]
    reasons = [each.reason for each in found if isinstance(each, whyalike.Skipped)]
    assert reasons[0].startswith("Pair 2 should be two texts; got int")
    assert reasons[1].startswith("Pair 3 should be two texts; got 3")
    assert reasons[2].startswith("The right text of pair 4 should be a str")
    with pytest.raises(BadInput, match="Pair 2 should be two texts"):
        list(whyalike.explain_pairs(rows, encoder=encoder, progress=False))


def test_a_prompt_the_model_does_not_have_is_refused_at_the_call(encoder: whyalike.Encoder) -> None:
    with pytest.raises(BadInput, match="nope"):
        whyalike.explain_pairs([(LEFT, RIGHT)], encoder=encoder, prompts=("nope", None))


def test_lists_of_words_leave_special_tokens_out(encoder: whyalike.Encoder) -> None:
    one = whyalike.explain_against(LEFT, RIGHT, encoder=encoder, unit="word")
    contrast = whyalike.contrast(LEFT, RIGHT, THIRD, encoder=encoder, unit="word")
    for result in (one, contrast):
        assert not {"[CLS]", "[SEP]"} & {text for text, _ in result.top(99)}
        assert {"[CLS]", "[SEP]"} <= {text for text, _ in result.top(99, special_tokens=True)}
        assert "[" not in repr(result)


def test_every_result_becomes_a_frame_and_a_file(encoder: whyalike.Encoder, tmp_path: Path) -> None:
    (part,) = whyalike.contributions([LEFT], encoder=encoder)
    one = whyalike.explain_against(LEFT, RIGHT, encoder=encoder)
    for result, ending in ((part, ".safetensors"), (one, ".json")):
        assert len(result.to_frame()) == len(one.side)
        assert repr(whyalike.load(result.save(tmp_path / f"result{ending}"))) == repr(result)
