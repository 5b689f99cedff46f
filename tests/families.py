"""Tiny random encoders of every family, built from configuration, in float64, with biases that are not zero."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from torch.overrides import TorchFunctionMode
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerFast, T5EncoderModel

from whyalike.encoders.encoder import Encoder
from whyalike.encoders.load import GivenTransformer, load_encoder

WORDS = [
    "a",
    "an",
    "the",
    "man",
    "woman",
    "child",
    "dog",
    "cat",
    "plays",
    "play",
    "guitar",
    "piano",
    "music",
    "someone",
    "makes",
    "make",
    "sings",
    "runs",
    "walks",
    "on",
    "in",
    "under",
    "over",
    "hill",
    "river",
    "old",
    "young",
    "is",
    "not",
    "and",
    "or",
    ",",
    ".",
    "!",
    "?",
    "'",
    "red",
    "green",
    "house",
    "pretty",
    "ugly",
    "beautiful",
]
PIECES = ("##s", "##ing", "##er", "un", "##n", "##o", "##e")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LEFT, RIGHT = "The old man plays guitar.", "A woman sings and makes music on the hill!"

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 96,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
}
GROUPED = {**SMALL, "num_key_value_heads": 2}
DISTIL = {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48, "vocab_size": 96, "max_position_embeddings": 64}
GPT2 = {"n_embd": 32, "n_layer": 3, "n_head": 4, "vocab_size": 96, "n_positions": 64}
NEO = {
    "hidden_size": 32,
    "num_layers": 2,
    "num_heads": 4,
    "vocab_size": 96,
    "max_position_embeddings": 64,
    "attention_types": [[["global", "local"], 1]],
}
MODERN = {**SMALL, "global_attn_every_n_layers": 2, "local_attention": 4, "cls_token_id": 2, "sep_token_id": 3}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4, "vocab_size": 96}
DEBERTA = {
    **SMALL,
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "position_buckets": 8,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
}

# family -> configuration. The name before the colon is transformers' model type.
FAMILIES: dict[str, dict[str, Any]] = {
    "bert": SMALL,
    "roberta": SMALL,
    "xlm-roberta": SMALL,
    "mpnet": SMALL,
    "electra": {**SMALL, "embedding_size": 32},
    "camembert": SMALL,
    "deberta-v2": DEBERTA,
    "distilbert": DISTIL,
    "gpt2": GPT2,
    "gpt_neo": NEO,
    "gpt_neox": SMALL,
    "modernbert": MODERN,
    "nomic_bert": SMALL,
    "eurobert": GROUPED,
    "qwen2": GROUPED,
    "qwen3": {**GROUPED, "head_dim": 8},
    "llama": GROUPED,
    "mistral": GROUPED,
    "gemma3_text": {**GROUPED, "head_dim": 8, "sliding_window": 4},
    "gte": SMALL,
    "jina_embeddings_v3": SMALL,
    "albert": {**SMALL, "embedding_size": 16, "num_hidden_groups": 1},
    "t5": T5,
    "t5:gated": {**T5, "feed_forward_proj": "gated-silu"},
    "albert:groups": {**SMALL, "embedding_size": 16, "num_hidden_groups": 2, "num_hidden_layers": 4},
    "electra:projected": {**SMALL, "embedding_size": 16},
    "deberta": {**SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "bert:relu": {**SMALL, "hidden_act": "relu"},
    "bert:gelu_new": {**SMALL, "hidden_act": "gelu_new"},
}
POOLINGS: tuple[str | tuple[str, ...], ...] = (
    "mean",
    "cls",
    "max",
    "lasttoken",
    "weightedmean",
    "mean_sqrt_len_tokens",
    ("cls", "mean", "max"),
)


class DoubleThroughout(TorchFunctionMode):
    """Keeps float64 where a model's own code (most RMS norms) would step down to float32, so that equality means equality."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        narrows = function is torch.Tensor.float or (
            function is torch.Tensor.to and torch.float32 in (*args[1:], kwargs.get("dtype"))
        )
        if narrows and args[0].dtype == torch.float64:
            return args[0]
        return function(*args, **kwargs)


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    vocabulary = {piece: number for number, piece in enumerate((*SPECIAL, *WORDS, *PIECES))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=48,
    )


def tiny_model(family: str, *, dtype: torch.dtype = torch.float64, biases: bool = True, seed: int = 0) -> Any:
    """A random transformer whose weights are large enough for every nonlinearity to matter."""
    kind = family.split()[-1].split(":")[0]
    generator = torch.Generator().manual_seed(seed)
    config = AutoConfig.for_model(kind, **FAMILIES[family])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = T5EncoderModel(config) if kind == "t5" else AutoModel.from_config(config)
    model = model.to(dtype).eval().requires_grad_(False)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.normal_(0, 0.3, generator=generator) if biases else parameter.zero_()
        elif parameter.ndim > 1:
            parameter.normal_(0, 0.25, generator=generator)
    return model


def tiny_encoder(
    family: str = "bert",
    *,
    pooling: str | tuple[str, ...] = "mean",
    similarity: Any = "cosine",
    dense: Any = None,
    normalize: bool = False,
    **options: Any,
) -> Encoder:
    """A tiny random encoder: transformer, pooling, perhaps a Dense layer with an activation, perhaps Normalize."""
    first = GivenTransformer(tiny_model(family, **options), tokenizer())
    pooled = Pooling(first.get_embedding_dimension(), pooling)
    modules: list[Any] = [first, pooled]
    dtype = options.get("dtype", torch.float64)
    if dense is not None:
        with torch.random.fork_rng():
            torch.manual_seed(1)
            last = Dense(pooled.get_embedding_dimension(), 12, activation_function=dense)
        modules.append(last.to(dtype).requires_grad_(False))
    if normalize:
        modules.append(Normalize())
    return load_encoder(SentenceTransformer(modules=modules, device="cpu"), similarity=similarity)


def tiny_folder(folder: str, family: str = "bert", pooling: str = "mean", *, normalize: bool = False) -> str:
    """A tiny random model saved as sentence-transformers saves its own, in float32: something to train."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **FAMILIES[family])
    AutoModel.from_config(config).save_pretrained(f"{folder}/plain")
    tokenizer().save_pretrained(f"{folder}/plain")
    first = Transformer(f"{folder}/plain")
    first.max_seq_length = 40
    stages = [first, Pooling(first.get_embedding_dimension(), pooling), *([Normalize()] if normalize else [])]
    SentenceTransformer(modules=stages, device="cpu").save(f"{folder}/model", create_model_card=False)
    return f"{folder}/model"
