"""The stage answer: which questions, which passages in which order, one honest row per question, and how it fails."""

from __future__ import annotations

import hashlib
import json
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
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, BertConfig, BertModel, BertTokenizerFast

from components.answer.__main__ import run
from components.answer.answer import SCHEMA, Models, answer_questions, check_window
from components.answer.contexts import prompts
from components.answer.params import Answer, Params
from components.answer.questions import read_questions, with_noise
from faithline.agents.answer import Passage, messages
from faithline.data.prepared import Document
from faithline.lm import backbone, embed
from faithline.lm.chat import Chat
from faithline.noise.settings import ControlledNoise
from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.pipeline.stage import execute
from faithline.retrieval.index import Meta, corpus_digest, write_index

SECTION: dict[str, Any] = {
    "splits": ["test"],
    "sets": None,
    "limit": None,
    "top_k": 2,
    "order": "given",
    "max_prompt_tokens": 400,
    "max_new_tokens": 6,
    "temperature": 0.0,
    "top_p": 1.0,
    "batch_tokens": 900,
    "chunk_questions": 3,
    "device": "cpu",
    "dtype": "float32",
}


def settings_with(**changes: Any) -> Answer:
    return msgspec.convert(SECTION | changes, Answer)


class ByLength:
    """Stands in for the index: the longer a document's id, the more similar; records what it was asked."""

    def similarity(self, questions: Sequence[str], candidates: Sequence[Sequence[str]]) -> list[Any]:
        assert len(questions) == len(candidates)
        return [np.array([len(key) for key in row], dtype=np.float32) for row in candidates]


@pytest.fixture(scope="module")
def chat(tiny_backbone: Path) -> Chat:
    return Chat(backbone.load_tokenizer(tiny_backbone))


DOCUMENTS = {
    key: Document(key, f"Title {key}", text)
    for key, text in {"s/1": "One.", "s/333": "Three. More.", "s/22": "Two.", "s/4": " ", "s/55": "Five."}.items()
}


def shown(chat: Chat, given: list[str], **changes: Any) -> Any:
    (prompt,) = prompts(["Who?"], [given], DOCUMENTS, ByLength(), chat, settings=settings_with(**changes))  # type: ignore[arg-type]
    return prompt


def cost(chat: Chat, *passages: Passage) -> int:
    return len(chat.prompt(messages("Who?", passages)))


def test_passages_are_ranked_then_arranged(chat: Chat) -> None:
    given = ["s/1", "s/22", "s/333", "s/55"]
    assert shown(chat, given).context == ["s/22", "s/333"]
    assert shown(chat, given, order="ranked").context == ["s/333", "s/22"]
    assert shown(chat, given, top_k=3, order="ranked").context == ["s/333", "s/22", "s/55"]
    assert shown(chat, given[::-1], top_k=3, order="ranked").context == ["s/333", "s/55", "s/22"]
    assert shown(chat, given, top_k=None).context == given
    prompt = shown(chat, given)
    assert prompt.ids == chat.prompt(messages("Who?", [Passage(*DOCUMENTS["s/22"]), Passage(*DOCUMENTS["s/333"])]))


def test_repeated_and_blank_passages_are_not_shown(chat: Chat) -> None:
    assert shown(chat, ["s/1", "s/4", "s/1", "s/22"], top_k=None).context == ["s/1", "s/22"]
    nothing = shown(chat, ["s/4"])
    assert (nothing.context, nothing.ids) == ([], chat.prompt(messages("Who?", [])))
    assert shown(chat, []).context == []


def test_the_length_limit_drops_the_least_similar_whatever_the_order(chat: Chat) -> None:
    three, two = Passage(*DOCUMENTS["s/333"]), Passage(*DOCUMENTS["s/22"])
    for order in ("given", "ranked"):
        limit = cost(chat, two, three)
        prompt = shown(chat, ["s/1", "s/22", "s/333"], top_k=None, order=order, max_prompt_tokens=limit)
        assert (sorted(prompt.context), prompt.dropped, prompt.shortened) == (["s/22", "s/333"], 1, False)
        assert prompt.tokens == len(prompt.ids) <= limit
        short = shown(chat, ["s/1", "s/22", "s/333"], order=order, max_prompt_tokens=cost(chat, three) - 1)
        assert (short.context, short.dropped, short.shortened) == (["s/333"], 1, True)
    too_long = shown(chat, ["s/1"], max_prompt_tokens=cost(chat) - 1)
    assert (too_long.ids, too_long.tokens, too_long.context, too_long.dropped) == (None, cost(chat), [], 1)


