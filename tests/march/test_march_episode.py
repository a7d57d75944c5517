"""Episodes with scripted roles: rows and rewards by hand, blindness for any text, prompts that are too long, replay."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faithline.agents.passage import Passage
from faithline.lm.chat import Chat
from faithline.march.episode import MarchEpisode
from faithline.march.roles import ROLES, Question, Roles
from faithline.march.settings import NewTokens
from faithline.rewards.replay import replay_file

TOKENS = NewTokens(solver=50, proposer=60, checker=70)
ASK = "- Question: How many people live there? [Answer: {}]"
FOUND = "1. Evidence: It is stated. [Answer: {}]"


def says(*texts: str) -> Callable[[str, int], str]:
    """A role that says these texts, the first to the first prompt."""
    return lambda _prompt, place: texts[place]


@pytest.fixture
def episode(chat: Chat, reward_with: Any) -> Callable[..., MarchEpisode]:
    def make(limit: int = 4000, model: Any = None, **changed: Any) -> MarchEpisode:
        reward = reward_with(**changed)
        return MarchEpisode(Roles(chat, reward, TOKENS, limit), reward, model)

    return make


def test_rows_and_rewards_by_hand(episode: Any, script: Any, town: Any, chat: Chat) -> None:
    """Four responses: right, wrong, without numbers, and empty."""
    sampler = script(
        solver=says("Town a has 1000 people.", "<think>1001?</think> It has 7.", "Many people.", ""),
        proposer=says(ASK.format(1000), ASK.format(7), "No numbers."),
        checker=says(FOUND.format(1000), FOUND.format(1001)),
    )
    play = episode(empty_reward=-0.5, checker_format=0.0, solver_format=-0.25).play(
        [town(place) for place in range(4)], sampler, seed=1
    )
    rows = [(row.role, row.reward, row.trainable, chat.decode(row.response_ids)) for row in play.rows]
    assert rows == [
        ("solver", 0.0, True, "Town a has 1000 people."),
        ("proposer", 0.0, False, ASK.format(1000)),
        ("checker", 0.0, True, FOUND.format(1000)),
        ("solver", -1.0, True, "<think>1001?</think> It has 7."),
        ("proposer", -1.0, False, ASK.format(7)),
        ("checker", -1.0, True, FOUND.format(1001)),
        ("solver", -0.5, True, "Many people."),
        ("proposer", -0.5, False, "No numbers."),
        ("solver", -0.75, True, ""),
    ]
    found = play.metrics
    assert found["questions_per_response"] == 2 / 4
    assert found["no_question_rate"] == 2 / 4
    assert found["answer_rate"] == 3 / 4
    assert found["ztr"] == (0.0 - 1.0 - 0.5 - 0.5) / 4
    assert found["err"] == (0.0 - 1.0 - 0.5 - 0.5) / 4
    assert found["response_characters"] == (23 + 9 + 12 + 0) / 4
    assert (found["outcome/solver_ok"], found["outcome/solver_empty"]) == (3 / 4, 1 / 4)
    assert (found["outcome/proposer_ok"], found["outcome/proposer_empty"]) == (2 / 3, 1 / 3)
    assert found["outcome/checker_ok"] == 1.0
    # The reasoning is stripped before anybody reads the response.
    assert "1001?" not in "".join(sampler.prompts("proposer"))
    assert [(call[0], call[3], call[4]) for call in sampler.calls] == [
        ("solver", False, 50),
        ("proposer", False, 60),
        ("checker", False, 70),
    ]


def test_three_votes_decide_and_the_last_one_is_the_trajectory(
    episode: Any, script: Any, town: Any, chat: Chat
) -> None:
    votes = iter([FOUND.format(5), FOUND.format(6), "nothing"])
    sampler = script(
        solver=says("It has 5."), proposer=says(ASK.format(5)), checker=lambda _prompt, _place: next(votes)
    )
    play = episode(checker_votes=3, checker_format=-0.125).play([town(0)], sampler, seed=1)
    # One of three votes agrees: a fault; the last vote broke the form.
    checker = [row for row in play.rows if row.role == "checker"]
    assert [(row.reward, chat.decode(row.response_ids)) for row in checker] == [(-1.125, "nothing")]
    seeds = [seed for role, _, seed, *_ in sampler.calls if role == "checker"]
    assert len(set(seeds)) == 3
    assert play.metrics["outcome/checker_malformed"] == pytest.approx(1 / 3)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
MARK = "zqx"


@settings(max_examples=60, deadline=None)
@given(
    response=TEXT,
    query=TEXT,
    asked=st.lists(st.tuples(TEXT, st.integers(-99999, 99999)), max_size=3),
)
def test_the_checker_sees_nothing_of_response_query_and_answers(
    chat: Chat, script: Any, reward_with: Any, response: str, query: str, asked: list[tuple[str, int]]
) -> None:
    """Whatever the roles write: the Checker's prompt is a function of the documents and the blinded questions."""
    passages = (Passage("d", "Title", "A text."),)
    proposal = "\n".join(f"- Question: {MARK}{text} [Answer: {answer}]" for text, answer in asked)
    reward = reward_with(max_pairs=10)

    def shown(said: str, question: str) -> list[str]:
        sampler = script(solver=says(said), proposer=says(proposal), checker=says("none"))
        roles = Roles(chat, reward, TOKENS, 10_000)
        traces = roles.run([Question("q", question, passages)], sampler, seed=1)
        answers = [pair.answer for pair in traces[0].proposal.pairs] if traces[0].proposal else []
        for text in traces[0].blind:
            assert all(answer.lstrip("-") not in text.split() for answer in answers)
        return list(sampler.prompts("checker"))

    one = shown(f"x{response}", query)
    # Another response, another query, the same questions: not a token of the prompt changes.
    assert one == shown("Something else: 17.", "Another query?")
    for prompt in one:
        assert prompt.count("Document-1 (Title): A text.") == 1


