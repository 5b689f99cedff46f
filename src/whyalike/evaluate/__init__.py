"""Measure the quality of explanations: ``whyalike.evaluate(measure, cases, …)``, and what it is made of.

The module is also the function of that name, so that ``whyalike.evaluate(…)`` and ``from whyalike.evaluate import cases_of``
both work.
"""

import sys
from types import ModuleType
from typing import Any

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from whyalike.evaluate.run import evaluate

        return evaluate(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
