"""`faithline promote`: show the verdict and the registry of champions, approve, roll back, fetch, score again, tag."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faithline.commands import Commands
    from faithline.promotion.registry import Registry
    from faithline.promotion.settings import Promote
    from faithline.promotion.state import State

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Add the group."""
    promote = commands.add_parser(
        "promote",
        help="the gate and the registry of champions: verdict, status, approve, reject, rollback, fetch, rescore, tag",
        description="The registry is promote.registry of params.yaml. Promoting itself is the stage `promote`.",
    )
    actions = promote.add_subparsers(required=True, metavar="ACTION")
    verdict = actions.add_parser("verdict", help="print this run's verdict; exit 10 if the champion stays")
    verdict.set_defaults(command=_verdict)
    status = actions.add_parser("status", help="print the champion, who waits, and the history")
    status.add_argument("--json", action="store_true", help="print the registry's document")
    status.set_defaults(command=_status)
    for name, what in (("approve", "make a waiting candidate the champion"), ("reject", "send it away")):
        action = actions.add_parser(name, help=what)
        action.add_argument("version", help="the version that waits")
        _reason(action, required=name == "reject")
        action.set_defaults(command=_decide, action=name)
    rollback = actions.add_parser("rollback", help="bring a former champion back")
    rollback.add_argument("--to", metavar="VERSION", help="which; the one before by default")
    _reason(rollback, required=True)
    rollback.set_defaults(command=_rollback)
    fetch = actions.add_parser("fetch", help="bring a bundle with its adapters, every byte checked")
    fetch.add_argument("folder", type=Path, help="a new folder")
    fetch.add_argument("--version", help="which; the champion by default")
    fetch.set_defaults(command=_fetch)
    rescore = actions.add_parser(
        "rescore", help="take data/evaluation as the champion's, after it answered other items"
    )
    _reason(rescore, required=True)
    rescore.set_defaults(command=_rescore)
    tag = actions.add_parser("tag", help="tag the champion's commit in git, as GTO does")
    tag.set_defaults(command=_tag)


def _reason(parser: argparse.ArgumentParser, *, required: bool) -> None:
    parser.add_argument("--reason", required=required, default="approved", help="why; kept in the history")
    parser.add_argument("--by", help="who; your user name by default")


def _open(arguments: argparse.Namespace) -> tuple[Promote, Registry, State]:
    from faithline.pipeline.params import load_section
    from faithline.promotion.gate import registry_of
    from faithline.promotion.settings import Promote

    settings = load_section(arguments.root, "promote", Promote)
    registry = registry_of(arguments.root, settings)
    return settings, registry, registry.state()


def _verdict(arguments: argparse.Namespace) -> int:
    from faithline.pipeline.errors import ExitCode
    from faithline.promotion.summary import read_summary, told
    from faithline.promotion.verdict import VERDICT

    found = read_summary(arguments.root / VERDICT)
    print(told(found))
    return ExitCode.OK if found.verdict == "promote" else ExitCode.GATE_REJECTED


def _status(arguments: argparse.Namespace) -> None:
    import sys

    import msgspec

    _, registry, state = _open(arguments)
    if arguments.json:
        sys.stdout.buffer.write(msgspec.json.encode(state) + b"\n")
        return
    print(f"registry  {registry.url}")
    print(f"champion  {state.champion or 'none'}")
    if state.pending:
        print(f"waits     {state.pending.version} (faithline promote approve {state.pending.version})")
    for event in state.events:
        commit = event.commit or "no commit known"
        print(
            f"{event.number:>4}  {event.at}  {event.action:<12} {event.version}  {event.by}  {commit}  {event.reason}"
        )


def _decide(arguments: argparse.Namespace) -> None:
    from faithline.promotion.state import approved, bundle_of, rejected

    _, registry, state = _open(arguments)
    version = arguments.version
    yes = arguments.action == "approve"
    digest = bundle_of(state, version)
    registry.manifest(version, digest)
    after = registry.change(
        "approved" if yes else "rejected",
        version,
        digest,
        approved if yes else rejected,
        reason=arguments.reason,
        by=arguments.by,
    )
    print(f"{version} is {'the champion' if yes else 'rejected'}; the champion is {after.champion or 'nobody'}")


def _rollback(arguments: argparse.Namespace) -> None:
    from faithline.pipeline.errors import ConfigError
    from faithline.promotion.state import bundle_of, former, rolled_back

    _, registry, state = _open(arguments)
    version = arguments.to or next(iter(former(state)), None)
    if version is None:
        raise ConfigError("there is no former champion to go back to", where=registry.url)
    digest = bundle_of(state, version)
    registry.manifest(version, digest)
    registry.change("rolled_back", version, digest, rolled_back, reason=arguments.reason, by=arguments.by)
    print(f"champion: {state.champion} -> {version}")


def _fetch(arguments: argparse.Namespace) -> None:
    from faithline.pipeline.errors import ConfigError
    from faithline.promotion.state import bundle_of

    _, registry, state = _open(arguments)
    version = arguments.version or state.champion
    if version is None:
        raise ConfigError("there is no champion", where=registry.url, next_step="run `dvc repro`")
    manifest = registry.fetch_bundle(version, bundle_of(state, version), arguments.folder)
    print(f"{arguments.folder}: {version}, {len(manifest.files)} files, every one as promoted")


def _rescore(arguments: argparse.Namespace) -> None:
    from faithline.promotion.gate import rescore

    settings, registry, _ = _open(arguments)
    state = rescore(arguments.root, registry, settings, arguments.reason)
    print(f"{state.champion}: later candidates are compared on the items of data/evaluation")


def _tag(arguments: argparse.Namespace) -> None:
    from faithline.promotion.tags import make_tags

    settings, _, state = _open(arguments)
    names = make_tags(arguments.root, settings, state)
    print(f"tagged {', '.join(names)}; push them: git push --tags" if names else "the champion is tagged already")
