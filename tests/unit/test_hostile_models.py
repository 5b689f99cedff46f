"""Model folders that want to run code, hold pickled objects, or are not what they say: refused, and nothing runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers.sentence_transformer.modules import Dense
from sentence_transformers.util import misc
from transformers import PreTrainedModel, dynamic_module_utils
from transformers.integrations import hub_kernels

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder, tiny_folder, tokenizer
from whyalike.encoders import load
from whyalike.encoders.custom_code import no_custom_code
from whyalike.encoders.fingerprint import fingerprint_of
from whyalike.errors import BadInput, UnknownModel, UnsupportedModel

CODE = """
from pathlib import Path
Path({marker!r}).write_text("code of the model ran")
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
class HostileConfig(BertConfig):
    model_type = "hostile"
class HostileModel(BertModel):
    config_class = HostileConfig
class HostileTokenizer(PreTrainedTokenizerFast):
    pass
class HostileModule:
    pass
"""


def change(path: Path, **fields: Any) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | fields))


def hostile_config(folder: Path) -> None:
    """The configuration, and with it the model, is made by the folder's own code."""
    auto_map = {"AutoConfig": "hostile.HostileConfig", "AutoModel": "hostile.HostileModel"}
    change(folder / "config.json", model_type="hostile", architectures=["HostileModel"], auto_map=auto_map)


def hostile_tokenizer(folder: Path) -> None:
    """The tokenizer is made by the folder's own code; the configuration is an ordinary one."""
    auto_map = {"AutoTokenizer": [None, "hostile.HostileTokenizer"]}
    change(folder / "tokenizer_config.json", tokenizer_class="HostileTokenizer", auto_map=auto_map)


def hostile_module(folder: Path) -> None:
    """A module after the transformer is made by the folder's own code, which also asks to be trusted."""
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": len(modules), "name": "9", "path": "", "type": "hostile.HostileModule"})
    (folder / "modules.json").write_text(json.dumps(modules))
    trusted = {"trust_remote_code": True}
    change(folder / "sentence_bert_config.json", model_args=trusted, config_args=trusted, tokenizer_args=trusted)


def hostile_part(folder: Path) -> None:
    """A model inside the model, whose configuration is an ordinary one, is made by the folder's own code."""
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    text = {"model_type": "aimv2_text_model", "tie_word_embeddings": False, "name_or_path": str(folder), **small}
    text["auto_map"] = {"AutoModel": "hostile.HostileModel"}
    vision = {"model_type": "clip_vision_model", "image_size": 32, "patch_size": 16, **small}
    whole = {"model_type": "llava", "text_config": text, "vision_config": vision}
    (folder / "config.json").write_text(json.dumps(whole))


def hostile_word_tokenizer(folder: Path) -> None:
    """Word vectors in the place of the transformer, with a tokenizer that is made by the folder's own code."""
    modules = json.loads((folder / "modules.json").read_text())
    place = "sentence_transformers.sentence_transformer.modules"
    modules[0] |= {"path": "words", "type": f"{place}.WordEmbeddings"}
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "words").mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "hostile.py"):
        shutil.copy(folder / name, folder / "words" / name)
    hostile_tokenizer(folder / "words")
    change(
        folder / "words/wordembedding_config.json",
        tokenizer_class=f"{place}.tokenizer.word.TransformersTokenizerWrapper",
        update_embeddings=False,
        max_seq_length=20,
    )
    save_file({"emb_layer.weight": torch.zeros(96, 32)}, folder / "words/model.safetensors")


class RunsWhenUnpickled:
    """What a pickle can do to who reads it."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        return os.system, (self.command,)


def hostile_pickle(folder: Path) -> None:
    """Pickled weights, and loading arguments in the folder's own files that say to unpickle whatever is there."""
    config = json.loads((folder / "config.json").read_text())
    del config["dtype"]  # so that it is found by reading the weights
    (folder / "config.json").write_text(json.dumps(config))
    change(folder / "sentence_bert_config.json", model_args={"weights_only": False, "dtype": "auto"})
    (folder / "model.safetensors").unlink()
    weights = {"weight": RunsWhenUnpickled(f"echo ran > {folder.parent / 'marker'}")}
    torch.save(weights, folder / "pytorch_model.bin")


HOSTILE: dict[str, Callable[[Path], None]] = {
    "config": hostile_config,
    "tokenizer": hostile_tokenizer,
    "part": hostile_part,
    "pickle": hostile_pickle,
    "module": hostile_module,
    "word tokenizer": hostile_word_tokenizer,
}
NOT_READ_WITH_POOLING = ("module", "word tokenizer")  # a pooling stands in their place, so there is nothing to refuse


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path]:
    """A folder for each way to ask for one's code to be run, and the file that this code would write."""
    place = tmp_path_factory.mktemp("hostile")
    marker = place / "marker"
    plain = tiny_folder(str(place / "tiny"))
    folders = []
    for name, make in HOSTILE.items():
        folder = place / name
        shutil.copytree(plain, folder)
        (folder / "hostile.py").write_text(CODE.format(marker=str(marker)))
        make(folder)
        folders.append(folder)
    return folders, marker


