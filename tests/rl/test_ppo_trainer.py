"""The training loop: known optima are reached, the best step is kept, what must not go on does not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faithline.pipeline.errors import ConfigError, DataInvalid, Diverged
from faithline.rl.engine.local import LocalEngine
from faithline.rl.episode import Play
from tests.rl.conftest import PROMPTS, Notes, export, parity, run

MakeEngine = Callable[..., LocalEngine]


def test_a_bandit_is_solved(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    """Four arms (a token's class) pay 0, 0.3, 0.6 and 1; which is best depends on the prompt."""
    episode = toy(lambda _role, prompt, ids: (0.0, 0.3, 0.6, 1.0)[(ids[0] + prompt[-1]) % 4])
    engine = make_engine(
        steps=12,
        batch_questions=64,
        minibatch_rows=64,
        micro_tokens=4096,
        rollout={"max_new_tokens": 1},
        actor={"learning_rate": 5e-3},
        kl={"coefficient": 0.0},
        entropy_coefficient=0.03,
        selection={"every": 3},
        checkpoints={"every": 100},
    )
    result = run(engine, episode, tmp_path, PROMPTS * 16)
    assert (result.first_score, result.best_score) == (0.5, 1.0)
    assert result.curve[-1]["reward"] > 0.9  # sampled, not only greedy


def test_a_copy_task_is_solved(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    """Two symbols (a token's class of four) have to be written again, in order."""
    prompts = [[50, one, other] for one, other in itertools.product((100, 101), repeat=2)]
    episode = toy(lambda _role, prompt, ids: sum(a % 4 == b % 4 for a, b in zip(ids, prompt[1:], strict=False)) / 2)
    engine = make_engine(
        tuning="full",
        steps=40,
        batch_questions=64,
        minibatch_rows=64,
        micro_tokens=8192,
        rollout={"max_new_tokens": 2, "temperature": 2.0},
        actor={"learning_rate": 1e-3},
        kl={"coefficient": 0.0},
        entropy_coefficient=0.02,
        selection={"every": 10},
        checkpoints={"every": 100},
    )
    result = run(engine, episode, tmp_path, prompts * 16)
    assert result.first_score < 0.5
    assert result.best_score == 1.0


def test_selection_keeps_the_best_step(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    """The score falls after step 2 whatever the policy does: the weights of step 2 are what is left."""
    scores = iter([0.1, 0.5, 0.4, 0.5])

    seen: list[str] = []

    class Falling(toy):  # type: ignore[misc]
        def judge(self, questions: Any, sampler: Any, *, seed: int) -> dict[str, float]:
            seen.append(export(sampler, tmp_path / "judged"))
            return {"score": next(scores), "other": 1.0}

    engine, notes = make_engine(), Notes()
    result = run(engine, Falling(parity), tmp_path, reports=[notes])
    assert (result.best_step, result.best_score, result.first_score) == (2, 0.5, 0.1)
    assert export(engine, tmp_path / "out") == seen[1] != seen[2]
    assert (notes.began, notes.steps, notes.judged_steps) == ([0], [1, 2, 3, 4, 5, 6], [0, 2, 4, 6])
    assert [row["step"] for row in result.curve] == list(range(7))
    assert [row.get("held_out/other") for row in result.curve] == [1, None, 1, None, 1, None, 1]
    assert all(row["answered"] == 1.0 for row in result.curve[1:])


def test_training_never_ends_worse_than_it_began(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    class Same(toy):  # type: ignore[misc]
        def judge(self, questions: Any, sampler: Any, *, seed: int) -> dict[str, float]:
            return {"score": 0.3}

    engine = make_engine()
    before = export(engine, tmp_path / "before")
    assert run(engine, Same(parity), tmp_path).best_step == 0
    assert export(engine, tmp_path / "after") == before


def test_each_question_comes_once_before_any_comes_again(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    asked: list[list[int]] = []

    class Asking(toy):  # type: ignore[misc]
        def play(self, questions: Any, sampler: Any, *, seed: int) -> Play:
            asked.append([question[0] for question in questions])
            played: Play = super().play(questions, sampler, seed=seed)
            return played

    questions = [[10 + number, 7] for number in range(14)]  # three batches of four and an incomplete one
    run(make_engine(), Asking(parity), tmp_path, questions)
    assert [len(batch) for batch in asked] == [4] * 6
    for epoch in (asked[:3], asked[3:]):
        assert len(set(itertools.chain(*epoch))) == 12
    assert asked[:3] != asked[3:]


def test_bad_input(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"batch of 4 questions is larger than the data \(3\)") as config:
        run(make_engine(), toy(parity), tmp_path, PROMPTS[:3])
    assert config.value.exit_code == 40
    with pytest.raises(DataInvalid, match="not one question to train on") as data:
        run(make_engine(), toy(parity), tmp_path, [])
    assert data.value.exit_code == 20

    class Silent(toy):  # type: ignore[misc]
        def play(self, questions: Any, sampler: Any, *, seed: int) -> Play:
            return Play([])

    with pytest.raises(DataInvalid, match="none of 0 rows can be learned from"):
        run(make_engine(), Silent(parity), tmp_path)


def test_a_flat_reward_diverges_and_names_the_last_good_step(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    """Rewards vary for the first three steps; then all are equal, three steps running."""
    played = itertools.count(1)

    class Flattening(toy):  # type: ignore[misc]
        def play(self, questions: Any, sampler: Any, *, seed: int) -> Play:
            found: Play = super().play(questions, sampler, seed=seed)
            if next(played) <= 3:
                return found
            return Play([type(row)(row.role, row.prompt_ids, row.response_ids, -1.0) for row in found.rows])

    engine = make_engine(checkpoints={"every": 1})
    with pytest.raises(Diverged) as raised:
        run(engine, Flattening(parity), tmp_path)
    assert raised.value.exit_code == 30
    assert "every row has the reward -1: there is nothing to learn from, for 3 steps running" in str(raised.value)
    assert "the last good step is 3" in str(raised.value)
    assert "training step 6" in str(raised.value)
    whole = make_engine(steps=3, selection={"every": 9})  # what is left in the engine is what three steps give
    whole_best = run(whole, toy(parity), tmp_path / "whole").best_step
    assert whole_best == 3
    assert export(engine, tmp_path / "left") == export(whole, tmp_path / "right")
    assert [int(path.stem) for path in sorted((tmp_path / "store" / "manifests").iterdir())] == [2, 3]
    # What diverged may be replaced by a training with other settings.
    assert run(make_engine(seed=2), toy(parity), tmp_path).resumed_from is None


def test_a_figure_that_is_no_number_diverges(make_engine: MakeEngine, toy: Any, tmp_path: Path) -> None:
    class Broken(toy):  # type: ignore[misc]
        def play(self, questions: Any, sampler: Any, *, seed: int) -> Play:
            found: Play = super().play(questions, sampler, seed=seed)
            return Play(found.rows, {"answered": math.nan})

    with pytest.raises(Diverged, match="answered is nan; the last good step is 0"):
        run(make_engine(), Broken(parity), tmp_path)
