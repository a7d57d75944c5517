"""Rows of each official schema, made by hand, and helpers that read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faithline.data.readers import QUESTION_FORMATS
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.data.readers.variants import read_questions

HOTPOT: list[dict[str, Any]] = [
    {
        "_id": "5a7a06935542990198eaf050",
        "answer": "yes",
        "question": "Were Ada and Bob both born in Ulm?",
        "supporting_facts": [["Ada", 1], ["Bob", 0]],
        "context": [
            ["Ada", ["Ada was a smith.", " She was born in Ulm."]],
            ["Cid", ['Cid sold "cloth" [wool] {dyed}.']],
            ["Bob", ["Bob came from Ulm.", " He left early.", " He died in Köln."]],
        ],
        "type": "comparison",
        "level": "hard",
    },
    {
        "_id": "b",
        "answer": "Ulm",
        "question": "Where was Ada born?",
        "supporting_facts": [["Ada", 7], ["Nowhere", 0]],
        "context": [["Ada", ["Ada was born in Ulm."]], ["Ada", ["Another Ada."]], ["Cid", []]],
        "type": "bridge",
        "level": "easy",
    },
]
TWO_WIKI: list[dict[str, Any]] = [
    {
        "_id": "8813f87c0bdd11eba7f7acde48001122",
        "type": "compositional",
        "question": "Who is the mother of the director of film Polish-Russian War?",
        "context": [
            ["Polish-Russian War (film)", ["It was directed by Xawery.", "It is a film."]],
            ["Xawery", ["He is a son of Małgorzata."]],
        ],
        "supporting_facts": [["Polish-Russian War (film)", 0], ["Xawery", 0]],
        "evidences": [["Polish-Russian War", "director", "Xawery"], ["Xawery", "mother", "Małgorzata"]],
        "answer": "Małgorzata",
    }
]
MUSIQUE: list[dict[str, Any]] = [
    {
        "id": "2hop__482757_12019",
        "paragraphs": [
            {"idx": 0, "title": "Steelers", "paragraph_text": "They won in 1974.", "is_supporting": True},
            {"idx": 1, "title": "Steelers", "paragraph_text": "Their colours.", "is_supporting": False},
            {"idx": 2, "title": "Coach", "paragraph_text": "Noll coached them.", "is_supporting": True},
        ],
        "question": "Who coached the 1974 winners?",
        "question_decomposition": [
            {"id": 482757, "question": "Winners >> 1974", "answer": "Steelers", "paragraph_support_idx": 0},
            {"id": 12019, "question": "Who coached the #1 ?", "answer": "Noll", "paragraph_support_idx": 2},
        ],
        "answer": "Noll",
        "answer_aliases": ["Chuck Noll", "Noll"],
        "answerable": True,
    }
]
BIOASQ: dict[str, Any] = {
    "questions": [
        {
            "id": "q1",
            "body": "Is aspirin an NSAID?",
            "type": "yesno",
            "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/1", "http://www.ncbi.nlm.nih.gov/pubmed/2"],
            "snippets": [
                {
                    "offsetInBeginSection": 40,
                    "offsetInEndSection": 60,
                    "text": "It inhibits COX.",
                    "beginSection": "abstract",
                    "endSection": "abstract",
                    "document": "http://www.ncbi.nlm.nih.gov/pubmed/1",
                },
                {
                    "offsetInBeginSection": 0,
                    "offsetInEndSection": 9,
                    "text": "Aspirin.",
                    "beginSection": "title",
                    "endSection": "title",
                    "document": "http://www.ncbi.nlm.nih.gov/pubmed/1",
                },
                {
                    "offsetInBeginSection": 3,
                    "offsetInEndSection": 9,
                    "text": "An NSAID.",
                    "beginSection": "abstract",
                    "endSection": "abstract",
                    "document": "http://www.ncbi.nlm.nih.gov/pubmed/3",
                },
            ],
            "ideal_answer": ["Yes, it is."],
            "exact_answer": "yes",
        },
        {
            "id": "q2",
            "body": "List NSAIDs.",
            "type": "list",
            "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/2"],
            "snippets": [],
            "ideal_answer": "Several.",
            "exact_answer": [["aspirin", "ASA"], ["ibuprofen"]],
        },
        {
            "id": "q3",
            "body": "Which enzyme?",
            "type": "factoid",
            "documents": ["https://pubmed.ncbi.nlm.nih.gov/9/", "http://example.org/x"],
            "snippets": [],
            "ideal_answer": ["COX."],
            "exact_answer": [["COX", "cyclooxygenase"]],
        },
        {
            "id": "q4",
            "body": "What is aspirin?",
            "type": "summary",
            "documents": ["http://www.ncbi.nlm.nih.gov/pubmed/2"],
            "ideal_answer": ["A drug.", "A medicine."],
        },
    ]
}


@pytest.fixture
def official() -> dict[str, Any]:
    """Format to the content of an official file, deep-copied."""
    rows = {"hotpotqa": HOTPOT, "2wikimultihopqa": TWO_WIKI, "musique": MUSIQUE, "bioasq": BIOASQ}
    return json.loads(json.dumps(rows))


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., tuple[list[Question], RowLedger]]:
    """Write content to a file (rows as a JSON array unless given as bytes) and read it in a format."""

    def run(
        form: str, content: object, on_invalid: str = "fail", limit: int | None = None
    ) -> tuple[list[Question], RowLedger]:
        path = tmp_path / "source"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        ledger = RowLedger("test", on_invalid)  # type: ignore[arg-type]
        return list(read_questions(path, QUESTION_FORMATS[form], ledger, limit, lambda _: None)), ledger

    return run
