"""What every kind of training shares: settings, the loop, checkpoints, the record. The only door to `datasets`.

The loop is sentence-transformers' own trainer. A run that was killed is taken up at its last checkpoint and ends with the
same weights as one that was not. A finished model is a folder in sentence-transformers' format, with `training.json`
beside it: the request, and how the loss went. It is written last: with it the training is complete.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from torch import nn
from tqdm import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState
from transformers.trainer_callback import PrinterCallback

from whyalike import __version__
from whyalike.encoders.modules import revive
from whyalike.errors import BadInput, DamagedFile, MissingExtra
from whyalike.storage.reading import Fields, parse_json, read_text
from whyalike.storage.run_folder import REQUEST, RunFolder, check_request, digest, locked
from whyalike.storage.writing import whole_file, write_text, writing

try:
    from datasets import Dataset, disable_progress_bars
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
except ImportError as missing:
    raise MissingExtra("datasets", "training", "train") from missing

Measure = Callable[[SentenceTransformer], dict[str, float]]
CHECKPOINTS = "checkpoints"
RECORD = "training.json"
LOSS = "loss.safetensors"
WHOLE = "whole"  # a file in a checkpoint that was written to its end


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How to train. The defaults are those of the Siamese paper's appendix A."""

    epochs: float = 5.0
    batch_size: int = 16
    learning_rate: float = 2e-5
    weight_decay: float = 0.1
    warmup: float = 0.1  # share of all steps
    seed: int = 0
    checkpoint_every: int = 200  # steps
    max_steps: int | None = None  # instead of epochs

    def __post_init__(self) -> None:
        for name in (
            "epochs",
            "batch_size",
            "learning_rate",
            "checkpoint_every",
            "weight_decay",
            "warmup",
            "seed",
            "max_steps",
        ):
            value = getattr(self, name)
            whole = name in ("batch_size", "checkpoint_every", "seed", "max_steps")
            if value is None and name == "max_steps":
                continue
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
                raise BadInput(f"{name} should be a {'whole ' if whole else ''}number; got {value!r}.")
            if value < 0 or (value == 0 and name not in ("weight_decay", "warmup", "seed")):
                raise BadInput(f"{name} should be above 0; got {value!r}.")
        if not 0 <= self.warmup < 1:
            raise BadInput(f"warmup is a share of all steps, from 0 up to 1; got {self.warmup!r}.")


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished run: where the model lies, and what was seen on the way."""

    folder: Path
    losses: tuple[tuple[int, float], ...]  # step, mean loss since the last one listed
    measured: tuple[dict[str, float], ...]  # on the development set, after each epoch
    request: Mapping[str, Any] = field(default_factory=dict)
    was_complete: bool = False  # nothing was left to do

    def __repr__(self) -> str:
        loss = f", loss {self.losses[0][1]:.4f} to {self.losses[-1][1]:.4f}" if self.losses else ""
        return f"Trained({self.request.get('kind')} in {str(self.folder)!r}{loss})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "request": dict(self.request),
            "losses": [list(each) for each in self.losses],
            "measured": list(self.measured),
        }


def fit(
    model: SentenceTransformer,
    loss: nn.Module,
    columns: Mapping[str, list[Any]],
    folder: Path,
    *,
    request: Mapping[str, Any],
    settings: TrainingSettings,
    measure: Measure | None = None,
    beside: Callable[[Path], None] = lambda folder: None,
    resume: bool = False,
    progress: bool = True,
) -> Trained:
    """Train a model on a table and save it in ``folder``; ``beside`` writes what else belongs there.

    ``request`` is recorded, and must be the same, and the table too, when a run is taken up again with ``resume``.
    """
    rows = len(next(iter(columns.values())))
    request = {**request, "settings": asdict(settings), "rows": rows, "data": digest(dict(columns))}
    with locked(folder), writing(folder):
        if (folder / RECORD).is_file():
            return _completed(folder, request, resume)
        checkpoint = _prepare(folder, request, resume)
        arguments = _arguments(folder / CHECKPOINTS, settings, rows)
        history = _run(model, loss, columns, arguments, _Watcher(model, loss, measure, progress), checkpoint)
        trained = _record(folder, request, history)
        model.eval()
        model.save(str(folder), create_model_card=False)
        beside(folder)
        write_text(folder / RECORD, json.dumps(trained.to_dict(), indent=1, sort_keys=True) + "\n")
        _clear_up(folder)
        return trained


def _run(
    model: SentenceTransformer,
    loss: nn.Module,
    columns: Mapping[str, list[Any]],
    arguments: SentenceTransformerTrainingArguments,
    watcher: _Watcher,
    checkpoint: Path | None,
) -> list[dict[str, Any]]:
    """Trains from the checkpoint, or from the beginning. Returns what was logged on the way."""
    revive(model)
    disable_progress_bars()
    if checkpoint is not None:
        _load_own(loss, checkpoint)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=Dataset.from_dict(dict(columns)),
        loss=loss,
        callbacks=[watcher],
    )
    trainer.remove_callback(PrinterCallback)
    try:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    finally:
        watcher.close()
    return list(trainer.state.log_history)


def _record(folder: Path, request: Mapping[str, Any], history: list[dict[str, Any]]) -> Trained:
    losses = [(int(row["step"]), float(row["loss"])) for row in history if "loss" in row]
    measured = [
        {name: value for name, value in row.items() if name.startswith("dev_") or name == "epoch"}
        for row in history
        if any(name.startswith("dev_") for name in row)
    ]
    return Trained(folder, tuple(losses), tuple(measured), request)


def load_record(folder: Path) -> Trained:
    """What `fit` wrote beside a model."""
    path = folder / RECORD
    try:
        found = Fields(parse_json(read_text(path, DamagedFile)))
        losses = found.numbers("losses", len(found.list("losses")), 2)
        measured = tuple(Fields(each, "a measurement").value for each in found.list("measured"))
        steps = tuple((int(step), float(loss)) for step, loss in losses)
        return Trained(folder, steps, measured, found.fields("request").value)
    except ValueError as error:
        raise DamagedFile(f"{path} is damaged: {error}. Train the model again in another folder.") from error


def _completed(folder: Path, request: Mapping[str, Any], resume: bool) -> Trained:
    """A training that has its record is complete, though it may have been killed before it could clear up."""
    if not resume:
        raise BadInput(f"{folder} holds a finished training. Give another folder, or empty this one.")
    trained = load_record(folder)
    check_request(trained.request, request, folder, "Give another folder.")
    _clear_up(folder)
    return replace(trained, was_complete=True)


def _clear_up(folder: Path) -> None:
    if (folder / CHECKPOINTS).exists():
        shutil.rmtree(folder / CHECKPOINTS)


def _prepare(folder: Path, request: Mapping[str, Any], resume: bool) -> Path | None:
    """The last checkpoint to resume from, or None; refuses a folder that holds something else."""
    file, advice = f"{CHECKPOINTS}/{REQUEST}", "Resume it with the same settings, or give another folder."
    if (folder / file).is_file() and not resume:
        raise BadInput(f"{folder} holds an unfinished training. Resume it (--resume), or give another folder.")
    with RunFolder.open(folder, request, request_file=file, advice=advice):
        found = {int(each.name.rsplit("-", 1)[1]): each for each in (folder / CHECKPOINTS).glob("checkpoint-*")}
        whole = [step for step, each in found.items() if (each / WHOLE).is_file()]
        for step in found.keys() - whole:
            shutil.rmtree(found[step])  # what a killed process, or a full disk, left of it
        return found[max(whole)] if whole else None


def _arguments(folder: Path, settings: TrainingSettings, rows: int) -> SentenceTransformerTrainingArguments:
    steps = settings.max_steps or max(1, round(settings.epochs * -(-rows // settings.batch_size)))
    return SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        max_steps=settings.max_steps or -1,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        warmup_steps=round(settings.warmup * steps),
        lr_scheduler_type="linear",
        seed=settings.seed,
        save_strategy="steps",
        save_steps=settings.checkpoint_every,
        save_total_limit=2,
        logging_strategy="steps",
        logging_steps=max(1, steps // 40),
        report_to="none",
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=False,
    )


class _Watcher(TrainerCallback):
    """The progress bar, and the measure after each epoch."""

    def __init__(self, model: SentenceTransformer, loss: nn.Module, measure: Measure | None, progress: bool) -> None:
        self.model, self.loss, self.measure, self.progress = model, loss, measure, progress
        self.bar: Any = None

    def on_train_begin(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.bar = tqdm(total=state.max_steps, initial=state.global_step, desc="Training", disable=not self.progress)
        if state.global_step and state.epoch == round(state.epoch or 0.0):
            self.on_epoch_end(
                args, state, control
            )  # a checkpoint of an epoch's last step was written before it was measured

    def on_step_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.bar.update(state.global_step - self.bar.n)

    def on_log(self, args: Any, state: TrainerState, control: TrainerControl, logs: Any = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            self.bar.set_postfix_str(f"loss {logs['loss']:.4f}")

    def on_epoch_end(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self.measure is None:
            return
        training = self.model.training
        self.model.eval()
        random = torch.get_rng_state()  # measuring must not change what is drawn next
        found = {f"dev_{name}": value for name, value in self.measure(self.model).items()}
        torch.set_rng_state(random)
        self.model.train(training)
        state.log_history.append({"step": state.global_step, "epoch": round(state.epoch or 0.0, 3), **found})
        self.bar.write(
            "  ".join([f"epoch {state.epoch:.0f}", *(f"{name} {value:.4f}" for name, value in found.items())]),
            file=sys.stderr,
        )

    def on_save(self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        place = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if own := _own(self.loss):
            with whole_file(place / LOSS) as part:
                save_file(own, part)
        write_text(place / WHOLE, "")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _own(loss: nn.Module) -> dict[str, torch.Tensor]:
    """What a loss learns beside its model, such as the head of a language model: the trainer's checkpoints leave it out."""
    found = loss.state_dict()
    return {name: tensor.contiguous() for name, tensor in found.items() if not name.startswith("model.")}


def _load_own(loss: nn.Module, checkpoint: Path) -> None:
    if _own(loss):
        loss.load_state_dict(load_file(checkpoint / LOSS), strict=False)
