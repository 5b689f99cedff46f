"""Finds how a model's calls hang together, and refuses a model whose frozen pass is not linear.

Both are done once per encoder and layer, on a short text, before the first explanation with frozen gates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from whyalike.encoders.frozen import record
from whyalike.encoders.gates import (
    HANDLERS,
    Biases,
    Detached,
    Gates,
    Handler,
    Wiring,
    activation,
    activation_in_place,
    activation_module,
    add,
    subtract,
)
from whyalike.encoders.twin import Features, Pass, Twin
from whyalike.errors import UnsupportedModel


@dataclass(slots=True, eq=False)
class _Finds:
    """What the first pass collects: outputs by call number, kept alive so that identities stay unique."""

    hidden: Tensor
    activations: list[Tensor] = field(default_factory=list)
    linears: list[Tensor] = field(default_factory=list)
    sums: dict[int, Tensor] = field(default_factory=dict)  # by the number of the operand that is constant
    gated: set[int] = field(default_factory=set)
    known: dict[Any, bool] = field(
        default_factory=dict
    )  # nodes of the autograd graph: whether they depend on the states

    def depends_on_states(self, x: Any) -> bool:
        if not isinstance(x, Tensor) or not x.requires_grad:
            return False
        if x.grad_fn is None:
            return x is self.hidden
        waiting = [x.grad_fn]
        while waiting:
            node = waiting[-1]
            before = [each for each, _ in node.next_functions if each is not None]
            unknown = [each for each in before if each not in self.known]
            if unknown:
                waiting += unknown
                continue
            leaf = getattr(node, "variable", None)
            self.known[node] = leaf is self.hidden if leaf is not None else any(self.known[each] for each in before)
            waiting.pop()
        return self.known[x.grad_fn]


def wire(twin: Twin, features: Features, layer: int, biases: Biases) -> Wiring:
    """The model's wiring from ``layer`` on, its laws checked."""
    found = replace(_find(twin, features, layer), biases=biases)
    return _check(twin, features, layer, found)


def _find(twin: Twin, features: Features, layer: int) -> Wiring:
    """One pass with gates held constant for autograd; reachability in its graph tells what is used how.

    Where an activation's output meets another factor that depends on the states, the activation is the gate and the
    other factor carries the linear part. A linear map whose output no gradient reaches feeds only gates. A sum of states and
    something that does not depend on them adds a bias, unless it feeds only gates (the mask of attention).
    """
    plain = Pass(layer)
    with torch.no_grad():
        twin.run(features, plain)
    assert plain.observed is not None
    hidden = plain.observed.detach().clone().requires_grad_()
    finds = _Finds(hidden)
    gates = Gates(Detached(), Wiring(), _watching(finds))
    with torch.enable_grad(), gates:
        embedding = twin.run(features, Pass(layer, hidden, when_reached=gates.start))
        linears = {number: output for number, output in enumerate(finds.linears) if output.requires_grad}
        outputs = [*linears.values(), *finds.sums.values()]
        gradients = torch.autograd.grad(embedding.sum(), outputs, allow_unused=True) if outputs else ()
    reached = [gradient is not None for gradient in gradients]
    unused = frozenset(number for number, used in zip(linears, reached, strict=False) if not used)
    biased = frozenset(number for number, used in zip(finds.sums, reached[len(linears) :], strict=True) if used)
    return Wiring(frozenset(finds.gated), unused, biased)


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

    def watch_sum(gates: Gates, function: Any, x: Any, y: Any, **kwargs: Any) -> Any:
        gates.sums += 1
        output = function(x, y, **kwargs)
        depends = [finds.depends_on_states(each) for each in (x, y)]
        if depends.count(True) == 1:
            finds.sums[2 * (gates.sums - 1) + depends.index(False)] = output
        return output

    table = {
        function: watch_activation(handler)
        if handler in (activation, activation_in_place, activation_module)
        else handler
        for function, handler in HANDLERS.items()
    }
    table |= {function: watch_sum for function, handler in HANDLERS.items() if handler in (add, subtract)}
    table[F.linear] = watch_linear
    table |= dict.fromkeys((torch.mul, Tensor.mul, Tensor.__mul__, Tensor.__rmul__), watch_product)
    return MappingProxyType(table)


def _check(twin: Twin, features: Features, layer: int, wiring: Wiring) -> Wiring:
    """The laws of a frozen encoder: values unchanged, and linear but for a constant. Raises where they do not hold.

    With biases apart the frozen encoder is affine while they are kept, and its linear part is what is left when they are not.
    """
    with torch.no_grad():
        own = twin.run(features, Pass(layer))
        recording = record(twin, features, layer, wiring)
        x = recording.hidden
        other = x.flip(-1) + x.roll(1, -1)  # any other states of the same size
        rounds = torch.cat([x, torch.zeros_like(x), other, x + other])
        linear = recording.replay(rounds)
        frozen = recording.replay(rounds, keeps_biases=True) if wiring.biases == "apart" else linear
    at_x, at_zero, at_other, at_sum = frozen.chunk(4)
    size = own.norm() + at_other.norm() + at_sum.norm() + at_zero.norm()
    unequal = {
        "its values change": own - recording.embedding,
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
    return replace(wiring, constant=constant)
