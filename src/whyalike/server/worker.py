"""Where a server's work is done: models loaded once, one job at a time, a bounded number waiting, answers kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from cachetools import LRUCache

from whyalike.api import explain
from whyalike.encoders.encoder import Encoder
from whyalike.encoders.load import load_encoder
from whyalike.errors import WhyalikeError, unknown
from whyalike.methods.spec import parse_method
from whyalike.results.explanation import Explanation
from whyalike.results.sides import UNITS, Unit
from whyalike.server.settings import ServerSettings

T = TypeVar("T")
LONG = 1500  # characters of both texts
LONGEST_HOLD = 5.0  # seconds
REFUSALS_PER_SECOND = 25  # about; above it refusals are held back
Key = tuple[str, str, int | None, str, str, bool, Unit | None]


class Busy(WhyalikeError):
    """As many requests as the server takes are waiting already."""


class TooSlow(WhyalikeError):
    """The answer took longer than the server allows."""


class Worker:
    """Torch uses all cores for one job, so jobs take turns; more at once would only slow each other down."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.waiting = 0
        self._refused = 0  # being turned away just now
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="whyalike")
        self._encoders: dict[str, Encoder] = {}
        self._kept: LRUCache[Key, Explanation] = LRUCache(
            settings.kept, getsizeof=_size
        )  # used by the worker's thread alone

    def loaded(self, name: str) -> bool:
        return name in self._encoders

    def name_of(self, model: str | None) -> str:
        """A model the operator allows, by name; the first where none is named."""
        name = next(iter(self.settings.models)) if model is None else model
        if name not in self.settings.models:
            raise unknown("model", name, self.settings.models)
        return name

    def encoder(self, model: str | None) -> Encoder:
        """Loaded at first use, in the worker's own thread, once."""
        name = self.name_of(model)
        if name not in self._encoders:
            self._encoders[name] = load_encoder(self.settings.models[name], name=name)
        return self._encoders[name]

    def explanation(
        self,
        left: str,
        right: str,
        model: str | None,
        method: str,
        layer: int | None,
        unit: Unit,
        truncate: bool,
        aligned: bool = False,
    ) -> Explanation:
        """An explanation in a unit; the same texts in another unit are not explained again.

        Unless units are aligned, or the texts are long: sentences then cost a tenth of words, and are shown first.
        """
        finest = parse_method(method).method.unit
        refused = UNITS.index(unit) < UNITS.index(finest)  # a unit it cannot give
        own = unit if aligned or refused or len(left) + len(right) > LONG else None
        key = (self.name_of(model), method, layer, left, right, truncate, own)
        found = self._kept.get(key)
        if found is None:
            found = explain(
                left,
                right,
                encoder=self.encoder(model),
                method=method,
                layer=layer,
                unit=own,
                truncate=truncate,
                aligned=aligned,
            )
            if _size(found) <= self._kept.maxsize:
                self._kept[key] = found
        return found.by(unit)

    async def run(self, job: Callable[[], T], models: Sequence[str | None]) -> T:
        """The job's result, in its turn, once its models are loaded: that takes as long as it takes. Raises `Busy` when full,
        or when its turn does not come in time; `TooSlow` when the work itself takes longer than allowed.
        """
        names = [self.name_of(model) for model in models]
        if self.waiting >= self.settings.max_waiting:
            waiting = self.waiting
            await self._hold()
            raise Busy(f"{waiting} requests are waiting, which is as many as this server takes. Try again in a second.")
        self.waiting += 1
        try:
            for name in names:
                if not self.loaded(name):
                    await asyncio.wrap_future(self._worker.submit(self.encoder, name))
        except BaseException:
            self.waiting -= 1
            raise
        future: Future[T] = self._worker.submit(job)
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: self._done(loop))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.settings.max_seconds)
        except asyncio.CancelledError:
            future.cancel()  # nobody waits for it any more
            raise
        except TimeoutError as error:
            if future.cancel():
                raise Busy(
                    "Others were served first, and your turn did not come in time. Try again in a second."
                ) from error
            raise TooSlow(
                f"The answer took longer than the {self.settings.max_seconds:g} seconds this server allows. "
                "Send shorter texts, or a faster method."
            ) from error

    async def _hold(self) -> None:
        """A refusal comes the later the more are being refused: clients that ask again at once would otherwise take the
        processor from the one who is served (benchmarks/server_load.py).
        """
        self._refused += 1
        try:
            await asyncio.sleep(min(LONGEST_HOLD, self._refused / REFUSALS_PER_SECOND))
        finally:
            self._refused -= 1

    def _done(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called in the worker's thread; the count belongs to the loop's."""
        with suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(self._one_less)

    def _one_less(self) -> None:
        self.waiting -= 1

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)


def _size(explanation: Explanation) -> int:
    """About how many bytes an explanation takes: its numbers, and its texts with their units."""
    texts = sum(4 * len(side.text) + 200 * len(side) for side in (explanation.left, explanation.right))
    return explanation.matrix.nbytes + texts + 4096
