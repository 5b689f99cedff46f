"""Record and replay: a model's own forward pass with its gates held.

`record` runs a batch once and writes every gate on a tape. `Recording.replay` then runs other states through the same forward
pass with the gates from the tape: a linear map, equal to the model at the recorded states. Rows are laid out round after
round: all texts of the batch with their first row, then all with their second, …
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from whyalike.encoders.gates import Gates, Recorder, Replayer, Wiring
from whyalike.encoders.twin import Features, Pass, Twin, tile
from whyalike.encoders.vocabulary import ActiveTerms

Forward = Callable[[Features, Tensor, Gates], Tensor]  # features and states of some rounds, to embeddings


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """One pass of a batch with its gates on a tape."""

    features: Features
    hidden: Float[Tensor, "batch tokens hidden"]  # the states the gates were recorded at
    embedding: Float[Tensor, "batch dim"]
    middle: Float[Tensor, "batch tokens hidden"] | None  # states in the middle of the model
    tape: list[Tensor]
    wiring: Wiring
    forward: Forward

    def replay(
        self, rows: Float[Tensor, "rows tokens hidden"], *, keeps_biases: bool = False
    ) -> Float[Tensor, "rows dim"]:
        """The embeddings of any number of rounds of states, under the recorded gates."""
        batch = len(self.hidden)
        with Gates(Replayer(self.tape, keeps_biases), self.wiring) as gates:
            return self.forward(tile(dict(self.features), len(rows) // batch, batch), rows, gates)

    def replay_units(
        self, masks: Float[Tensor, "units batch tokens"], rounds_at_once: int
    ) -> Float[Tensor, "units batch dim"]:
        """The embedding of each unit's states alone: its contribution."""
        if self.wiring.constant:  # something adds a constant that is no known bias: subtract what no states at all give
            masks = torch.cat([masks, torch.zeros_like(masks[:1])])
        pieces = [
            self.replay((self.hidden * some[..., None]).flatten(0, 1)).unflatten(0, (len(some), -1))
            for some in masks.split(rounds_at_once)
        ]
        vectors = torch.cat(pieces)
        return vectors[:-1] - vectors[-1] if self.wiring.constant else vectors


def record(twin: Twin, features: Features, layer: int, wiring: Wiring, terms: ActiveTerms | None = None) -> Recording:
    """Runs the whole model and records its gates from ``layer`` on; of a sparse model at the terms it finds active."""
    recorder, current = Recorder(), Pass(layer, terms=terms)
    with Gates(recorder, wiring) as gates:
        current.when_reached = gates.start
        embedding = twin.run(features, current)
    hidden = current.observed
    assert hidden is not None

    def forward(features: Features, rows: Tensor, gates: Gates) -> Tensor:
        skipped = tile(current.outputs, len(rows) // len(hidden), len(hidden))
        return twin.run(features, Pass(layer, rows, skipped, gates.start, terms))

    return Recording(features, hidden, embedding, current.middle, recorder.tape, wiring, forward)


def record_pooling(twin: Twin, features: Features, states: Float[Tensor, "batch tokens hidden"]) -> Recording:
    """Runs only what follows the transformer (pooling, dense layers) and records its gates."""
    recorder, wiring = Recorder(), Wiring(constant=True)

    def forward(features: Features, rows: Tensor, gates: Gates) -> Tensor:
        gates.start()
        return twin.pool(features, rows)

    with Gates(recorder, wiring) as gates:
        embedding = forward(features, states, gates)
    return Recording(features, states, embedding, None, recorder.tape, wiring, forward)
