"""Stages `compare` and `promote` through the real wrapper, with a registry in a folder and on a real S3 server."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from components.answer.answer import SCHEMA
from components.compare.__main__ import run as run_compare
from components.compare.params import Params as CompareParams
from components.evaluate.__main__ import run as run_evaluate
from components.evaluate.params import Params as EvaluateParams
from components.promote.__main__ import run as run_promote
from components.promote.params import Params as PromoteParams
from faithline import cli
from faithline.data.schema import TABLES, file_name
from faithline.pipeline.records import input_digest, write_json, write_record
from faithline.pipeline.stage import execute
from faithline.promotion.bundle import verify_bundle
from faithline.promotion.materials import LOCKED
from faithline.promotion.summary import read_summary

ROOT = Path(__file__).resolve().parents[2]
N = 1200
GATE = {
    "evaluate": {"bootstrap_samples": 100},
    "promote": {"bootstrap_samples": 1000, "min_items": 50, "slices": {"by": ["set"]}, "first": {"min_f1": 0.3}},
}


@pytest.fixture
def registry(request: pytest.FixtureRequest) -> str:
    """Address of an empty registry: a folder, or an S3 server where a test asks for one."""
    if getattr(request, "param", "folder") == "folder":
        return "models/registry"
    return f"s3://{request.getfixturevalue('bucket')}/champions"


both_kinds = pytest.mark.parametrize("registry", ["folder", "s3"], indirect=True)


class Run:
    """A project whose adapters answered N questions; the seed decides which answers are right."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def train(self, weights: str, wrong: int, *, silent: int = 0, questions: int = N, shift: int = 0) -> None:
        """Write adapters and answers: from `shift` on `wrong` answers are wrong, the next `silent` are none."""
        adapter = self.root / "models/warm_start"
        adapter.mkdir(parents=True, exist_ok=True)
        (adapter / "adapter_model.safetensors").write_bytes(weights.encode() * 50)
        write_record(adapter, stage="warm_start", inputs={}, params={"seed": 1}, metrics={"loss": 0.5})
        self.answer(wrong, silent, questions, shift)
        assert execute(self.root, "evaluate", EvaluateParams, run_evaluate) == 0

    def answer(self, wrong: int, silent: int, questions: int, shift: int) -> None:
        keys = [f"{('hop', 'wiki')[number % 2]}/q{number}" for number in range(questions)]
        asked = [
            {
                "question_id": key, "set": key.split("/")[0], "split": "test", "question": f"What is {key}?",
                "answers": [f"answer {key}"], "answerable": True, "question_type": "bridge", "hops": 2,
                "documents": ["hop/d1"], "supporting": [True], "plan": [],
            }
            for key in keys
        ]  # fmt: skip
        prepared = self.root / "data/prepared"
        prepared.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(asked, schema=TABLES["questions"]), prepared / file_name("questions"))
        write_json(prepared / "sources.json", {"hop": {}})
        write_record(prepared, stage="prepare_data", inputs={}, params={}, metrics={})
        places = [(number - shift) % questions for number in range(questions)]
        kinds = ["wrong" if place < wrong else "none" if place < wrong + silent else "right" for place in places]
        texts = {"wrong": "nonsense", "none": ""}
        said = [
            {
                "question_id": key, "set": key.split("/")[0], "answerable": True,
                "prediction": texts.get(kind, f"answer {key}"), "outcome": "abstained" if kind == "none" else "ok",
                "context": ["hop/d1"], "prompt_tokens": 1, "new_tokens": 1, "completion": "",
            }
            for key, kind in zip(keys, kinds, strict=True)
        ]  # fmt: skip
        answers = self.root / "data/answers"
        answers.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(said, schema=SCHEMA), answers / "answers.parquet")
        inputs = {name: input_digest(self.root / name) for name in ("models/warm_start", "data/prepared")}
        write_record(answers, stage="answer", inputs=inputs, params={}, metrics={})

    def compare(self) -> int:
        return execute(self.root, "compare", CompareParams, run_compare)

    def promote(self) -> int:
        return execute(self.root, "promote", PromoteParams, run_promote)

    @property
    def verdict(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.root / "data/comparison/verdict.json").read_text())
        return found

    @property
    def version(self) -> str:
        return str(json.loads((self.root / "data/promotion/receipt.json").read_text())["version"])

    def cli(self, *arguments: str) -> int:
        return cli.main(["--root", str(self.root), *arguments])

    def settings(self, **changes: Any) -> None:
        path = self.root / "params.yaml"
        yaml = YAML(typ="safe", pure=True)
        document = yaml.load(path.read_text())
        document["promote"] |= changes
        with path.open("w") as file:
            YAML().dump(document, file)


