"""What is analysed: pairs of texts, the models that compare them, and the tables made of their explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, cast

from whyalike.analysis.interactions import Interactions, interactions
from whyalike.encoders.encoder import Encoder
from whyalike.errors import BadInput
from whyalike.language.words import Tagger, name_of
from whyalike.methods import METHODS, Method
from whyalike.methods.spec import MethodSpec, parse_method
from whyalike.storage.run_folder import compute_rows, digest, locked

Item = TypeVar("Item")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Pairs of texts and models. A table per model is kept in ``folder``: made when it is first needed, then read."""

    pairs: Sequence[tuple[str, str]]
    encoders: Mapping[str, Encoder]  # by the name to show
    folder: Path
    tagger: Tagger | tuple[Tagger, Tagger]
    labels: Sequence[float] | None = None  # human scores, 0…1
    method: str | Method | MethodSpec = "bilrp"
    layer: int | None = None
    progress: bool = True

    def __post_init__(self) -> None:
        if not self.encoders:
            raise BadInput("An analysis needs at least one model.")

    def __repr__(self) -> str:
        return f"Corpus({len(self.pairs):,} pairs, {', '.join(self.encoders)}, {self.description})"

    @property
    def description(self) -> str:
        """How its tables are made, for captions: the method, its layer, and parameters that are not the default."""
        spec = parse_method(self.method, self.layer)
        chosen = spec.method
        usual = METHODS[chosen.name]() if chosen.name in METHODS else chosen
        own = {each.name: getattr(chosen, each.name) for each in fields(cast(Any, chosen))}
        layer = own.pop("layer", None)
        changed = [f"{name} {value}" for name, value in own.items() if value != getattr(usual, name)]
        return " · ".join(
            [
                chosen.name if layer is None else f"{chosen.name} at layer {layer}",
                *changed,
                *([spec.view] if spec.view else []),
            ]
        )

    @property
    def taggers(self) -> tuple[Tagger, ...]:
        """The tagger of both sides, or one of each."""
        return self.tagger if isinstance(self.tagger, tuple) else (self.tagger,)

    @property
    def request(self) -> dict[str, Any]:
        """What tells a run over this corpus from another."""
        spec = parse_method(self.method, self.layer)
        first = next(iter(self.encoders.values()))
        return {
            "models": {name: asdict(encoder.record) for name, encoder in self.encoders.items()},
            "method": [spec.view, asdict(spec.method.record(first))],
            "taggers": [name_of(each) for each in self.taggers],
            "pairs": len(self.pairs),
            "data": digest([list(map(list, self.pairs)), None if self.labels is None else list(self.labels)]),
        }

    def compute_rows(
        self,
        name: str,
        encoder: Encoder,
        items: Sequence[Item],
        compute: Callable[[Sequence[Item]], Sequence[Row]],
    ) -> list[Row]:
        """The rows of all items, kept in the folder as they are computed, so that an interrupted analysis resumes."""
        spec = parse_method(self.method, self.layer)
        content = [asdict(encoder.record), spec.view, asdict(spec.method.record(encoder)), list(items)]
        with locked(self.folder):
            return compute_rows(self.folder / f"{name}-{digest(content)}.jsonl", items, compute)

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
