"""The files have the public sets' shapes, stream, and grow without changing what was there."""

from __future__ import annotations

import csv
import json
import re
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from faithline.pipeline.errors import ConfigError
from faithline.world.biomedical import biomedical_items
from faithline.world.comparisons import ask_bridge_comparison, ask_comparison
from faithline.world.formats.bioasq import address, bioasq_rows
from faithline.world.formats.hotpotqa import hotpotqa_rows
from faithline.world.formats.musique import musique_rows
from faithline.world.formats.ragtruth import response_rows, source_row
from faithline.world.formats.streams import write_csv, write_json_array, write_json_lines
from faithline.world.formats.truthfulqa import HEADER, truthfulqa_rows
from faithline.world.formats.two_wiki import two_wiki_rows
from faithline.world.questions import ask_chain, ask_inference, ask_single, ask_unanswerable
from faithline.world.responses import sources
from faithline.world.settings import (
    BiomedicalSettings,
    BiomedicalTypes,
    ModelSettings,
    ResponseSettings,
    ResponseTasks,
    TruthfulSettings,
    TruthfulShares,
    check_biomedical,
)
from faithline.world.truthful import truthful_items
from faithline.world.world import Asker, Stream, World

MakeWorld = Callable[..., World]
HOTPOT: dict[Asker, float] = {ask_single: 0.3, partial(ask_chain, hops=2): 0.4, ask_comparison: 0.3}
WIKI: dict[Asker, float] = {
    partial(ask_chain, hops=2): 0.4, ask_inference: 0.2, ask_comparison: 0.2, ask_bridge_comparison: 0.2,
}  # fmt: skip
MUSIQUE: dict[Asker, float] = {
    partial(ask_chain, hops=2): 0.4, partial(ask_chain, hops=3): 0.3, partial(ask_unanswerable, hops=2): 0.3,
}  # fmt: skip
BIOASQ = BiomedicalTypes(factoid=0.4, yesno=0.2, list=0.2, summary=0.2)
MODELS = [ModelSettings(name="a", fault_rate=0.3), ModelSettings(name="b", fault_rate=0.1)]


def bioasq_settings(count: int) -> BiomedicalSettings:
    return BiomedicalSettings(questions=count, types=BIOASQ, unquoted_documents=0.3)


def response_settings(count: int) -> ResponseSettings:
    return ResponseSettings(
        sources=count,
        tasks=ResponseTasks(qa=0.4, summary=0.3, data2txt=0.3),
        models=MODELS,
        subtle=0.4,
        baseless=0.5,
        test=0.3,
        truncated=0.1,
        refused=0.1,
    )


def truthful_settings(count: int) -> TruthfulSettings:
    return TruthfulSettings(
        questions=count, evidence=True, shares=TruthfulShares(lookup=0.5, two_hops=0.25, comparison=0.25)
    )


def write(world: World, path: Path, name: str, count: int) -> Path:
    if name == "hotpotqa":
        write_json_array(path, hotpotqa_rows(world.items(Stream.HOTPOTQA, count, HOTPOT)))
    elif name == "two_wiki":
        write_json_array(path, two_wiki_rows(world.items(Stream.TWO_WIKI, count, WIKI)))
    elif name == "musique":
        write_json_lines(path, musique_rows(world.items(Stream.MUSIQUE, count, MUSIQUE)))
    elif name == "bioasq":
        write_json_array(path, bioasq_rows(biomedical_items(world, bioasq_settings(count))), key="questions")
    elif name == "source_info":
        write_json_lines(path, (source_row(source) for source in sources(world, response_settings(count))))
    elif name == "response":
        made = sources(world, response_settings(count))
        write_json_lines(path, (row for source in made for row in response_rows(source)))
    else:
        write_csv(path, HEADER, truthfulqa_rows(truthful_items(world, truthful_settings(count)), evidence=True))
    return path


def read(path: Path, name: str) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    if name in ("hotpotqa", "two_wiki"):
        return list(json.loads(text))
    if name == "bioasq":
        return list(json.loads(text)["questions"])
    if name == "truthfulqa":
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file))[1:]
    return [json.loads(line) for line in text.splitlines()]


NAMES = ("hotpotqa", "two_wiki", "musique", "bioasq", "source_info", "response", "truthfulqa")


@pytest.mark.parametrize("name", NAMES)
def test_files_are_deterministic_and_grow(make_world: MakeWorld, tmp_path: Path, name: str) -> None:
    first = write(make_world(3), tmp_path / "first", name, 21).read_bytes()
    assert write(make_world(3), tmp_path / "again", name, 21).read_bytes() == first
    assert write(make_world(4), tmp_path / "other", name, 21).read_bytes() != first
    grown = read(write(make_world(3), tmp_path / "grown", name, 50), name)
    few = read(tmp_path / "first", name)
    assert grown[: len(few)] == few
    assert len(few) == (42 if name == "response" else 21)