@pytest.fixture
def project(make_project: Callable[..., Path], registry: str) -> Run:
    run = Run(make_project(GATE))
    run.settings(registry=registry)
    (run.root / LOCKED).parent.mkdir(parents=True)
    shutil.copyfile(ROOT / LOCKED, run.root / LOCKED)
    return run


@pytest.fixture
def champion(project: Run) -> Run:
    """A project with a champion that answers 40 of 100 questions wrongly."""
    project.train("champion", wrong=480)
    assert (project.compare(), project.promote()) == (0, 0)
    return project


@both_kinds
def test_a_first_candidate_a_better_one_and_a_worse_one(champion: Run, capsys: pytest.CaptureFixture[str]) -> None:
    first = champion.version
    assert (champion.verdict["verdict"], champion.verdict["champion"]) == ("promote", None)
    assert champion.cli("promote", "verdict") == 0

    champion.train("better", wrong=240)
    assert (champion.compare(), champion.promote()) == (0, 0)
    second = champion.version
    verdict = champion.verdict
    assert (verdict["verdict"], verdict["champion"]) == ("promote", first)
    checks = {check["metric"]: check for check in verdict["checks"]}
    assert (checks["hallucination_rate"]["candidate"], checks["hallucination_rate"]["champion"]) == (0.2, 0.4)
    assert checks["f1"]["difference"] == pytest.approx(0.2)
    capsys.readouterr()

    champion.train("worse", wrong=600)
    assert champion.compare() == 0
    assert champion.promote() == 10
    said = capsys.readouterr().err
    assert "keep the champion: f1 80.0 -> 50.0" in said
    assert f"{second} stays the champion" in said
    assert not (champion.root / "data/promotion").exists() or champion.version == second

    assert champion.cli("promote", "status") == 0
    shown = capsys.readouterr().out
    assert f"champion  {second}" in shown
    assert shown.count("promoted") == 2
    assert champion.cli("promote", "rollback", "--reason", "worse in production") == 0
    assert f"champion: {second} -> {first}" in capsys.readouterr().out


@both_kinds
def test_undecided_is_no_promotion(champion: Run, capsys: pytest.CaptureFixture[str]) -> None:
    champion.train("hardly better", wrong=474, shift=300)  # half a point better, wrong on other questions
    assert (champion.compare(), champion.promote()) == (0, 10)
    assert champion.verdict["verdict"] == "undecided"
    said = capsys.readouterr().err
    assert "undecided: f1 60.0 -> 60.5" in said
    assert "hallucination_rate 40.0 -> 39.5" in said
    assert champion.cli("promote", "verdict") == 10
    assert "verdict: Undecided: the champion stays (champion " in capsys.readouterr().out
    summary = read_summary(champion.root / "data/comparison/verdict.json")
    assert summary.headline == "Undecided: the champion stays"
    assert [row.result for row in summary.checks] == ["open", "shown", "open"]
    assert "with probability 0.8" in summary.power


def test_silence_is_kept_out(champion: Run) -> None:
    champion.train("silent", wrong=240, silent=240)  # half of the wrong answers are withheld, and 240 right ones lost
    assert (champion.compare(), champion.promote()) == (0, 10)
    assert any(reason.startswith("answer_rate 100.0 -> 80.0") for reason in champion.verdict["reasons"])


def test_a_repeated_run_gives_the_same_bytes_and_changes_nothing(champion: Run) -> None:
    def contents() -> dict[str, bytes]:
        folders = [champion.root / name for name in ("data/comparison", "data/promotion")]
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in [*files, champion.root / "metrics/compare.json"]}

    before, version = contents(), champion.version
    assert (champion.compare(), champion.promote()) == (0, 0)
    assert contents() == before
    champion.settings(alpha=0.01)  # does not matter any more: the run is the champion
    assert champion.compare() == 0
    assert champion.promote() == 0
    assert champion.cli("promote", "status") == 0
    assert champion.version == version


