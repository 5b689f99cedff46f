"""Shapes in signatures are checked while the tests run; every worker computes on one thread."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers that share two cores must not each take both

from jaxtyping import install_import_hook

# The front door (whyalike.api, whyalike.results.sides) checks its own input; everything behind it is checked here.
CHECKED = ("encoders", "methods", "pairs", "explanation", "files", "render")
install_import_hook([f"whyalike.{name}" for name in CHECKED], "beartype.beartype")


@pytest.fixture(autouse=True, scope="session")
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that an earlier run solved for is read, nothing is left behind for a later one."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("WHYALIKE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
