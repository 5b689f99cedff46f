"""Methods that take units of a text away and embed what is left. They need embeddings alone, so they serve every encoder.

A text is a game: its players are its units (and its prompt, if there is one), and what some of them are worth together is the
vector ``u(S)``, the embedding of the text with only the units of ``S``, as it is compared: of length 1 for cosine. A unit is
taken away by deleting its characters; the rest, with its spaces, stays as it was written. Special tokens are no players: they
are in every ``u(S)``, so their contribution is 0. Without any unit the text is empty and has no prompt.

Sentences are players of their own: ``unit="sentence"`` asks another question, and fewer embeddings, than summing over words.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, final, get_args

import numpy as np
from jaxtyping import Bool, Float
from tqdm import tqdm

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.tokens import Reading
from whyalike.errors import unknown
from whyalike.methods.method import Options
from whyalike.methods.second_order import BAR, SecondOrder
from whyalike.results.contributions import Contributions
from whyalike.results.one_sided import OneSided
from whyalike.results.records import Measured, ModelKind, ModelRecord
from whyalike.results.sides import Side, Unit, group, sum_rows

TEXTS_TOGETHER = 32
Empty = Literal["text", "zero"]
Vectors = Float[np.ndarray, "rows dim"]
Coalitions = Bool[np.ndarray, "rows players"]


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """A text whose units can be taken away, and the embeddings that are known of it."""

    reading: Reading
    side: Side  # in units
    players: tuple[int, ...]  # indices of the units that can be taken away
    labels: np.ndarray  # of each unit of the reading, the unit of the side
    known: dict[bytes, Float[np.ndarray, "dim"]]  # by coalition

    @classmethod
    def of(cls, reading: Reading, unit: Unit) -> Game:
        side, labels = group(reading.side, unit)
        players = [n for n in range(len(side)) if side.kinds[n] == "prompt" or _solid_span(side, n) is not None]
        return cls(reading, side, tuple(players), labels, {})

    @property
    def everyone(self) -> Coalitions:
        return np.ones((1, len(self.players)), dtype=bool)

    @property
    def nobody(self) -> Coalitions:
        return np.zeros((1, len(self.players)), dtype=bool)

    def text_of(self, present: Bool[np.ndarray, "players"]) -> tuple[str, str]:
        """The prompt and the text with only some of the units. The whole text is as it was given, also where it is cut."""
        side = self.side
        if present.all():
            return self.reading.prompt, side.text
        if not present.any():
            return "", ""
        gone = [player for player, there in zip(self.players, present, strict=True) if not there]
        prompt = "" if any(side.kinds[player] == "prompt" for player in gone) else self.reading.prompt
        spans = sorted(span for player in gone if (span := _solid_span(side, player)) is not None)
        first, last = 0, len(side.text)
        if side.truncated:  # what the model did not read must not come into its sight
            read = side.offsets[side.own]
            first, last = (int(read[:, 0].min()), int(read[:, 1].max())) if len(read) else (0, 0)
        kept, place = [], first
        for start, end in spans:
            kept.append(side.text[place:start])
            place = max(place, end)
        return prompt, "".join([*kept, side.text[place:last]])

    def values(self, coalitions: Coalitions) -> Vectors:
        """``u(S)`` of coalitions that are known, in float64."""
        return np.stack([self.known[row.tobytes()] for row in coalitions]).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The contribution of each player, and the error it is known to."""

    contributions: Float[np.ndarray, "players dim"]
    error: float | None = None


