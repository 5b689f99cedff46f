"""What a model that was just loaded is checked for, since the libraries take something else in silence."""

from __future__ import annotations

import numpy as np
import transformers
from sentence_transformers.base.modules import Module
from sentence_transformers.sentence_transformer.modules import Dense

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.outputs import Model
from whyalike.encoders.transformer import PROBE
from whyalike.errors import UnknownModel


def check_tokenizer(model: Model) -> None:
    """Refuses a model whose tokenizer is a class of its own: transformers silently takes a standard one in its place."""
    settings = getattr(getattr(model[0], "tokenizer", None), "init_kwargs", {})
    wanted = (settings.get("auto_map") or {}).get("AutoTokenizer") or ()
    for reference in filter(None, (wanted,) if isinstance(wanted, str) else wanted):
        if not hasattr(transformers, reference.rsplit(".", 1)[-1]):
            raise ValueError(
                f"its tokenizer is made by custom code ({reference}), which runs only if you pass trust_remote_code."
            )


def check_activations(folder: str) -> None:
    """Refuses a model with an activation of its own: sentence-transformers takes Tanh in its place, and logs that it did."""
    for entry in Module.load_config(folder, config_filename="modules.json"):
        if entry["type"].endswith(".Dense"):
            wanted = Dense.load_config(folder, subfolder=entry["path"]).get("activation_function", "torch.")
            if not wanted.startswith("torch."):
                raise ValueError(
                    f"its activation is made by custom code ({wanted}), which runs only if you pass trust_remote_code."
                )


def check_that_it_embeds(encoder: Encoder) -> None:
    """Refuses a model that is whole as a set of files, and gives no embedding: without a pooling, with NaN in its weights."""
    (embedding,) = encoder.embed([PROBE])  # of a model of many vectors, all of them
    if not np.isfinite(embedding).all():
        raise UnknownModel(
            f"The model {encoder.record.name!r} is damaged: its embedding of a short text is not finite numbers. "
            "Look for NaN or infinity in its weights, or load another model."
        )
