"""Rewards replayed from stored texts: a JSON line of one sample in, a JSON line of its verdict out, in a stream.

The row decides how many samples of the Checker vote; everything else is `march.reward` of params.yaml. Of the verdict
`outcome` is the Proposer's unless it is ok, else the worst of the Checker's (empty, malformed, count_mismatch, ok);
`ztr` and `err` are both given, whichever of them trains; `err` is the paper's form unless the settings say err_count.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from faithline.agents.march import checker, proposer
from faithline.agents.march.outcome import Outcome
from faithline.pipeline.errors import ConfigError, DataInvalid
from faithline.pipeline.json_lines import json_lines
from faithline.pipeline.params import convert
from faithline.pipeline.yaml import read_mapping
from faithline.rewards.march import Judged, err, err_count, judge, ztr
from faithline.rewards.settings import MarchReward

__all__ = ["Replayed", "Sample", "load_settings", "replay", "replay_file"]

_WORST_FIRST = (Outcome.EMPTY, Outcome.MALFORMED, Outcome.COUNT_MISMATCH, Outcome.OK)


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The stored texts of one sample; other keys of the line are ignored."""

    query: str
    response: str
    proposer_output: str
    checker_outputs: list[str]


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What one sample is worth."""

    outcome: Outcome
    pairs: tuple[Judged, ...]
    ztr: float
    err: float


def load_settings(root: Path, *, release: bool) -> MarchReward:
    """Read `march.reward` of a project.

    Args:
        root: The project folder.
        release: Compare and parse as the released code does, whatever params.yaml says.

    Raises:
        ConfigError: If the section is missing or wrong.
    """
    path = root / "params.yaml"
    march = read_mapping(path).get("march")
    reward = march.get("reward") if isinstance(march, dict) else None
    if not isinstance(reward, dict):
        raise ConfigError(
            "no settings of MARCH's reward",
            where=f"{path}: march.reward",
            next_step="name the project with --root, or add the section as in the repository's params.yaml",
        )
    settings = convert({"march": {"reward": reward}}, _Params, path).march.reward
    return msgspec.structs.replace(settings, comparator="release", parser="release") if release else settings


class _March(msgspec.Struct, frozen=True, kw_only=True):
    reward: MarchReward


class _Params(msgspec.Struct, frozen=True, kw_only=True):
    """The way to the settings, so that messages name the full key."""

    march: _March


def replay(sample: Sample, settings: MarchReward) -> Replayed:
    """Parse, match and score one sample.

    Raises:
        ValueError: If there are pairs and the Checker's samples are not an odd number.
    """
    proposal = proposer.parse(sample.proposer_output, settings.parser, settings.max_pairs)
    asked = len(proposal.pairs)
    checks = [checker.parse(text, asked, settings.parser) for text in sample.checker_outputs] if asked else []
    verdict = judge(proposal.pairs, checks, settings.comparator)
    outcome = proposal.outcome
    if checks:
        outcome = min((check.outcome for check in checks), key=_WORST_FIRST.index)
    rate = err_count if settings.outcome == "err_count" else err
    return Replayed(
        outcome=outcome, pairs=verdict.pairs, ztr=ztr(verdict, settings), err=rate(verdict, settings)
    )  # fmt: skip


def replay_file(path: Path, settings: MarchReward) -> Iterator[bytes]:
    """Replay a file of JSON lines; blank lines are passed over.

    Yields:
        One JSON line per sample, with its line break.

    Raises:
        DataInvalid: On the first bad line, naming file, line and field; or if there is no file, or no line in it.
    """
    decoder, encoder = msgspec.json.Decoder(Sample), msgspec.json.Encoder()
    seen = False
    for number, text in json_lines(path):
        seen = True
        try:
            replayed = replay(decoder.decode(text), settings)
        except msgspec.DecodeError as error:
            raise _bad_line(str(error), path, number) from None
        except ValueError as error:
            raise _bad_line(f"{error} - at `$.checker_outputs`", path, number) from None
        yield encoder.encode(replayed) + b"\n"
    if not seen:
        raise DataInvalid("no sample in the file", where=str(path), next_step="give one JSON object a line")


def _bad_line(message: str, path: Path, number: int) -> DataInvalid:
    what, _, field = message.rstrip("`").partition(" - at `$")
    missing = what.partition("missing required field `")[2].rstrip("`")
    field = missing or field.lstrip(".")
    return DataInvalid(
        f"bad line: {what[:1].lower()}{what[1:]}",
        where=f"{path}:{number}" + (f": {field}" if field else ""),
        next_step="a line is an object with the texts query, response, proposer_output and the list checker_outputs",
    )
