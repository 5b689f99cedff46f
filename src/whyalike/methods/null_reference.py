"""A reference that lies at zero: hidden states ``r`` with ``e(r) = 0``, solved for.

With such a reference nothing is left for the terms and the constant: the matrix of integrated Jacobians alone sums to the
score, for a model off the shelf, where the Siamese paper fine-tunes one for it. Found by Levenberg–Marquardt from the padding
reference: of all small steps that make the embedding smaller, the shortest. It depends on the layer and the number of tokens
alone, so it is found once for both, and kept on disk: a large model takes half a minute for thirty tokens.

Format of the files, version 1: safetensors, one a reference, in `$WHYALIKE_CACHE/null-references-1` (`~/.cache/whyalike` where
that is not set), a folder a model; ``states`` (1 × tokens × hidden) and ``size``, the length of their embedding. What is read
back is embedded before it is used, and solved for anew unless it is as near to zero as it was.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from whyalike.encoders.transformer import TransformerEncoder
from whyalike.errors import WhyalikeError
from whyalike.methods.tangents import States, jacobian_at
from whyalike.storage.cache import cache_folder
from whyalike.storage.writing import whole_file

TOLERANCE = 1e-4  # of the padding reference's embedding
MOST_STEPS = 40
PATIENCE = 5  # steps in a row that gain less than 2 %: there may be no zero nearby


_SOLVED: WeakKeyDictionary[TransformerEncoder, dict[tuple[int, int, str], Tensor]] = WeakKeyDictionary()


def null_states(
    states: States, start: Float[Tensor, "1 tokens hidden"], positions: str
) -> Float[Tensor, "1 tokens hidden"]:
    """States near ``start`` whose embedding is (almost) zero; how near is told by embedding them."""
    kept = _SOLVED.setdefault(states.encoder, {})
    key = (states.layer, start.shape[1], positions)
    if key not in kept:
        path = _path(states, start, positions)
        found = _read(path, states, start)
        if found is None:
            found = _solve(states, start)
            _write(path, found, size=float(_embed(states, found).norm()))
        kept[key] = found
    return kept[key]


def _path(states: States, start: Float[Tensor, "1 tokens hidden"], positions: str) -> Path:
    """One file for each model, as it pools and in its precision, layer, length and kind of positions."""
    record, precision = states.encoder.record, str(start.dtype).removeprefix("torch.")
    model = f"{record.fingerprint}-{record.pooling}-{record.dim}-{precision}"
    return (
        cache_folder() / "null-references-1" / model / f"layer-{states.layer}-{positions}-{start.shape[1]}.safetensors"
    )


def _read(
    path: Path, states: States, start: Float[Tensor, "1 tokens hidden"]
) -> Float[Tensor, "1 tokens hidden"] | None:
    """The reference that an earlier run found; None where there is none that does what it should."""
    try:
        found = load_file(path)
    except (OSError, SafetensorError):
        return None
    point, size = found.get("states"), found.get("size")
    if point is None or size is None or (point.shape, point.dtype) != (start.shape, start.dtype):
        return None
    point = point.to(start.device)
    slack = 0.1 * TOLERANCE * float(_embed(states, start).norm())  # rounding differs from machine to machine
    return point if float(_embed(states, point).norm()) <= 1.1 * float(size) + slack else None


def _write(path: Path, found: Float[Tensor, "1 tokens hidden"], size: float) -> None:
    with suppress(
        OSError, SafetensorError, WhyalikeError
    ):  # a folder that cannot be written to costs time, not the answer
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as part:
            save_file({"states": found, "size": torch.tensor(size, dtype=torch.float64)}, part)


def _solve(states: States, start: Float[Tensor, "1 tokens hidden"]) -> Float[Tensor, "1 tokens hidden"]:
    point, damping, slow = start.clone(), 1e-3, 0
    value = _embed(states, point)
    goal = TOLERANCE * float(value.norm())
    for _ in range(MOST_STEPS):
        if float(value.norm()) <= goal or slow >= PATIENCE:
            break
        jacobian = jacobian_at(states, point).flatten(1)
        gram = jacobian @ jacobian.T
        scale = float(gram.diagonal().mean())
        while damping < 1e6:
            damped = gram + damping * scale * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
            step = -(jacobian.T @ torch.linalg.solve(damped, value)).view_as(point)
            tried = _embed(states, point + step)
            if tried.norm() < value.norm():
                slow = slow + 1 if tried.norm() > 0.98 * value.norm() else 0
                point, value, damping = point + step, tried, damping / 10
                break
            damping *= 10
        else:
            break  # no step makes it smaller
    return point


def _embed(states: States, point: Float[Tensor, "1 tokens hidden"]) -> Float[Tensor, "dim"]:
    with torch.no_grad():
        return states.embed(point, lambda: None)[0]
