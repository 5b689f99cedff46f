"""What is studied: pairs of texts, the models that compare them, and the tables made of their explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from whyalike.analysis.interactions import Interactions, interactions
from whyalike.analysis.words import Tagger
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.front_door import choose_method
from whyalike.methods import METHODS, Method


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A table for each model lies in ``folder``; it is made at first need, and read the next time."""

    pairs: Sequence[tuple[str, str]]
    encoders: Mapping[str, Encoder]  # by the name to show
    folder: Path
    tagger: Tagger | tuple[Tagger, Tagger]
    labels: Sequence[float] | None = None  # human scores, 0…1
    method: str | Method = "bilrp"
    layer: int | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        if not self.encoders:
            raise BadInput("A study needs at least one model.")

    @property
    def asked(self) -> str:
        """How its tables are made, for captions: the method, its layer, and what of it is not as usual."""
        chosen = choose_method(self.method, self.layer)
        usual = METHODS[chosen.name]() if chosen.name in METHODS else chosen
        own = {each.name: getattr(chosen, each.name) for each in fields(cast(Any, chosen))}
        layer = own.pop("layer", None)
        changed = [f"{name} {value}" for name, value in own.items() if value != getattr(usual, name)]
        return " · ".join([chosen.name if layer is None else f"{chosen.name} at layer {layer}", *changed])

    @property
    def texts(self) -> list[str]:
        """Every distinct text, in order."""
        return list(dict.fromkeys(text for pair in self.pairs for text in pair))

    def tables(self) -> dict[str, Interactions]:
        """Each model's table of interactions."""
        return {
            name: interactions(
                self.pairs,
                self.folder / f"interactions-{number}",
                encoder=encoder,
                tagger=self.tagger,
                method=self.method,
                layer=self.layer,
                labels=self.labels,
                progress=self.progress,
            )
            for number, (name, encoder) in enumerate(self.encoders.items())
        }
