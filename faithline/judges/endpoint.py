"""A judge behind any OpenAI-compatible endpoint (`POST <url>/chat/completions`).

Every request has a deadline over all of its life, a server that trickles bytes included, and a limit on the size of the
answer. Passing faults (429, 5xx, broken connections, timeouts) are tried again with back-off, then they are failures of
this prompt; a refused key or an unknown model is an error at once, for no prompt would fare better. A reply that is no
chat completion, holds no text, or was cut off by the token limit is a failure too.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Annotated, Any

import httpx
import msgspec

from faithline.judges.judge import Reply
from faithline.pipeline.errors import ConfigError, EnvironmentMismatch

__all__ = ["Endpoint", "EndpointJudge"]

MAX_BYTES = 8 * 1024**2
"""A longer answer is nonsense."""
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How an endpoint is asked."""

    url: str
    """Base address, with the version: https://host/v1."""
    model: str
    temperature: Annotated[float, msgspec.Meta(ge=0)]
    max_tokens: Count
    """Tokens of a reply."""
    timeout_s: Positive
    """Deadline of one request."""
    attempts: Count
    """Tries of one prompt."""
    concurrency: Count
    """Requests at once."""
    key_variable: str | None
    """Environment variable that holds the key; None: no key is sent."""


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class _Passing(Exception):
    """A fault that a second try may cure."""

    def __init__(self, why: str, after_s: float = 0.0) -> None:
        super().__init__(why)
        self.after_s = after_s


class EndpointJudge:
    """Asks an endpoint; a context manager that closes its connections."""

    def __init__(self, settings: Endpoint, *, backoff_s: float = 1.0) -> None:
        if not settings.url.startswith(("http://", "https://")):
            raise ConfigError(f"`{settings.url}` is no address", where="judge", next_step="use https://HOST/v1")
        self._settings = settings
        self._backoff_s = backoff_s
        headers = {}
        if settings.key_variable is not None:
            key = os.environ.get(settings.key_variable)
            if not key:
                raise ConfigError("no key for the judge", where=f"environment: {settings.key_variable}")
            headers["Authorization"] = f"Bearer {key}"
        limits = httpx.Limits(max_connections=settings.concurrency)
        self._client = httpx.Client(headers=headers, limits=limits, timeout=settings.timeout_s)

    def __enter__(self) -> EndpointJudge:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def identity(self) -> str:
        """Address, model and sampling; not deadlines, which decide no reply."""
        shown = self._settings
        return f"{shown.url.rstrip('/')} {shown.model} t={shown.temperature:g} n={shown.max_tokens}"

    def replies(self, prompts: Sequence[str]) -> Iterator[tuple[int, Reply]]:
        """Answer prompts as the endpoint gets through them.

        Raises:
            EnvironmentMismatch: If it refuses the key or does not know the model.
        """
        with ThreadPoolExecutor(self._settings.concurrency) as pool:
            left = iter(range(len(prompts)))
            running: dict[Future[Reply], int] = {}
            try:
                while True:
                    # Few are handed to the pool at a time, so that leaving the loop early leaves little undone.
                    for index in left:
                        running[pool.submit(self._reply, prompts[index])] = index
                        if len(running) >= 2 * self._settings.concurrency:
                            break
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        yield running.pop(future), future.result()
            finally:
                for future in running:
                    future.cancel()

    def _reply(self, prompt: str) -> Reply:
        failure = ""
        for attempt in range(self._settings.attempts):
            try:
                return self._once(prompt)
            except _Passing as error:
                failure = str(error)
                if attempt + 1 < self._settings.attempts:
                    pause = self._backoff_s * 2**attempt * (0.5 + random.random())  # noqa: S311 - spreads retries
                    time.sleep(min(max(pause, error.after_s), self._settings.timeout_s))
        return Reply(None, failure)

    def _once(self, prompt: str) -> Reply:
        settings = self._settings
        body = {
            "model": settings.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
        }
        deadline = time.monotonic() + settings.timeout_s
        content = bytearray()
        try:
            with self._client.stream("POST", f"{settings.url.rstrip('/')}/chat/completions", json=body) as response:
                for chunk in response.iter_bytes():
                    content += chunk
                    if time.monotonic() > deadline:
                        raise _Passing("timeout")
                    if len(content) > MAX_BYTES:
                        return Reply(None, "the answer is too large")
        except httpx.TimeoutException:
            raise _Passing("timeout") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _Passing(type(error).__name__) from None
        return self._read(response, bytes(content))

    def _read(self, response: httpx.Response, content: bytes) -> Reply:
        status = response.status_code
        if status in _PASSING:
            after = response.headers.get("retry-after", "")
            raise _Passing(f"HTTP {status}", float(after) if after.isdigit() else 0.0)
        if status in {401, 403, 404}:
            raise EnvironmentMismatch(
                f"the judge refuses: HTTP {status} {_told(content)}".rstrip(),
                where=self.identity,
                next_step="check its address, the model's name and the key",
            )
        if status != 200:
            return Reply(None, f"HTTP {status}")
        try:
            choice = msgspec.json.decode(content, type=_Completion).choices[0]
        except (msgspec.DecodeError, UnicodeDecodeError, IndexError):
            return Reply(None, "no chat completion")
        if choice.finish_reason == "length":
            return Reply(None, "cut off by the token limit")
        text = choice.message.content
        return Reply(text) if text and text.strip() else Reply(None, "empty")


def _told(content: bytes) -> str:
    """The server's own message, where it has the usual form; never the request, which holds the key."""
    try:
        document: Any = json.loads(content)
        return str(document["error"]["message"])[:200]
    except (ValueError, KeyError, TypeError):
        return ""
