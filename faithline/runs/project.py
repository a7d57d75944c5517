"""The project in the workspace as DVC sees it; the only module that imports DVC.

DVC is used through its Python interface, in this process: one start instead of one per command (2 s each), and the exit
code of a stage's command, which the `dvc` command turns into 255. What is used of it beyond the public part (the key of
a run cache entry) is pinned by the lock of the runtime environment and held by tests.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dvc.repo import Repo
from dvc.stage.cache import _can_hash, _get_stage_hash
from dvc.stage.exceptions import StageCmdFailedError
from dvc.stage.serialize import to_single_stage_lockfile
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from faithline.pipeline.errors import ConfigError, EnvironmentMismatch, PipelineError, Preempted, classify
from faithline.pipeline.graph import PIPELINE_FILE, covers
from faithline.runs.fragments import LOCK_FILE, Fragment, Tracked, read_lock
from faithline.runs.objects import Cache

__all__ = ["Project", "RunKey", "StageFailed"]


class StageFailed(Exception):
    """The stage's command ended with a code other than 0."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


@dataclass(frozen=True)
class RunKey:
    """A stage's place in the run cache, and the inputs that belong there.

    DVC's own key leaves out every setting that is called `size` or `nfiles`, at any depth (it means the statistics of
    files), so results of other settings can lie in the same place; what is taken from there is compared as a whole.
    """

    key: str
    inputs: Mapping[str, Any]

    @property
    def folder(self) -> str:
        """Relative path of the results."""
        return f"{self.key[:2]}/{self.key}"

    def fits(self, text: str) -> bool:
        """Whether an entry of the run cache is a result of these inputs."""
        try:
            entry = YAML(typ="safe", pure=True).load(text)
            return _inputs(entry) == _inputs(self.inputs)
        except (YAMLError, KeyError, TypeError, AttributeError):
            return False


def _inputs(entry: Mapping[str, Any]) -> tuple[object, ...]:
    deps = {dep["path"]: dep["md5"] for dep in entry.get("deps", ())}
    params = {path: dict(values) for path, values in entry.get("params", {}).items()}
    return entry["cmd"], deps, params, sorted(out["path"] for out in entry["outs"])