QUESTION_KEYS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), min_size=1, max_size=25, unique=True)


@settings(max_examples=30)
@given(keys=QUESTION_KEYS, limit=st.integers(1, 6), seed=st.integers(0, 3))
def test_a_limit_draws_per_set_and_grows(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[str, int]], limit: int, seed: int
) -> None:
    from faithline.data.schema import TABLES

    folder = tmp_path_factory.mktemp("prepared")
    rows = [
        {"question_id": f"{name}/{n}", "set": name, "split": "test", "question": "?", "answers": [], "answerable": True}
        | {"question_type": "", "hops": None, "documents": [], "supporting": [], "plan": []}
        for name, n in keys
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=TABLES["questions"]), folder / "questions.parquet")

    def drawn(size: int | None) -> list[str]:
        found: list[str] = read_questions(folder, settings_with(limit=size), seed)["question_id"].to_pylist()
        return found

    ids = [row["question_id"] for row in rows]
    expected: set[str] = set()
    for name in "ab":
        own = [key for key in ids if key.startswith(name)]
        expected |= set(sorted(own, key=lambda key: hashlib.sha256(f"{seed}|{key}".encode()).hexdigest())[:limit])
    assert drawn(limit) == [key for key in ids if key in expected]
    assert set(drawn(limit)) <= set(drawn(limit + 1))
    assert drawn(None) == ids


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"splits": ["validation"]}, "validation"), ({"sets": ["nope"]}, "nope"), ({"sets": ["hop", "nope"]}, "nope")],
)
def test_no_questions_is_an_error(
    tmp_path: Path, write_prepared: Callable[[Path], None], changes: dict[str, Any], message: str
) -> None:
    write_prepared(tmp_path)
    with pytest.raises(DataInvalid, match=message):
        read_questions(tmp_path, settings_with(**changes), 0)


def noise(**changes: Any) -> ControlledNoise:
    section = {"seed": 1, "add_distractors": 0, "irrelevant_share": None, "raise_by": "add_distractors"}
    return msgspec.convert(section | {"max_documents": 50} | changes, ControlledNoise)


def test_controlled_noise_changes_documents_and_answerability_and_keeps_the_order(
    tmp_path: Path, write_prepared: Callable[..., None]
) -> None:
    documents = [
        {"document_id": f"{name}/d{n}", "set": name, "title": f"{name} {n}", "text": f"Text {name} {n}."}
        for name in ("hop", "bio")
        for n in range(1, 9)
    ]
    write_prepared(tmp_path, documents=documents)
    questions = read_questions(tmp_path, settings_with(), 0)
    assert with_noise(questions, tmp_path, noise()) == (questions, None)
    more, tally = with_noise(questions, tmp_path, noise(add_distractors=2))
    assert more["question_id"].to_pylist() == questions["question_id"].to_pylist()
    for before, after in zip(questions.to_pylist(), more.to_pylist(), strict=True):
        added = set(after["documents"]) - set(before["documents"])
        assert len(added) == 2
        assert all(key.startswith(before["set"] + "/") for key in added)  # of the question's own set
        assert after["answerable"] == before["answerable"]
    assert tally is not None
    assert tally.distractors_added == 2 * questions.num_rows
    # Two gold documents and one distractor of each question: 90 % irrelevant is reached by dropping both.
    none, tally = with_noise(questions, tmp_path, noise(irrelevant_share=0.9, raise_by="drop_gold"))
    assert tally is not None
    known = [row for row in none.to_pylist() if None not in row["supporting"]]
    assert not any(row["answerable"] for row in known)
    assert all(row["documents"] == [f"{row['set']}/d2"] for row in known if len(row["documents"]) == 1)


