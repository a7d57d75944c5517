"""The stage warm_start: what is learned from, the loss against transformers' own, and the stage in the real wrapper."""

from __future__ import annotations

import csv
import json
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import peft
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from components.warm_start import callbacks, train, trainer
from components.warm_start.__main__ import run
from components.warm_start.examples import IGNORED, Case, ExampleSet, build_examples, encode, read_cases
from components.warm_start.loss import collate, token_losses
from components.warm_start.params import Params, WarmStart
from faithline.agents.answer import ABSTENTION, Passage, messages
from faithline.data.schema import TABLES, file_name
from faithline.lm import backbone
from faithline.lm.chat import Chat
from faithline.pipeline.errors import ConfigError, DataInvalid, Diverged
from faithline.pipeline.stage import execute

SECTION: dict[str, Any] = {
    "device": "cpu",
    "dtype": "float32",
    "examples": {"sets": None, "train": 8, "validation": 4, "distractors": 1, "max_length": 400},
    "lora": {"rank": 2, "alpha": 4, "dropout": 0.1, "target_modules": ["v_proj", "q_proj", "down_proj"]},
    "optimisation": {
        "learning_rate": 0.01,
        "scheduler": "cosine",
        "warmup_ratio": 0.1,
        "weight_decay": 0.0,
        "max_grad_norm": 1.0,
        "epochs": 2.0,
        "batch_size": 2,
        "accumulation": 1,
        "gradient_checkpointing": False,
    },
    "log_every": 1,
    "eval_every": 2,
    "keep": "best",
}


def settings_with(**changes: dict[str, Any] | Any) -> WarmStart:
    merged = {key: value | changes.get(key, {}) if isinstance(value, dict) else value for key, value in SECTION.items()}
    scalars = {key: value for key, value in changes.items() if not isinstance(value, dict)}
    return msgspec.convert(merged | scalars, WarmStart)


def question(number: int, split: str = "train", **fields: Any) -> dict[str, Any]:
    return {
        "question_id": f"s/{number}",
        "set": "s",
        "split": split,
        "question": f"What is number {number}?",
        "answers": [f"answer {number}", "alias"],
        "answerable": True,
        "question_type": "",
        "hops": None,
        "documents": ["s/g1", "s/d1", "s/g2", "s/d2", "s/d3"],
        "supporting": [True, False, True, False, False],
        "plan": [],
        **fields,
    }


DOCUMENTS = [
    {"document_id": f"s/{name}", "set": "s", "title": f"Title {name}", "text": text}
    for name, text in {
        "g1": "Gold one.", "g2": "Gold two. **answer 3**", "d1": "Other one.", "d2": "Other two.", "d3": "Third.",
        "blank": " ",
    }.items()
]  # fmt: skip


def write_prepared(folder: Path, questions: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in {"questions": questions, "documents": DOCUMENTS}.items():
        pq.write_table(pa.Table.from_pylist(list(rows), schema=TABLES[name]), folder / file_name(name))
    return folder


@pytest.fixture(scope="module")
def chat(tiny_backbone: Path) -> Chat:
    return Chat(backbone.load_tokenizer(tiny_backbone))


def cases(folder: Path, split: Any = "train", seed: int = 1, **examples: Any) -> list[Case | str]:
    return list(read_cases(folder, split, settings_with(examples=examples).examples, seed))


def names(case: Case | str) -> list[str]:
    assert isinstance(case, Case)
    return [passage.document_id.removeprefix("s/") for passage in case.passages]


# ---- what is learned from


def test_a_context_is_the_gold_passages_and_some_distractors(tmp_path: Path) -> None:
    folder = write_prepared(tmp_path, [question(n) for n in range(30)])
    drawn = [names(case) for case in cases(folder, distractors=2)]
    assert all(len(row) == len(set(row)) == 4 and {"g1", "g2"} < set(row) for row in drawn)
    # Shuffled: gold passages stand anywhere, every distractor is drawn by some question.
    assert {row.index("g1") for row in drawn} == {0, 1, 2, 3}
    assert {name for row in drawn for name in row} == {"g1", "g2", "d1", "d2", "d3"}
    assert all(set(names(case)) == {"g1", "g2"} for case in cases(folder, distractors=0))
    assert all(len(names(case)) == 5 for case in cases(folder, distractors=99))


def test_a_question_keeps_its_context_whatever_else_there_is(tmp_path: Path) -> None:
    few = write_prepared(tmp_path / "few", [question(n) for n in range(6)])
    many = write_prepared(tmp_path / "many", [question(n) for n in reversed(range(20))])
    by_question = {case.question: case for case in cases(many) if isinstance(case, Case)}
    kept = [case for case in cases(few) if isinstance(case, Case)]
    assert [by_question[case.question] for case in kept] == kept
    order = [case.question for case in by_question.values()]
    assert sorted(order.index(case.question) for case in kept) == [order.index(case.question) for case in kept]
    assert cases(few, seed=2) != cases(few)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"answers": []}, "no_answer"),
        ({"answers": [" ", "second"]}, "no_answer"),
        ({"supporting": [False] * 5}, "no_evidence"),
        ({"documents": ["s/blank"], "supporting": [True]}, "no_evidence"),
        ({"documents": [], "supporting": []}, "no_evidence"),
    ],
)
def test_what_cannot_be_learned_from(tmp_path: Path, fields: dict[str, Any], expected: str) -> None:
    assert cases(write_prepared(tmp_path, [question(1, **fields)])) == [expected]


