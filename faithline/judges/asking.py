"""Asking a judge through a cache: equal prompts are asked once, what was answered before is not asked again.

A reply is a file named by the digest of judge and prompt, written whole or not at all, so any number of processes may
share a cache. Failures are not kept: the next run asks again. In a replay nobody is asked, and a verdict that is not in
the cache is an error: the figures are then exactly those of the cached replies.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from faithline.judges.judge import Judge, Reply
from faithline.pipeline.errors import DataInvalid, Preempted

__all__ = ["Cache", "ask"]

GIVE_UP = 25
"""Failures in a row, no reply among them, after which the judge counts as gone."""


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a cache file."""

    judge: str
    prompt: str
    """SHA-256 of the prompt."""
    text: str


class Cache:
    """Replies of judges in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, identity: str, prompt: str) -> str | None:
        """Return a kept reply.

        Raises:
            DataInvalid: If its file is damaged or belongs to another prompt.
        """
        path = self._path(identity, prompt)
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=Kept)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataInvalid(f"a cached verdict is damaged: {error}", where=str(path), next_step="delete it") from None
        if (kept.judge, kept.prompt) != (identity, _digest(prompt)):
            raise DataInvalid("a cached verdict belongs elsewhere", where=str(path), next_step="delete it")
        return kept.text

    def put(self, identity: str, prompt: str, text: str) -> None:
        """Keep a reply."""
        path = self._path(identity, prompt)
        path.parent.mkdir(parents=True, exist_ok=True)
        staged = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
        staged.write_bytes(msgspec.json.encode(Kept(identity, _digest(prompt), text)))
        staged.replace(path)

    def _path(self, identity: str, prompt: str) -> Path:
        name = _digest(f"{identity}\0{prompt}")
        return self._folder / name[:2] / f"{name}.json"


def ask(
    judge: Judge,
    prompts: Sequence[str],
    cache: Cache,
    *,
    replay: bool = False,
    advance: Callable[[int], None] = lambda _count: None,
) -> list[Reply]:
    """Answer all prompts.

    Args:
        judge: Who is asked.
        prompts: What is asked.
        cache: Where replies are kept.
        replay: Ask nobody.
        advance: Told how many more different prompts are done.

    Returns:
        One reply per prompt.

    Raises:
        DataInvalid: In a replay, if a reply is not in the cache.
        Preempted: If the judge does not answer at all.
    """
    found: dict[str, Reply] = {}
    for prompt in dict.fromkeys(prompts):
        text = cache.get(judge.identity, prompt)
        if text is not None:
            found[prompt] = Reply(text)
    missing = [prompt for prompt in dict.fromkeys(prompts) if prompt not in found]
    if missing and replay:
        raise DataInvalid(
            f"{len(missing)} of {len(set(prompts))} verdicts are not in the cache", next_step="run it without --replay"
        )
    advance(len(found))
    silent = 0
    for index, reply in judge.replies(missing):
        found[missing[index]] = reply
        advance(1)
        if reply.text is not None:
            cache.put(judge.identity, missing[index], reply.text)
            silent = -1
        elif silent >= 0:
            silent += 1
            if silent >= GIVE_UP:
                raise Preempted(
                    f"the judge does not answer: {silent} requests failed, the last with {reply.failure}",
                    where=judge.identity,
                    next_step="check the endpoint, then run it again; replies so far are kept",
                )
    return [found[prompt] for prompt in prompts]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
