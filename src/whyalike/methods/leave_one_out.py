"""Leave one out: what the embedding loses with each unit. The simplest method that needs embeddings alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.methods.removal import Empty, Game, RemovalMethod, Solution, embed_games


@dataclass(frozen=True, slots=True)
class LeaveOneOut(RemovalMethod):
    """``c_i = u(x) − u(x without unit i)``, for n + 1 embeddings of a text of n units.

    What units do together is counted for each of them, or for none. So their sum is not the embedding, and the remainder
    ``u(x) − Σ c_i`` takes what is left: it makes the parts add up, and is often as large as the pairs. `Shapley` shares it out.
    """

    name: ClassVar[str] = "leave_one_out"
    title: ClassVar[str] = "leave one word out"
    summary: ClassVar[str] = "what the embedding loses with each word; needs embeddings alone, n + 1 per text"
    paper: ClassVar[str] = "baseline"
    empty: Empty = "text"  # a text of one unit without it: embedded as an empty text, or a vector of zeros
    layer: int | None = field(default=None, init=False)

    def solve(self, encoder: Encoder, games: Sequence[Game]) -> list[Solution]:
        each_gone = {game: ~np.eye(len(game.players), dtype=bool) for game in games}
        wanted = {game: np.concatenate([game.everyone, gone]) for game, gone in each_gone.items()}
        embed_games(encoder, wanted, self.empty)
        return [
            Solution(game.values(game.everyone) - game.values(gone) if len(gone) else np.zeros((0, encoder.record.dim)))
            for game, gone in each_gone.items()
        ]
