"""The stage warm_start in the real wrapper: its outputs, the same bytes twice, stop signals and failures."""

from __future__ import annotations

import csv
import json
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peft
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml
from transformers import AutoModelForCausalLM

from components.warm_start import callbacks, trainer
from components.warm_start.__main__ import run
from components.warm_start.params import Params
from faithline.lm import backbone
from faithline.pipeline.stage import execute


@pytest.fixture
def project(
    make_project: Any,
    section: Any,
    roles_section: Any,
    question: Any,
    prepare: Any,
    write_sft: Any,
    tiny_backbone: Path,
) -> Path:
    """A project that ran as far as warm_start: ten questions to train on, five to measure on, and rows of MARCH."""
    march = {"roles": roles_section, "max_length": 600}
    both = section | {"adapters": section["adapters"] | {"march": march}}
    root: Path = make_project({"seed": 5, "warm_start": both}, tiny=False)
    write_sft(root / "data/training/sft")
    prepare(root / "data/prepared", [question(n, "train" if n < 10 else "validation") for n in range(15)])
    (root / "models").mkdir()
    (root / "models/backbone").symlink_to(tiny_backbone)
    return root


def run_stage(root: Path) -> int:
    return execute(root, "warm_start", Params, run)


def outputs(root: Path) -> dict[str, bytes]:
    below = (path for path in (root / "models/warm_start").rglob("*") if path.is_file())
    files = [*below, root / "metrics/warm_start.json", root / "plots/warm_start.csv"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def test_what_the_stage_writes(project: Path, tiny_backbone: Path) -> None:
    assert run_stage(project) == 0
    folder = project / "models/warm_start"
    assert sorted(path.name for path in folder.iterdir()) == ["answer", "march", "record.json"]
    for name in ("answer", "march"):
        check_adapter(project, folder / name, tiny_backbone)
    assert (folder / "answer/adapter_model.safetensors").read_bytes() != (
        folder / "march/adapter_model.safetensors"
    ).read_bytes()
    metrics = json.loads((project / "metrics/warm_start.json").read_text())
    # 8 questions, 2 a batch, 2 epochs; a completion is "**answer N**" and the end of the turn.
    own = metrics["answer"]
    assert (own["steps"], own["examples"], own["examples_validation"]) == (8, 8, 4)
    # 3 examples of each of 3 roles: 5 batches, 2 epochs.
    other = metrics["march"]
    assert (other["steps"], other["examples"], other["examples_validation"]) == (10, 9, 3)
    with (project / "plots/warm_start.csv").open() as file:
        curve = {int(row["step"]): row for row in csv.DictReader(file)}
    assert list(curve) == list(range(11))
    for found, prefix, last in ((own, "", 8), (other, "march/", 10)):
        assert float(curve[found["kept_step"]][f"{prefix}eval_loss"]) == found["eval_loss"]
        assert float(curve[0][f"{prefix}eval_loss"]) == found["eval_loss_before"]
        assert float(curve[last][f"{prefix}loss"]) == found["train_loss"]
    assert (curve[0]["loss"], curve[1]["eval_loss"], curve[9]["loss"]) == ("", "", "")


def check_adapter(project: Path, folder: Path, tiny_backbone: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors", "backbone.json",
    ]  # fmt: skip
    config = json.loads((folder / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "models/backbone"
    assert config["target_modules"] == ["down_proj", "q_proj", "v_proj"]
    assert config["inference_mode"] is True
    assert str(project) not in "".join(data.decode("latin-1") for data in outputs(project).values())
    base = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    assert peft.PeftModel.from_pretrained(base, str(folder)).active_adapter == "default"
    assert backbone.load(project / "models/backbone", device="cpu", dtype="float32", adapter=folder, merge=True)


def test_an_adapter_does_not_depend_on_the_others(project: Path) -> None:
    assert run_stage(project) == 0
    both = (project / "models/warm_start/march/adapter_model.safetensors").read_bytes()
    params = yaml.safe_load((project / "params.yaml").read_text())
    del params["warm_start"]["adapters"]["answer"]
    (project / "params.yaml").write_text(yaml.safe_dump(params))
    assert run_stage(project) == 0
    assert sorted(path.name for path in (project / "models/warm_start").iterdir()) == ["march", "record.json"]
    assert (project / "models/warm_start/march/adapter_model.safetensors").read_bytes() == both


def test_the_same_seed_gives_the_same_bytes_in_any_process(
    project: Path, run_component: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PEFT keeps target modules in a set, whose order changes with the hash seed of the process.
    found = []
    for hash_seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        done = run_component(project, "warm_start")
        assert done.returncode == 0, done.stderr
        found.append(outputs(project))
    assert found[0] == found[1]
    text = (project / "params.yaml").read_text().replace("seed: 5", "seed: 6")
    (project / "params.yaml").write_text(text)
    assert run_stage(project) == 0
    assert (
        outputs(project)["models/warm_start/answer/adapter_model.safetensors"]
        != found[0]["models/warm_start/answer/adapter_model.safetensors"]
    )


@pytest.mark.parametrize("moment", ["step", "forward"])
def test_a_stop_signal_ends_the_training_at_once(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, moment: str
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    calls = 0

    def stop(*_arguments: Any, **_details: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    if moment == "step":
        monkeypatch.setattr(callbacks.Reporter, "on_step_end", stop)
    else:
        real = trainer.token_losses
        monkeypatch.setattr(trainer, "token_losses", lambda *arguments: (stop(), real(*arguments))[1])
    assert run_stage(project) == 75
    assert calls == 3
    assert list(scratch.iterdir()) == []
    for place in ("models/warm_start", "metrics/warm_start.json", "plots/warm_start.csv"):
        assert not (project / place).exists()
    assert [path.name for path in (project / "models").iterdir()] == ["backbone"]
    monkeypatch.undo()
    assert run_stage(project) == 0


def only(split: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        path = root / "data/prepared/questions.parquet"
        table = pq.read_table(path)
        pq.write_table(table.filter(pc.equal(table["split"], split)), path)

    return change


def edit(old: str, new: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        text = (root / "params.yaml").read_text()
        assert old in text
        (root / "params.yaml").write_text(text.replace(old, new))

    return change


def no_rows(root: Path) -> None:
    path = root / "data/training/sft/checker/train.parquet"
    pq.write_table(pq.read_table(path)[:0], path)


def no_backbone(root: Path) -> None:
    (root / "models/backbone").unlink()


@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (only("train"), 20, "split validation"),
        (only("validation"), 20, "split train"),
        (no_rows, 20, "role checker has nothing to learn in split train"),
        (no_backbone, 20, "models/backbone"),
        (edit("max_length: 600", "max_length: 60"), 20, "solver_too_long: 5"),
        (edit("    march:\n", "    March:\n"), 40, "adapters"),
        (edit("max_length: 400", "max_length: 10"), 20, "max_length"),
        (edit("learning_rate: 0.01", "learning_rate: 1.0e38"), 30, "learning_rate"),
        (edit("learning_rate: 0.01", "learning_rate: 1.0e-30"), 30, "did not lower the validation loss"),
        (edit("- q_proj", "- c_attn"), 40, "c_attn"),
        (edit("keep: best", "keep: newest"), 40, "keep"),
        (edit("dropout: 0.1", "dropout: 1.0"), 40, "dropout"),
    ],
)
def test_failures_leave_nothing(
    project: Path, spoil: Callable[[Path], None], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(project)
    assert run_stage(project) == code
    assert words in capsys.readouterr().err
    assert not (project / "models/warm_start").exists()
    assert not (project / "metrics/warm_start.json").exists()
