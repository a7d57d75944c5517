"""The stage's parts against plain re-computation: draws, critic parts, document look-up, words and sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.compose_training.critic import claims_by_part, parts
from components.compose_training.document_texts import DocumentTexts
from components.compose_training.draws import Smallest
from components.compose_training.guard import Guard
from components.compose_training.hashes import find
from components.compose_training.params import Critic, CriticShares
from components.compose_training.words import content_words, names, sentences
from faithline.data.schema import CLAIMS, DOCUMENTS, QUESTIONS, file_name
from faithline.data.splits import Splitter
from faithline.noise.text.hashing import hash_strings
from faithline.pipeline.errors import DataInvalid
from faithline.training_sets.schema import PARTS

SHARES = CriticShares(head_selection=0.2, train=0.5, validation=0.1, test=0.2)
KEYS = st.lists(st.integers(0, 2**64 - 1), unique=True)


@given(keys=KEYS, limit=st.one_of(st.none(), st.integers(1, 20)), size=st.integers(1, 7))
def test_smallest_is_a_sort_and_a_cut(keys: list[int], limit: int | None, size: int) -> None:
    smallest = Smallest(limit)
    for start in range(0, len(keys), size):
        smallest.add(np.array(keys[start : start + size], dtype=np.uint64))
    chosen = smallest.among(np.array(keys, dtype=np.uint64))
    assert {key for key, taken in zip(keys, chosen.tolist(), strict=True) if taken} == set(sorted(keys)[:limit])


@given(table=KEYS, keys=st.lists(st.integers(0, 2**64 - 1)))
def test_find_is_membership(table: list[int], keys: list[int]) -> None:
    wanted = np.array([*keys, *table], dtype=np.uint64)
    ordered = np.sort(np.array(table, dtype=np.uint64))
    places, known = find(wanted, ordered)
    assert known.tolist() == [key in set(table) for key in wanted.tolist()]
    assert (ordered[places[known]] == wanted[known]).all() if known.any() else True


def test_parts_are_the_splits_of_prepare_data_with_the_first_one_cut() -> None:
    ids = [f"q{n}" for n in range(5000)]
    found = parts("truth", pa.array([f"truth/{key}" for key in ids]), 17, SHARES)
    coarse = Splitter(17, "truth", (0.7, 0.1, 0.2)).assign(ids)
    assert (np.maximum(found - 1, 0) == coarse).all()
    shares = np.bincount(found, minlength=4) / len(ids)
    assert np.abs(shares - [0.2, 0.5, 0.1, 0.2]).max() < 0.02  # three standard errors
    fine = Splitter(17, "truth", (0.2, 0.5, 0.3)).assign(ids)
    assert ((found == 0) == (fine == 0)).all()


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ((1.0, 0.0, 0.0, 0.0), {0}),
        ((0.0, 0.0, 0.0, 1.0), {3}),
        ((0.0, 0.9, 0.1, 0.0), {1, 2}),
        ((0.3, 0.0, 0.7, 0.0), {0, 2}),
    ],
)
def test_a_part_without_share_gets_nothing(shares: tuple[float, ...], expected: set[int]) -> None:
    given = CriticShares(**dict(zip(PARTS, shares, strict=True)))
    found = parts("truth", pa.array([f"truth/{n}" for n in range(300)]), 1, given)
    assert set(found.tolist()) == expected


def claims_folder(folder: Path, split_of: dict[str, str]) -> Path:
    rows = [
        {"claim_id": f"{key}/{kind}-{n}", "question_id": key, "set": "truth", "split": split, "category": "c",
         "question": f"About {key}?", "answer": f"{kind} {n}", "truthful": kind == "true", "best": n == 0}
        for key, split in split_of.items() for kind in ("true", "false") for n in range(3)
    ]  # fmt: skip
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=CLAIMS), folder / file_name("claims"))
    pq.write_table(QUESTIONS.empty_table(), folder / file_name("questions"))
    return folder


def test_claims_of_one_question_stay_together(tmp_path: Path) -> None:
    ids = [f"truth/{n}" for n in range(200)]
    index = parts("truth", pa.array(ids), 17, SHARES)
    splits = {key: "test" if PARTS[part] == "test" else "train" for key, part in zip(ids, index.tolist(), strict=True)}
    folder = claims_folder(tmp_path / "prepared", splits)
    settings = Critic(sets=["truth"], split_seed=17, shares=SHARES)
    found: dict[str, list[str]] = {part: [] for part in PARTS}
    from collections import Counter

    for _, part, rows in claims_by_part(folder, settings, Guard(folder, "fail"), Counter()):
        found[part] += rows["question_id"].to_pylist()
    assert {part: sorted(set(keys)) for part, keys in found.items()} == {
        part: sorted(key for key, n in zip(ids, index.tolist(), strict=True) if PARTS[n] == part) for part in PARTS
    }
    assert all(len(keys) == 6 * len(set(keys)) for keys in found.values())


def test_a_test_question_in_a_learned_part_is_refused(tmp_path: Path) -> None:
    from collections import Counter

    ids = [f"truth/{n}" for n in range(20)]
    folder = claims_folder(tmp_path / "prepared", dict.fromkeys(ids, "test"))
    settings = Critic(sets=["truth"], split_seed=17, shares=SHARES)
    with pytest.raises(DataInvalid, match=r"truth/\d+ is of split test, but of the critic's part head_selection"):
        list(claims_by_part(folder, settings, Guard(folder, "fail"), Counter()))


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.tuples(st.text(max_size=20), st.text(max_size=40)), min_size=1, max_size=30),
    asked=st.lists(st.integers(0, 29), max_size=40),
)
def test_document_texts_are_a_dictionary(tmp_path: Path, texts: list[tuple[str, str]], asked: list[int]) -> None:
    rows = [
        {"document_id": f"s/{n}", "set": "s", "title": title, "text": text} for n, (title, text) in enumerate(texts)
    ]
    # Arrow refuses lone surrogates, as do the readers.
    pq.write_table(pa.Table.from_pylist(rows, schema=DOCUMENTS), tmp_path / file_name("documents"), row_group_size=7)
    ids = [f"s/{n % len(rows)}" for n in asked]
    wanted = np.unique(hash_strings(pa.array(ids, pa.string())))
    with DocumentTexts(tmp_path, wanted, tmp_path / "scratch") as found:
        taken = found.take(pa.array(ids, pa.string())).to_pylist()
        assert taken == [{k: rows[n % len(rows)][k] for k in ("document_id", "title", "text")} for n in asked]
        with pytest.raises(DataInvalid, match="the first is s/none"):
            found.take(pa.array(["s/none"]))


def test_sentences_end_where_readers_think_they_do() -> None:
    text = 'Dr. J. R. Smith came from St. Louis on 3 May 1955. He won 3.5 points! "Yes." It fell.\nNext line.  \n\n'
    assert sentences(text) == [
        "Dr. J. R. Smith came from St. Louis on 3 May 1955.", "He won 3.5 points!", '"Yes."', "It fell.", "Next line.",
    ]  # fmt: skip
    assert sentences(" \n ") == []


@given(st.text())
def test_sentences_lose_nothing_but_spaces(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


def test_words_and_names() -> None:
    assert content_words("Who was the Father of it?") == {"father"}
    assert content_words("The Who") == frozenset()
    assert names("In which year did the Death Penalty end in Oregon?") == {"death", "penalty", "oregon"}
    assert names("how many are there?") == frozenset()
