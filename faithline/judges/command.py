"""What `faithline judge` does: items of a file through one protocol and one or two judges, rates and agreement out.

One JSON object a line, with `id` and what the protocol shows. faithjudge: task, query, source, response, examples (list
of {response, spans: [{text, label, note}]}, may be absent); facts: query, context, response; contextual: criterion,
task, query, context, preferred, rejected. The result has one entry per item and judge: the verdict, or null where the
judge failed, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from faithline.judges import contextual, facts, faithjudge
from faithline.judges.agreement import Agreement, agreement
from faithline.judges.asking import Cache, ask
from faithline.judges.judge import Judge, Reply
from faithline.pipeline.errors import DataInvalid

__all__ = ["Judged", "Protocol", "judge_file"]

Protocol = Literal["faithjudge", "facts", "contextual"]
T = TypeVar("T")


class _Span(msgspec.Struct, frozen=True):
    text: str
    label: str
    note: str = ""


class _Example(msgspec.Struct, frozen=True):
    response: str
    spans: list[_Span]


class _Faith(msgspec.Struct, frozen=True):
    id: str
    task: faithjudge.Task
    query: str
    source: str
    response: str
    examples: list[_Example] = []


class _Facts(msgspec.Struct, frozen=True):
    id: str
    query: str
    context: str
    response: str


class _Pair(msgspec.Struct, frozen=True):
    id: str
    criterion: str
    task: str
    query: str
    context: str
    preferred: str
    rejected: str


class Entry(msgspec.Struct, frozen=True):
    """One item and judge."""

    id: str
    judge: str
    verdict: str | None
    failure: str | None
    """Why there is no verdict."""


class Judged(msgspec.Struct, frozen=True):
    """What a file was judged."""

    protocol: Protocol
    rates: dict[str, dict[str, Any]]
    """Judge → rates; for contextual: judge → split → rates."""
    agreement: Agreement | None
    """Of two judges."""
    items: list[Entry]


def judge_file(path: Path, protocol: Protocol, judges: Sequence[Judge], cache: Cache, *, replay: bool) -> Judged:
    """Judge a file.

    Raises:
        DataInvalid: On a bad line, or in a replay a verdict that was never given.
    """
    run = {"faithjudge": _faithjudge, "facts": _facts, "contextual": _contextual}[protocol]
    items: list[Entry] = []
    rates: dict[str, dict[str, Any]] = {}
    verdicts: list[list[str | None]] = []
    for judge in judges:
        entries, counted = run(path, judge, partial(ask, judge, cache=cache, replay=replay))
        items += entries
        rates[judge.identity] = counted
        verdicts.append([entry.verdict for entry in entries])
    both = agreement(*verdicts) if len(verdicts) == 2 else None
    return Judged(protocol, rates, both, items)


Asking = Callable[[Sequence[str]], list[Reply]]
Outcome = tuple[list[Entry], dict[str, Any]]


def _faithjudge(path: Path, judge: Judge, asking: Asking) -> Outcome:
    rows = _read(path, _Faith)
    prompts = [
        faithjudge.prompt(
            row.task,
            row.query,
            row.source,
            [
                faithjudge.Example(
                    example.response,
                    [[faithjudge.Span(span.text, span.label, span.note) for span in example.spans]],
                )
                for example in row.examples
            ],
            row.response,
        )
        for row in rows
    ]
    replies = asking(prompts)
    verdicts = [faithjudge.parse(reply.text or "") for reply in replies]
    entries = [
        _entry(row.id, judge, verdict, reply) for row, verdict, reply in zip(rows, verdicts, replies, strict=True)
    ]
    return entries, msgspec.to_builtins(faithjudge.rates(verdicts))


def _facts(path: Path, judge: Judge, asking: Asking) -> Outcome:
    rows = _read(path, _Facts)
    replies = asking([facts.prompt(row.query, row.context, row.response) for row in rows])
    judged = [facts.parse(reply.text or "") for reply in replies]
    said = [None if each is None else "grounded" if facts.grounded(each) else "ungrounded" for each in judged]
    entries = [_entry(row.id, judge, verdict, reply) for row, verdict, reply in zip(rows, said, replies, strict=True)]
    return entries, msgspec.to_builtins(facts.rates(judged))


def _contextual(path: Path, judge: Judge, asking: Asking) -> Outcome:
    rows = _read(path, _Pair)
    splits = []
    for number, row in enumerate(rows, start=1):
        try:
            splits.append(contextual.split_of(row.criterion, row.task))
        except ValueError as error:
            raise DataInvalid(str(error), where=f"{path}: item {number}") from None
    pairs = [
        contextual.prompts(split, row.query, row.context, row.preferred, row.rejected)
        for split, row in zip(splits, rows, strict=True)
    ]
    replies = asking([prompt for pair in pairs for prompt in pair])
    choices = [contextual.parse(reply.text or "") for reply in replies]
    verdicts = [contextual.pair_verdict(*choices[place : place + 2]) for place in range(0, len(choices), 2)]
    entries = []
    for place, (row, verdict) in enumerate(zip(rows, verdicts, strict=True)):
        failed = replies[2 * place] if choices[2 * place] is None else replies[2 * place + 1]
        word = (
            None if verdict is None else "right" if verdict.right else "wrong" if verdict.consistent else "inconsistent"
        )
        entries.append(_entry(row.id, judge, word, failed))
    by_split: dict[str, Any] = {
        split: msgspec.to_builtins(
            contextual.rates([verdict for verdict, own in zip(verdicts, splits, strict=True) if own == split])
        )
        for split in sorted(set(splits))
    }
    return entries, {"all": msgspec.to_builtins(contextual.rates(verdicts)), **by_split}


def _entry(key: str, judge: Judge, verdict: str | None, reply: Reply) -> Entry:
    failure = None if verdict is not None else reply.failure or "the reply holds no verdict"
    return Entry(key, judge.identity, None if verdict is None else str(verdict), failure)


def _read(path: Path, kind: type[T]) -> list[T]:
    decoder = msgspec.json.Decoder(kind)
    rows: list[T] = []
    seen: dict[str, int] = {}
    try:
        lines = path.read_bytes().splitlines()
    except (FileNotFoundError, IsADirectoryError):
        raise DataInvalid("file not found", where=str(path), next_step="name a file of JSON lines") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataInvalid(f"bad line: {error}", where=f"{path}:{number}") from None
        key = str(getattr(row, "id", ""))
        before = seen.setdefault(key, number)
        if before != number:
            raise DataInvalid(f"id {key!r} comes twice, first in line {before}", where=f"{path}:{number}")
        rows.append(row)
    if not rows:
        raise DataInvalid("nothing to judge", where=str(path))
    return rows