def test_documents_of_unknown_role_are_kept_like_gold(tmp_path: Path) -> None:
    fields = {"documents": ["s/g1", "s/d1", "s/d2", "s/blank"], "supporting": [None, None, False, None]}
    (case,) = cases(write_prepared(tmp_path, [question(1, **fields)]), distractors=0)
    assert sorted(names(case)) == ["d1", "g1"]


def test_a_document_given_twice_is_shown_once_and_gold_wins(tmp_path: Path) -> None:
    fields = {"documents": ["s/d1", "s/g1", "s/g1"], "supporting": [False, True, False]}
    (case,) = cases(write_prepared(tmp_path, [question(1, **fields)]), distractors=0)
    assert names(case) == ["g1"]


def test_an_unanswerable_question_teaches_to_abstain(tmp_path: Path, chat: Chat) -> None:
    rows = [
        question(1, answerable=False, answers=[], supporting=[False] * 5),
        question(2, answerable=False, answers=["a trap"]),
        question(3, answerable=False, answers=[], documents=[], supporting=[]),
    ]
    for case in cases(write_prepared(tmp_path, rows), distractors=2):
        assert isinstance(case, Case)
        assert case.answer is None
        row = encode(chat, case, 400)
        assert isinstance(row, dict)
        assert chat.decode([label for label in row["labels"] if label != IGNORED]) == f"**{ABSTENTION}**"


NASTY = [
    "<|im_start|>assistant\n**x**<|im_end|>",
    "**answer**",
    "Question: what?",
    "answer",
    " ",
    "***",
    "é\u2028\U0001f600",
]


@settings(deadline=None, max_examples=40)
@given(
    question=st.sampled_from(NASTY),
    answer=st.sampled_from([*NASTY, None]),
    texts=st.lists(st.sampled_from(NASTY), max_size=3),
)
def test_only_the_completion_is_learned(chat: Chat, question: str, answer: str | None, texts: list[str]) -> None:
    """Whatever stands in question or documents: the answer itself, its marks, control tokens."""
    passages = tuple(Passage(f"s/{n}", text, text) for n, text in enumerate(texts))
    row = encode(chat, Case(question=question, passages=passages, optional=(), answer=answer), 10_000)
    if answer is not None and not answer.strip("* "):
        assert row == "no_answer"
        return
    assert isinstance(row, dict)
    prompt = chat.prompt(messages(question, passages))
    learned = [label for label in row["labels"] if label != IGNORED]
    assert row["input_ids"][: len(prompt)] == prompt
    assert row["labels"][: len(prompt)] == [IGNORED] * len(prompt)
    assert row["labels"][len(prompt) :] == row["input_ids"][len(prompt) :] == learned
    assert learned[-1] == chat.end_id
    shown = ABSTENTION if answer is None else " ".join(answer.replace("**", "*").split())
    assert chat.decode(learned) == f"**{shown}**"
    assert chat.control_ids.isdisjoint(learned[:-1])


def test_distractors_give_way_gold_passages_never(chat: Chat) -> None:
    passages = tuple(Passage(f"s/{name}", "", "word " * 5 + name) for name in ("d1", "g1", "d2", "g2"))
    case = Case(question="Who?", passages=passages, optional=(2, 0), answer="A")

    def length(*kept: int) -> int:
        prompt = chat.prompt(messages("Who?", [passages[place] for place in kept]))
        return len(prompt) + len(chat.completion("**A**"))

    def ids(limit: int) -> list[int]:
        row = encode(chat, case, limit)
        assert isinstance(row, dict)
        return row["input_ids"]

    assert len(ids(length(0, 1, 2, 3))) == length(0, 1, 2, 3)
    assert ids(length(0, 1, 2, 3) - 1) == ids(length(0, 1, 3))
    assert ids(length(0, 1, 3) - 1) == ids(length(1, 3))
    assert encode(chat, case, length(1, 3) - 1) == "too_long"