def run_with_consent_on_stdin(code: str) -> str:
    """What a script says that is offered a "y" for every question it may ask."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((".", os.environ.get("PYTHONPATH", ".")))}
    ran = subprocess.run(
        [sys.executable, "-c", code], input="y\n" * 200, capture_output=True, text=True, env=environment, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "Do you wish to run" not in ran.stdout + ran.stderr
    return ran.stdout


def test_no_function_that_loads_a_model_asks_or_runs_its_code(hostile: tuple[list[Path], Path]) -> None:
    folders, marker = hostile
    code = f"""
import sys
import whyalike
from whyalike.encoders.load import open_model
from whyalike.errors import UnknownModel
from whyalike.server.settings import ServerSettings
from whyalike.server.worker import Worker
from whyalike.train.similarity import train_similarity
ways = {{
    "plain": whyalike.load_encoder,
    "pooling": lambda folder: whyalike.load_encoder(folder, pooling="mean"),
    "poolings": lambda folder: whyalike.load_encoder(folder, pooling=("cls", "mean"), similarity="dot"),
    "training": open_model,
    "similarity": lambda folder: train_similarity([("a", "b")], [0.5], folder + "-out", model=folder, progress=False),
    "server": lambda folder: Worker(ServerSettings(models={{"it": folder}})).encoder("it"),
}}
for folder in {[str(folder) for folder in folders]!r}:
    for name, way in ways.items():
        try:
            way(folder)
        except UnknownModel as error:
            print("refused", name, folder, error)
        else:
            print("taken", name, folder, sep="\\t")
print(len(sys.stdin.read().split()), "lines left")
"""
    said = run_with_consent_on_stdin(code)
    assert not marker.exists()
    assert "200 lines left" in said  # nothing was asked
    taken = {tuple(line.split("\t")[1:]) for line in said.splitlines() if line.startswith("taken")}
    assert {(name, Path(folder).name) for name, folder in taken} == {
        (way, name) for way in ("pooling", "poolings") for name in NOT_READ_WITH_POOLING
    }
    assert said.count("refused") == 6 * len(HOSTILE) - len(taken)
    assert "you pass trust_remote_code" in said


def test_no_command_asks_or_runs_a_models_code(hostile: tuple[list[Path], Path], tmp_path: Path) -> None:
    folders, marker = hostile
    refused = [folder for folder in folders if folder.name not in NOT_READ_WITH_POOLING]
    data = tmp_path / "pairs.csv"
    data.write_text("left,right,score\nthe dog,a cat,0.5\na man,the child,0.25\n")
    code = f"""
import sys
from whyalike.cli import main
for number, folder in enumerate({[str(folder) for folder in refused]!r}):
    out = f"{tmp_path}/out-{{number}}"
    pair, table = ["the dog", "a cat"], ["--data", "{data}"]
    for command in (
        ["explain", *pair], ["explain", *pair, "--pooling", "mean"], ["compare", *pair, "--pooling", "cls"],
        ["contrast", "a dog", *pair, "--pooling", "mean"], ["evaluate", "sts", *table, "--pooling", "mean"],
        ["evaluate", "balance", *table], ["analyze", "models", *table, "--out", out],
        ["train", "similarity", out, *table], ["train", "student", out, "--source", "{data}", "--target", "{data}"],
    ):
        sys.argv = ["whyalike", *command, "--model", folder]
        try:
            main()
        except SystemExit as end:
            print("exit", end.code, *command)
