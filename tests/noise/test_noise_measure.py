"""The whole measurement on folders made by hand, every expected value worked out beside it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from faithline.noise import stream
from faithline.noise.measure import measure, rows_to_read
from faithline.noise.settings import Noise
from faithline.pipeline.errors import ConfigError, DataInvalid

Make = Callable[..., Path]
Settings = Callable[..., Noise]
FILLER = "every good boy deserves fudge and all cows eat grass in the long warm summer"
"""15 words."""


def documents(*texts: str, set_name: str = "s") -> list[dict[str, Any]]:
    return [{"document_id": f"{set_name}/{n}", "set": set_name, "text": text} for n, text in enumerate(texts)]


def label(start: int, end: int, text: str, *, implicit_true: bool = False, due_to_null: bool = False) -> dict[str, Any]:
    flags = {"implicit_true": implicit_true, "due_to_null": due_to_null}
    return {"start": start, "end": end, "text": text, "type": "t"} | flags


def run(folder: Path, settings: Noise) -> Any:
    report = measure(folder, settings, lambda rows: None)
    return json.loads(json.dumps(report, allow_nan=False))


def test_lengths_and_irrelevant_share_by_hand(make_prepared: Make, noise_settings: Settings) -> None:
    folder = make_prepared(
        documents=documents("one two three", "four", "", "five six é"),
        questions=[
            {
                "question_id": "s/a",
                "question": "Who did it?",
                "documents": ["s/0", "s/1", "s/2"],
                "supporting": [True, False, False],
            },
            {
                "question_id": "s/b",
                "question": "When?",
                "split": "test",
                "documents": ["s/3", "s/0"],
                "supporting": [True, None],
                "answerable": False,
                "answers": [],
            },
            {"question_id": "s/c", "question": "Where was it then?", "documents": ["s/3"], "supporting": [True]},
        ],
    )
    found = run(folder, noise_settings())["sets"]["s"]
    train, test, whole = (found["questions"]["splits"][split] for split in ("train", "test", "all"))
    assert set(found["questions"]["splits"]) == {"train", "test", "all"}
    assert (train["samples"], test["samples"], whole["samples"]) == (2, 1, 3)
    assert whole["query_words"] == {
        "avg": 8 / 3, "min": 1, "max": 4, "q05": 1, "q25": 1, "q50": 3, "q75": 4, "q95": 4,
    }  # fmt: skip
    assert whole["documents"]["avg"] == 2
    # a: 3 + 1 + 0 words, 13 + 4 + 0 characters; b: 3 + 3, 10 + 13; c: 3, 10
    assert (train["context_words"]["max"], train["context_words"]["avg"]) == (4, 3.5)
    assert (whole["context_words"]["avg"], whole["context_characters"]["avg"]) == (13 / 3, 50 / 3)
    # documents as shown: a: 3, 1, 0; b: 3, 3; c: 3
    assert (whole["document_words"]["avg"], whole["document_words"]["q25"]) == (13 / 6, 1)
    # known flags: a 1 of 3 gold; b 1 of 1; c 1 of 1
    assert train["irrelevant_documents"]["ratio"] == 1 - 2 / 4
    assert whole["irrelevant_documents"]["ratio"] == pytest.approx(2 / 5)
    assert (whole["irrelevant_documents"]["known_flags"], whole["irrelevant_documents"]["unknown_flags"]) == (5, 1)
    assert whole["irrelevant_documents"]["per_query"]["avg"] == pytest.approx(2 / 9)
    assert whole["gold_documents"] == {  # b has an unknown flag
        "avg": 1, "min": 1, "max": 1, "q05": 1, "q25": 1, "q50": 1, "q75": 1, "q95": 1,
    }  # fmt: skip
    assert test["unanswerable"] == {"count": 1, "share": 1.0}
    assert whole["without_answer"] == {"count": 1, "share": 1 / 3}
    assert found["documents"]["count"] == 4
    assert found["documents"]["words"]["max"] == 3
    assert found["documents"]["empty"] == {"count": 1, "share": 0.25, "examples": ["s/2"]}


def test_findings_name_documents_and_never_show_their_text(make_prepared: Make, noise_settings: Settings) -> None:
    near = FILLER.replace("warm", "hot") + " " + FILLER
    folder = make_prepared(
        documents=documents(
            "An address: jane@corp.com", "cafÃ©", f"{FILLER} {FILLER}", near, near.upper(), "a\ufffdb 10.0.0.1"
        ),
        questions=[{"question_id": "s/q", "question": "Is 219-09-9999 his?"}],
    )
    report = run(folder, noise_settings(near_duplicates__min_jaccard=0.5))
    found = report["sets"]["s"]
    texts = found["documents"]["texts"]
    assert texts["personal"]["email"] == {"count": 1, "share": 1 / 6, "strings": 1, "examples": ["s/0"]}
    assert texts["personal"]["ip_address"]["examples"] == ["s/5"]
    assert texts["encoding"]["mojibake"]["examples"] == ["s/1"]
    assert texts["encoding"]["replacement"]["examples"] == ["s/5"]
    assert found["questions"]["texts"]["personal"]["social_security"]["examples"] == ["s/q"]
    assert found["documents"]["equal_when_normalised"] == {"count": 1, "share": 1 / 6}
    duplicates = found["documents"]["near_duplicates"]
    assert [pair["document"] for pair in duplicates["examples"]] == ["s/3", "s/4"]
    assert {pair["earlier"] for pair in duplicates["examples"]} <= {"s/2", "s/3"}
    assert all(0.5 <= pair["jaccard"] <= 1.0 for pair in duplicates["examples"])
    shown = json.dumps(report)
    assert not any(secret in shown for secret in ("jane", "corp.com", "219-09", "10.0.0.1", "fudge"))


def test_contradicting_golds(make_prepared: Make, noise_settings: Settings) -> None:
    def question(name: str, text: str, *answers: str, **more: Any) -> dict[str, Any]:
        return {"question_id": name, "question": text, "answers": list(answers), **more}

    folder = make_prepared(
        questions=[
            question("s/a", "Who won?", "Ann"),
            question("s/b", "WHO WON", "Bob", split="test"),
            question("s/c", "Who lost?", "the Ann", "Annie"),
            question("s/d", "Who lost", "ann."),
            question("s/e", "Who drew?", "X"),
            question("s/f", "who drew", "x", "Y"),
            question("s/g", "Who?", "X"),
            question("s/h", "Who?"),
            question("t/i", "Who drew?", "Z", set="t"),
            question("t/j", "Who came?", "Z", set="t"),
        ]
    )
    sets = run(folder, noise_settings(examples=9))["sets"]
    # a and b contradict; c and d agree but for form; e and f share an answer; h gives none; i contradicts e and f.
    assert sets["s"]["questions"]["contradicting_golds"] == {
        "count": 4, "share": 0.5, "examples": ["s/a", "s/b", "s/e", "s/f"],
    }  # fmt: skip
    assert sets["t"]["questions"]["contradicting_golds"] == {"count": 1, "share": 0.5, "examples": ["t/i"]}


def test_label_noise_and_quality(make_prepared: Make, noise_settings: Settings) -> None:
    shared = {"source_id": "s/1", "documents": ["s/0"], "query": "Who made it, and why?"}
    folder = make_prepared(
        documents=documents("a b"),
        responses=[
            {
                "response_id": "s/r1",
                "response": "the é fox",
                **shared,
                "labels": [label(4, 5, "é"), label(6, 9, "fix")],
            },
            {
                "response_id": "s/r2",
                "response": "short",
                **shared,
                "quality": "truncated",
                "labels": [label(0, 9, "short")],
            },
            {
                "response_id": "s/r3",
                "response": " ",
                **shared,
                "labels": [label(0, 1, " ", implicit_true=True, due_to_null=True)],
            },
            {
                "response_id": "s/r4",
                "response": "none",
                "source_id": "s/2",
                "split": "test",
                "task": "summary",
                "query": "Sum up.",
                "documents": ["s/0", "s/0"],
            },
        ],
    )
    found = run(folder, noise_settings())["sets"]["s"]["responses"]
    assert found["labels"] == {
        "spans": 4,
        "labelled_responses": {"count": 3, "share": 0.75},
        "wrong_offsets": {
            "count": 2,
            "share": 0.5,
            "examples": ["s/r1", "s/r2"],
            "outside_the_response": 1,
            "other_text": 1,
        },
        "due_to_null": {"count": 1, "share": 0.25},
        "implicit_true": {"count": 1, "share": 0.25},
    }
    assert found["quality"] == {"good": {"count": 3, "share": 0.75}, "truncated": {"count": 1, "share": 0.25}}
    assert found["blank"]["count"] == 1
    splits = found["splits"]
    assert (splits["train"]["samples"], splits["train"]["responses"]) == (1, 3)
    assert (splits["all"]["samples"], splits["all"]["responses"]) == (2, 4)
    assert splits["all"]["query_words"]["avg"] == 3.5
    assert splits["test"]["context_words"]["avg"] == 4
    assert splits["all"]["irrelevant_documents"]["ratio"] is None


def test_claims_and_judgements(make_prepared: Make, noise_settings: Settings) -> None:
    def claim(name: str, answer: str, **more: Any) -> dict[str, Any]:
        return {"claim_id": f"s/{name}", "question_id": "s/q1", "question": "Is it so?", "answer": answer, **more}

    folder = make_prepared(
        claims=[
            claim("1", "Yes, it is."),
            claim("2", "yes it IS", truthful=False),
            claim("3", "No", truthful=False),
            claim("4", "No", question_id="s/q2", question="Is it not?", split="test"),
        ],
        judgements=[
            {"judgement_id": "t/1", "source_id": "t/a", "set": "t", "preferred": "Right.", "rejected": "Wrong."},
            {"judgement_id": "t/2", "source_id": "t/a", "set": "t", "preferred": "Same", "rejected": "same!"},
        ],
    )
    sets = run(folder, noise_settings())["sets"]
    claims, judgements = sets["s"]["claims"], sets["t"]["judgements"]
    assert claims["both_true_and_false"] == {"count": 2, "share": 0.5}
    assert (claims["splits"]["all"]["samples"], claims["splits"]["all"]["claims"]) == (2, 4)
    assert claims["splits"]["train"]["truthful"] == {"count": 1, "share": 1 / 3}
    assert judgements["equal_sides"] == {"count": 1, "share": 0.5}
    assert (judgements["splits"]["all"]["samples"], judgements["splits"]["all"]["judgements"]) == (1, 2)


def leaking(make_prepared: Make) -> Path:
    run_of_13 = " ".join(FILLER.split()[:13])
    run_of_12 = " ".join(FILLER.split()[1:13])
    long = "Because the thirteen words of this answer are all there for a reason"
    questions = [
        ("s/1", "train", "What is the capital of France?", "Paris", ["s/0", "s/2"]),
        ("s/2", "test", "what is THE capital of france", "Paris", ["s/1", "s/2"]),
        ("s/3", "validation", f"Why does {run_of_13}?", "No", ["s/3"]),
        ("s/4", "validation", f"Why does not {run_of_12}?", long, ["s/4"]),
        ("t/1", "train", f"When, {run_of_13} or not?", f"{long}.", ["t/0"]),
        ("t/2", "test", "Whose is the capital?", "Paris", ["t/1"]),
    ]
    texts = {
        "s": ["Paris is in France.", "PARIS is in France", "shared", f"so {run_of_13} it is", f"so {run_of_12} it was"],
        "t": [f"and {run_of_13}", "..."],
    }
    return make_prepared(
        documents=[row for name, some in texts.items() for row in documents(*some, set_name=name)],
        questions=[
            {
                "question_id": name,
                "set": name[0],
                "split": split,
                "question": question,
                "answers": [answer],
                "documents": shown,
                "supporting": [True] * len(shown),
            }
            for name, split, question, answer, shown in questions
        ],
    )


def test_leakage_by_hand(make_prepared: Make, noise_settings: Settings) -> None:
    report = run(leaking(make_prepared), noise_settings())
    assert report["leakage"] == {
        "ngram_words": 13,
        "document_window": 1,
        "document_run_words": 13,
        "pairs": [
            {
                "training_set": "s",
                "evaluation_set": "s",
                "split": "test",
                "questions": {"exact": 1, "ngram": 1},  # s/2 is s/1
                "documents": {"exact": 2, "ngram": 2},  # s/1 is s/0 but for case; s/2 is shown in both
            },
            {
                "training_set": "t",
                "evaluation_set": "s",
                "split": "validation",
                "questions": {"ngram": 1},  # s/3 and t/1; the run of 12 of s/4 is too short
                "documents": {"ngram": 1},  # s/3 and t/0
                "long_answers": {"ngram": 1},  # s/4 and t/1
            },
        ],
    }
    leaked = report["sets"]["s"]["leakage"]
    assert leaked["questions"] == {
        "evaluation": 3,
        "exact": {"count": 1, "share": 1 / 3},
        "ngram": {"count": 2, "share": 2 / 3},
    }
    assert leaked["documents"]["evaluation"] == 4
    assert report["sets"]["t"]["leakage"]["questions"]["ngram"] == {"count": 0, "share": 0.0}


def test_large_text_is_winnowed_and_says_so(make_prepared: Make, noise_settings: Settings) -> None:
    rng = random.Random(0)
    words = [str(rng.randrange(10**6)) for _ in range(20_000)]
    texts = [" ".join(words[at : at + 200]) for at in range(0, 20_000, 200)]
    texts += [" ".join(["start", *words[at + 50 : at + 90]]) for at in range(0, 20_000, 1000)]
    folder = make_prepared(
        documents=documents(*texts),
        questions=[
            {
                "question_id": f"s/{n}",
                "question": f"q{n}",
                "split": "train" if n < 100 else "test",
                "documents": [f"s/{n}"],
                "supporting": [True],
            }
            for n in range(len(texts))
        ],
    )
    report = run(folder, noise_settings(leakage__max_document_ngrams=2000))
    leakage = report["leakage"]
    assert leakage["document_window"] > 10
    assert leakage["document_run_words"] == 13 + leakage["document_window"] - 1 <= 40
    assert report["sets"]["s"]["leakage"]["documents"]["ngram"]["count"] == 20


def test_cuts_threads_and_memory_change_nothing(
    make_prepared: Make, noise_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = leaking(make_prepared)
    once, again = (run(folder, noise_settings()) for _ in range(2))
    assert json.dumps(once) == json.dumps(again)
    monkeypatch.setattr(stream, "_TEXT_BYTES", 7)
    monkeypatch.setattr(stream, "_READ_ROWS", 2)
    assert run(folder, noise_settings(sort_mib=1)) == once


def test_order_of_rows_changes_no_count(make_prepared: Make, noise_settings: Settings) -> None:
    folder = leaking(make_prepared)
    before = run(folder, noise_settings(examples=0))
    order = np.random.default_rng(3)
    for table in ("documents", "questions"):
        rows = pq.read_table(folder / f"{table}.parquet")
        pq.write_table(rows.take(pa.array(order.permutation(rows.num_rows))), folder / f"{table}.parquet")
    assert run(folder, noise_settings(examples=0)) == before


def test_missing_documents_count_as_empty_and_progress_is_told(make_prepared: Make, noise_settings: Settings) -> None:
    folder = make_prepared(
        questions=[{"question_id": "s/1", "question": "q", "documents": ["s/none"], "supporting": [True]}],
        claims=[{"claim_id": "s/1", "question_id": "s/1", "question": "q", "answer": "a"}],
    )
    told: list[int] = []
    report = measure(folder, noise_settings(), told.append)
    assert sum(told) == rows_to_read(folder) == 2
    lengths = json.loads(json.dumps(report))["sets"]["s"]["questions"]["splits"]["all"]
    assert (lengths["documents"]["avg"], lengths["context_words"]["avg"]) == (1, 0)


def test_nothing_at_all(make_prepared: Make, noise_settings: Settings) -> None:
    assert run(make_prepared(), noise_settings())["sets"] == {}


def test_bad_folders_are_named(make_prepared: Make, noise_settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(DataInvalid, match="not found"):
        run(tmp_path, noise_settings())
    folder = make_prepared(documents=documents(*(FILLER + str(n) for n in range(3000))))
    path = folder / "documents.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:2000] + b"\xff" * 500 + content[2500:])
    with pytest.raises(DataInvalid, match="corrupt"):
        run(folder, noise_settings())
    pq.write_table(pa.table({"document_id": ["s/1"], "set": ["s"]}), path)
    with pytest.raises(DataInvalid, match="`text` is missing"):
        run(folder, noise_settings())


def test_unknown_split_and_too_many_sets(make_prepared: Make, noise_settings: Settings) -> None:
    odd = make_prepared(name="odd", questions=[{"question_id": "s/1", "question": "q", "split": "dev"}])
    with pytest.raises(DataInvalid, match="unknown split 'dev'"):
        run(odd, noise_settings())
    many = [{"document_id": f"{n}/1", "set": str(n), "text": "x"} for n in range(65)]
    with pytest.raises(ConfigError, match="more than 64 sets"):
        run(make_prepared(name="many", documents=many), noise_settings())