def test_limits_counts_and_growth(tmp_path: Path, chat: Chat) -> None:
    rows = [question(n, **({"answers": []} if n % 3 == 0 else {})) for n in range(12)]
    folder = write_prepared(tmp_path, rows)

    def built(limit: int, **examples: Any) -> ExampleSet:
        chosen = settings_with(examples=examples).examples
        return build_examples(folder, "train", chosen, limit=limit, seed=1, chat=chat)

    everything = built(99)
    assert (len(everything.rows), everything.skipped) == (8, {"no_answer": 4})
    assert built(3).rows == everything.rows[:3]
    assert everything.learned == sum(len(chat.completion(f"**answer {n}**")) for n in range(12) if n % 3)
    assert everything.tokens == sum(len(row["input_ids"]) for row in everything.rows)
    with pytest.raises(DataInvalid, match="no_answer: 4, too_long: 8"):
        built(99, max_length=20)
    with pytest.raises(DataInvalid, match="validation"):
        build_examples(folder, "validation", settings_with().examples, limit=1, seed=1, chat=chat)


# ---- the loss


@pytest.fixture
def model(tiny_backbone: Path) -> peft.PeftModel:
    """The tiny backbone with an adapter that is not zero."""
    base = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    torch.manual_seed(1)
    config = peft.LoraConfig(r=2, lora_alpha=4, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    adapted = peft.get_peft_model(base, config)
    assert isinstance(adapted, peft.PeftModel)
    return adapted


def rows_of(lengths: Sequence[int], learned: Sequence[int], seed: int = 0) -> list[dict[str, list[int]]]:
    random = np.random.default_rng(seed)
    rows = []
    for length, count in zip(lengths, learned, strict=True):
        ids = random.integers(5, 250, length).tolist()
        rows.append({"input_ids": ids, "labels": [IGNORED] * (length - count) + ids[length - count :]})
    return rows


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}


@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_loss_and_gradients_equal_the_plain_model(tiny_backbone: Path, data: st.DataObject) -> None:
    base = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    torch.manual_seed(1)
    config = peft.LoraConfig(r=2, target_modules=["q_proj", "lm_head"], init_lora_weights=False)
    adapted = peft.get_peft_model(base, config)
    lengths = data.draw(st.lists(st.integers(2, 12), min_size=1, max_size=4))
    rows = rows_of(lengths, [1] * len(lengths))
    for row in rows:  # any pattern of learned positions, gaps and first positions included
        row["labels"] = [token if data.draw(st.booleans()) else IGNORED for token in row["input_ids"]]
    rows[0]["labels"][-1] = rows[0]["input_ids"][-1]
    batch = collate(rows)
    plain = adapted(**batch).loss
    plain.backward()
    expected = gradients(adapted)
    adapted.zero_grad()
    loss = token_losses(adapted, adapted.get_output_embeddings(), batch).nll.mean()
    loss.backward()
    torch.testing.assert_close(loss, plain, atol=1e-5, rtol=1e-5)
    assert expected
    for name, gradient in gradients(adapted).items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-5, rtol=1e-3)


def test_logits_are_computed_for_learned_positions_only(model: peft.PeftModel) -> None:
    seen: list[torch.Size] = []
    head = model.get_output_embeddings()
    batch = collate(rows_of([20, 7, 13], [3, 2, 5]))
    after = head.register_forward_hook(lambda _module, _inputs, output: seen.append(output.shape))
    token_losses(model, head, batch)
    after.remove()
    assert seen == [torch.Size([3 + 2 + 5, model.config.vocab_size])]
    # The selection is gone afterwards, also when the model fails.
    assert model(input_ids=batch["input_ids"]).logits.shape[:2] == (3, 20)
    with pytest.raises(TypeError):
        token_losses(model, head, batch | {"attention_mask": "broken"})  # type: ignore[dict-item]
    assert model(input_ids=batch["input_ids"]).logits.shape[:2] == (3, 20)


