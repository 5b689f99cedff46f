"""Finds how a model's calls hang together, and refuses a model whose frozen pass is not linear plus a constant.

Both are done once per encoder and layer, on a short text, before the first explanation with frozen gates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from whyalike.encoders.gates import (
    HANDLERS,
    Detached,
    Gates,
    Handler,
    Recorder,
    Replayer,
    Wiring,
    activation,
    activation_module,
)
from whyalike.encoders.twin import Features, Pass, Twin, tile
from whyalike.errors import UnsupportedModel


@dataclass(slots=True, eq=False)
class _Finds:
    """What the first pass collects: outputs by call number, kept alive so that identities stay unique."""

    hidden: Tensor
    activations: list[Tensor] = field(default_factory=list)
    linears: list[Tensor] = field(default_factory=list)
    gated: set[int] = field(default_factory=set)

    def depends_on_states(self, x: Any) -> bool:
        if not isinstance(x, Tensor) or not x.requires_grad:
            return False
        return torch.autograd.grad(x.sum(), self.hidden, retain_graph=True, allow_unused=True)[0] is not None


def wire(twin: Twin, features: Features, layer: int) -> Wiring:
    """The model's wiring from ``layer`` on, its laws checked."""
    found = _find(twin, features, layer)
    return _check(twin, features, layer, found)


def _find(twin: Twin, features: Features, layer: int) -> Wiring:
    """One pass with gates held constant for autograd; reachability in its graph tells what is used how.

    Where an activation's output meets another factor that depends on the states, the activation is the gate and the
    other factor carries the linear part. A linear map whose output no gradient reaches feeds only gates.
    """
    plain = Pass(layer)
    with torch.no_grad():
        twin.run(features, plain)
    assert plain.seen is not None
    hidden = plain.seen.detach().clone().requires_grad_()
    finds = _Finds(hidden)
    gates = Gates(Detached(), Wiring(), _watching(finds))
    with torch.enable_grad(), gates:
        embedding = twin.run(features, Pass(layer, hidden, when_reached=gates.start))
        moving = [number for number, output in enumerate(finds.linears) if output.requires_grad]
        outputs = [finds.linears[number] for number in moving]
        reached = torch.autograd.grad(embedding.sum(), outputs, allow_unused=True) if outputs else ()
    unused = frozenset(number for number, gradient in zip(moving, reached, strict=True) if gradient is None)
    return Wiring(frozenset(finds.gated), unused)


def _watching(finds: _Finds) -> Mapping[Any, Handler]:
    """The table of gates, with an eye on activations, linear maps and the products of activations."""

    def watch_activation(handler: Handler) -> Handler:
        def watched(*args: Any, **kwargs: Any) -> Tensor:
            finds.activations.append(handler(*args, **kwargs))
            return finds.activations[-1]

        return watched

    def watch_linear(gates: Gates, function: Any, *args: Any, **kwargs: Any) -> Tensor:
        finds.linears.append(function(*args, **kwargs))
        return finds.linears[-1]

    def watch_product(gates: Gates, function: Any, x: Any, y: Any, **kwargs: Any) -> Any:
        for one, other in ((x, y), (y, x)):
            number = next((n for n, output in enumerate(finds.activations) if output is one), None)
            if number is not None and finds.depends_on_states(other):
                finds.gated.add(number)
                x, y = one.detach(), other
        return function(x, y, **kwargs)

    table = {
        function: watch_activation(handler) if handler in (activation, activation_module) else handler
        for function, handler in HANDLERS.items()
    }
    table[F.linear] = watch_linear
    table |= dict.fromkeys((torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__), watch_product)
    return MappingProxyType(table)


def _check(twin: Twin, features: Features, layer: int, wiring: Wiring) -> Wiring:
    """The laws of a frozen encoder: values unchanged, and linear plus a constant. Raises where they do not hold."""
    plain, recorder = Pass(layer), Recorder()
    with torch.no_grad():
        own = twin.run(features, plain)
        recording = Pass(layer)
        with Gates(recorder, wiring) as gates:
            recording.when_reached = gates.start
            recorded = twin.run(features, recording)
        x = recording.seen
        assert x is not None
        other = x.flip(-1) + x.roll(1, -1)  # any other states of the same size
        rounds = torch.cat([x, torch.zeros_like(x), other, x + other])
        frozen, linear = (
            replay(
                twin, features, Pass(layer, rounds, tile(recording.outputs, 4, len(x))), recorder.tape, wiring, biases
            )
            for biases in (True, False)
        )
    at_x, at_zero, at_other, at_sum = frozen.chunk(4)
    size = own.norm() + at_other.norm() + at_sum.norm() + at_zero.norm()
    unequal = {
        "its values change": own - recorded,
        "replayed values differ": own - at_x,
        "it is not additive": at_sum + at_zero - at_x - at_other,
    }
    without = linear.chunk(4)
    response = without[1].norm() / size
    constant = bool(response > 1e-6 if response.isfinite() else True)
    unequal["its linear part is not what the biases leave"] = (
        without[0] - (without[1] if constant else 0) - (at_x - at_zero)
    )
    # Normalisations of many models compute in float32 whatever the model's type, so float32 is the best to expect.
    tolerance = max(200 * torch.finfo(torch.float32).eps, 8 * torch.finfo(own.dtype).eps)
    for law, difference in unequal.items():
        error = float((difference.norm() / size).nan_to_num(float("inf")))
        if not error <= tolerance:
            raise UnsupportedModel(
                f"This model cannot be explained with frozen gates: with its gates held, {law} "
                f"(relative error {error:.1e}, expected at most {tolerance:.0e}). It has an operation that whyalike does "
                "not know as a gate. Use integrated_jacobians or token_outputs, which need no gates."
            )
    return Wiring(wiring.gated, wiring.unused, constant)


def replay(
    twin: Twin, features: Features, current: Pass, tape: list[Tensor], wiring: Wiring, keeps_biases: bool = False
) -> Float[Tensor, "rows dim"]:
    """The embedding of ``current.hidden``, any number of rounds of the recorded rows, under the recorded gates."""
    assert current.hidden is not None
    rows = next(len(value) for value in features.values() if isinstance(value, Tensor))
    gates = Gates(Replayer(tape, keeps_biases), wiring)
    current.when_reached = gates.start
    with gates:
        return twin.run(tile(dict(features), len(current.hidden) // rows, rows), current)