class Project:
    """A DVC project in a folder; its working directory is that folder while DVC works.

    Args:
        root: The folder.
        cache: DVC's cache folder, None for the project's own setting.
        private: Whether the folder is ours alone: DVC's bookkeeping is kept inside it, and files are hard links into
            the cache, read-only, instead of copies.
    """

    def __init__(self, root: Path, *, cache: Path | None, private: bool) -> None:
        self._root = root.resolve()
        settings: dict[str, Any] = {"core": {"no_scm": True, "analytics": False, "autostage": False}, "cache": {}}
        if cache is not None:
            settings["cache"]["dir"] = str(cache.resolve())
        if private:
            settings["core"]["site_cache_dir"] = str(self._root / ".dvc" / "tmp" / "site")
            settings["cache"]["type"] = ["reflink", "hardlink", "copy"]
        self._listener = _Listener()
        logger = logging.getLogger("dvc")
        logger.setLevel(logging.INFO)
        logger.addHandler(self._listener)
        logging.getLogger("dvc_data").addHandler(self._listener)
        with self._told():
            self._repo = Repo(str(self._root), config=settings)
        if private:
            # DVC keeps hashes and a list of links in databases that try for ever to write to a full disk.
            state: Any = self._repo.state
            state.close()
            state.hashes, state.set_link = _Hashes(), lambda *_: None
        self.cache = Cache(Path(self._repo.cache.local.path))
        self.run_cache = Path(self._repo.stage_cache.cache_dir)

    @property
    def ran(self) -> bool:
        """Whether the stage's command was run, rather than its result taken from the run cache."""
        return self._listener.ran

    def check_out(self, wanted: Iterable[tuple[Tracked, str]]) -> None:
        """Put outputs of other stages into the workspace, from the cache.

        Args:
            wanted: An output, and the path that is needed: the output itself, something below it, or a folder above.
        """
        with self._told(), self._repo.lock:
            # Not the repository's index: that has every dvc.yaml below, whose paths are relative to other folders.
            outs = {out.def_path: out for stage in self._repo.stage.load_all(PIPELINE_FILE) for out in stage.outs}
            for tracked, path in wanted:
                out = outs[tracked.path]
                if covers(path, tracked.path) and out.use_cache:
                    out.checkout(force=True)
                else:
                    self._copy(tracked, path)

    def _copy(self, tracked: Tracked, path: str) -> None:
        """Copy a part of an output, or one that DVC keeps out of its cache in the workspace (`cache: false`)."""
        files = (
            {f"{tracked.path}/{name}": md5 for name, md5 in self.cache.files(tracked.md5).items()}
            if tracked.is_folder
            else {tracked.path: tracked.md5}
        )
        chosen = {name: md5 for name, md5 in files.items() if covers(path, name)}
        if not chosen:
            raise ConfigError(
                f"stage output {tracked.path} has no `{path}`",
                where=PIPELINE_FILE,
                next_step="correct the stage's deps",
            )
        for name, md5 in chosen.items():
            target = self._root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copyfile(self.cache.path(md5), target)

    def run_key(self, stage: str) -> RunKey | None:
        """Return where a stage's results are in the run cache, None if DVC would not keep them there.

        Everything the stage depends on must be in the workspace.
        """
        with self._told(), self._repo.lock:
            found = self._stage(stage)
            try:
                found.save_deps()
                return RunKey(_get_stage_hash(found), to_single_stage_lockfile(found)) if _can_hash(found) else None
            finally:
                self._repo._reset()  # what was computed must not pass for what the lock says

    def local_deps(self, stage: str, produced: Iterable[str]) -> dict[str, str]:
        """Return path → MD5 of what a stage depends on and no stage produces: code and raw data."""
        with self._told(), self._repo.lock:
            found = self._stage(stage)
            try:
                found.save_deps(allow_missing=True)
                known = {str(dep.def_path): dep.hash_info.value for dep in found.deps if dep.hash_info}
            finally:
                self._repo._reset()
        made = tuple(produced)
        return {
            path: str(md5)
            for path, md5 in known.items()
            if not any(covers(out, path) or covers(path, out) for out in made)
        }

    def reproduce(self, stage: str, key: RunKey | None, *, fresh: bool) -> Fragment:
        """Run one stage unless the workspace or the run cache has its result, and return its lock entry.

        Args:
            stage: The stage.
            key: Its place in the run cache, None if it has none.
            fresh: Run it in any case.

        Raises:
            StageFailed: If its command ended with another code than 0.
        """
        cached = not fresh and self._has_result(key)
        self._listener.errors.clear()
        with self._told():
            self._repo.reproduce(targets=[stage], single_item=True, force=fresh, run_cache=cached)
            if self._listener.errors:
                # DVC only logs that a file did not get into its cache, and writes the lock as if it had.
                raise self._listener.errors[0]
        entries = read_lock(self._root)
        if stage not in entries:
            raise EnvironmentMismatch(f"DVC wrote no entry for stage {stage}", where=LOCK_FILE)
        return Fragment(stage, entries[stage])

    def _has_result(self, key: RunKey | None) -> bool:
        """Whether the run cache holds a result of just these inputs; it is made the newest, which DVC takes."""
        if key is None:
            return False
        for path in (self.run_cache / key.folder).glob("[0-9a-f]*"):
            if key.fits(path.read_text(encoding="utf-8")):
                os.utime(path)
                return True
        return False

    def sources(self, fragment: Fragment) -> dict[str, Path]:
        """Return MD5 → file with that content, for everything in a stage's outputs."""
        found: dict[str, Path] = {}
        for out in fragment.outs:
            if out.is_folder:
                found[out.md5] = self.cache.path(out.md5)
                files = {f"{out.path}/{name}": md5 for name, md5 in self.cache.files(out.md5).items()}
            else:
                files = {out.path: out.md5}
            for name, md5 in files.items():
                found[md5] = self.cache.path(md5) if self.cache.has(md5) else self._root / name
        return found

    def close(self) -> None:
        """Close DVC's databases."""
        self._repo.close()
        for name in ("dvc", "dvc_data"):
            logging.getLogger(name).removeHandler(self._listener)

    def _stage(self, name: str) -> Any:
        (found,) = self._repo.stage.collect(name)
        return found

    def _told(self) -> _Translation:
        return _Translation(self._root, self._listener)


class _Translation:
    """Works in the project's folder and turns DVC's exceptions into the project's."""

    def __init__(self, root: Path, listener: _Listener) -> None:
        self._directory = chdir(root)
        self._listener = listener

    def __enter__(self) -> None:
        self._directory.__enter__()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._directory.__exit__(None, None, None)
        if isinstance(error, Exception) and not isinstance(error, PipelineError):
            raise _translate(error, self._listener.errors) from error


class _Hashes(dict[str, str]):
    """The hashes of files that DVC has read, for as long as this process lives."""

    def set_many(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Keep the entries of several files."""
        self.update(pairs)

    def get_many(self, paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
        """Give each path with its entry."""
        return ((path, self.get(path)) for path in paths)

    def close(self) -> None:
        """Nothing is open."""


class _Listener(logging.Handler):
    """Hears whether DVC runs a command, and of errors that it only logs; DVC shows its lines itself."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.ran = False
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of DVC's log."""
        if record.exc_info and record.exc_info[1] is not None:
            self.errors.append(record.exc_info[1])
        self.ran |= record.getMessage().startswith("Running stage ")


def _translate(error: Exception, logged: list[BaseException]) -> Exception:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    for one in chain:
        if isinstance(one, StageCmdFailedError):
            match = re.search(r"exited with (-?\d+)$", str(one))
            return StageFailed(int(match[1]) if match else 1)
    for one in (*chain, *logged):
        known = classify(one)
        if known is not None:
            return known
    if any(type(one).__name__ == "LockError" for one in chain):
        return Preempted(f"another DVC works here: {error}", next_step="let it end, or run this again later")
    if type(error).__module__.startswith(("dvc.", "dvc_")):
        reasons = "; ".join(dict.fromkeys(str(one) for one in chain if str(one)))
        return EnvironmentMismatch(f"DVC says: {reasons}", where=os.fspath(PIPELINE_FILE))
    return error