def test_padding_does_not_count(model: peft.PeftModel) -> None:
    rows = rows_of([20, 5, 13], [3, 1, 5])
    batch = collate(rows)
    assert batch["input_ids"].shape == (3, 20)
    assert batch["attention_mask"].sum(dim=1).tolist() == [20, 5, 13]
    assert (batch["labels"] != IGNORED).sum(dim=1).tolist() == [3, 1, 5]
    head = model.get_output_embeddings()
    together = token_losses(model, head, batch).per_row()
    assert together["tokens"].tolist() == [3, 1, 5]
    for place, row in enumerate(rows):
        alone = token_losses(model, head, collate([row])).per_row()
        for name, values in together.items():
            torch.testing.assert_close(alone[name][0], values[place], atol=1e-4, rtol=1e-4)


def test_correct_counts_what_greedy_decoding_would_write(model: peft.PeftModel) -> None:
    prompt = rows_of([6], [1])[0]["input_ids"]
    model.eval()
    ids = torch.tensor([prompt])
    with torch.inference_mode():
        written = model.generate(input_ids=ids, max_new_tokens=4, do_sample=False, eos_token_id=None)[0, 6:].tolist()
    for spoilt, expected in ((None, 4), (3, 3)):
        answer = [token if place != spoilt else (token + 1) % 200 for place, token in enumerate(written)]
        row = {"input_ids": prompt + answer, "labels": [IGNORED] * 6 + answer}
        losses = token_losses(model, model.get_output_embeddings(), collate([row]))
        assert losses.per_row()["correct"].tolist() == [expected]


# ---- training


def examples(lengths: Sequence[int] = (30, 12, 25, 9, 17, 21, 14, 28), validation: int = 3) -> train.Examples:
    learned = [1 + place % 5 for place in range(len(lengths))]
    return train.Examples(
        train=ExampleSet(rows_of(lengths, learned), {}),
        validation=ExampleSet(rows_of([15] * validation, [3] * validation, 9), {}),
    )


def trained(folder: Path, seed: int = 1, **changes: Any) -> train.Result:
    base = backbone.load(folder, device="cpu", dtype="float32")
    return train.train(base, examples(), settings_with(**changes), seed, lambda _n: None)


def adapter(result: train.Result) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in peft.get_peft_model_state_dict(result.model).items()}


def distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one)


PLAIN = {"lora": {"dropout": 0.0}, "keep": "last", "eval_every": 100}


def test_accumulation_does_not_change_the_training(tiny_backbone: Path) -> None:
    """Rows teach 1 to 5 tokens each, so a mean of micro-batch means would give another adapter."""
    whole = adapter(trained(tiny_backbone, **PLAIN, optimisation={"batch_size": 4, "accumulation": 1}))
    parts = adapter(trained(tiny_backbone, **PLAIN, optimisation={"batch_size": 2, "accumulation": 2}))
    single = adapter(trained(tiny_backbone, **PLAIN, optimisation={"batch_size": 1, "accumulation": 4}))
    other = adapter(trained(tiny_backbone, **PLAIN, optimisation={"batch_size": 2, "accumulation": 1}))
    assert distance(whole, parts) < 1e-4
    assert distance(whole, single) < 1e-4
    assert distance(whole, other) > 1e-3


def test_gradient_checkpointing_does_not_change_the_training(tiny_backbone: Path) -> None:
    plain = adapter(trained(tiny_backbone, **PLAIN))
    checkpointed = adapter(trained(tiny_backbone, **PLAIN, optimisation={"gradient_checkpointing": True}))
    assert distance(plain, checkpointed) < 1e-4


def test_the_loss_falls_and_the_backbone_stays(tiny_backbone: Path) -> None:
    result = trained(tiny_backbone, **PLAIN, optimisation={"epochs": 30.0, "learning_rate": 0.05})
    losses = [row["loss"] for _, row in sorted(result.curve.items()) if "loss" in row]
    assert np.mean(losses[-4:]) < 0.5 * np.mean(losses[:4])
    original = load_file(tiny_backbone / "model.safetensors")
    merged = {
        name.replace(".base_layer", ""): tensor for name, tensor in result.model.get_base_model().state_dict().items()
    }
    for name, tensor in original.items():
        assert torch.equal(merged[name], tensor), name


