"""Settings of the gates: inheritance, `null`, names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from ruamel.yaml import YAML

from faithline.gates.limits import Gates, Limits, SetLimits, check_names, limits_of
from faithline.pipeline.errors import ConfigError
from faithline.pipeline.params import convert

Make = Callable[..., Gates]


class Section(msgspec.Struct):
    gates: Gates


def test_a_set_may_change_every_limit() -> None:
    assert SetLimits.__struct_fields__ == Limits.__struct_fields__


def test_no_limit_has_a_default() -> None:
    assert all(field.required for field in msgspec.structs.fields(Limits))


def test_a_set_replaces_single_limits_and_null_means_not_checked(settings: Make) -> None:
    gates = settings(sets={"hop": {"max_unanswerable": 0.5, "irrelevant_share": None}})
    limits = limits_of(gates, "hop")
    assert (limits.max_unanswerable, limits.irrelevant_share) == (0.5, None)
    assert limits.documents_per_question == (4.0, 4.0)
    assert limits_of(gates, "rag") == gates.limits


def test_the_loader_reads_the_section_and_names_a_misspelt_limit(settings: Make) -> None:
    raw = {"gates": msgspec.to_builtins(settings(sets={"hop": {"max_unknown_hops": None}}))}
    gates = convert(raw, Section, Path("params.yaml")).gates
    assert limits_of(gates, "hop").max_unknown_hops is None
    raw["gates"]["sets"]["hop"]["max_unkown_hops"] = 1.0
    with pytest.raises(ConfigError, match="unknown key `max_unkown_hops`") as error:
        convert(raw, Section, Path("params.yaml"))
    assert "max_unknown_hops" in str(error.value)


def test_a_misspelt_set_is_an_error_that_names_the_right_one(settings: Make) -> None:
    with pytest.raises(ConfigError, match="limits for unknown set `musqiue`") as error:
        check_names(settings(sets={"musqiue": {}}), ["hotpotqa", "musique"])
    assert "did you mean `musique`?" in str(error.value)


def test_limits_of_a_set_that_is_not_prepared_may_stay(settings: Make) -> None:
    check_names(settings(sets={"popqa": {}, "musique": {}}), ["hotpotqa", "musique"])


@pytest.mark.parametrize("name", ["", "a/b", "..", "_layout", "ü", "a b"])
def test_a_set_needs_a_name_that_can_be_a_file(settings: Make, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot name a set"):
        check_names(settings(), [name])


@pytest.mark.parametrize(
    ("place", "key", "value"),
    [
        ("limits", "max_empty_documents", float("nan")),
        ("limits", "max_empty_documents", -1.0),
        ("limits", "max_unanswerable", 1.5),
        ("limits", "irrelevant_share", [0.95, 0.5]),
        ("limits", "irrelevant_share", [float("nan"), float("nan")]),
        ("limits", "max_document_characters", float("inf")),
        ("limits", "min_rows", {"train": -1, "validation": 0, "test": 0}),
        ("drift", "share_floor", 0.0),
        ("drift", "significance", 2.0),
        ("drift", "max_psi", float("nan")),
        ("drift", "rows_ratio", [4.0, 0.5]),
        ("drift", "vocabulary_buckets", 0),
        ("drift", "vocabulary_buckets", -5),
    ],
)
def test_a_limit_that_means_nothing_is_refused(place: str, key: str, value: object) -> None:
    yaml = YAML(typ="safe", pure=True)
    section = yaml.load((Path(__file__).resolve().parents[2] / "params.yaml").read_text(encoding="utf-8"))["gates"]
    msgspec.convert(section, Gates)
    section[place][key] = value
    with pytest.raises(msgspec.ValidationError, match=key):
        msgspec.convert(section, Gates)