@both_kinds
def test_another_item_set_than_the_champions_is_an_error(champion: Run, capsys: pytest.CaptureFixture[str]) -> None:
    champion.train("candidate", wrong=100, questions=N - 3)
    assert champion.compare() == 20
    said = capsys.readouterr().err
    assert "3 of the champion's are missing (first hop/q1198)" in said
    assert "faithline promote rescore" in said
    assert champion.promote() == 20  # the verdict at hand is of another evaluation


def test_scoring_the_champion_again_on_new_items(champion: Run, capsys: pytest.CaptureFixture[str]) -> None:
    champion.train("other", wrong=500, questions=1000)
    assert champion.cli("promote", "rescore", "--reason", "new data") == 20
    assert "not given by the champion's `models/warm_start`" in capsys.readouterr().err
    champion.train("champion", wrong=500, questions=1000)
    assert champion.cli("promote", "rescore", "--reason", "new data") == 0
    champion.train("candidate", wrong=200, questions=1000)
    assert (champion.compare(), champion.promote()) == (0, 0)
    assert champion.verdict["checks"][2]["champion"] == 0.5


def test_a_verdict_against_a_former_champion_promotes_nothing(
    champion: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    rival = Run(champion.root)
    champion.train("candidate", wrong=240)
    assert champion.compare() == 0
    ours = {path: path.read_bytes() for path in (champion.root / "data/comparison").iterdir()}
    rival.train("rival", wrong=120)
    assert (rival.compare(), rival.promote()) == (0, 0)
    winner = rival.version
    champion.train("candidate", wrong=240)
    for path, content in ours.items():
        path.write_bytes(content)
    assert champion.promote() == 20
    assert f"the champion is {winner}, but the candidate was compared with" in capsys.readouterr().err
    assert champion.cli("promote", "status") == 0
    assert f"champion  {winner}" in capsys.readouterr().out


def test_what_is_promoted_is_what_was_evaluated(champion: Run, capsys: pytest.CaptureFixture[str]) -> None:
    champion.train("better", wrong=240)
    assert champion.compare() == 0
    adapter = champion.root / "models/warm_start"
    (adapter / "adapter_model.safetensors").write_bytes(b"swapped")
    write_record(adapter, stage="warm_start", inputs={}, params={"seed": 2}, metrics={})
    assert champion.promote() == 20
    assert "`data/answers` was not made from the present `models/warm_start`" in capsys.readouterr().err


@both_kinds
def test_approval(project: Run, capsys: pytest.CaptureFixture[str]) -> None:
    project.settings(approval="required")
    project.train("candidate", wrong=480)
    assert (project.compare(), project.promote()) == (0, 0)
    version = project.version
    assert project.cli("promote", "status") == 0
    assert f"champion  none\nwaits     {version}" in capsys.readouterr().out
    assert (project.compare(), project.promote()) == (0, 0)  # it still waits
    assert project.cli("promote", "approve", "unknown") == 40
    assert project.cli("promote", "approve", version, "--by", "boss") == 0
    assert f"{version} is the champion" in capsys.readouterr().out
    assert project.cli("promote", "approve", version) == 40


def test_the_bundle(champion: Run, tmp_path: Path) -> None:
    bundle = champion.root / "data/promotion/bundle"
    manifest = verify_bundle(bundle)
    names = set(manifest.files)
    assert {"README.md", "verdict.json", "lineage.json", "dvc.lock", "dvc.yaml", "params.yaml", "reproduce.sh"} <= names
    assert {"evaluation/items.parquet", "evaluation/record.json", "adapters/warm_start/record.json"} <= names
    bill = json.loads((bundle / "sbom.cdx.json").read_text())
    assert {component["purl"].split("@")[0] for component in bill["components"]} > {"pkg:pypi/torch", "pkg:pypi/numpy"}
    assert "\ncluster:" not in (bundle / "params.yaml").read_text()
    assert {"evidence/data/prepared/sources.json", "evidence/metrics/evaluate.json"} <= names
    yaml = YAML(typ="safe", pure=True)
    _, front, text = (bundle / "README.md").read_text().split("---\n", 2)
    card = yaml.load(front)
    assert (card["license"], card["library_name"], card["datasets"]) == ("apache-2.0", "peft", ["hop", "wiki"])
    metrics = {entry["type"]: entry["value"] for entry in card["model-index"][0]["results"][0]["metrics"]}
    assert metrics == {"f1": 0.6, "em": 0.6, "hallucination_rate": 0.4, "answer_rate": 1.0}
    assert "**promote**, against no champion, on 1200 questions" in text
    lineage = json.loads((bundle / "lineage.json").read_text())
    assert lineage["records"]["models/warm_start"]["params"] == {"seed": 1}
    assert "evaluate" in lineage["stages_without_lock"]
    done = subprocess.run(["sha256sum", "-c", bundle / "expected.sha256"], cwd=champion.root, check=False)
    assert done.returncode == 0
    assert subprocess.run(["sh", "-n", bundle / "reproduce.sh"], check=False).returncode == 0
    assert champion.cli("promote", "fetch", str(tmp_path / "fetched")) == 0
    assert verify_bundle(tmp_path / "fetched", manifest.bundle) == manifest
    for path in [path for path in bundle.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:] if content else b"x")
        assert champion.cli("verify-bundle", str(bundle)) == 20, path
        path.write_bytes(content)
    assert champion.cli("verify-bundle", str(bundle), "--digest", manifest.bundle) == 0


