"""Build Faithline's container images with whichever builder is there, and print their sizes.

One image per dependency world: `localhost/faithline-WORLD:TAG`, labelled with the git commit. What a machine needs
beyond the Containerfile is taken from its environment: a folder of wheels that pip is told of (`PIP_FIND_LINKS`) for
the CPU build of torch, and a certificate bundle (`SSL_CERT_FILE`) where a proxy has one of its own. Neither is left in
an image. Standard library only: the images can be built on a machine that has nothing installed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["build_command", "main", "revision"]

ROOT = Path(__file__).resolve().parent.parent
WORLDS = ("runtime", "airflow", "gpu")
ENGINES = ("buildah", "podman", "docker")
EXIT_ENVIRONMENT = 40


def build_command(
    engine: str, world: str, image: str, arguments: Mapping[str, str], environment: Mapping[str, str]
) -> list[str]:
    """Return the command that builds one image.

    Args:
        engine: buildah, podman or docker.
        world: The dependency world.
        image: Name and tag to give it.
        arguments: Build arguments; those below are added.
        environment: The machine's, of which `PIP_FIND_LINKS` and `SSL_CERT_FILE` are used.
    """
    command = [engine, "build", "--file", f"containers/{world}/Containerfile", "--tag", image]
    arguments = dict(arguments)
    if engine != "docker":
        command += ["--layers", "--ignorefile", ".containerignore"]
        bundle = environment.get("SSL_CERT_FILE")
        if bundle:
            command += ["--volume", f"{bundle}:{bundle}:ro"]
            arguments |= {"PIP_CERT": bundle, "SSL_CERT_FILE": bundle}
    wheels = _wheels(environment)
    if world == "runtime" and wheels:
        command += ["--build-context", f"wheels={wheels}"]
        arguments["TORCH"] = "--find-links /mnt/wheels"
    for name, value in sorted(arguments.items()):
        command += ["--build-arg", f"{name}={value}"]
    return [*command, "."]


def _wheels(environment: Mapping[str, str]) -> str | None:
    """The first folder of wheels with a torch in it, as the Makefile has it."""
    folders = environment.get("PIP_FIND_LINKS", "").split()
    return next((folder for folder in folders if any(Path(folder).glob("torch-*"))), None)


def revision(root: Path) -> str:
    """Return the git commit of `root`, with `-dirty` when files differ from it, or `unknown` outside git."""

    def git(*arguments: str) -> str | None:
        if not (root / ".git").exists() or shutil.which("git") is None:
            return None
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    if commit is None:
        return "unknown"
    return f"{commit}-dirty" if git("status", "--porcelain") else commit


def _version() -> str:
    text = (ROOT / "faithline" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return match[1] if match else "unknown"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Build the container images and print their sizes.")
    parser.add_argument("worlds", nargs="*", choices=[[], *WORLDS], help="default: runtime and airflow")
    parser.add_argument("--engine", choices=ENGINES, help="default: the first that is installed")
    parser.add_argument("--base", help="another base image than the pinned one; the same for all given worlds")
    parser.add_argument("--tag", help="default: the git commit")
    parser.add_argument("--no-bytecode", action="store_true", help="skip compiling the installed packages: for tests")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run as a command and return the exit code."""
    options = _parser().parse_args(argv)
    engine = options.engine or next((name for name in ENGINES if shutil.which(name)), None)
    if engine is None:
        print(f"error: no image builder found\n  next:  install one of {', '.join(ENGINES)}", file=sys.stderr)
        return EXIT_ENVIRONMENT
    commit = revision(ROOT)
    arguments = {"REVISION": commit, "VERSION": _version()}
    if options.base:
        arguments["BASE"] = options.base
    if options.no_bytecode:
        arguments["UV_COMPILE_BYTECODE"] = "0"
    for world in options.worlds or WORLDS[:2]:
        image = f"localhost/faithline-{world}:{options.tag or commit}"
        done = subprocess.run(build_command(engine, world, image, arguments, os.environ), cwd=ROOT, check=False)
        if done.returncode:
            print(f"error: {engine} could not build {image} (its messages are above)", file=sys.stderr)
            return EXIT_ENVIRONMENT
        listed = [engine, "images", "--format", "{{.Size}} {{.ID}}", image]
        # buildah has a line for each name of the image.
        size = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()[0]
        print(f"{image} {size}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
