from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dvc.repo import Repo
from hypothesis import given
from hypothesis import strategies as st

from faithline.cluster.resources import Resources, objections, stage_resources
from faithline.cluster.settings import Gpu, Pool, load_cluster
from faithline.cluster.tasks import project_tasks
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import load_graph
from faithline.pipeline.params import check_top_level

Edit = Callable[[Path, Callable[[Any], None]], None]
POOL = Pool(
    labels={},
    taints=[],
    gpu=Gpu(type="L4", resource="nvidia.com/gpu", memory_gib=24, per_node=4),
    cpu=16,
    memory_gib=64,
    price_per_hour=1.0,
)


def test_a_reference_in_meta_keeps_its_type(toy: Path) -> None:
    meta = load_graph(toy).stage("train").meta
    assert (meta["gpus"], meta["pool"], meta["timeout_s"]) == (1, "gpu-small", 7200)


def test_typed_meta_with_its_defaults(toy: Path) -> None:
    resources = stage_resources(load_graph(toy).stage("report"), load_cluster(toy))
    assert resources == Resources(
        world="runtime",
        pool="cpu",
        nodes=1,
        gpus=0,
        cpu=0.5,
        memory_gib=1,
        shm_gib=0,
        timeout_s=600,
        retries=0,
        cache=True,
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("timeout", 5, "did you mean `timeout_s`"),
        ("timeout_s", None, "expected `int`"),
        ("timeout_s", 0, ">= 1"),
        ("retries", 11, "<= 10"),
        ("world", "gpuu", "invalid enum value"),
        ("pool", "gpu-smal", "did you mean `gpu-small`"),
        ("pool", "gpu-small", "no GPU on pool"),
        ("gpus", 1, "has 0"),
        ("cpu", 9, "gives 8"),
        ("memory_gib", 33, "gives 32"),
        ("shm_gib", 3, "3 GiB of shared memory"),
        ("gpus", "${cluster.placements.none.gpus}", "is not in params.yaml"),
    ],
)
def test_a_wrong_meta_names_stage_and_remedy(toy: Path, edit: Edit, key: str, value: object, message: str) -> None:
    edit(toy / "dvc.yaml", lambda d: d["stages"]["prepare_text"]["meta"].update({key: value}))
    with pytest.raises(ConfigError) as caught:
        project_tasks(toy)
    assert message in str(caught.value)
    assert "prepare_text" in str(caught.value)


def test_a_stage_without_meta_is_named(toy: Path, edit: Edit) -> None:
    edit(toy / "dvc.yaml", lambda d: d["stages"]["report"].pop("meta"))
    with pytest.raises(ConfigError, match="no `meta`"):
        project_tasks(toy)
    edit(toy / "dvc.yaml", lambda d: d["stages"]["report"].update(meta=["x"]))
    with pytest.raises(ConfigError, match="must be a mapping"):
        load_graph(toy)
    edit(toy / "dvc.yaml", lambda d: d["stages"]["report"].update(meta={"world": "runtime"}))
    with pytest.raises(ConfigError, match="missing key `pool`") as caught:
        project_tasks(toy)
    assert "keys of meta: world, pool" in str(caught.value)


@given(
    st.integers(0, 8), st.integers(1, 32), st.integers(1, 128), st.integers(0, 128), st.sampled_from(["runtime", "gpu"])
)
def test_no_objection_exactly_to_what_fits_a_node(gpus: int, cpu: int, memory: int, shm: int, world: Any) -> None:
    wanted = Resources(
        world=world, pool="p", gpus=gpus, cpu=cpu, memory_gib=memory, shm_gib=shm, timeout_s=1, retries=0
    )
    fits = 1 <= gpus <= 4 and cpu <= 16 and memory <= 64 and 1 <= shm <= memory and world == "gpu"
    assert (objections(wanted, POOL) == []) == fits


def test_the_section_is_checked_strictly(toy: Path, edit: Edit) -> None:
    def broken(by: Callable[[Any], None], message: str) -> None:
        before = (toy / "params.yaml").read_bytes()
        edit(toy / "params.yaml", lambda d: by(d["cluster"]))
        with pytest.raises(ConfigError) as caught:
            load_cluster(toy)
        assert message in str(caught.value)
        (toy / "params.yaml").write_bytes(before)

    broken(lambda c: c["pools"]["cpu"].update(label={}), "did you mean `labels`")
    broken(lambda c: c.update(store="/tmp/x"), "store")
    broken(lambda c: c.update(user_id=0), "user_id")
    broken(lambda c: c.pop("retry"), "missing key `retry`")
    broken(lambda c: c["images"].update(gpuu="x"), "gpuu")
    broken(lambda c: c["secrets"][0].update(value="s3cret"), "unknown key `value`")
    edit(toy / "params.yaml", lambda d: d.pop("cluster"))
    with pytest.raises(ConfigError, match="no section `cluster`"):
        load_cluster(toy)


def test_the_section_is_known_though_no_stage_lists_it(toy: Path) -> None:
    known = load_graph(toy).param_keys()
    assert "cluster" not in known
    check_top_level({"cluster": {}, "size": 1}, known, toy / "params.yaml")
    with pytest.raises(ConfigError, match="did you mean `cluster`"):
        check_top_level({"clutser": {}}, known, toy / "params.yaml")


def test_moving_a_stage_re_runs_nothing(toy: Path, edit: Edit) -> None:
    Repo.init(str(toy), no_scm=True)
    with contextlib.chdir(toy):
        assert len(Repo().reproduce()) == 3
        lock = Path("dvc.lock").read_bytes()
        edit(
            Path("params.yaml"),
            lambda d: d["cluster"]["placements"]["model"].update(world="runtime", pool="cpu", gpus=0, cpu=2, shm_gib=0),
        )
        assert project_tasks(Path())[1].gpus == 0
        assert Repo().status() == {}
        assert Repo().reproduce() == []
        assert Path("dvc.lock").read_bytes() == lock
