"""Why does this model find these two texts alike? Word pair by word pair, and the pairs add up to the model's own score.

The public names are listed in `__init__.pyi`. Each is imported when it is first used, so ``import whyalike`` loads no torch.
"""

from importlib.metadata import version

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version("whyalike")
