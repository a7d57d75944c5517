"""The bill of materials that a lock amounts to, and the settings that belong to a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from faithline.pipeline.errors import DataInvalid
from faithline.promotion.lineage import settings_text
from faithline.promotion.materials import bill_of_lock

LOCK = f"""\
Foo.Bar==1.2+cpu \\
    --hash=sha256:{"ab" * 32} \\
    --hash=sha256:{"cd" * 32}
    # via baz
baz[extra]==3 ; python_version >= "3.11" \\
    --hash=sha256:{"ef" * 32}
"""


def test_every_pin_is_a_component_with_its_hashes() -> None:
    bill = bill_of_lock(LOCK)
    assert bill["components"] == [
        {
            "type": "library",
            "bom-ref": "pkg:pypi/foo-bar@1.2%2Bcpu",
            "name": "foo-bar",
            "version": "1.2+cpu",
            "purl": "pkg:pypi/foo-bar@1.2%2Bcpu",
            "hashes": [{"alg": "SHA-256", "content": "ab" * 32}, {"alg": "SHA-256", "content": "cd" * 32}],
        },
        {
            "type": "library",
            "bom-ref": "pkg:pypi/baz@3",
            "name": "baz",
            "version": "3",
            "purl": "pkg:pypi/baz@3",
            "hashes": [{"alg": "SHA-256", "content": "ef" * 32}],
        },
    ]
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill_of_lock(LOCK) == bill
    assert bill_of_lock(LOCK + "x==1\n")["serialNumber"] != bill["serialNumber"]


def test_a_lock_without_a_pin_is_an_error() -> None:
    with pytest.raises(DataInvalid, match="no pinned package"):
        bill_of_lock("# nothing\n")


def test_settings_of_other_sections_are_left_out_and_figures_keep_their_form(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("a:\n  rate: 1.0e-6   # small\ncluster:\n  store: s3://x\nb: 'no'\n")
    assert settings_text(tmp_path, {"a", "b"}) == "a:\n  rate: 1.0e-6   # small\nb: 'no'\n"