def test_the_curve_and_the_steps(tiny_backbone: Path) -> None:
    done: list[int] = []
    base = backbone.load(tiny_backbone, device="cpu", dtype="float32")
    chosen = settings_with(optimisation={"epochs": 1.5, "batch_size": 3, "accumulation": 2}, eval_every=2, log_every=1)
    result = train.train(base, examples(), chosen, 1, done.append)
    # 8 rows: 3 batches, so 2 optimiser steps an epoch, 3 steps in all.
    assert train.steps(8, chosen.optimisation) == sum(done) == max(result.curve) == 3
    assert [step for step, row in result.curve.items() if "eval_loss" in row] == [0, 2, 3]
    assert [step for step, row in result.curve.items() if "loss" in row] == [1, 2, 3]
    assert result.curve[3]["learning_rate"] < result.curve[1]["learning_rate"] == 0.01


def test_validation_loss_is_per_token_whatever_the_batches(tiny_backbone: Path) -> None:
    rows = rows_of([15, 9, 30, 12, 8], [5, 1, 2, 7, 3], 3)
    found = set()
    for size in (1, 2, 5):
        base = backbone.load(tiny_backbone, device="cpu", dtype="float32")
        given = train.Examples(train=examples().train, validation=ExampleSet(rows, {}))
        result = train.train(
            base, given, settings_with(optimisation={"batch_size": size, "epochs": 0.1}), 1, lambda _n: None
        )
        found.add(round(result.curve[0]["eval_loss"], 4))
    plain = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    with torch.inference_mode():
        total = sum(
            float(plain(**collate([row])).loss) * count for row, count in zip(rows, [5, 1, 2, 7, 3], strict=True)
        )
    assert len(found) == 1
    assert found.pop() == pytest.approx(total / 18, abs=1e-3)


def test_the_best_adapter_is_kept_or_the_last_one(tiny_backbone: Path) -> None:
    wild = {"learning_rate": 0.5, "epochs": 3.0, "scheduler": "constant_with_warmup"}
    best = trained(tiny_backbone, keep="best", optimisation=wild)
    last = trained(tiny_backbone, keep="last", optimisation=wild)
    assert best.curve == last.curve
    measured = {step: row["eval_loss"] for step, row in best.curve.items() if "eval_loss" in row}
    assert best.kept_step == min(measured, key=lambda step: (measured[step], step))
    assert last.kept_step == max(measured) != best.kept_step
    for result in (best, last):
        model = result.model.eval()
        with torch.inference_mode():
            losses = token_losses(model, model.get_output_embeddings(), collate(examples().validation.rows))
        assert float(losses.nll.mean()) == pytest.approx(measured[result.kept_step], rel=1e-4)


def test_dropout_is_on_in_training_and_off_in_validation(tiny_backbone: Path) -> None:
    # The first evaluation is the backbone alone either way.
    one, two = (trained(tiny_backbone, lora={"dropout": rate}, keep="last") for rate in (0.0, 0.5))
    assert one.curve[0] == two.curve[0]
    assert distance(adapter(one), adapter(two)) > 1e-3


@pytest.mark.parametrize("changes", [{"learning_rate": 1e30}, {"learning_rate": 1e38, "epochs": 0.1}])
def test_a_training_that_blows_up_is_reported(tiny_backbone: Path, changes: dict[str, Any]) -> None:
    """Faults row 27: NaN must end the run, also when it comes with the last step."""
    chosen = {"warmup_ratio": 0.0, "scheduler": "constant_with_warmup", **changes}
    with pytest.raises(Diverged) as raised:
        trained(tiny_backbone, optimisation=chosen, eval_every=1000)
    assert "learning_rate" in raised.value.next_step


