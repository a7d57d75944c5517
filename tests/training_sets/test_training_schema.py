"""The training tables explain themselves, and hold structure instead of prompts."""

from __future__ import annotations

import pyarrow as pa
import pytest

from faithline.training_sets import schema

TABLES = {name: getattr(schema, name) for name in ("MARCH", "SFT", "CRITIC", "SUBSETS", "CORPUS")}


@pytest.mark.parametrize("name", TABLES)
def test_every_field_states_its_meaning(name: str) -> None:
    def check(field: pa.Field) -> None:
        if pa.types.is_list(field.type):
            field = field.type.value_field if pa.types.is_struct(field.type.value_type) else field
        if pa.types.is_struct(field.type):
            for place in range(field.type.num_fields):
                check(field.type.field(place))
        else:
            assert len(field.metadata[b"meaning"]) > 3, field.name

    for field in TABLES[name]:
        assert field.metadata[b"meaning"]
        assert not field.nullable
        check(field)


def test_march_rows_have_no_room_for_answers() -> None:
    assert schema.MARCH.names == ["question_id", "set", "order", "query", "documents"]
    assert [schema.DOCUMENT.field(n).name for n in range(schema.DOCUMENT.num_fields)] == [
        "document_id",
        "title",
        "text",
    ]


def test_every_table_has_a_file_of_its_own() -> None:
    splits = schema.TRAINING_SPLITS
    files = [schema.march_file(domain, split) for domain in schema.DOMAINS for split in splits]
    files += [schema.sft_file(role, split) for role in schema.ROLES for split in splits]
    files += [schema.critic_file(part) for part in schema.PARTS]
    assert len(set(files)) == 2 * 2 + 6 * 2 + 4
    assert schema.march_file("stem", "train") == "stem/train.parquet"
    assert schema.sft_file("checker", "validation") == "checker/validation.parquet"
