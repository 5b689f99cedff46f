"""Shapley values of the game of a text's units: the embedding, shared out by what each unit adds to the others."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.methods.coalitions import Sample, all_coalitions, exact_values, fewest, sample_coalitions, solve_sample
from whyalike.methods.removal import Empty, Game, RemovalMethod, Solution, embed_games

SAMPLES, SAMPLES_PER_UNIT = 128, 4  # embeddings of a text where the user does not say
FIRST_ROUND, MORE_WITH_TOLERANCE = 64, 16


@dataclass(frozen=True, slots=True)
class Shapley(RemovalMethod):
    """``c_i``, the Shapley value of unit i in ``S ↦ u(S)``: what it adds, on average over all orders in which units come.

    ``Σ c_i = u(x) − u(∅)`` (efficiency), so the remainder is the embedding of the empty text, and with ``empty="zero"``
    there is none. A text is solved once for every pair it will be in. One of few units is solved exactly, by all ``2^n``
    coalitions; of a longer one coalitions are sampled, and ``measured.error`` says how far the contributions are from the
    exact ones: an estimate of the root mean square difference, relative to their size.

    Args:
        samples: Most embeddings of one text. None: 128, or 4 per unit for texts of more than 32 units.
        tolerance: Go on, up to ``samples``, until the error is below this. A missed tolerance is seen in ``measured.error``.
        empty: How the text without any unit is embedded: as an empty ``"text"``, or as a vector of zeros (``"zero"``).
        seed: Of the draws.
    """

    name: ClassVar[str] = "shapley"
    title: ClassVar[str] = "Shapley values"
    summary: ClassVar[str] = "what each word adds to the embedding, averaged over orders; needs embeddings alone"
    paper: ClassVar[str] = "Shapley 1953; Lundberg & Lee 2017"
    samples: int | None = None
    tolerance: float | None = None
    empty: Empty = "text"
    seed: int = 0
    layer: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for name, value, least in (("samples", self.samples, 2), ("seed", self.seed, 0)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise BadInput(f"{name} should be a whole number from {least} on; got {value!r}.")
        if self.tolerance is not None and not (isinstance(self.tolerance, int | float) and self.tolerance > 0):
            raise BadInput(f"tolerance should be a positive number; got {self.tolerance!r}.")

    def solve(self, encoder: Encoder, games: Sequence[Game]) -> list[Solution]:
        """All games go round by round together: with a tolerance, each round doubles the samples of those that miss it."""
        found: dict[Game, Solution] = {}
        counts = {game: self._first(game) for game in games}
        while counts:
            found |= self._round(encoder, counts)
            counts = {
                game: min(2 * count, self._most(game))
                for game, count in counts.items()
                if count < self._most(game) and self._misses(found[game])
            }
        return [found[game] for game in games]

    def _round(self, encoder: Encoder, counts: Mapping[Game, int]) -> dict[Game, Solution]:
        samples = {game: self._sample(game, count) for game, count in counts.items()}
        wanted = {
            game: all_coalitions(len(game.players)) if sample is None else sample.rows
            for game, sample in samples.items()
        }
        together = {game: np.concatenate([game.nobody, game.everyone, rows]) for game, rows in wanted.items()}
        embed_games(encoder, together, self.empty)
        found = {}
        for game, sample in samples.items():
            values = game.values(wanted[game])
            if sample is None:
                found[game] = Solution(exact_values(values))
            else:
                none, everyone = game.values(game.nobody)[0], game.values(game.everyone)[0]
                found[game] = Solution(*solve_sample(sample, values, none, everyone))
        return found

    def _sample(self, game: Game, count: int) -> Sample | None:
        """The coalitions to embed besides none and all; None where so many embeddings suffice for all coalitions.

        Rounds draw the same coalitions and then more: whole sizes are those of the first round.
        """
        players = len(game.players)
        if 2**players <= count:
            return None
        digest = hashlib.sha256(game.side.text.encode("utf-8", "surrogatepass")).digest()
        generator = np.random.default_rng([self.seed, int.from_bytes(digest[:8])])
        return sample_coalitions(players, count - 2, self._first(game) - 2, generator)

    def _first(self, game: Game) -> int:
        """How many embeddings the first round has."""
        if self.tolerance is None:
            return self._most(game)
        return min(self._most(game), max(FIRST_ROUND, fewest(len(game.players))))

    def _most(self, game: Game) -> int:
        players = len(game.players)
        if self.samples is None:
            return max(SAMPLES, SAMPLES_PER_UNIT * players) * (1 if self.tolerance is None else MORE_WITH_TOLERANCE)
        if self.samples < (least := fewest(players)):
            raise BadInput(
                f"The text beginning {game.side.text[:40]!r} has {players} units; sampling needs at least {least} embeddings; "
                f"got samples={self.samples}. Pass a larger number, unit='sentence', or method='leave_one_out'."
            )
        return self.samples

    def _misses(self, found: Solution) -> bool:
        return self.tolerance is not None and found.error is not None and found.error > self.tolerance
