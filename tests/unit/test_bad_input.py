"""A clear error for everything that cannot be answered: what was wrong, what was expected, what to do."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch
from transformers import AutoModel

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder, tiny_model, tokenizer
from whyalike.encoders import load
from whyalike.errors import BadInput, EmptyText, TextTooLong, UnknownModel, UnknownName, UnsupportedModel, WhyalikeError


@pytest.fixture(scope="module")
def encoder() -> whyalike.Encoder:
    return tiny_encoder("bert", dtype=torch.float32)


def test_unknown_names_say_which_are_known(encoder: whyalike.Encoder) -> None:
    with pytest.raises(UnknownName, match="no method 'magic'. Known: bilrp, hessian_product"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, method="magic")
    for layer in (-1, 4, 99):
        with pytest.raises(UnknownName, match=r"no layer .* Known: 0 \(the embeddings\) to 3"):
            whyalike.explain(LEFT, RIGHT, encoder=encoder, layer=layer)
    with pytest.raises(UnknownName, match="no unit 'letter'"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, unit="letter")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="no prompt 'passage'"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, prompts=("passage", None))
    with pytest.raises(UnknownName, match="no pooling 'median'. Known: cls, max, mean"):
        whyalike.load_encoder("anything", pooling="median")


def test_unknown_parameters_of_a_method_are_refused_when_it_is_made() -> None:
    # In a process of its own: here, the shape checks would speak first.
    code = """
import whyalike
for wrong in ({"reference": "blank"}, {"reference_positions": "odd"}, {"normalize": "never"}, {"rule": "simpson", "steps": 2}):
    try:
        whyalike.IntegratedJacobians(**wrong)
    except whyalike.errors.UnknownName as error:
        print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.count("Known: ") == 4
    assert "There is no reference 'blank'. Known: pad, mask, unk, zero, null." in ran.stdout


def test_a_text_too_long_is_an_error_unless_truncated_and_then_says_so(encoder: whyalike.Encoder) -> None:
    long = "guitar " * 100
    with pytest.raises(TextTooLong, match=r"has 102 tokens; .* reads at most 48. Shorten it, or pass truncate=True"):
        whyalike.explain(long, RIGHT, encoder=encoder)
    e = whyalike.explain(long, RIGHT, encoder=encoder, truncate=True)
    assert e.left.truncated
    assert (len(e.left), e.left.cut) == (48, 54)
    assert e.left.tokens[-1] == "[SEP]"
    assert not e.right.truncated
    assert e.adds_up
    assert e.score == pytest.approx(float(encoder.model.similarity(*encoder.model.encode([long, RIGHT]))), abs=1e-6)


def test_a_tokenizer_that_cuts_on_the_left_is_followed() -> None:
    words = copy.deepcopy(tokenizer())
    words.truncation_side = "left"
    encoder = whyalike.load_encoder(tiny_model("bert"), tokenizer=words, pooling="mean")
    e = whyalike.explain("guitar " * 60 + "music", RIGHT, encoder=encoder, truncate=True)
    assert e.left.tokens[-2:] == ("music", "[SEP]")
    assert e.left.cut == 15


def test_a_text_without_any_token_is_an_error() -> None:
    plain = tokenizer().__class__(
        tokenizer_object=tokenizer().backend_tokenizer.from_str(tokenizer().backend_tokenizer.to_str())
    )
    plain.backend_tokenizer.post_processor = None
    plain.pad_token = "[PAD]"
    encoder = whyalike.load_encoder(tiny_model("gpt2"), tokenizer=plain, pooling="lasttoken")
    with pytest.raises(EmptyText, match="has no token"):
        encoder.read([""])
    for blank in ("", " \n\t"):
        with pytest.raises(EmptyText, match="The left text is (empty|blank), so there is nothing to explain"):
            whyalike.explain(blank, RIGHT, encoder=encoder)


