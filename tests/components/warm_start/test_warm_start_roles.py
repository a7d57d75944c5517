"""Roles that learn from data/training/sft: their own prompts, documents that give way, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from components.warm_start.example_sets import IGNORED
from components.warm_start.params import DocumentRows, ProposerRows, Roles, Rows
from components.warm_start.roles import role_examples
from faithline.agents.march import checker, proposer, solver
from faithline.agents.march.blinding import Pair, blind
from faithline.agents.passage import Passage
from faithline.lm.chat import Chat
from faithline.pipeline.errors import DataInvalid

Examples = list[dict[str, list[int]] | str]


def settings_of(role: str, **changes: Any) -> Rows:
    plain: dict[str, Any] = {"sets": None, "train": 9, "validation": 9}
    if role == "proposer":
        return ProposerRows(**(plain | {"sees_query": True, "min_pairs": 1, "max_pairs": 4} | changes))
    return DocumentRows(**(plain | {"distractors": 5} | changes))


@pytest.fixture
def read(tmp_path: Path, write_sft: Any, chat: Chat) -> Callable[..., Examples]:
    """Write one row per role and read a role's examples."""

    def examples(role: Any, rows: Any = None, max_length: int = 2000, **changes: Any) -> Examples:
        folder = write_sft(tmp_path, None if rows is None else lambda name, _split: rows if name == role else [])
        found = role_examples(folder, role, "train", settings_of(role, **changes), max_length=max_length, chat=chat)
        return list(found)

    return examples


def parts(chat: Chat, example: dict[str, list[int]] | str) -> tuple[list[int], str]:
    """Token ids of the prompt, and the text that is learned."""
    assert isinstance(example, dict)
    start = example["labels"].count(IGNORED)
    assert example["labels"] == [IGNORED] * start + example["input_ids"][start:]
    assert example["input_ids"][-1] == chat.end_id
    return example["input_ids"][:start], chat.decode(example["input_ids"][start:])


def test_each_role_learns_in_its_own_prompt(read: Callable[..., Examples], sft_row: Any, chat: Chat) -> None:
    passages = [
        Passage("s/d", "Other", "Nothing to see here. It is dull."),
        Passage("s/g", "Town 3", "It is a town. Town 3 has 103 inhabitants."),
    ]
    asked = Pair("How many inhabitants does town 3 have?", "103")
    expected = {
        "solver": solver.messages("How big is town 3?", passages),
        "proposer": proposer.messages("Town 3 has 103 inhabitants.", "How big is town 3?", min_pairs=1, max_pairs=4),
        "checker": checker.messages(blind([asked]).questions, passages),
    }
    for role, messages in expected.items():
        row = sft_row(role, 3)
        prompt, learned = parts(chat, read(role, [row])[0])
        assert prompt == chat.prompt(messages)
        assert learned == row["target"]
    alone = proposer.messages("Town 3 has 103 inhabitants.", None, min_pairs=2, max_pairs=7)
    prompt, _ = parts(chat, read("proposer", [sft_row("proposer", 3)], sees_query=False, min_pairs=2, max_pairs=7)[0])
    assert prompt == chat.prompt(alone)


def test_rows_come_in_the_order_drawn(read: Callable[..., Examples], chat: Chat) -> None:
    # `order` falls with the number.
    learned = [parts(chat, example)[1] for example in read("solver")]
    assert learned == [f"Town {number} has {number + 100} inhabitants." for number in (4, 3, 2, 1, 0)]


def test_documents_give_way_but_for_those_quoted(read: Callable[..., Examples], sft_row: Any, chat: Chat) -> None:
    other = Passage("s/d", "Other", "Nothing to see here. It is dull.")
    quoted = Passage("s/g", "Town 3", "It is a town. Town 3 has 103 inhabitants.")
    row = sft_row("solver", 3)
    whole, bare = (chat.prompt(solver.messages(row["question"], shown)) for shown in ([other, quoted], [quoted]))
    completion = len(chat.completion(row["target"]))
    assert parts(chat, read("solver", [row], max_length=len(whole) + completion)[0])[0] == whole
    assert parts(chat, read("solver", [row], max_length=len(whole) + completion - 1)[0])[0] == bare
    assert parts(chat, read("solver", [row], distractors=0)[0])[0] == bare
    assert read("solver", [row], max_length=len(bare) + completion - 1) == ["too_long"]


def test_a_set_without_rows_is_named(read: Callable[..., Examples], sft_row: Any) -> None:
    rows = [sft_row("solver", 1), sft_row("solver", 2, set="t")]
    assert len(read("solver", rows)) == 2
    assert len(read("solver", rows, sets=["t"])) == 1
    with pytest.raises(DataInvalid, match="no rows of set u"):
        read("solver", rows, sets=["t", "u"])


def test_an_adapter_without_roles_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="at least one role"):
        msgspec.convert({}, Roles)
    assert list(msgspec.convert({"checker": None, "solver": None, "answer": _ROWS}, Roles).named()) == ["answer"]


_ROWS = {"sets": None, "train": 1, "validation": 1, "distractors": 0}
