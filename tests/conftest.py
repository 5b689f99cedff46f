"""Shapes in signatures are checked while the tests run; every worker computes on one thread."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers that share two cores must not each take both

from jaxtyping import install_import_hook

# The front door (whyalike.front_door, whyalike.sides) checks its own input; everything behind it is checked here.
CHECKED = ("encoders", "methods", "pairs", "explanation", "files", "render")
install_import_hook([f"whyalike.{name}" for name in CHECKED], "beartype.beartype")