class RemovalMethod(SecondOrder):
    """A method that looks at nothing but embeddings of a text with units taken away."""

    adds_up: ClassVar[bool] = True
    unit: ClassVar[Unit] = "word"
    units_are_sums: ClassVar[bool] = False
    kinds: ClassVar[frozenset[ModelKind]] = frozenset({"dense", "sparse", "function"})
    empty: Empty

    @abstractmethod
    def solve(self, encoder: Encoder, games: Sequence[Game]) -> list[Solution]:
        """Each game's contributions. Makes ``u`` of everyone known, and of whatever else is looked at, by `embed_games`."""

    def check(self, encoder: Encoder) -> None:
        if self.empty not in get_args(Empty):
            raise unknown("way to embed the empty text", self.empty, get_args(Empty))

    @final
    def of_readings(self, encoder: Encoder, readings: Sequence[Reading], options: Options) -> list[Contributions]:
        found: list[Contributions] = []
        how = {"bar_format": BAR, "delay": 2, "disable": None if options.progress else True, "leave": False}
        with tqdm(total=len(readings), desc=f"{len(readings)} texts", **how) as bar:
            for start in range(0, len(readings), TEXTS_TOGETHER):
                games = [Game.of(reading, options.unit) for reading in readings[start : start + TEXTS_TOGETHER]]
                found += self._of_games(encoder, games)
                bar.update(len(games))
        return found

    def _of_games(self, encoder: Encoder, games: Sequence[Game]) -> list[Contributions]:
        record, states = self.record(encoder), encoder.states([game.reading for game in games])
        solutions = self.solve(encoder, games)
        found = []
        for game, middle, solution in zip(games, states, solutions, strict=True):
            embedding = game.known[game.everyone.tobytes()]
            units = np.zeros((len(game.side), len(embedding)), dtype=embedding.dtype)
            units[list(game.players)] = solution.contributions
            made = Contributions(
                side=game.side,
                tokens=units,
                remainder=self.remainder_of(units, embedding),
                embedding=embedding,
                states=sum_rows(middle, game.labels, len(game.side)),
                method=record,
                model=encoder.record,
                measured=Measured(error=solution.error, embeddings=self._asked_for(game)),
            )
            found.append(made)
        return found

    def _asked_for(self, game: Game) -> int:
        """How many embeddings were asked for: those known, without the zeros that stand for an empty text."""
        zeros = self.empty == "zero" and game.players and game.nobody.tobytes() in game.known
        return len(game.known) - bool(zeros)

    @final
    def explain_against(self, encoder: Encoder, text: str, other: str, options: Options) -> OneSided:
        sides = [
            encoder.read([each], prompt=prompt, truncate=options.truncate)[0]
            for each, prompt in zip((text, other), options.prompts, strict=True)
        ]
        (own,) = self.of_readings(encoder, sides[:1], options)
        embedded = np.asarray(encoder.embed([other], prompt=options.prompts[1]))
        towards = as_compared(encoder.record, embedded)[0].astype(np.float64)
        scale = encoder.record.scale(own.embedding, towards)
        values, score = own.tokens.astype(np.float64) @ towards / scale, encoder.record.score(own.embedding, towards)
        return OneSided(
            side=own.side,
            values=values,
            background=score - float(values.sum()),
            score=score,
            other=group(sides[1].side, options.unit)[0],
            method=own.method,
            model=own.model,
            measured=own.measured,
        )


def embed_games(encoder: Encoder, wanted: Mapping[Game, Coalitions], empty: Empty) -> None:
    """Makes ``u`` of coalitions known: what is not known yet of all games together, so that batches are full."""
    places: dict[str, dict[str, list[tuple[Game, bytes]]]] = {}  # by prompt and text
    for game, coalitions in wanted.items():
        for row in coalitions:
            if row.tobytes() in game.known:
                continue
            prompt, text = game.text_of(row)
            if empty == "zero" and not row.any() and len(row):
                game.known[row.tobytes()] = np.zeros(encoder.record.dim, dtype=np.float32)
            else:
                places.setdefault(prompt, {}).setdefault(text, []).append((game, row.tobytes()))
    for prompt, unsorted in places.items():
        texts = dict(sorted(unsorted.items()))  # last digits depend on what is embedded together, and in which order
        vectors = as_compared(encoder.record, np.asarray(encoder.embed_with_prompt(list(texts), prompt)))
        for vector, takers in zip(vectors, texts.values(), strict=True):
            for game, row in takers:
                game.known[row] = vector


def as_compared(model: ModelRecord, embeddings: Vectors) -> Vectors:
    """Embeddings as the model compares them: of length 1 for cosine, 0 where they are 0."""
    if embeddings.dtype not in (np.float32, np.float64):
        embeddings = embeddings.astype(np.float32)
    if model.similarity == "dot":
        return embeddings
    exact = embeddings.astype(np.float64)
    scaled: Vectors = exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-12)
    return scaled.astype(embeddings.dtype)


def _solid_span(side: Side, unit: int) -> tuple[int, int] | None:
    """The characters of a unit of the text, without spaces around them; None where there are none."""
    start, end = map(int, side.offsets[unit])
    covered = side.text[start:end]
    if side.kinds[unit] != "text" or not covered.strip():
        return None
    return start + len(covered) - len(covered.lstrip()), end - len(covered) + len(covered.rstrip())
