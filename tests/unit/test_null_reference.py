"""References at zero are kept on disk: found once for a model, a layer and a length, and never trusted blindly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import whyalike
from tests.families import tiny_encoder
from whyalike.methods import null_reference

METHOD = whyalike.IntegratedJacobians(layer=2, reference="null", tolerance=1e-3)
TEXT = "a man plays the guitar"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WHYALIKE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths that were solved for."""
    lengths: list[int] = []
    solve = null_reference._solve

    def counted(states: null_reference.States, start: torch.Tensor) -> torch.Tensor:
        lengths.append(start.shape[1])
        return solve(states, start)

    monkeypatch.setattr(null_reference, "_solve", counted)
    return lengths


def tokens(text: str = TEXT, **options: str) -> np.ndarray:
    """The contributions of an encoder that has just been loaded."""
    (part,) = whyalike.contributions([text], encoder=tiny_encoder("llama", **options), method=METHOD)
    return part.tokens


def test_a_reference_is_solved_for_once_and_read_back_by_later_runs(cache: Path, solved: list[int]) -> None:
    np.testing.assert_array_equal(tokens(), tokens())
    assert len(solved) == 1
    assert len([*cache.rglob("*.safetensors")]) == 1
    assert not [*cache.rglob("*.part")]


def test_another_length_and_another_pooling_have_references_of_their_own(cache: Path, solved: list[int]) -> None:
    tokens()
    tokens(f"{TEXT} on the hill")
    tokens(pooling="lasttoken")
    assert len(solved) == 3
    assert len([*cache.rglob("*.safetensors")]) == 3


def test_a_kept_reference_that_is_damaged_or_not_at_zero_is_solved_for_anew(cache: Path, solved: list[int]) -> None:
    right = tokens()
    (path,) = cache.rglob("*.safetensors")
    whole, kept = path.read_bytes(), load_file(path)
    damages = [
        lambda: path.write_bytes(whole[:-40]),
        lambda: path.write_bytes(b""),
        lambda: save_file({"states": kept["states"]}, path),
        lambda: save_file({**kept, "states": kept["states"][:, 1:].contiguous()}, path),
        lambda: save_file({**kept, "states": kept["states"].float()}, path),
        lambda: save_file({**kept, "states": kept["states"] + 0.1}, path),
        lambda: save_file({**kept, "states": kept["states"] * torch.nan}, path),
    ]
    for count, damage in enumerate(damages, 2):
        damage()
        np.testing.assert_array_equal(tokens(), right)
        assert len(solved) == count
        assert path.read_bytes() == whole


def test_a_cache_that_cannot_be_written_to_costs_time_not_the_answer(cache: Path, solved: list[int]) -> None:
    cache.write_text("a file where a folder should be")
    np.testing.assert_array_equal(tokens(), tokens())
    assert len(solved) == 2


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, solved: list[int]) -> None:
    monkeypatch.setenv("WHYALIKE_CACHE", "")
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: Path("~/.cache") / name)
    assert tokens().shape[0] > 0
    assert len(solved) == 1