def test_the_context_window_is_checked(tiny_backbone: Path) -> None:
    loaded = backbone.load(tiny_backbone, device="cpu", dtype="float32")
    check_window(loaded, settings_with(max_prompt_tokens=1018))
    with pytest.raises(ConfigError, match="1025 tokens, but the backbone reads 1024"):
        check_window(loaded, settings_with(max_prompt_tokens=1019))


def test_every_question_gets_one_row_and_every_row_counts(
    tiny_backbone: Path, tmp_path: Path, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The model is replaced by a script, so that the outcomes are known.
    script = ["**A b**", "**not in the documents**", "no idea", "", "**C**"]
    from components.answer import answer as module
    from faithline.lm.generate import Completion

    def scripted(_model: object, requests: Sequence[Any], **_settings: object) -> Any:
        seen.extend(requests)
        for number in reversed(range(len(requests))):
            text = script[len(seen) - len(requests) + number]
            stopped = text != "no idea"
            ids = chat.completion(text) if stopped else chat.encode(text)
            yield number, Completion(ids, [0.0] * len(ids), stopped)

    seen: list[Any] = []
    monkeypatch.setattr(module, "stream", scripted)
    names = ["s/q1", "s/q2", "s/long", "s/q3", "s/q4", "s/q5"]
    texts = ["Who?", "Who?", "Why " * 400, "Who?", "Who?", "Who?"]
    questions = pa.table(
        {"question_id": names, "set": ["s"] * 6, "question": texts, "documents": [["s/1", "s/22"]] * 6}
        | {"answerable": [True] * 5 + [False]}
    )
    loaded = backbone.load(tiny_backbone, device="cpu", dtype="float32")
    done: list[int] = []
    path = tmp_path / "answers.parquet"
    models = Models(loaded, chat, ByLength())  # type: ignore[arg-type]
    counts = answer_questions(questions, DOCUMENTS, models, settings_with(), seed=5, path=path, advance=done.append)
    rows = pq.read_table(path)
    assert rows.schema.equals(SCHEMA)
    assert pq.ParquetFile(path).num_row_groups == 2
    assert rows["question_id"].to_pylist() == names
    assert rows["answerable"].to_pylist() == [True] * 5 + [False]
    assert rows["outcome"].to_pylist() == ["ok", "abstained", "empty", "malformed", "empty", "ok"]
    assert rows["prediction"].to_pylist() == ["A b", "", "", "", "", "C"]
    assert rows["completion"].to_pylist() == ["**A b**", "**not in the documents**", "", "no idea", "", "**C**"]
    both = ["s/1", "s/22"]
    assert rows["context"].to_pylist() == [both, both, [], both, both, both]
    prompt = cost(chat, Passage(*DOCUMENTS["s/1"]), Passage(*DOCUMENTS["s/22"]))
    long = len(chat.prompt(messages(texts[2], [])))
    assert rows["prompt_tokens"].to_pylist() == [prompt, prompt, long, prompt, prompt, prompt]
    new = [len(chat.encode(text)) + (text != "no idea") for text in script]
    assert rows["new_tokens"].to_pylist() == [*new[:2], 0, *new[2:]]
    assert counts == {
        "questions": 6,
        "outcome_ok": 2,
        "outcome_abstained": 1,
        "outcome_malformed": 1,
        "outcome_empty": 2,
        "cut_off": 1,
        "question_too_long": 1,
        "passages_shown": 10,
        "passages_dropped": 2,
        "passages_shortened": 0,
        "prompt_tokens": 5 * prompt + long,
        "new_tokens": sum(new),
        "mean_prompt_tokens": round((5 * prompt + long) / 6, 2),
        "mean_new_tokens": round(sum(new) / 6, 2),
    }
    assert sum(done) == 6
    # A question's random stream is its own.
    assert len({request.seed for request in seen}) == 5


# ---- the stage in the real wrapper, with random tiny models


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "embedder"
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "what", "is", "word", "body", "?", "script", "title"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_mean_tokens": true}')
    return folder


@pytest.fixture
def project(
    make_project: Callable[..., Path],
    write_prepared: Callable[..., None],
    tiny_backbone: Path,
    embedder: Path,
) -> Path:
    """A project that ran as far as the stages before `answer`."""
    root = make_project({"seed": 3, "answer": SECTION}, tiny=False)
    documents = [
        {"document_id": f"{name}/d{n}", "set": name, "title": f"Title {n}", "text": text}
        for name in ("hop", "bio")
        for n, text in enumerate(["Body.", "word word", ""], 1)
    ]
    write_prepared(root / "data/prepared", documents=documents)
    (root / "models").mkdir()
    for name, place in (("backbone", tiny_backbone), ("embedder", embedder)):
        (root / "models" / name).symlink_to(place)
    model = AutoModelForCausalLM.from_pretrained(tiny_backbone)
    torch.manual_seed(1)
    config = peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
    peft.get_peft_model(model, config).save_pretrained(str(root / "models/warm_start/answer"))
    backbone.write_base(root / "models/warm_start/answer", tiny_backbone)
    ids = sorted(pq.read_table(root / "data/prepared/documents.parquet")["document_id"].to_pylist())
    meta = Meta(
        encoder=embed.fingerprint(embedder), corpus=corpus_digest(ids), documents=len(ids), dim=16, dtype="float32",
        max_length=32, tokens_per_batch=512,
    )  # fmt: skip
    (root / "data/index").mkdir()
    vectors = np.random.default_rng(0).normal(size=(len(ids), 16)).astype(np.float32)
    write_index(root / "data/index", ids, vectors, meta)
    return root


def run_stage(root: Path) -> int:
    return execute(root, "answer", Params, run)


def test_end_to_end_twice_the_same_bytes(project: Path) -> None:
    def outputs() -> dict[str, bytes]:
        files = ["data/answers/answers.parquet", "data/answers/record.json", "metrics/answer.json"]
        return {name: (project / name).read_bytes() for name in files}

    assert run_stage(project) == 0
    first = outputs()
    assert run_stage(project) == 0
    assert outputs() == first
    questions = pq.read_table(project / "data/prepared/questions.parquet")
    asked = questions.filter(pa.compute.equal(questions["split"], "test"))
    answers = pq.read_table(project / "data/answers/answers.parquet")
    assert answers["question_id"].to_pylist() == asked["question_id"].to_pylist()
    for row in answers.to_pylist():
        assert (row["prediction"] != "") == (row["outcome"] == "ok")
        assert len(row["context"]) == 2
        assert row["context"] == sorted(row["context"])
        assert 1 <= row["new_tokens"] <= 6
    metrics = json.loads((project / "metrics/answer.json").read_text())
    assert metrics["questions"] == answers.num_rows == 9
    assert sum(count for name, count in metrics.items() if name.startswith("outcome_")) == 9


def spoil_backbone(root: Path) -> None:
    (root / "models/warm_start/answer/backbone.json").write_text('{"fingerprint": "0123"}')


def remove_adapter(root: Path) -> None:
    (root / "models/warm_start/answer/adapter_model.safetensors").unlink()


def break_adapter(root: Path) -> None:
    path = root / "models/warm_start/answer/adapter_model.safetensors"
    save_file({name: torch.full_like(value, float("inf")) for name, value in load_file(path).items()}, path)


def forget_index(root: Path) -> None:
    table = pq.read_table(root / "data/prepared/documents.parquet")
    pq.write_table(table.slice(1), root / "data/prepared/documents.parquet")


@pytest.mark.parametrize(
    ("spoil", "code", "words"),
    [
        (spoil_backbone, 40, "another backbone"),
        (remove_adapter, 40, "adapter_model.safetensors"),
        (break_adapter, 30, "adapter"),
        (forget_index, 20, "another corpus"),
    ],
)
def test_failures_say_what_and_leave_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[Path], None], code: int, words: str
) -> None:
    spoil(project)
    assert run_stage(project) == code
    message = capsys.readouterr().err
    assert words in message
    assert "next:" in message
    assert not (project / "data/answers").exists()
    assert not (project / "metrics/answer.json").exists()