print(len(sys.stdin.read().split()), "lines left")
"""
    said = run_with_consent_on_stdin(code)
    assert not marker.exists()
    assert said.count("exit 1") == 9 * len(refused), said
    assert "200 lines left" in said


def test_nothing_is_changed_for_those_who_load_models_themselves() -> None:
    owners = (dynamic_module_utils, hub_kernels, misc, torch, PreTrainedModel)
    before = [dict(vars(owner)) for owner in owners]
    with no_custom_code(allowed=False):
        assert [dict(vars(owner)) for owner in owners] != before
        with no_custom_code(allowed=False), pytest.raises(RuntimeError, match="names a kernel of the hub"):
            hub_kernels.get_kernel("somebody/kernel")
        with pytest.raises(RuntimeError, match="asks for kernels of the hub"):
            tiny_encoder().model[0].auto_model.set_use_kernels(True)
    assert [dict(vars(owner)) for owner in owners] == before


def test_a_model_in_the_place_of_a_module_is_refused(tmp_path: Path) -> None:
    # It would be loaded with the arguments that the folder states, consent to its code among them.
    folder = Path(tiny_folder(str(tmp_path)))
    modules = json.loads((folder / "modules.json").read_text())
    modules[0] |= {"path": "inner", "type": "sentence_transformers.SentenceTransformer"}
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "inner").mkdir()
    change(folder / "inner/sentence_bert_config.json", trust_remote_code=True)
    with pytest.raises(UnknownModel, match="'sentence_transformers.SentenceTransformer' is no module of a model"):
        whyalike.load_encoder(folder)


def test_an_activation_of_the_models_own_is_refused(tmp_path: Path) -> None:
    # sentence-transformers takes Tanh in its place: other embeddings, and a line in the log.
    folder = Path(tiny_folder(str(tmp_path)))
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "2_Dense").mkdir()
    Dense(32, 32).save(str(folder / "2_Dense"))
    whyalike.load_encoder(folder)
    change(folder / "2_Dense/config.json", activation_function="hostile.HostileModule")
    with pytest.raises(
        UnknownModel, match="activation is made by custom code .hostile.HostileModule., which runs only"
    ):
        whyalike.load_encoder(folder)


@pytest.mark.parametrize("options", [{}, {"pooling": "mean"}])
def test_pickled_objects_are_not_loaded_and_it_says_what_to_do(tmp_path: Path, options: Any) -> None:
    folder = Path(tiny_folder(str(tmp_path)))
    (folder / "model.safetensors").unlink()
    torch.save({"weight": RunsWhenUnpickled("true")}, folder / "pytorch_model.bin")
    with pytest.raises(UnknownModel, match=r"has pickled weights .* are not loaded, since .* model.safetensors"):
        whyalike.load_encoder(folder, **options)


def test_a_damaged_model_is_refused_in_one_line(tmp_path: Path) -> None:
    plain = tiny_folder(str(tmp_path))
    for number, (name, content) in enumerate(
        [("config.json", "[]"), ("config.json", "{"), ("modules.json", "[{}]"), ("tokenizer.json", "{}"),
         ("model.safetensors", "x" * 99), ("1_Pooling/config.json", "7")]
    ):  # fmt: skip
        folder = tmp_path / f"damaged-{number}"
        shutil.copytree(plain, folder)
        (folder / name).write_text(content)
        with pytest.raises(UnknownModel, match="could not be loaded"):
            whyalike.load_encoder(folder)


UNKNOWN_TOKEN = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "x", "type_id": 0}}],
    "pair": [],
    "special_tokens": {},
}


@pytest.mark.parametrize(
    ("name", "field", "value", "reason"),
    [
        ("config.json", "num_attention_heads", 0, "integer modulo by zero"),
        ("config.json", "use_cache", [], "Validation error for field 'use_cache': TypeError: Field 'use_cache' expected bool"),
        ("config.json", "dtype", "relu", "list index out of range"),
        ("tokenizer.json", "post_processor", UNKNOWN_TOKEN, "no entry found for key"),
    ],
)  # fmt: skip
def test_a_model_with_a_wrong_value_is_refused_in_one_line(
    name: str, field: str, value: Any, reason: str, tmp_path: Path
) -> None:
    folder = Path(tiny_folder(str(tmp_path)))
    change(folder / name, **{field: value})
    for options in ({}, {"pooling": "mean"}):
        with pytest.raises(UnknownModel, match=f"could not be loaded: .*{reason}") as error:
            whyalike.load_encoder(folder, **options)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)


def test_empty_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = Path(tiny_folder(str(tmp_path)))
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(UnknownModel, match="has pickled weights .pytorch_model.bin. that are damaged"):
        whyalike.load_encoder(folder)


def test_a_model_that_gives_no_embedding_is_refused(tmp_path: Path) -> None:
    plain = tiny_folder(str(tmp_path))
    without = Path(shutil.copytree(plain, tmp_path / "without"))
    modules = json.loads((without / "modules.json").read_text())
    (without / "modules.json").write_text(json.dumps(modules[:1]))
    with pytest.raises(UnknownModel, match="could not be loaded: .*sentence_embedding"):
        whyalike.load_encoder(without)
    broken = Path(shutil.copytree(plain, tmp_path / "broken"))
    weights = load_file(broken / "model.safetensors")
    for value in (float("nan"), float("inf")):
        weights["encoder.layer.2.output.dense.weight"][0, 0] = value
        save_file(weights, broken / "model.safetensors", metadata={"format": "pt"})
        for options in ({}, {"pooling": "mean"}):
            with pytest.raises(UnknownModel, match="embedding of a short text is not finite numbers"):
                whyalike.load_encoder(broken, **options)  # type: ignore[arg-type]


def test_a_tokenizer_that_fails_is_named(tmp_path: Path) -> None:
    folder = Path(tiny_folder(str(tmp_path)))
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["unk_token"] = "none"
    (folder / "tokenizer.json").write_text(json.dumps(content))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    with pytest.raises(
        UnsupportedModel, match="The tokenizer of .* fails: .*Missing .* token from the vocabulary. It may be damaged"
    ):
        whyalike.load_encoder(folder)


def test_an_empty_name_and_an_unknown_device_are_refused(tmp_path: Path) -> None:
    for name in ("", "  "):
        with pytest.raises(BadInput, match="The model's name is empty. Give a Hugging Face name or a path"):
            whyalike.load_encoder(name)
    for device in ("warp", "cuda:99", "cpu:x", "privateuseone"):
        with pytest.raises(BadInput, match=f"The device '{device}' cannot be used: .* Expected cpu"):
            whyalike.load_encoder(device=device)


def embedded_copy(place: Path) -> Path:
    original = load.embedded_folder()
    assert original is not None
    return Path(shutil.copytree(original, place / "model"))


def swap_words(path: Path) -> None:
    """Two words trade places in a vocabulary: other embeddings, with the weights as they were."""
    content = path.read_text(encoding="utf-8")
    path.write_text(content.replace('"guitar":', '"#":').replace('"music":', '"guitar":').replace('"#":', '"music":'))


def test_the_embedded_model_is_refused_when_any_file_that_counts_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = embedded_copy(tmp_path)
    monkeypatch.setattr(load, "embedded_folder", lambda: folder)
    (folder / "README.md").write_text("other words about the model")
    assert load.default_folder() == str(folder)
    for name in (name for name in load.DEFAULT_SHA256 if name != "model.safetensors"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        with pytest.raises(UnknownModel, match=rf"{name} has SHA-256 \w+…; expected \w+…. Install"):
            load.default_folder()
        (folder / name).unlink()
        with pytest.raises(UnknownModel, match=rf"{name} is missing"):
            load.default_folder()
        (folder / name).write_bytes(content)
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(UnknownModel, match="adapter_config.json is no file of the embedded model"):
        load.default_folder()


def test_another_tokenizer_is_another_model(tmp_path: Path) -> None:
    folder = embedded_copy(tmp_path)
    known = whyalike.load_encoder(folder)
    swap_words(folder / "tokenizer.json")
    tampered = whyalike.load_encoder(folder)
    scores = [
        whyalike.explain("A man plays guitar.", "Someone makes music.", encoder=each).score
        for each in (known, tampered)
    ]
    assert abs(scores[0] - scores[1]) > 0.01
    assert known.record.fingerprint != tampered.record.fingerprint


CHANGES: dict[str, Callable[[Path], None]] = {
    "tokenizer": lambda folder: swap(folder / "tokenizer.json", '"lowercase":true', '"lowercase":false'),
    "length": lambda folder: change(folder / "sentence_bert_config.json", max_seq_length=24),
    "pooling": lambda folder: change(folder / "1_Pooling/config.json", pooling_mode="cls"),
    "transformer": lambda folder: change(folder / "config.json", layer_norm_eps=1e-3),
    "prompts": lambda folder: change(folder / "config_sentence_transformers.json", prompts={"query": "find: "}),
    "modules": lambda folder: (
        (folder / "modules.json").write_text(
            json.dumps([each for each in json.loads((folder / "modules.json").read_text()) if each["idx"] != 2])
        )
        and None
    ),
}


def swap(path: Path, old: str, new: str) -> None:
    content = path.read_text().replace(": ", ":")
    assert old in content
    path.write_text(content.replace(old, new))


@pytest.mark.parametrize("name", CHANGES)
def test_a_fingerprint_covers_all_that_affects_an_embedding(tmp_path: Path, name: str) -> None:
    folder = Path(tiny_folder(str(tmp_path), normalize=True))
    before = whyalike.load_encoder(folder).record.fingerprint
    assert whyalike.load_encoder(folder).record.fingerprint == before
    CHANGES[name](folder)
    assert whyalike.load_encoder(folder).record.fingerprint != before


def test_a_fingerprint_covers_every_weight_and_is_not_changed_by_use() -> None:
    encoder = tiny_encoder("bert", dtype=torch.float32)
    before = fingerprint_of(encoder.model)
    whyalike.explain(LEFT, RIGHT + " " + LEFT, encoder=encoder, truncate=True)
    encoder.embed([LEFT, RIGHT])
    tokenizer()([LEFT, RIGHT], padding=True, truncation=True, max_length=5)
    assert fingerprint_of(encoder.model) == before
    with torch.no_grad():
        encoder.model[0].auto_model.encoder.layer[1].output.dense.weight[3, 5] += 1e-3
    assert fingerprint_of(encoder.model) != before