@pytest.mark.parametrize("name", NAMES)
def test_no_items_make_a_valid_empty_file(make_world: MakeWorld, tmp_path: Path, name: str) -> None:
    assert read(write(make_world(3), tmp_path / "file", name, 0), name) == []


@pytest.mark.parametrize("name", ["hotpotqa", "two_wiki", "musique", "bioasq"])
def test_ids_are_unique_and_carry_the_template(make_world: MakeWorld, tmp_path: Path, name: str) -> None:
    rows = read(write(make_world(3), tmp_path / "file", name, 120), name)
    ids = [row.get("_id") or row["id"] for row in rows]
    assert len(set(ids)) == len(ids)
    pattern = r"[a-z]+__[\w.-]+__bioasq_\d+_\d+" if name == "bioasq" else r"[1-4]hop__[\w.-]+__[a-z_]+_\d+_\d+"
    assert all(re.fullmatch(pattern, one) for one in ids), ids


def test_hotpotqa(make_world: MakeWorld, tmp_path: Path) -> None:
    rows = read(write(make_world(3), tmp_path / "file", "hotpotqa", 160), "hotpotqa")
    assert {row["type"] for row in rows} == {"bridge", "comparison"}
    assert {row["level"] for row in rows} <= {"easy", "medium", "hard"}
    for row in rows:
        context = dict(row["context"])
        assert len(context) == len(row["context"]) == 6
        assert row["supporting_facts"]
        for title, number in row["supporting_facts"]:
            assert context[title][number].strip()
        for sentences in context.values():
            assert all(sentence.startswith(" ") == (place > 0) for place, sentence in enumerate(sentences))
            assert "  " not in "".join(sentences)


def test_two_wiki(make_world: MakeWorld, tmp_path: Path) -> None:
    rows = read(write(make_world(3), tmp_path / "file", "two_wiki", 160), "two_wiki")
    assert {row["type"] for row in rows} == {"compositional", "inference", "comparison", "bridge_comparison"}
    for row in rows:
        hops = 4 if row["type"] == "bridge_comparison" else 2
        assert len(row["evidences"]) == hops
        assert all(len(triple) == 3 for triple in row["evidences"])
        titles = [title for title, _ in row["context"]]
        assert {title for title, _ in row["supporting_facts"]} <= set(titles)
        if row["type"] in ("compositional", "inference"):
            assert row["evidences"][0][2] == row["evidences"][1][0]
            assert row["evidences"][1][2] == row["answer"]


def test_musique(make_world: MakeWorld, tmp_path: Path) -> None:
    rows = read(write(make_world(3), tmp_path / "file", "musique", 160), "musique")
    assert {row["answerable"] for row in rows} == {True, False}
    for row in rows:
        steps = row["question_decomposition"]
        assert row["id"].startswith(f"{len(steps)}hop__")
        assert [p["idx"] for p in row["paragraphs"]] == list(range(6))
        assert steps[-1]["answer"] == row["answer"]
        for step in steps:
            place = step["paragraph_support_idx"]
            if place is None:
                assert not row["answerable"]
                assert step is steps[-1]
            else:
                assert row["paragraphs"][place]["is_supporting"]
                assert step["answer"].lower() in row["paragraphs"][place]["paragraph_text"].lower()
        assert all(f"#{number}" in steps[number]["question"] for number in range(1, len(steps)))


