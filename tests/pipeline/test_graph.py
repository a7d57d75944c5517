from __future__ import annotations

from pathlib import Path

import pytest

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import covers, load_graph

DVC = """
stages:
  train:
    cmd: run train
    deps: [data/prepared, "${prepare.root}"]
    params: [seed]
    outs: [models/a]
  prepare:
    cmd: run prepare
    deps: [raw]
    params: [prepare]
    outs: [data/prepared]
    metrics: [{metrics/p.json: {cache: false}}]
  report:
    cmd: run report
    deps: [models/a/adapter.bin, metrics/p.json]
    outs: [{reports/r.html: {cache: false}}]
"""
PARAMS = "seed: 1\nprepare: {root: ../sets}\n"


def project(tmp_path: Path, dvc: str = DVC, params: str = PARAMS) -> Path:
    (tmp_path / "dvc.yaml").write_text(dvc)
    (tmp_path / "params.yaml").write_text(params)
    return tmp_path


def test_edges_come_from_paths(tmp_path: Path) -> None:
    graph = load_graph(project(tmp_path))
    assert graph.stage("train").deps == ("data/prepared", "../sets")
    assert graph.upstream("train") == ("prepare",)
    assert graph.upstream("report") == ("train", "prepare")
    assert graph.order() == ("prepare", "train", "report")
    assert graph.param_keys() == {"seed", "prepare"}
    assert graph.stage("prepare").products == ("data/prepared", "metrics/p.json")


@pytest.mark.parametrize(
    ("dvc", "message"),
    [
        (DVC.replace("params: [seed]", "params: [{other.yaml: [seed]}]"), "must list keys"),
        (DVC.replace("    params: [seed]", "    always_changed: true"), "unknown keys"),
        (DVC.replace("prepare.root", "prepare.rot"), "is not in params.yaml"),
        (DVC.replace("prepare.root", "prepare"), "not a plain value"),
        (DVC + "vars: [x.yaml]\n", "unexpected top-level"),
        ("stages: {a: {foreach: [1], do: {cmd: x}}}", "needs a `cmd`"),
        ("plots: []\n", "no stages"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, dvc: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_graph(project(tmp_path, dvc))


def test_cycle_is_refused(tmp_path: Path) -> None:
    dvc = "stages:\n  a: {cmd: x, deps: [p], outs: [q]}\n  b: {cmd: y, deps: [q], outs: [p]}\n"
    with pytest.raises(ConfigError, match="cycle"):
        load_graph(project(tmp_path, dvc)).order()


def test_covers_compares_whole_path_parts() -> None:
    assert covers("data/a", "data/a/b.json")
    assert covers("data/a", "data/a")
    assert not covers("data/a", "data/ab")
    assert not covers("data/a/b", "data/a")
