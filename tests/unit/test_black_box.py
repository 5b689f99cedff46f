"""A function as an encoder: what it is asked, what it may answer, what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import whyalike
from tests.embedding_functions import WIDTH, Counting, embed_words
from tests.families import LEFT, RIGHT
from whyalike.encoders.transformer import PROBE
from whyalike.errors import BadInput, EmptyText, TooManyCalls, UnknownName, UnsupportedModel


def answering(answer: Any) -> Any:
    """A function that gives ``answer(texts)`` for all but the first call."""
    calls = iter([True])

    def function(texts: list[str]) -> Any:
        return embed_words(texts) if next(calls, False) else answer(texts)

    return function


def test_a_function_is_an_encoder() -> None:
    encoder = whyalike.load_encoder(embed_words)
    assert isinstance(encoder, whyalike.Encoder)
    assert repr(encoder) == "Encoder('embed_words', a function, 6 wide, cosine)"
    assert (encoder.record.kind, encoder.record.layers, encoder.record.dim) == ("function", 0, WIDTH)
    np.testing.assert_array_equal(encoder.embed([LEFT, RIGHT]), embed_words([LEFT, RIGHT]))


def test_it_is_explained_by_shapley_where_no_method_is_named() -> None:
    encoder = whyalike.load_encoder(embed_words)
    assert whyalike.explain(LEFT, RIGHT, encoder=encoder).method.name == "shapley"
    assert whyalike.contributions([LEFT], encoder=encoder)[0].method.name == "shapley"
    assert whyalike.contrast(LEFT, RIGHT, "a man", encoder=encoder).a.method.name == "shapley"
    assert whyalike.explain_against(LEFT, RIGHT, encoder=encoder).method.name == "shapley"
    assert [entry.explanation.method.name for entry in whyalike.compare(LEFT, RIGHT, encoders=[encoder]).entries] == [
        "shapley",
        "leave_one_out",
    ]


@pytest.mark.parametrize("method", ["bilrp", "integrated_jacobians", "token_outputs", "bti", "gradients", "random"])
def test_methods_that_look_inside_are_refused(method: str) -> None:
    encoder = whyalike.load_encoder(embed_words)
    with pytest.raises(BadInput, match="'embed_words' is a function.*embeddings.*Use .*shapley.* or .*leave_one_out"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, method=method)


def test_methods_that_ask_no_model_are_not() -> None:
    encoder = whyalike.load_encoder(embed_words)
    e = whyalike.explain("a man", "the man", encoder=encoder, method="exact_match")
    assert e.matrix.tolist() == [[0, 0], [0, 1]]
    assert e.score == pytest.approx(encoder.record.score(*embed_words(["a man", "the man"])))


def test_aligned_is_refused_before_anything_is_asked() -> None:
    function = Counting()
    encoder = whyalike.load_encoder(function)
    with pytest.raises(BadInput, match="gives no hidden states to align words by. Leave out aligned=True"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, aligned=True)
    assert function.texts == [PROBE]


def test_texts_are_asked_for_in_batches_and_once() -> None:
    function = Counting()
    encoder: Any = whyalike.load_encoder(function, max_batch=10)
    whyalike.explain(LEFT, RIGHT, encoder=encoder)
    assert max(map(len, function.batches)) == 10
    assert len(set(function.texts)) == len(function.texts)
    assert (encoder.calls, encoder.texts_embedded) == (len(function.batches), len(function.texts))
    spent = len(function.texts)
    whyalike.explain(RIGHT, LEFT, encoder=encoder)
    whyalike.explain(RIGHT, LEFT, encoder=encoder, method="leave_one_out")  # all of it is known
    assert len(function.texts) == spent


def test_pairs_of_the_same_texts_cost_no_more_than_the_texts() -> None:
    function = Counting()
    texts = [LEFT, RIGHT, "a dog runs"]
    pairs = [(one, other) for one in texts for other in texts]
    found = list(whyalike.explain_pairs(pairs, encoder=whyalike.load_encoder(function), method="leave_one_out"))
    assert sum(e.measured["left"].embeddings for e in found[::3]) == 7 + 11 + 4
    assert len(function.texts) <= 1 + 7 + 11 + 4


def test_the_cache_holds_so_many_bytes() -> None:
    from whyalike.encoders.black_box import BlackBox

    function = Counting()
    encoder = BlackBox(function, cache_bytes=3 * 8 * WIDTH)
    encoder.embed(["a", "b", "c", "d"])
    encoder.embed(["d", "c", "b"])
    assert function.batches[1:] == [["a", "b", "c", "d"]]
    encoder.embed(["a"])
    assert function.batches[2:] == [["a"]]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda texts: embed_words(texts) * np.nan, "returned NaN or infinite numbers for the text 'a'"),
        (
            lambda texts: embed_words(texts) / np.array([[1.0], [0.0]]),
            "returned NaN or infinite numbers for the text 'b'",
        ),
        (lambda texts: embed_words(texts)[0], r"returned an array of the shape \(6,\). Expected 2 rows of 6"),
        (lambda texts: embed_words(texts)[:1], r"returned an array of the shape \(1, 6\)"),
        (lambda texts: embed_words(texts)[:, None], r"returned an array of the shape \(2, 1, 6\)"),
        (lambda texts: embed_words(texts)[:, :5], "returned embeddings of 5 numbers, and of 6 before"),
        (lambda texts: [[1.0], [1.0, 2.0]], "is no array of numbers"),
        (lambda texts: [["1.0"] * 6] * 2, "returned list of <U3, not numbers"),
        (lambda texts: None, "returned NoneType of object, not numbers"),
        (lambda texts: {"data": 1}, "returned dict of object, not numbers"),
        (lambda texts: torch.ones(2, 6, requires_grad=True), "is no array of numbers: .*detach"),
        (lambda texts: np.ones((2, 6), dtype=bool), "returned ndarray of bool, not numbers"),
        (lambda texts: np.zeros((2, 0)), r"returned an array of the shape \(2, 0\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_wrong_answer_is_refused_with_the_reason(answer: Any, said: str) -> None:
    encoder = whyalike.load_encoder(answering(answer))
    with pytest.raises(UnsupportedModel, match=said):
        encoder.embed(["a", "b"])


@pytest.mark.parametrize(
    ("convert", "dtype"),
    [
        (lambda x: x.tolist(), np.float64),
        (lambda x: list(x), np.float64),
        (lambda x: x.astype(np.float32), np.float32),
        (lambda x: x.astype(np.float16), np.float32),
        (lambda x: (x * 100).astype(np.int8), np.float64),
        (lambda x: torch.from_numpy(x), np.float64),
    ],
)
def test_anything_that_is_an_array_of_numbers_will_do(convert: Any, dtype: Any) -> None:
    encoder = whyalike.load_encoder(lambda texts: convert(embed_words(texts)), name="mine")
    assert encoder.embed([LEFT]).dtype == dtype
    assert whyalike.explain(LEFT, RIGHT, encoder=encoder).adds_up


def test_calls_stop_before_the_one_that_would_be_too_many() -> None:
    function = Counting()
    encoder: Any = whyalike.load_encoder(function, max_batch=10, max_calls=5, name="paid")
    with pytest.raises(
        TooManyCalls,
        match=r"needs 14 more calls of 'paid' \(131 texts, 10 per call\); 1 of at most 5 are spent \(1 texts\)",
    ) as caught:
        whyalike.explain(RIGHT, "a man", encoder=encoder)
    assert (caught.value.calls, caught.value.texts) == (1, 1)
    assert len(function.batches) == encoder.calls == 1
    whyalike.explain(RIGHT, "a man", encoder=encoder, method="leave_one_out")
    assert len(function.batches) <= 5
    with pytest.raises(TooManyCalls, match="0 of at most 0 are spent"):
        whyalike.load_encoder(function, max_calls=0)


def test_an_error_of_the_function_is_its_own_and_what_was_embedded_is_kept() -> None:
    class Failing(Counting):
        def __call__(self, texts: list[str]) -> np.ndarray:
            if len(self.batches) == 3:
                self.batches.append([])
                raise ConnectionError("the line is dead")
            return super().__call__(texts)

    function = Failing()
    encoder = whyalike.load_encoder(function, max_batch=10)
    with pytest.raises(ConnectionError, match="the line is dead") as caught:
        whyalike.explain(LEFT, RIGHT, encoder=encoder)
    assert "Retries are left to the function" in caught.value.__notes__[0]
    assert whyalike.explain(LEFT, RIGHT, encoder=encoder).adds_up
    assert len(set(function.texts)) == len(function.texts)


def test_a_function_that_refuses_an_empty_text_is_told_what_to_do() -> None:
    def strict(texts: list[str]) -> np.ndarray:
        if not all(text.strip() for text in texts):
            raise ValueError("input cannot be an empty string")
        return embed_words(texts)

    encoder = whyalike.load_encoder(strict)
    with pytest.raises(
        BadInput, match="cannot embed an empty text.*input cannot be an empty string Pass .*empty='zero'"
    ):
        whyalike.explain(LEFT, RIGHT, encoder=encoder)
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder, method="shapley,empty=zero")
    assert e.adds_up
    assert not e.has_background
    assert whyalike.explain(LEFT, RIGHT, encoder=encoder, method="leave_one_out").adds_up  # asks for none


def test_texts_without_words_are_refused() -> None:
    encoder = whyalike.load_encoder(embed_words)
    with pytest.raises(BadInput, match="The right text is blank"):
        whyalike.explain(LEFT, "  ", encoder=encoder)
    with pytest.raises(EmptyText, match="has no words"):
        encoder.read([" "])


def test_texts_are_read_in_words_and_sentences() -> None:
    encoder = whyalike.load_encoder(embed_words, prompts={"query": "query: "})
    (reading,) = encoder.read(["A man plays. It's loud!"], prompt="query")
    side = reading.side
    assert side.tokens == ("query:", "A", "man", "plays", ".", "It's", "loud", "!")
    assert side.kinds[:2] == ("prompt", "text")
    assert side.sentence_of.tolist() == [-1, 0, 0, 0, 0, 1, 1, 1]
    assert side.words == side.tokens[1:]
    with pytest.raises(UnknownName, match="no prompt 'document'. Known: query"):
        encoder.read(["a"], prompt="document")
    with pytest.raises(UnknownName, match="no prompt 'query'. Known: none: give load_encoder"):
        whyalike.load_encoder(embed_words).read(["a"], prompt="query")
    np.testing.assert_array_equal(encoder.embed(["a"], prompt="query"), embed_words(["query: a"]))


def test_two_functions_have_two_fingerprints() -> None:
    def scaled(factor: float) -> Any:
        return lambda texts: embed_words(texts) * factor

    def made(function: Any, **options: Any) -> str:
        return whyalike.load_encoder(function, **{"name": "mine", **options}).record.fingerprint

    assert made(scaled(1.0)) == made(scaled(1.0))
    others = [made(scaled(2.0)), made(scaled(1.0), name="other"), made(scaled(1.0), prompts={"a": "b"})]
    assert len({made(scaled(1.0)), *others}) == 4
    assert made(scaled(2.0), fingerprint="2026-11-18") == "2026-11-18"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_batch": 0}, "max_batch should be a whole number from 1 on; got 0"),
        ({"max_calls": -1}, "max_calls should be a whole number from 0 on; got -1"),
        ({"pooling": "mean"}, "A function has no tokenizer, pooling or device"),
        ({"device": "cpu"}, "A function has no tokenizer, pooling or device"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        whyalike.load_encoder(embed_words, **options)


def test_arguments_for_functions_are_refused_for_models() -> None:
    with pytest.raises(BadInput, match="max_calls: only for a function"):
        whyalike.load_encoder(max_calls=3)
    with pytest.raises(BadInput, match="A Linear cannot be read as an encoder"):
        whyalike.load_encoder(torch.nn.Linear(2, 2))  # type: ignore[arg-type]


def test_a_function_is_loaded_before_it_is_explained() -> None:
    with pytest.raises(BadInput, match=r"Load a function once, with load_encoder\(function\)"):
        whyalike.explain(LEFT, RIGHT, encoder=embed_words)  # type: ignore[arg-type]
