"""The stage as a user runs it: files, determinism, refusals with exit code 40."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ruamel.yaml import YAML

from components.generate_sample.params import GenerateSample, Params, check
from components.generate_sample.write import items_total, write_sample
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.params import convert

ROOT = Path(__file__).resolve().parents[2]
SETTINGS: dict[str, Any] = {
    "seed": 7,
    "documents_per_question": 6,
    "questions_per_cluster": 8,
    "noise": {"near_duplicate": 0.1, "outdated": 0.3, "conflicting": 0.15, "same_attribute": 0.6},
    "hotpotqa": {
        "questions": 20,
        "shares": {"single": 0.25, "bridge": 0.35, "comparison": 0.2, "numeric": 0.1, "temporal": 0.1},
    },
    "two_wiki": {
        "questions": 18,
        "shares": {"compositional": 0.4, "inference": 0.15, "comparison": 0.25, "bridge_comparison": 0.2},
    },
    "musique": {"questions": 16, "three_hops": 0.35, "unanswerable": 0.2},
    "bioasq": {
        "questions": 9,
        "types": {"factoid": 0.4, "yesno": 0.25, "list": 0.2, "summary": 0.15},
        "unquoted_documents": 0.2,
    },
    "ragtruth": {
        "sources": 7,
        "tasks": {"qa": 0.4, "summary": 0.3, "data2txt": 0.3},
        "models": [{"name": "one", "fault_rate": 0.05}, {"name": "two", "fault_rate": 0.3}],
        "subtle": 0.35,
        "baseless": 0.5,
        "test": 0.25,
        "truncated": 0.03,
        "refused": 0.03,
    },
    "truthfulqa": {
        "questions": 12,
        "evidence": True,
        "shares": {"lookup": 0.5, "two_hops": 0.25, "comparison": 0.25},
    },
}
FILES = {
    "hotpotqa.json",
    "2wikimultihopqa.json",
    "musique.jsonl",
    "bioasq.json",
    "truthfulqa.csv",
    "ragtruth/source_info.jsonl",
    "ragtruth/response.jsonl",
}


def patched(path: str = "", value: object = None) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(json.dumps(SETTINGS))
    if path:
        *parents, last = path.split(".")
        node: Any = settings
        for parent in parents:
            node = node[int(parent)] if isinstance(node, list) else node[parent]
        node[last] = value
    return settings


def typed(settings: dict[str, Any]) -> GenerateSample:
    return convert({"generate_sample": settings}, Params, Path("params.yaml")).generate_sample


def project(folder: Path, settings: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "dvc.yaml").write_bytes((ROOT / "dvc.yaml").read_bytes())
    # dvc.yaml refers to the section `cluster`.
    cluster = YAML(typ="safe", pure=True).load((ROOT / "params.yaml").read_text(encoding="utf-8"))["cluster"]
    sections = {"generate_sample": settings, "prepare_data": {"root": "data/raw/sample"}, "cluster": cluster}
    with (folder / "params.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(sections, file)
    return folder


Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_stage_writes_its_files_and_record(tmp_path: Path, run_component: Run) -> None:
    folders = [project(tmp_path / name, SETTINGS) for name in ("one", "two")]
    for folder in folders:
        done = run_component(folder, "generate_sample")
        assert done.returncode == 0, done.stderr
        assert "hotpotqa=20" in done.stdout + done.stderr
    contents = [
        {path.relative_to(base).as_posix(): path.read_bytes() for path in base.rglob("*") if path.is_file()}
        for base in (folder / "data/raw/sample" for folder in folders)
    ]
    assert contents[0] == contents[1]
    assert set(contents[0]) == FILES | {"record.json"}
    metrics = json.loads(contents[0]["record.json"])["metrics"]
    assert metrics["ragtruth_responses"] == 14


def test_progress_counts_every_item(tmp_path: Path) -> None:
    settings = typed(SETTINGS)
    calls = []
    counts = write_sample(tmp_path, settings, lambda: calls.append(1))
    assert len(calls) == items_total(settings)
    assert counts == {
        "hotpotqa": 20,
        "two_wiki": 18,
        "musique": 16,
        "bioasq": 9,
        "truthfulqa": 12,
        "ragtruth_sources": 7,
        "ragtruth_responses": 14,
    }


def test_a_set_does_not_change_when_another_one_grows(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    write_sample(tmp_path / "a", typed(SETTINGS), lambda: None)
    write_sample(tmp_path / "b", typed(patched("hotpotqa.questions", 40)), lambda: None)
    for name in FILES - {"hotpotqa.json"}:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    few = json.loads((tmp_path / "a" / "hotpotqa.json").read_bytes())
    assert json.loads((tmp_path / "b" / "hotpotqa.json").read_bytes())[:20] == few


def test_musique_shares(tmp_path: Path) -> None:
    settings = patched("musique.questions", 200)
    settings["musique"] |= {"three_hops": 1.0, "unanswerable": 1.0}
    write_sample(tmp_path, typed(settings), lambda: None)
    rows = [json.loads(line) for line in (tmp_path / "musique.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["id"][:4] for row in rows} == {"3hop"}
    assert {row["answerable"] for row in rows} == {False}


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("hotpotqa.questions", -1, "hotpotqa.questions"),
        ("two_wiki.questions", -5, "two_wiki.questions"),
        ("musique.questions", -1, "musique.questions"),
        ("bioasq.questions", -1, "bioasq.questions"),
        ("ragtruth.sources", -1, "ragtruth.sources"),
        ("truthfulqa.questions", -1, "truthfulqa.questions"),
        ("musique.three_hops", 1.5, "musique.three_hops"),
        ("musique.unanswerable", -0.1, "musique.unanswerable"),
        ("hotpotqa.shares.single", 0.5, "hotpotqa.shares"),
        ("two_wiki.shares.inference", -0.2, "two_wiki.shares.inference"),
        ("noise.outdated", 1.2, "noise.outdated"),
        ("documents_per_question", 3, "documents_per_question"),
        ("questions_per_cluster", 0, "questions_per_cluster"),
        ("bioasq.types.list", 0.9, "bioasq.types"),
        ("ragtruth.models.0.fault_rate", 7.0, "ragtruth.models.one.fault_rate"),
    ],
)
def test_nonsense_is_refused_with_its_place(path: str, value: object, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check(typed(patched(path, value)))
    assert caught.value.where == f"params.yaml: generate_sample.{where}"
    assert caught.value.next_step


def test_a_refusal_is_exit_code_40_and_leaves_nothing(tmp_path: Path, run_component: Run) -> None:
    folder = project(tmp_path / "bad", patched("hotpotqa.questions", -1))
    done = run_component(folder, "generate_sample")
    assert done.returncode == 40
    assert "hotpotqa.questions" in done.stderr
    assert not (folder / "data").exists() or not list((folder / "data").rglob("*.json"))


def test_an_unknown_key_names_the_nearest() -> None:
    settings = patched()
    settings["noise"]["outdate"] = 0.1
    with pytest.raises(ConfigError, match="outdate") as caught:
        typed(settings)
    assert "outdated" in caught.value.next_step


def test_counts_of_zero_write_empty_files(tmp_path: Path) -> None:
    settings = patched()
    for name in ("hotpotqa", "two_wiki", "musique", "bioasq", "truthfulqa"):
        settings[name]["questions"] = 0
    settings["ragtruth"]["sources"] = 0
    counts = write_sample(tmp_path, typed(settings), lambda: None)
    assert set(counts.values()) == {0}
    assert json.loads((tmp_path / "hotpotqa.json").read_bytes()) == []
    assert msgspec.json.decode((tmp_path / "bioasq.json").read_bytes()) == {"questions": []}
