"""Answer questions in chunks: prompts, batched generation, parsing, one row group per chunk.

Every question gets exactly one row. A completion that does not parse has an empty prediction and says why in `outcome`;
its text stays in `completion`. A question too long to be shown at all counts as `empty`, and apart in the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from components.answer.contexts import Prompt, prompts
from components.answer.params import Answer
from components.answer.questions import question_seed
from faithline.agents.answer import Outcome, parse
from faithline.lm.chat import Chat
from faithline.lm.generate import Completion, Request, Sampling, stream
from faithline.pipeline.errors import ConfigError

if TYPE_CHECKING:
    from faithline.data.prepared import Document
    from faithline.lm.backbone import Backbone
    from faithline.retrieval.index import Index

__all__ = ["SCHEMA", "Models", "answer_questions", "check_window"]

SCHEMA = pa.schema(
    [
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("set", pa.string(), nullable=False),
        pa.field("answerable", pa.bool_(), nullable=False),
        pa.field("prediction", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("context", pa.list_(pa.field("element", pa.string(), nullable=False)), nullable=False),
        pa.field("prompt_tokens", pa.int32(), nullable=False),
        pa.field("new_tokens", pa.int32(), nullable=False),
        pa.field("completion", pa.string(), nullable=False),
    ]
)
"""answers.parquet: `answerable` tells whether the documents that were given hold the answer; `prediction` is empty
unless `outcome` is `ok`; `context` holds document ids in the order shown."""


@dataclass(frozen=True)
class Models:
    """What answers: the generator and the ranking of passages."""

    backbone: Backbone
    chat: Chat
    index: Index


def check_window(backbone: Backbone, settings: Answer) -> None:
    """Refuse settings that exceed the model's context window.

    Raises:
        ConfigError: They do.
    """
    window = getattr(backbone.model.config, "max_position_embeddings", None)
    wanted = settings.max_prompt_tokens + settings.max_new_tokens
    if window is not None and wanted > window:
        raise ConfigError(
            f"prompt and answer may have {wanted} tokens, but the backbone reads {window}",
            where="params.yaml: answer.max_prompt_tokens",
            next_step=f"set answer.max_prompt_tokens to {window - settings.max_new_tokens} or less",
        )


def answer_questions(
    questions: pa.Table,
    documents: Mapping[str, Document],
    models: Models,
    settings: Answer,
    *,
    seed: int,
    path: Path,
    advance: Callable[[int], None],
) -> dict[str, float | int]:
    """Answer all questions and write them to `path`.

    Args:
        questions: As `read_questions` returns them.
        documents: Texts by document id.
        models: Generator and index.
        settings: The stage's section.
        seed: Decides the random stream of each question.
        path: The Parquet file to write, rows in the order of the questions.
        advance: Told how many more questions are done.

    Returns:
        Counts and means over all questions; see `_summary`.

    Raises:
        Diverged: The model yields logits that are not finite.
    """
    counts: Counter[str] = Counter()
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", use_dictionary=False) as writer:
        for start in range(0, questions.num_rows, settings.chunk_questions):
            chunk = questions.slice(start, settings.chunk_questions)
            asked, given = chunk.column("question").to_pylist(), chunk.column("documents").to_pylist()
            shown = prompts(asked, given, documents, models.index, models.chat, settings=settings)
            seeds = [question_seed(seed, key) for key in chunk.column("question_id").to_pylist()]
            completions = _complete(shown, seeds, models, settings, advance)
            rows = _rows(chunk, shown, completions, models.chat)
            writer.write_table(rows, row_group_size=rows.num_rows)
            _count(counts, rows, shown, completions)
    return _summary(counts)


def _complete(
    shown: Sequence[Prompt],
    seeds: Sequence[int],
    models: Models,
    settings: Answer,
    advance: Callable[[int], None],
) -> list[Completion | None]:
    """The completion of each prompt; None where there is no prompt."""
    asked = [(place, prompt.ids) for place, prompt in enumerate(shown) if prompt.ids is not None]
    requests = [Request(ids, settings.max_new_tokens, seeds[place]) for place, ids in asked]
    completions: list[Completion | None] = [None] * len(shown)
    advance(len(shown) - len(asked))
    for number, completion in stream(
        models.backbone.model,
        requests,
        sampling=Sampling(settings.temperature, settings.top_p),
        stop_ids=models.chat.stop_ids,
        batch_tokens=settings.batch_tokens,
    ):
        completions[asked[number][0]] = completion
        advance(1)
    return completions


def _rows(chunk: pa.Table, shown: Sequence[Prompt], completions: Sequence[Completion | None], chat: Chat) -> pa.Table:
    texts = [chat.decode(completion.ids) if completion else "" for completion in completions]
    parsed = [parse(text) for text in texts]
    columns = {
        "question_id": chunk.column("question_id"),
        "set": chunk.column("set"),
        "answerable": chunk.column("answerable"),
        "prediction": [each.answer for each in parsed],
        "outcome": [each.outcome.value for each in parsed],
        "context": [prompt.context for prompt in shown],
        "prompt_tokens": [prompt.tokens for prompt in shown],
        "new_tokens": [len(completion.ids) if completion else 0 for completion in completions],
        "completion": texts,
    }
    return pa.table(columns, schema=SCHEMA)


def _count(
    counts: Counter[str],
    rows: pa.Table,
    shown: Sequence[Prompt],
    completions: Sequence[Completion | None],
) -> None:
    counts.update(f"outcome_{outcome}" for outcome in rows.column("outcome").to_pylist())
    counts["questions"] += rows.num_rows
    counts["prompt_tokens"] += pc.sum(rows.column("prompt_tokens")).as_py()
    counts["new_tokens"] += pc.sum(rows.column("new_tokens")).as_py()
    counts["cut_off"] += sum(not completion.stopped for completion in completions if completion)
    counts["question_too_long"] += sum(completion is None for completion in completions)
    counts["passages_shown"] += sum(len(prompt.context) for prompt in shown)
    counts["passages_dropped"] += sum(prompt.dropped for prompt in shown)
    counts["passages_shortened"] += sum(prompt.shortened for prompt in shown)


def _summary(counts: Counter[str]) -> dict[str, float | int]:
    """The counts of a run.

    Returns:
        questions; outcome_<name> for every outcome; cut_off (answers ended by max_new_tokens); question_too_long;
        passages shown, dropped and shortened by the length limit; prompt_tokens, new_tokens and their means.
    """
    names = ("questions", "cut_off", "question_too_long", "prompt_tokens", "new_tokens")
    passages = ("passages_shown", "passages_dropped", "passages_shortened")
    outcomes = tuple(f"outcome_{outcome.value}" for outcome in Outcome)
    summary: dict[str, float | int] = {name: counts[name] for name in (*names, *passages, *outcomes)}
    for name in ("prompt_tokens", "new_tokens"):
        summary[f"mean_{name}"] = round(counts[name] / counts["questions"], 2)
    return summary
