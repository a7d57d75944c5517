"""`faithline judge`: answers of a file through a published protocol and one or two judges."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from faithline.commands import seconds

if TYPE_CHECKING:
    from contextlib import ExitStack

    from faithline.commands import Commands
    from faithline.judges.judge import Judge

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the command."""
    judge = commands.add_parser(
        "judge",
        help="judge answers by FaithJudge's, FACTS' or ContextualJudgeBench's protocol",
        description="Reads one JSON object a line (see docs/evaluation.md), prints rates, the agreement of two judges, "
        "and every verdict as JSON. Replies are kept in --cache; failures are counted, never read as verdicts.",
    )
    judge.add_argument("protocol", choices=["faithjudge", "facts", "contextual"])
    judge.add_argument("file", type=Path, metavar="FILE.jsonl")
    judge.add_argument(
        "--judge",
        action="append",
        required=True,
        metavar="WHO",
        help="https://HOST/v1#MODEL, or local:FOLDER; once or twice",
    )
    judge.add_argument("--cache", type=Path, required=True, help="folder of replies; share it to replay the figures")
    judge.add_argument("--replay", action="store_true", help="ask nobody; every verdict must be in the cache")
    judge.add_argument("--key-variable", metavar="NAME", help="environment variable with the endpoint's key")
    judge.add_argument("--max-tokens", type=_count, default=4096, help="tokens of a reply (4096)")
    judge.add_argument("--timeout-s", type=seconds, default=120.0, help="deadline of one request (120)")
    judge.add_argument("--attempts", type=_count, default=3, help="tries of one prompt (3)")
    judge.add_argument("--concurrency", type=_count, default=8, help="requests at once (8)")
    judge.set_defaults(command=_judge)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def _judge(arguments: argparse.Namespace) -> None:
    import sys
    from contextlib import ExitStack

    import msgspec

    from faithline.judges.asking import Cache
    from faithline.judges.command import judge_file
    from faithline.pipeline.errors import ConfigError

    if len(set(arguments.judge)) != len(arguments.judge) or len(arguments.judge) > 2:
        raise ConfigError("one or two different judges, please", where="--judge")
    with ExitStack() as stack:
        judges = [_open(who, arguments, stack) for who in arguments.judge]
        judged = judge_file(arguments.file, arguments.protocol, judges, Cache(arguments.cache), replay=arguments.replay)
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(judged), indent=1) + b"\n")
    sys.stdout.buffer.flush()


def _open(who: str, arguments: argparse.Namespace, stack: ExitStack) -> Judge:
    from faithline.pipeline.errors import ConfigError

    if who.startswith("local:"):
        return _local(Path(who.removeprefix("local:")), arguments.max_tokens)
    from faithline.judges.endpoint import Endpoint, EndpointJudge

    url, _, model = who.partition("#")
    if not model:
        raise ConfigError(f"`{who}` names no model", where="--judge", next_step="write https://HOST/v1#MODEL")
    settings = Endpoint(
        url=url,
        model=model,
        temperature=0.0,
        max_tokens=arguments.max_tokens,
        timeout_s=arguments.timeout_s,
        attempts=arguments.attempts,
        concurrency=arguments.concurrency,
        key_variable=arguments.key_variable,
    )
    return stack.enter_context(EndpointJudge(settings))


def _local(folder: Path, max_tokens: int) -> Judge:
    from faithline.judges.local import LocalJudge
    from faithline.lm import backbone
    from faithline.lm.chat import Chat

    model = backbone.load(folder, device="auto", dtype="auto")
    window = int(getattr(model.model.config, "max_position_embeddings", 4096))
    return LocalJudge(
        model,
        Chat(model.tokenizer),
        name=backbone.fingerprint(folder),
        max_prompt_tokens=max(1, window - max_tokens),
        max_new_tokens=max_tokens,
        batch_tokens=8192,
    )