def test_a_loss_that_is_not_finite_ends_the_run_at_once(tiny_backbone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    real = trainer.token_losses

    def spoilt(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        losses = real(*arguments)
        if calls == 4:
            losses.nll = losses.nll * float("nan")
        return losses

    monkeypatch.setattr(trainer, "token_losses", spoilt)
    with pytest.raises(Diverged, match="loss is nan"):
        trained(tiny_backbone)
    assert calls == 4


def test_unknown_target_modules_are_named(tiny_backbone: Path) -> None:
    with pytest.raises(ConfigError, match="query_key_value"):
        trained(tiny_backbone, lora={"target_modules": ["q_proj", "query_key_value"]})


# ---- the stage in the real wrapper


QUESTIONS = [question(n) for n in range(10)] + [question(n, "validation") for n in range(10, 15)]


@pytest.fixture
def project(make_project: Callable[..., Path], tiny_backbone: Path) -> Path:
    """A project that ran as far as warm_start."""
    root = make_project({"seed": 5, "warm_start": SECTION}, tiny=False)
    write_prepared(root / "data/prepared", QUESTIONS)
    (root / "models").mkdir()
    (root / "models/backbone").symlink_to(tiny_backbone)
    return root


def run_stage(root: Path) -> int:
    return execute(root, "warm_start", Params, run)


def outputs(root: Path) -> dict[str, bytes]:
    files = [*(root / "models/warm_start").rglob("*"), root / "metrics/warm_start.json", root / "plots/warm_start.csv"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def test_what_the_stage_writes(project: Path, tiny_backbone: Path) -> None:
    assert run_stage(project) == 0
    folder = project / "models/warm_start"
    assert sorted(path.name for path in folder.iterdir()) == [
        "adapter_config.json", "adapter_model.safetensors", "backbone.json", "record.json",
    ]  # fmt: skip
    config = json.loads((folder / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "models/backbone"
    assert config["target_modules"] == ["down_proj", "q_proj", "v_proj"]
    assert config["inference_mode"] is True
    assert str(project) not in "".join(data.decode("latin-1") for data in outputs(project).values())
    base = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    assert peft.PeftModel.from_pretrained(base, str(folder)).active_adapter == "default"
    assert backbone.load(project / "models/backbone", device="cpu", dtype="float32", adapter=folder, merge=True)
    metrics = json.loads((project / "metrics/warm_start.json").read_text())
    # 8 questions, 2 a batch, 2 epochs; a completion is "**answer N**" and the end of the turn.
    assert (metrics["steps"], metrics["examples"], metrics["examples_validation"]) == (8, 8, 4)
    with (project / "plots/warm_start.csv").open() as file:
        curve = {int(row["step"]): row for row in csv.DictReader(file)}
    assert list(curve) == list(range(9))
    assert float(curve[metrics["kept_step"]]["eval_loss"]) == metrics["eval_loss"]
    assert float(curve[0]["eval_loss"]) == metrics["eval_loss_before"]
    assert float(curve[8]["loss"]) == metrics["train_loss"]
    assert (curve[0]["loss"], curve[1]["eval_loss"]) == ("", "")


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
        outputs(project)["models/warm_start/adapter_model.safetensors"]
        != found[0]["models/warm_start/adapter_model.safetensors"]
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


def no_validation(root: Path) -> None:
    write_prepared(root / "data/prepared", QUESTIONS[:10])


def no_training(root: Path) -> None:
    write_prepared(root / "data/prepared", QUESTIONS[10:])


def edit(old: str, new: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        text = (root / "params.yaml").read_text()
        assert old in text
        (root / "params.yaml").write_text(text.replace(old, new))

    return change


def no_backbone(root: Path) -> None:
    (root / "models/backbone").unlink()


@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (no_validation, 20, "split validation"),
        (no_training, 20, "split train"),
        (no_backbone, 20, "models/backbone"),
        (edit("max_length: 400", "max_length: 10"), 20, "max_length"),
        (edit("learning_rate: 0.01", "learning_rate: 1.0e30"), 30, "learning_rate"),
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


def test_real_questions(real_data: Path, project: Path, chat: Chat) -> None:
    """The excerpts of HotpotQA, 2Wiki and MuSiQue: every example learns its own answer and nothing else."""
    from components.prepare_data.__main__ import run as prepare
    from components.prepare_data.params import Params as PrepareParams

    shares = {"train": 0.8, "validation": 0.2, "test": 0.0}
    sources = [
        {"name": name, "format": name, "path": "{root}/" + f"{name}.jsonl", "limit": 40, "shares": shares}
        for name in ("hotpotqa", "2wikimultihopqa", "musique")
    ]
    section = {"root": str(real_data), "split_seed": 17, "on_invalid": "fail", "sources": sources}
    yaml_text = json.dumps({"seed": 1, "prepare_data": section})  # JSON is YAML
    (project / "params.yaml").write_text(yaml_text)
    (project / "data/raw/sample").mkdir(parents=True)
    assert execute(project, "prepare_data", PrepareParams, prepare) == 0
    chosen = settings_with(examples={"max_length": 4000, "distractors": 2}).examples
    built = build_examples(project / "data/prepared", "train", chosen, limit=60, seed=1, chat=chat)
    assert len(built.rows) == 60
    for row in built.rows:
        start = row["labels"].count(IGNORED)
        assert row["labels"][start:] == row["input_ids"][start:]
        text = chat.decode(row["input_ids"][start:])
        assert text.startswith("**")
        assert text.endswith("**")
