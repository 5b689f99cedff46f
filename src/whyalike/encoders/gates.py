"""Frozen gates: what turns a transformer into a chain of linear maps, for every architecture, with no per-model code.

A transformer's nonlinearity sits in a few factors that depend on the input: attention probabilities, the denominator of
a normalisation, the ratio ``act(x)/x`` of an activation, the gate of a gated MLP, the argmax of a max pooling. Hold these
**gates** at their values and the network is affine in its hidden states.

**A bias is a gate too.** A step ``z + b`` equals ``z + b·⟨z, ẑ⟩`` with ``ẑ = z/‖z‖²``. Hold ``ẑ`` and the step is linear in
``z``: each unit takes the share ``⟨z_i, ẑ⟩`` of the bias, and shares sum to one. So the frozen network is linear and equals the
model at its states, and nothing is left over (`Wiring.biases` = "shared"). With "apart", as in the BiLRP paper, biases are
dropped instead, and what they add is left over.

`Gates` is a mode that sees every torch function the model's own forward pass calls; the table ``HANDLERS`` at the end of
this file says what each gate-making function does. A keeper decides what becomes of a gate:

- `Detached` makes it a constant for autograd, so derivatives are those of the frozen network;
- `Recorder` writes it on a tape, in call order;
- `Replayer` puts the tape's gates back while other states flow through.

The mode is thread-local. Gates are handled only from ``start`` on: before its layer is reached, a pass is a plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function

from whyalike.encoders.attention import attention_probabilities, repeat_heads
from whyalike.encoders.vocabulary import project_frozen, project_onto_terms

Handler = Callable[..., Any]
Biases = Literal["shared", "apart"]


@dataclass(frozen=True, slots=True)
class Wiring:
    """What is known of a model's calls, each set by call number from the layer on. Found by `wiring.wire`."""

    gated: frozenset[int] = frozenset()  # activations whose output is the gate of a product (SwiGLU, GeGLU)
    unused: frozenset[int] = frozenset()  # linear maps that feed nothing but gates (queries and keys)
    biased: frozenset[int] = frozenset()  # sums of states and a constant (DeBERTa's bias of values)
    constant: bool = False  # whether something else adds a constant
    biases: Biases = "shared"


class Detached:
    """Gates are constants to autograd, forward and backward; values are those of the plain pass."""

    keeps_biases = True

    def keep(self, make: Callable[[], Tensor]) -> Tensor:
        return make().detach()


@dataclass(slots=True, eq=False)
class Recorder:
    """Writes the gates of a plain pass on a tape."""

    tape: list[Tensor] = field(default_factory=list)
    keeps_biases: bool = True

    def keep(self, make: Callable[[], Tensor]) -> Tensor:
        self.tape.append(make())
        return self.tape[-1]


@dataclass(slots=True, eq=False)
class Replayer:
    """Puts recorded gates back, in order. Its batch may hold the recorded rows many times, round after round."""

    tape: list[Tensor]
    keeps_biases: bool = False
    position: int = 0

    def keep(self, make: Callable[[], Tensor]) -> Tensor:
        self.position += 1
        return self.tape[self.position - 1]


Keeper = Detached | Recorder | Replayer


class Gates(TorchFunctionMode):
    """Runs a model's own forward pass with its gates handed to a keeper."""

    def __init__(self, keeper: Keeper, wiring: Wiring, handlers: Mapping[Any, Handler] | None = None) -> None:
        super().__init__()
        self.keeper, self.wiring = keeper, wiring
        self.handlers = HANDLERS if handlers is None else handlers
        self.started = False
        self.activations = self.linears = self.sums = 0

    def start(self) -> None:
        self.started = True

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        handler = self.handlers.get(function) if self.started else None
        if handler is None:
            return function(*args, **(kwargs or {}))
        return handler(self, function, *args, **(kwargs or {}))


SMALLEST = 1e-30  # ‖z‖² below which a step has no direction to share a bias by