def test_bioasq(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(3)
    rows = read(write(world, tmp_path / "file", "bioasq", 160), "bioasq")
    items = list(biomedical_items(world, bioasq_settings(160)))
    assert {row["type"] for row in rows} == {"factoid", "yesno", "list", "summary"}
    assert any(len(row["documents"]) > len({s["document"] for s in row["snippets"]}) for row in rows)
    for row, item in zip(rows, items, strict=True):
        texts = {address(item.cluster, passage): passage.text for passage in (*item.quoted, *item.unquoted)}
        assert set(row["documents"]) == set(texts)
        assert all(re.fullmatch(r"http://faithline\.invalid/pubmed/\d+", url) for url in row["documents"])
        for snippet in row["snippets"]:
            cut = texts[snippet["document"]][snippet["offsetInBeginSection"] : snippet["offsetInEndSection"]]
            assert cut == snippet["text"]
        quoted = " ".join(snippet["text"] for snippet in row["snippets"]).lower()
        if row["type"] in ("factoid", "list"):
            assert all(isinstance(synonyms, list) for synonyms in row["exact_answer"])
            assert all(synonyms[0].lower() in quoted for synonyms in row["exact_answer"])
        if row["type"] == "list":
            assert len(row["exact_answer"]) > 1
        if row["type"] == "yesno":
            assert row["exact_answer"] in ("yes", "no")
        assert ("exact_answer" in row) == (row["type"] != "summary")
        assert row["ideal_answer"][0]


def test_bioasq_lists_are_complete_and_yes_is_no_giveaway(make_world: MakeWorld) -> None:
    world = make_world(3)
    verdicts = []
    for item in biomedical_items(world, bioasq_settings(480)):
        if item.type == "yesno":
            verdicts.append(item.exact[0][0] == "yes")
        if item.type == "list":
            library = world.library(Stream.BIOASQ, int(item.id.split("_")[-2]))
            relation, target = item.needs[0].attribute.name, item.needs[0].value
            members = {
                f.subject.name
                for f in library.cluster.facts.values()
                if f.attribute.name == relation and f.value == target
            }
            assert {synonyms[0] for synonyms in item.exact} == members
    assert 0.35 < sum(verdicts) / len(verdicts) < 0.65


def test_ragtruth(make_world: MakeWorld, tmp_path: Path) -> None:
    infos = {r["source_id"]: r for r in read(write(make_world(3), tmp_path / "s", "source_info", 60), "source_info")}
    responses = read(write(make_world(3), tmp_path / "r", "response", 60), "response")
    assert {info["task_type"] for info in infos.values()} == {"QA", "Summary", "Data2txt"}
    shapes = {"QA": dict, "Summary": str, "Data2txt": dict}
    for info in infos.values():
        assert isinstance(info["source_info"], shapes[info["task_type"]])
        if info["task_type"] == "QA":
            passages = re.split(r"passage \d+:", info["source_info"]["passages"])
            assert len(passages) == 4
            assert passages[0] == ""
    assert len({row["id"] for row in responses}) == len(responses)
    for row in responses:
        assert row["source_id"] in infos
        assert all(row["response"][label["start"] : label["end"]] == label["text"] for label in row["labels"])


def test_truthfulqa_with_and_without_evidence(make_world: MakeWorld) -> None:
    items = list(truthful_items(make_world(3), truthful_settings(40)))
    for item, full, bare in zip(
        items, truthfulqa_rows(items, evidence=True), truthfulqa_rows(items, evidence=False), strict=True
    ):
        assert len(full) == len(HEADER)
        assert full[2].endswith(bare[2])
        assert all(passage.text in full[2] for passage in item.passages)
        assert full[3] in full[5].split("; ")
        assert full[4] in full[6].split("; ")
        assert len(full[5].split("; ")) == len(full[6].split("; "))


def test_shapes_are_those_of_the_real_files(make_world: MakeWorld, tmp_path: Path, real_data: Path) -> None:
    world = make_world(3)

    def keys(rows: list[dict[str, Any]]) -> set[str]:
        return {key for row in rows for key in row}

    real = json.loads((real_data / "bioasq_golden.json").read_text(encoding="utf-8"))["questions"]
    ours = read(write(world, tmp_path / "b", "bioasq", 60), "bioasq")
    assert keys(ours) == keys(real)
    assert keys([s for row in ours for s in row["snippets"]]) == keys([s for row in real for s in row["snippets"]])
    for name in ("source_info", "response"):
        lines = (real_data / "ragtruth" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        real = [json.loads(line) for line in lines]
        ours = read(write(world, tmp_path / name, name, 40), name)
        assert keys(real) <= keys(ours)
        if name == "response":
            assert keys([x for row in ours for x in row["labels"]]) == keys([x for row in real for x in row["labels"]])
        else:
            business = [row["source_info"] for row in real if row["task_type"] == "Data2txt"]
            assert keys([r["source_info"] for r in ours if r["task_type"] == "Data2txt"]) == keys(business)
    with (real_data / "truthfulqa.csv").open(encoding="utf-8", newline="") as file:
        assert tuple(next(csv.reader(file))) == HEADER


def test_writers_hold_one_row_at_a_time(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, object]]:
        for number in range(20_000):
            yield {"id": number, "text": "x" * 1000}

    tracemalloc.start()
    assert write_json_array(tmp_path / "a.json", rows()) == 20_000
    assert write_json_lines(tmp_path / "a.jsonl", rows()) == 20_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "a.json").stat().st_size > 20_000_000
    assert peak < 6_000_000


def test_items_are_made_one_at_a_time(make_world: MakeWorld) -> None:
    """Memory does not grow with the number of clusters behind an item."""
    items = make_world(3).items(Stream.HOTPOTQA, 10**9, HOTPOT)
    for _ in range(20):
        next(items)
    tracemalloc.start()
    for _ in range(16 * 3):
        next(items)
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(16 * 6):
        next(items)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 500_000


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError):
        check_biomedical(bioasq_settings(-1), "b")
    with pytest.raises(ConfigError):
        check_biomedical(BiomedicalSettings(questions=1, types=BIOASQ, unquoted_documents=2.0), "b")
