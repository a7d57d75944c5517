from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.pipeline.errors import ConfigError
from faithline.pipeline.graph import Graph, Stage
from faithline.pipeline.params import convert, load_params


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    learning_rate: float
    steps: int


class A(msgspec.Struct, frozen=True, tag="a", tag_field="kind", forbid_unknown_fields=True):
    depth: int


class B(msgspec.Struct, frozen=True, tag="b", tag_field="kind", forbid_unknown_fields=True):
    width: int


class Params(msgspec.Struct, frozen=True):
    seed: int
    train: Inner
    many: list[Inner] = []
    table: dict[str, Inner] = {}
    either: A | B | None = None


GOOD = {"seed": 1, "train": {"learning_rate": 1e-6, "steps": 3}}


def fails(raw: dict[str, object]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        convert(raw, Params, Path("params.yaml"))
    return caught.value


def test_values_arrive_typed() -> None:
    params = convert({**GOOD, "train": {"learning_rate": 1, "steps": 3}}, Params, Path("p"))
    assert params.train == Inner(1.0, 3)
    assert isinstance(params.train.learning_rate, float)


@pytest.mark.parametrize(
    ("patch", "what", "where", "hint"),
    [
        ({"trian": {}}, "`trian`", "top level", "did you mean `train`?"),
        ({"train": {"learning_rat": 1.0, "steps": 1}}, "`learning_rat`", "train", "did you mean `learning_rate`?"),
        ({"many": [{"learning_rate": 1.0, "stps": 1}]}, "`stps`", "many[0]", "did you mean `steps`?"),
        ({"table": {"x": {"learning_rate": 1.0, "stepz": 1}}}, "`stepz`", "table.x", "did you mean `steps`?"),
        ({"either": {"kind": "b", "depth": 1}}, "`depth`", "either", "did you mean `width`?"),
        ({"train": {"learning_rate": 1.0, "qqqq": 1}}, "`qqqq`", "train", "known keys: learning_rate, steps"),
    ],
)
def test_unknown_key_names_the_nearest(patch: dict[str, object], what: str, where: str, hint: str) -> None:
    error = fails({**GOOD, **patch})
    assert what in error.what
    assert where in error.where
    assert error.next_step == hint


@pytest.mark.parametrize("text", ["1e-6", "1.0e-6", "3", "-2.5", "1_000"])
def test_number_written_as_text_is_an_error(text: str) -> None:
    error = fails({"seed": 1, "train": {"learning_rate": text, "steps": 1}})
    assert "train.learning_rate" in error.where
    assert "is text" in error.next_step


@pytest.mark.parametrize("value", [True, 1.5, "x", None, [1]])
def test_wrong_type_is_an_error(value: object) -> None:
    error = fails({**GOOD, "seed": value})
    assert "seed" in error.where
    assert "int" in error.what


def test_missing_key_is_an_error() -> None:
    error = fails({"seed": 1, "train": {"steps": 1}})
    assert "missing key `learning_rate`" in error.what
    assert error.where.endswith("train")


@pytest.mark.parametrize("text", ["1e-6", "1.0e-6", "1E-6", "0.000001"])
def test_exponents_in_yaml_are_floats(tmp_path: Path, text: str) -> None:
    (tmp_path / "params.yaml").write_text(f"seed: 1\ntrain: {{learning_rate: {text}, steps: 1}}\nmany: []\n")
    stage = Stage("s", "c", (), ("seed", "train", "many", "table", "either"), (), (), ())
    params = load_params(tmp_path, Graph({"s": stage}), stage, Params)
    assert params.train.learning_rate == 1e-6


def test_top_level_key_no_stage_uses_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("seed: 1\nsede: 2\ntrain: {learning_rate: 1.0, steps: 1}\n")
    stage = Stage("s", "c", (), ("seed", "train", "many", "table", "either"), (), (), ())
    with pytest.raises(ConfigError, match="`sede`") as caught:
        load_params(tmp_path, Graph({"s": stage}), stage, Params)
    assert caught.value.next_step == "did you mean `seed`?"


def test_params_must_equal_the_declared_list(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    stage = Stage("s", "c", (), ("seed",), (), (), ())
    with pytest.raises(ConfigError, match="train"):
        load_params(tmp_path, Graph({"s": stage}), stage, Params)


@pytest.mark.parametrize(
    ("text", "message"),
    [("seed: [1", "not valid YAML"), ("seed: 1\nseed: 2\n", "duplicate"), ("- 1\n", "mapping"), ("", "mapping")],
)
def test_broken_file_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "params.yaml").write_text(text)
    stage = Stage("s", "c", (), ("seed",), (), (), ())
    with pytest.raises(ConfigError, match=message):
        load_params(tmp_path, Graph({"s": stage}), stage, Params)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_any_value_converts_or_is_a_config_error(value: object) -> None:
    try:
        params = convert({**GOOD, "train": value}, Params, Path("p"))
    except ConfigError as error:
        assert error.where
    else:
        assert isinstance(params.train, Inner)