def fit(gate: Tensor, rows: int) -> Tensor:
    """The gate repeated, round after round, to as many rows. A single number, such as DeBERTa's scale, fits all."""
    if not gate.ndim or gate.shape[0] == rows:
        return gate
    return gate.repeat(rows // gate.shape[0], *[1] * (gate.ndim - 1))


def times(x: Tensor, gate: Tensor, *, ours: bool = False) -> Tensor:
    """``x`` times a gate that may hold one round of its rows, without repeating the gate in memory.

    Where ``x`` is ours (nothing else reads it) and nothing is differentiated, the product takes its place.
    """
    if x.shape[0] == gate.shape[0]:
        return x * gate
    rounds = x.unflatten(0, (-1, gate.shape[0]))
    return (rounds.mul_(gate) if ours and torch.is_inference_mode_enabled() else rounds * gate).flatten(0, 1)


# --- handlers: handler(gates, function, *the function's own arguments) ------------------------------------------------


def whole_output(gates: Gates, function: Any, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The function's output is itself the gate: softmax, a reciprocal root, a sigmoid."""
    return fit(gates.keeper.keep(lambda: function(x, *args, **kwargs)), x.shape[0] if x.ndim else 1)


def power(gates: Gates, function: Any, x: Any, exponent: Any) -> Any:
    """Roots and their reciprocals are denominators; other powers only ever feed one."""
    if isinstance(exponent, float) and abs(exponent) == 0.5:
        return whole_output(gates, function, x, exponent)
    return function(x, exponent)


def layer_norm(
    gates: Gates,
    function: Any,
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """LN rule: the denominator is the gate; the weight, linear anyway, is folded into it."""
    axes = tuple(range(-len(normalized_shape), 0))

    def gate() -> Tensor:
        scale = (_wide(input).var(axes, correction=0, keepdim=True) + eps).rsqrt().to(input.dtype)
        return scale if weight is None else scale * weight

    return plus_bias(gates, times(input - input.mean(axes, keepdim=True), gates.keeper.keep(gate), ours=True), bias)


def rms_norm(
    gates: Gates,
    function: Any,
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    axes = tuple(range(-len(normalized_shape), 0))
    floor = torch.finfo(input.dtype).eps if eps is None else eps

    def gate() -> Tensor:
        scale = (_wide(input).pow(2).mean(axes, keepdim=True) + floor).rsqrt().to(input.dtype)
        return scale if weight is None else scale * weight

    return times(input, gates.keeper.keep(gate))


def normalize(
    gates: Gates, function: Any, input: Tensor, p: int | float = 2.0, dim: int = 1, eps: float = 1e-12, out: None = None
) -> Tensor:
    return times(input, gates.keeper.keep(lambda: 1 / input.norm(p, dim, keepdim=True).clamp_min(eps)))


def activation(gates: Gates, function: Any, x: Tensor, *args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """GA rule: ``act(x) = act(0) + x · ratio`` with the ratio as gate, unless the output gates a product itself."""

    def act(x: Tensor) -> Tensor:
        return function(x, *args, **kwargs)

    gates.activations += 1
    if gates.activations - 1 in gates.wiring.gated:
        return fit(gates.keeper.keep(lambda: act(x)), x.shape[0])
    with torch.no_grad():
        at_zero = act(torch.zeros(1, dtype=x.dtype, device=x.device))
    output = times(x, gates.keeper.keep(lambda: _ratio(act, x, at_zero)))
    return plus_bias(gates, output, at_zero) if at_zero.any() else output


_OUT_OF_PLACE = {Tensor.relu_: torch.relu, torch.relu_: torch.relu, Tensor.log1p_: torch.log1p}


def activation_in_place(gates: Gates, function: Any, x: Tensor) -> Tensor:
    """The same where the model overwrites its input, which a gate still has to read; the result is what counts."""
    return activation(gates, _OUT_OF_PLACE[function], x)


def _ratio(act: Callable[[Tensor], Tensor], x: Tensor, at_zero: Tensor) -> Tensor:
    """``(act(x) − act(0)) / x``, and the slope at zero where the division says nothing."""
    step = torch.full((1,), 1e-3, dtype=x.dtype, device=x.device)
    slope = (act(step) - act(-step)) / (2 * step)
    small = x.abs() <= (torch.finfo(x.dtype).eps ** 0.5 if at_zero.any() else 0.0)
    return torch.where(small, slope, (act(x) - at_zero) / torch.where(small, 1.0, x))


def attention(
    gates: Gates, function: Any, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any
) -> Tensor:
    """AH rule: the probabilities are the gate, the values carry the linear part."""
    probabilities = gates.keeper.keep(lambda: attention_probabilities(query, key, *args, **kwargs))
    value = repeat_heads(value, query)
    if value.shape[0] == probabilities.shape[0]:
        return probabilities @ value
    # All rounds of a text meet the same probabilities: lay them side by side and multiply once.
    rounds = value.unflatten(0, (-1, probabilities.shape[0]))
    beside = rounds.permute(1, 2, 3, 0, 4).flatten(3)
    output = (probabilities @ beside).unflatten(3, (len(rounds), -1))
    # Written with heads innermost: every model next puts a token's heads side by side, which then costs nothing.
    return output.permute(3, 0, 2, 1, 4).flatten(0, 1).transpose(1, 2)


def maximum(gates: Gates, function: Any, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Max pooling: which token wins is the gate."""
    dim = kwargs.get("dim", args[0] if args else None)
    if not isinstance(dim, int):
        return function(x, *args, **kwargs)
    winners = fit(gates.keeper.keep(lambda: x.max(dim, keepdim=True).indices), x.shape[0])
    values = x.gather(dim, winners)
    if not kwargs.get("keepdim", len(args) > 1 and args[1]):
        values, winners = values.squeeze(dim), winners.squeeze(dim)
    return torch.return_types.max((values, winners))


def linear(gates: Gates, function: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    gates.linears += 1
    if gates.linears - 1 in gates.wiring.unused:
        if isinstance(gates.keeper, Replayer) and not gates.keeper.keeps_biases:
            return input.new_zeros(1).expand(*input.shape[:-1], len(weight))
        return function(input, weight, bias)
    return plus_bias(gates, function(input, weight), bias)


def addmm(
    gates: Gates,
    function: Any,
    bias: Tensor,
    input: Tensor,
    weight: Tensor,
    *,
    beta: int | float = 1,
    alpha: int | float = 1,
) -> Tensor:
    if bias.ndim > 1:
        return function(bias, input, weight, beta=beta, alpha=alpha)
    return plus_bias(
        gates, input @ weight * alpha if alpha != 1 else input @ weight, bias * beta if beta != 1 else bias
    )


def add(gates: Gates, function: Any, x: Any, y: Any, *, alpha: int | float = 1) -> Any:
    """A sum of states and a constant adds a bias; any other sum is as it was."""
    return _sum(gates, function, x, y, alpha, sign=1)


def subtract(gates: Gates, function: Any, x: Any, y: Any, *, alpha: int | float = 1) -> Any:
    return _sum(gates, function, x, y, alpha, sign=-1)


def _sum(gates: Gates, function: Any, x: Any, y: Any, alpha: int | float, sign: int) -> Any:
    gates.sums += 1
    first, second = 2 * (gates.sums - 1), 2 * gates.sums - 1  # the numbers of the two operands
    if first in gates.wiring.biased:
        return plus_bias(gates, y * (sign * alpha), torch.as_tensor(x, dtype=y.dtype, device=y.device))
    if second in gates.wiring.biased:
        return plus_bias(gates, x.clone(), torch.as_tensor(y, dtype=x.dtype, device=x.device) * (sign * alpha))
    return function(x, y) if alpha == 1 else function(x, y, alpha=alpha)


def plus_bias(gates: Gates, z: Tensor, bias: Tensor | None) -> Tensor:
    """``z + bias``, of which each unit takes its share. ``z`` is ours: nothing else reads it."""
    if bias is None:
        return z
    if gates.wiring.biases == "apart":
        return z + bias if gates.keeper.keeps_biases else z
    gate = gates.keeper.keep(lambda: _wide(z) / _wide(z).square().sum(-1, keepdim=True).clamp_min(SMALLEST))
    if isinstance(gates.keeper, Recorder):
        return z + bias  # all units together: the shares sum to one
    shares = (_wide(z).unflatten(0, (-1, gate.shape[0])) * gate).sum(-1, keepdim=True).flatten(0, 1).to(z.dtype)
    return z.addcmul_(shares, bias) if torch.is_inference_mode_enabled() else z.addcmul(shares, bias)


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


# --- activation modules ----------------------------------------------------------------------------------------------

_NOT_POINTWISE = (nn.MultiheadAttention, nn.Softmax, nn.Softmin, nn.LogSoftmax, nn.Softmax2d, nn.GLU)


def activate(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """An activation module's forward, made visible to the mode as one function whatever it is composed of."""
    if has_torch_function((x,)):
        return handle_torch_function(activate, (x,), function, x)
    return function(x)


def wrap_activation(module: nn.Module) -> None:
    """Routes an activation module of torch or transformers through `activate`."""
    home = type(module).__module__
    if home in ("torch.nn.modules.activation", "transformers.activations") and not isinstance(module, _NOT_POINTWISE):
        module.forward = partial(activate, module.forward)


def activation_module(gates: Gates, function: Any, act: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return activation(gates, act, x)


# --- the table -------------------------------------------------------------------------------------------------------

HANDLERS: Mapping[Any, Handler] = MappingProxyType(
    {
        F.scaled_dot_product_attention: attention,
        F.softmax: whole_output,
        torch.softmax: whole_output,
        Tensor.softmax: whole_output,
        F.layer_norm: layer_norm,
        torch.layer_norm: layer_norm,
        F.rms_norm: rms_norm,
        torch.rms_norm: rms_norm,
        F.normalize: normalize,
        torch.rsqrt: whole_output,
        Tensor.rsqrt: whole_output,
        torch.sqrt: whole_output,
        Tensor.sqrt: whole_output,
        torch.norm: whole_output,
        Tensor.norm: whole_output,
        torch.linalg.vector_norm: whole_output,
        Tensor.std: whole_output,
        torch.pow: power,
        Tensor.pow: power,
        Tensor.__pow__: power,
        torch.sigmoid: whole_output,
        Tensor.sigmoid: whole_output,
        F.sigmoid: whole_output,
        torch.erf: whole_output,
        Tensor.erf: whole_output,
        activate: activation_module,
        torch.tanh: activation,
        Tensor.tanh: activation,
        F.tanh: activation,
        torch.relu: activation,
        Tensor.relu: activation,
        F.relu: activation,
        F.relu6: activation,
        F.gelu: activation,
        F.silu: activation,
        F.mish: activation,
        F.elu: activation,
        F.selu: activation,
        F.celu: activation,
        F.leaky_relu: activation,
        F.softplus: activation,
        F.hardswish: activation,
        torch.log1p: activation,
        Tensor.log1p: activation,
        **dict.fromkeys(_OUT_OF_PLACE, activation_in_place),
        torch.max: maximum,
        Tensor.max: maximum,
        F.linear: linear,
        project_onto_terms: project_frozen,
        torch.addmm: addmm,
        torch.add: add,
        Tensor.add: add,
        Tensor.__add__: add,
        Tensor.__radd__: add,
        Tensor.__iadd__: add,
        torch.sub: subtract,
        Tensor.sub: subtract,
        Tensor.__sub__: subtract,
    }
)