def test_documents_give_way_questions_never(episode: Any, script: Any, chat: Chat) -> None:
    passages = tuple(Passage(f"d{n}", f"Title {n}", f"Sentence number {n}. " * 12) for n in range(4))
    asked = "\n".join(f"- Question: How many of kind {'k' * n}? [Answer: {n}]" for n in range(1, 5))
    sampler = script(solver=says("1 2 3 4"), proposer=says(asked), checker=says("none"))
    play = episode(limit=700).play([Question("q", "What?", passages)], sampler, seed=1)
    assert play.metrics["prompt_cut"] == 1.0
    for role in ("solver", "checker"):
        (prompt,) = sampler.prompts(role)
        assert "Document-4" not in prompt
    for n in range(1, 5):
        assert f"- Question {n}: How many of kind {'k' * n}?\n" in f"{sampler.prompts('checker')[0]}\n".replace(
            "<", "\n<"
        )
    assert all(len(row.prompt_ids) <= 700 for row in play.rows)


@pytest.mark.parametrize(("limit", "reached"), [(40, []), (330, ["solver"]), (520, ["solver", "proposer"])])
def test_what_cannot_be_shown_teaches_nothing(
    episode: Any, script: Any, limit: int, reached: list[str], chat: Chat
) -> None:
    """A prompt that is too long even without documents ends the trace: no reward is known, so there is no row."""
    asked = f"- Question: {'How many ' * 60}? [Answer: 3]"
    sampler = script(solver=says("It is 3."), proposer=says(asked), checker=says(FOUND.format(3)))
    made = episode(limit=limit)
    question = Question("q", "What?", (Passage("d", "", "It is 3."),))
    play = made.play([question], sampler, seed=1)
    assert [role for role, *_ in sampler.calls] == reached
    assert (play.rows, play.records, play.metrics) == ([], [], {"too_long": 1.0})
    assert made.judge([question], sampler, seed=1)["score"] == -1.0


def test_records_replay_to_the_same_reward(
    episode: Any, script: Any, town: Any, tmp_path: Path, reward_with: Any
) -> None:
    sampler = script(
        solver=says("It has 5 and 6.", "It has 8.", "None."),
        proposer=says(f"{ASK.format(5)}\n{ASK.format(6)}", ASK.format(8), "No numbers."),
        checker=says(f"{FOUND.format(5)}\n2. Evidence: Not stated. [Answer: Cannot answer]", FOUND.format(8)),
    )
    play = episode().play([town(place) for place in range(3)], sampler, seed=1)
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in play.records))
    replayed = [json.loads(line) for line in replay_file(path, reward_with())]
    assert [line["ztr"] for line in replayed] == [record["reward"] for record in play.records] == [-1.0, 0.0, 0.0]
    assert [line["err"] for line in replayed] == [-0.5, 0.0, 0.0]


def test_the_score_is_the_mean_reward_and_judging_samples(episode: Any, script: Any, town: Any) -> None:
    sampler = script(
        solver=says("It has 5.", "It has 6."),
        proposer=says(ASK.format(5), ASK.format(6)),
        checker=says(FOUND.format(5), FOUND.format(7)),
    )
    made = episode()
    found = made.judge([town(0), town(1)], sampler, seed=9)
    assert found["score"] == found["ztr"] == -0.5
    assert made.roles == ROLES
    assert made.best_reward == 0.0
    assert not any(greedy for *_, greedy, _ in sampler.calls)


def test_a_reward_model_adds_its_score(episode: Any, script: Any, town: Any) -> None:
    def model(questions: Sequence[Question], texts: Sequence[str]) -> list[float]:
        assert [question.id for question in questions] == ["q0", "q1"]
        return [float(len(text)) for text in texts]

    sampler = script(
        solver=says("5", "66"), proposer=says(ASK.format(5), ASK.format(66)), checker=says(*[FOUND.format(5)] * 2)
    )
    made = episode(model=model, reward_model=0.5)
    play = made.play([town(0), town(1)], sampler, seed=1)
    assert [row.reward for row in play.rows if row.role == "solver"] == [0.0 + 0.5, -1.0 + 1.0]
    assert [row.reward for row in play.rows if row.role == "checker"] == [0.0, -1.0]
    assert play.metrics["model_reward"] == 1.5
    assert made.best_reward == math.inf


def test_the_proposer_sees_the_query_only_if_it_shall(episode: Any, script: Any, town: Any) -> None:
    for sees in (True, False):
        sampler = script(solver=says("Some."), proposer=says("No numbers."), checker=says())
        episode(proposer_sees_query=sees).play([town(0)], sampler, seed=1)
        assert ("How many people live in town a?" in sampler.prompts("proposer")[0]) is sees


def test_greedy_roles_take_their_likeliest_tokens(chat: Chat, script: Any, town: Any, reward_with: Any) -> None:
    sampler = script(solver=says("It has 5."), proposer=says(ASK.format(5)), checker=says(FOUND.format(5)))
    Roles(chat, reward_with(), TOKENS, 4000, ["proposer", "checker"]).run([town(0)], sampler, seed=1)
    assert [(role, greedy) for role, _, _, greedy, _ in sampler.calls] == [
        ("solver", False), ("proposer", True), ("checker", True),
    ]  # fmt: skip