def test_the_lock_in_the_bundle_is_of_the_stages_before(project: Run, capsys: pytest.CaptureFixture[str]) -> None:
    lock = {"evaluate": {"cmd": "x", "deps": [{"path": "data/answers", "md5": "ab"}]}, "promote": {"cmd": "y"}}
    with (project.root / "dvc.lock").open("w") as file:
        YAML().dump({"schema": "2.0", "stages": lock}, file)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=project.root, check=True)
    project.train("candidate", wrong=480)
    assert (project.compare(), project.promote()) == (0, 0)
    bundle = project.root / "data/promotion/bundle"
    kept = YAML(typ="safe", pure=True).load((bundle / "dvc.lock").read_text())["stages"]
    assert kept == {"evaluate": lock["evaluate"]}
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project.root, capture_output=True, text=True, check=True)
    assert project.cli("promote", "status") == 0
    assert commit.stdout.strip() in capsys.readouterr().out
    assert project.cli("promote", "tag") == 0
    tags = subprocess.run(["git", "tag"], cwd=project.root, capture_output=True, text=True, check=True).stdout.split()
    assert tags == ["data@v1.0.0", "warm_start@v1.0.0"]
    assert project.cli("promote", "tag") == 0


@pytest.mark.parametrize(
    ("first", "verdict"), [({"min_f1": 0.9}, "keep"), ({"min_f1": 0.6}, "undecided"), ({"min_f1": 0.5}, "promote")]
)
def test_the_bars_of_a_first_candidate(project: Run, first: dict[str, float], verdict: str) -> None:
    project.settings(first={"max_hallucination_rate": 1.0, **first})
    project.train("candidate", wrong=480)
    assert project.compare() == 0
    assert project.verdict["verdict"] == verdict
    assert project.promote() == (0 if verdict == "promote" else 10)


def test_a_damaged_registry_promotes_nothing(champion: Run, capsys: pytest.CaptureFixture[str]) -> None:
    champion.train("better", wrong=240)
    assert champion.compare() == 0
    (champion.root / "models/registry/registry.json").write_text("{")
    assert champion.promote() == 20
    assert "the registry is damaged" in capsys.readouterr().err
    assert champion.compare() == 20


def test_a_changed_object_of_the_champion_is_found(champion: Run, capsys: pytest.CaptureFixture[str]) -> None:
    path = champion.root / "models/registry/bundles" / champion.version / "evaluation/items.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    champion.train("better", wrong=240)
    assert champion.compare() == 20
    assert "items.parquet was changed" in capsys.readouterr().err


def test_a_workspace_that_does_not_last_holds_no_registry(
    project: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project.train("candidate", wrong=480)
    monkeypatch.setenv("FAITHLINE_WORKSPACE", str(project.root))
    assert project.compare() == 40
    assert "name a shared one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 0.7}, "alpha"),
        ({"models": []}, "models"),
        ({"approval": "maybe"}, "approval"),
        ({"f1_margin": float("nan")}, "f1_margin"),
        ({"name": "Not A Name"}, "name"),
        ({"slices": {"by": ["colour"], "min_items": 1, "margin": 0.1}}, "slices"),
    ],
)
def test_impossible_settings(
    project: Run, changes: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project.settings(**changes)
    assert project.compare() == 40
    assert message in capsys.readouterr().err
