"""The stage train_march in the real wrapper: outputs, resume byte by byte, canaries, failures that leave nothing."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peft
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from components.train_march.__main__ import run
from components.train_march.params import Params
from components.train_march.questions import numeric_questions, read_questions
from faithline.lm import backbone
from faithline.march.episode import MarchEpisode
from faithline.pipeline.stage import execute
from faithline.rewards.replay import load_settings, replay_file
from faithline.rl.engine.local import LocalEngine
from faithline.rl.episode import Play
from faithline.training_sets.schema import march_file


def run_stage(root: Path) -> int:
    return execute(root, "train_march", Params, run)


def outputs(root: Path) -> dict[str, bytes]:
    files = [
        *sorted((root / "models/march").iterdir()),
        root / "metrics/train_march.json",
        root / "plots/train_march.csv",
    ]
    return {path.name: path.read_bytes() for path in files}


def edit(root: Path, **changes: Any) -> None:
    """Change values of the section `march`, by dotted key."""
    yaml = YAML()
    params = yaml.load((root / "params.yaml").read_text())
    for key, value in changes.items():
        *way, last = key.split("__")
        place = params["march"]
        for part in way:
            place = place[part]
        place[last] = value
    with (root / "params.yaml").open("w") as file:
        yaml.dump(params, file)


def test_what_the_stage_writes(project: Path, tiny_backbone: Path, warm_adapter: Path) -> None:
    assert run_stage(project) == 0
    folder = project / "models/march"
    assert sorted(path.name for path in folder.iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors", "backbone.json", "record.json",
    ]  # fmt: skip
    config = json.loads((folder / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "models/backbone"
    base = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    assert peft.PeftModel.from_pretrained(base, str(folder)).active_adapter == "default"
    assert backbone.load(project / "models/backbone", device="cpu", dtype="float32", adapter=folder, merge=True)
    with (project / "plots/train_march.csv").open() as file:
        curve = {int(row["step"]): row for row in csv.DictReader(file)}
    assert list(curve) == [0, 1, 2, 3]
    assert all(curve[step]["reward"] for step in (1, 2, 3))
    assert [bool(row["held_out/score"]) for row in curve.values()] == [True, False, True, True]
    metrics = json.loads((project / "metrics/train_march.json").read_text())
    kept = metrics["kept_step"]
    assert metrics["steps"] == 3
    assert metrics["score"] == float(curve[kept]["held_out/score"])
    assert metrics["score_before"] == float(curve[0]["held_out/score"])
    assert {"answer_rate", "no_question_rate", "questions_per_response", "response_characters", "ztr"} <= metrics.keys()
    before, after = (load_file(place / "adapter_model.safetensors") for place in (warm_adapter, folder))
    assert before.keys() == after.keys()
    assert all(bool((before[name] == after[name]).all()) for name in before) or kept > 0
    # The texts replay, and nothing is left to continue from.
    traces = project / "logs/train_march/traces.jsonl"
    replayed = list(replay_file(traces, load_settings(project, release=False)))
    assert len(replayed) == 3 * 2
    assert list((project / "checkpoints/train_march").rglob("*.json")) == []


@pytest.mark.parametrize("place", [None, "elsewhere"])
def test_a_killed_run_ends_in_the_same_bytes(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, warm_adapter: Path, place: str | None
) -> None:
    # A random model writes no numbers: rewards that differ, and a score that rises, so that the last step is kept.
    scores = iter(range(100))
    monkeypatch.setattr(MarchEpisode, "judge", lambda *_arguments, **_named: {"score": float(next(scores))})
    real_play = MarchEpisode.play

    def varied(*arguments: Any, **named: Any) -> Play:
        play = real_play(*arguments, **named)
        rows = [dataclasses.replace(row, reward=-float(row.response_ids[0] % 7)) for row in play.rows]
        return dataclasses.replace(play, rows=rows)

    monkeypatch.setattr(MarchEpisode, "play", varied)
    assert run_stage(project) == 0
    whole = outputs(project)
    assert whole["adapter_model.safetensors"] != (warm_adapter / "adapter_model.safetensors").read_bytes()
    for path in (project / "models/march", project / "metrics", project / "plots"):
        path.rename(path.with_name(f"{path.name}-whole"))
    if place:
        monkeypatch.setenv("FAITHLINE_CHECKPOINTS", str(tmp_path / place))
    scores = iter(range(100))
    real, calls = LocalEngine.update, 0

    def killed(self: LocalEngine, *arguments: Any) -> dict[str, float]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(LocalEngine, "update", killed)
    assert run_stage(project) == 130
    assert not (project / "models/march").exists()
    kept = (tmp_path / place) if place else project / "checkpoints/train_march"
    assert list((kept / "manifests").iterdir())
    monkeypatch.setattr(LocalEngine, "update", real)
    scores = iter(range(2, 100))
    assert run_stage(project) == 0
    assert outputs(project) == whole


def test_training_from_the_backbone(project: Path) -> None:
    edit(project, init="instruct")
    (project / "models/warm_start/march").unlink()
    assert run_stage(project) == 0
    config = json.loads((project / "models/march/adapter_config.json").read_text())
    assert (config["r"], sorted(config["target_modules"])) == (2, ["q_proj", "v_proj"])


def no_questions(root: Path) -> None:
    path = root / "data/training/march" / march_file("general", "validation")
    pq.write_table(pq.read_table(path)[:0], path)


def other_backbone(root: Path) -> None:
    folder = root / "models/warm_start/march"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    folder.unlink()
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "backbone.json").write_text('{"fingerprint": "0123"}')


SOLVER_ONLY = {"ppo__trained_roles": ["solver"]}


def changed(**changes: Any) -> Callable[[Path], None]:
    return lambda root: edit(root, **changes)


@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (no_questions, 20, "no question in split validation of general"),
        (changed(ppo__rollout__max_prompt_tokens=30), 20, "max_prompt_tokens"),
        (changed(data__domains=["stem"]), 20, "no question in split train of stem"),
        (changed(ppo__batch_questions=5), 40, "larger than the data"),
        (other_backbone, 40, "another backbone"),
        (changed(ppo__adapters="per_role"), 40, "one policy"),
        (changed(reward__terms__reward_model=1.0), 40, "reward model"),
        (changed(max_new_tokens__checker=7), 40, "max_new_tokens"),
        (changed(greedy_roles=["checker"]), 40, "must not be trained"),
        (
            changed(greedy_roles=["checker"], ppo__trained_roles=["solver"], reward__checker_votes=3),
            40,
            "checker_votes",
        ),
        # The roles of a random model give one reward to everything.
        (changed(reward__canaries__rollout="refuse"), 40, "free reward"),
        (changed(reward__below_min="cap", reward__min_pairs=2, reward__empty_reward=-0.5), 40, "free reward"),
    ],
)
def test_failures_leave_nothing(
    project: Path, spoil: Callable[[Path], None], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(project)
    assert run_stage(project) == code
    assert words in capsys.readouterr().err
    assert not (project / "models/march").exists()
    assert not (project / "metrics/train_march.json").exists()


def test_weak_roles_are_reported_where_that_is_asked_for(project: Path) -> None:
    edit(project, reward__canaries__rollout="warn")
    record = {
        "sees_query": False,
        "min_pairs": 1,
        "max_pairs": 4,
    }
    params = {"warm_start": {"adapters": {"march": {"roles": {"proposer": record}}}}}
    (project / "models/warm_start/record.json").write_text(json.dumps({"params": params}))
    assert run_stage(project) == 0
    log = (project / "logs/train_march.jsonl").read_text()
    assert log.count('"event": "canaries"') == 2
    assert "another prompt" in log
    assert "sees_query" in log


def test_questions_come_in_the_order_drawn(tmp_path: Path, write_training: Any, row: Any) -> None:
    from components.train_march.params import Data

    write_training(tmp_path, [row(number) for number in range(5)], [row(7)])
    data = Data(domains=["stem", "general"], questions="all", train=3, validation=None)
    found = read_questions(tmp_path / "march", "train", data, lambda question: question.id == "s/3")
    # `order` falls with the number; one of the three drawn is too long.
    assert [question.id for question in found.kept] == ["s/4", "s/2"]
    assert found.too_long == 1
    assert [passage.text for passage in found.kept[0].passages] == ["It has 1004 inhabitants."]
    numeric = list(numeric_questions(tmp_path / "sft"))
    assert [(question.id, gold) for question, gold in numeric] == [
        ("s/3", "1003"), ("s/2", "1002"), ("s/1", "1001"), ("s/0", "1000"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "asks"),
    [
        ("How many people live in Orl?", True),
        ("In which YEAR was Orl founded?", True),
        ("When did it open?", True),
        ("What is the mass of X in kilodaltons?", True),
        ("In cubic metres per second, what is the discharge of the river?", True),
        ("Who is the mayor of Orl?", False),
        ("Which whenever festival is it?", False),
    ],
)
def test_questions_that_ask_for_numbers(tmp_path: Path, write_training: Any, row: Any, query: str, asks: bool) -> None:
    from components.train_march.params import Data

    write_training(tmp_path, [row(0, query=query), row(1, query="How long is it?")], [])
    data = Data(domains=["general"], questions="numeric", train=9, validation=None)
    found = read_questions(tmp_path / "march", "train", data, lambda _question: False)
    assert [question.id for question in found.kept] == (["s/1", "s/0"] if asks else ["s/1"])
