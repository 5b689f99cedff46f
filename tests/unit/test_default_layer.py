"""Which layer is taken where none is asked for, and that the result says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder
from whyalike.methods import default_layer
from whyalike.methods.default_layer import MOST, choose_layer, size_of_parts


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WHYALIKE_CACHE", str(tmp_path))
    return tmp_path


def sizes(monkeypatch: pytest.MonkeyPatch, by_layer: list[float]) -> list[int]:
    """Sizes as they are given; the layers that were asked for."""
    asked: list[int] = []

    def size(encoder: whyalike.Encoder, method: whyalike.BiLRP) -> float:
        assert method.layer is not None
        asked.append(method.layer)
        return by_layer[method.layer]

    monkeypatch.setattr(default_layer, "size_of_parts", size)
    return asked


@pytest.mark.parametrize(
    ("by_layer", "layer"),
    [
        ([1.2, 1.1, 1.0], 0),
        ([9.0, 1.9, 1.0], 1),
        ([9.0, 2.1, 1.0], 2),
        ([9.0, 6.0, 4.0], 2),  # nowhere: where they are smallest
        ([3.0, 4.0, 5.0], 0),
    ],
)
def test_the_first_layer_with_parts_of_the_size_of_the_score(
    by_layer: list[float], layer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes(monkeypatch, by_layer)
    encoder = tiny_encoder("bert")
    e = whyalike.explain(LEFT, RIGHT, encoder=encoder)
    assert e.method.parameters["layer"] == layer
    assert e.method.parameters["layer_chosen"].startswith(f"its pairs are {by_layer[layer]:.1f} times as large")
    given = whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=1)
    assert given.method.parameters["layer"] == 1
    assert "layer_chosen" not in given.method.parameters


def test_a_model_is_looked_at_once_and_the_layer_is_kept(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = sizes(monkeypatch, [9.0, 1.0, 1.0])
    encoder = tiny_encoder("bert")
    for _ in range(2):
        whyalike.explain(LEFT, RIGHT, encoder=encoder)
    assert asked == [0, 2, 1]
    again = whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder("bert"))
    assert asked == [0, 2, 1]
    assert again.method.parameters["layer"] == 1
    (kept,) = own_cache.glob("default-layers-2/*.json")
    for damaged in ("", "[]", '{"layer": 99, "sizes": {"0": 1, "99": 1}}', '{"layer": 1, "sizes": {"0": 1, "x": 1}}'):
        kept.write_text(damaged)
        assert choose_layer(tiny_encoder("bert"), lambda layer: whyalike.BiLRP(layer=layer)).layer == 1
    assert json.loads(kept.read_text())["layer"] == 1


def test_a_cache_that_cannot_be_written_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WHYALIKE_CACHE", str(tmp_path / "file"))
    assert whyalike.explain(LEFT, RIGHT, encoder=tiny_encoder("bert")).adds_up


def test_the_size_is_the_sum_of_all_cells_over_the_score() -> None:
    encoder = tiny_encoder("roberta")
    explained = list(
        whyalike.explain_pairs(default_layer.PAIRS, encoder=encoder, layer=1, truncate=True, progress=False)
    )
    expected = sum(abs(e.matrix).sum() for e in explained) / sum(abs(e.score) for e in explained)
    assert size_of_parts(encoder, whyalike.BiLRP(layer=1)) == pytest.approx(expected)
    assert MOST < 3


def test_the_sentences_a_layer_is_chosen_by_are_plain_english() -> None:
    """Capitals stand at the beginning, and in "I": a renaming of names in the code must not reach into a sentence."""
    for sentence in (text for pair in default_layer.PAIRS for text in pair):
        assert sentence[0].isupper()
        assert not set(sentence[1:].replace(" I ", " ")) & set("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), sentence