def test_texts_must_be_strings(encoder: whyalike.Encoder) -> None:
    with pytest.raises(BadInput, match="should be a str; got NoneType"):
        whyalike.explain(None, RIGHT, encoder=encoder)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="takes a list of texts"):
        whyalike.contributions(LEFT, encoder=encoder)


def test_text_that_is_no_unicode_is_refused(encoder: whyalike.Encoder) -> None:
    with pytest.raises(BadInput, match="lone surrogates"):
        whyalike.explain("caf\udce9", RIGHT, encoder=encoder)


def test_nothing_in_nothing_out(encoder: whyalike.Encoder) -> None:
    assert whyalike.contributions([], encoder=encoder) == []
    assert list(whyalike.explain_pairs([], encoder=encoder)) == []
    assert len(list(whyalike.explain_pairs([(LEFT, RIGHT)] * 257, encoder=encoder))) == 257


def test_a_rule_without_steps_is_refused() -> None:
    with pytest.raises(BadInput, match="goes with a number of steps"):
        whyalike.IntegratedJacobians(rule="midpoint")
    with pytest.raises(BadInput, match="max_steps at least 4"):
        whyalike.IntegratedJacobians(max_steps=1)


def test_an_unknown_model_is_refused_with_advice() -> None:
    for name in ("./no/such/folder", "nobody/nothing-at-all"):
        with pytest.raises(UnknownModel, match=r"could not be loaded: there is no folder .* `whyalike models` lists"):
            whyalike.load_encoder(name)


def test_the_default_is_refused_when_its_weights_are_not_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(load.DEFAULT_SHA256, "model.safetensors", "0" * 64)
    with pytest.raises(UnknownModel, match="has SHA-256 53aa51172d142c89…; expected 0000"):
        whyalike.load_encoder()


def test_a_slow_tokenizer_is_refused() -> None:
    class Slow:
        is_fast = False
        model_max_length = 48

    with pytest.raises(UnsupportedModel, match="is not a fast one"):
        whyalike.load_encoder(tiny_model("bert"), tokenizer=Slow(), pooling="mean")


def test_a_transformers_model_needs_its_tokenizer_and_pooling() -> None:
    with pytest.raises(BadInput, match="also needs its tokenizer and a pooling"):
        whyalike.load_encoder(tiny_model("bert"))


def test_a_similarity_that_is_not_bilinear_is_refused(encoder: whyalike.Encoder) -> None:
    model = tiny_encoder("bert").model
    model.similarity_fn_name = "euclidean"
    with pytest.raises(UnsupportedModel, match="compares embeddings by 'euclidean'"):
        whyalike.load_encoder(model)


def test_a_reference_without_its_token_is_refused() -> None:
    bare = tokenizer().__class__(tokenizer_object=tokenizer().backend_tokenizer, pad_token="[PAD]")
    encoder = whyalike.load_encoder(tiny_model("bert"), tokenizer=bare, pooling="mean")
    with pytest.raises(BadInput, match="has no mask token to make a reference of"):
        whyalike.explain(LEFT, RIGHT, encoder=encoder, method=whyalike.IntegratedJacobians(reference="mask"))


def test_baselines_have_no_one_sided_view(encoder: whyalike.Encoder) -> None:
    with pytest.raises(BadInput, match="does not add up"):
        whyalike.explain_against(LEFT, RIGHT, encoder=encoder, method="random")


def test_every_error_is_caught_by_one_base() -> None:
    with pytest.raises(WhyalikeError):
        whyalike.load_encoder("./no/such/folder")
    assert issubclass(TextTooLong, ValueError)


def test_an_encoder_decoder_is_explained_by_its_encoder() -> None:
    from transformers import AutoConfig

    config = AutoConfig.for_model("t5", d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=96)
    model = AutoModel.from_config(config).eval()
    e = whyalike.explain(LEFT, RIGHT, encoder=whyalike.load_encoder(model, tokenizer=tokenizer(), pooling="mean"))
    assert e.adds_up
