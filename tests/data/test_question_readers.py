"""Readers of questions with documents, on hand-made rows of each official schema: values worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from faithline.data.readers.hotpotqa import paragraph_text
from faithline.data.readers.ledger import RowLedger
from faithline.data.readers.records import Question
from faithline.pipeline.errors import DataInvalid

Read = Callable[..., tuple[list[Question], RowLedger]]


def facts(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in question.__struct_fields__ if name != "where"}


def test_hotpotqa_official(read: Read, official: dict[str, Any]) -> None:
    (first, second), ledger = read("hotpotqa", official["hotpotqa"])
    assert facts(first) == {
        "source_id": "5a7a06935542990198eaf050",
        "group_id": "5a7a06935542990198eaf050",
        "question": "Were Ada and Bob both born in Ulm?",
        "answers": ["yes"],
        "answerable": True,
        "question_type": "comparison",
        "hops": None,
        "titles": ["Ada", "Cid", "Bob"],
        "texts": [
            "Ada was a smith. She was born in Ulm.",
            'Cid sold "cloth" [wool] {dyed}.',
            "Bob came from Ulm. He left early. He died in Köln.",
        ],
        "supporting": [True, False, True],
        "plan": [],
    }
    # Two paragraphs share the gold title: both are flagged, and the oddities of the row are counted.
    assert second.supporting == [True, True, False]
    assert dict(ledger.noticed) == {
        "supporting_sentence_out_of_range": 1,
        "supporting_title_missing": 1,
        "questions_with_shared_gold_title": 1,
        "empty_documents": 1,
    }
    assert (ledger.variant, ledger.rows, dict(ledger.skipped)) == ("official", 2, {})


def test_hotpotqa_test_file_has_unknown_answers_and_flags(read: Read, official: dict[str, Any]) -> None:
    row = official["hotpotqa"][0]
    del row["answer"], row["supporting_facts"], row["type"]
    (question,), ledger = read("hotpotqa", [row])
    assert (question.answers, question.supporting, question.answerable) == ([], [None, None, None], True)
    assert not ledger.noticed


def test_two_wiki_official(read: Read, official: dict[str, Any]) -> None:
    (question,), ledger = read("2wikimultihopqa", official["2wikimultihopqa"])
    assert question.texts == ["It was directed by Xawery. It is a film.", "He is a son of Małgorzata."]
    assert question.plan == ["Polish-Russian War director Xawery", "Xawery mother Małgorzata"]
    assert (question.hops, question.question_type, question.supporting) == (2, "compositional", [True, True])
    assert ledger.variant == "official"


def test_musique_official_as_json_lines(read: Read, official: dict[str, Any]) -> None:
    content = "\n".join(json.dumps(row) for row in official["musique"]).encode()
    (question,), ledger = read("musique", content)
    assert question.answers == ["Noll", "Chuck Noll"]
    assert question.plan == ["Winners >> 1974 >>>> Steelers", "Who coached the Steelers ? >>>> Noll"]
    assert question.supporting == [True, False, True]  # by paragraph, though two share their title
    assert (question.question_type, question.hops) == ("2hop", 2)
    assert ledger.variant == "official"


def test_musique_unanswerable_twin_shares_the_split_not_the_id(read: Read, official: dict[str, Any]) -> None:
    row = official["musique"][0]
    twin = row | {"answerable": False, "paragraphs": row["paragraphs"][:2]}
    (first, second), ledger = read("musique", [row, twin])
    assert (second.answerable, second.answers) == (False, [])
    assert first.source_id != second.source_id
    assert first.group_id == second.group_id == row["id"]
    assert not ledger.skipped


def test_bioasq_golden(read: Read, official: dict[str, Any]) -> None:
    questions, ledger = read("bioasq", official["bioasq"])
    yesno, listed, factoid, summary = questions
    assert yesno.titles == ["PubMed 1", "PubMed 2", "PubMed 3"]
    assert yesno.texts == ["Aspirin.\nIt inhibits COX.", "", "An NSAID."]
    assert yesno.supporting == [True, False, True]
    assert yesno.answers == ["yes"]
    assert listed.answers == ["aspirin, ibuprofen"]
    assert factoid.answers == ["COX", "cyclooxygenase"]
    assert factoid.titles == ["PubMed 9", "http://example.org/x"]
    assert summary.answers == ["A drug.", "A medicine."]
    assert [question.question_type for question in questions] == ["yesno", "list", "factoid", "summary"]
    assert dict(ledger.noticed) == {"documents_named_only_by_snippets": 1, "empty_documents": 5}


def test_bioasq_rows_without_the_envelope(read: Read, official: dict[str, Any]) -> None:
    whole, _ = read("bioasq", official["bioasq"])
    array, _ = read("bioasq", official["bioasq"]["questions"])
    assert list(map(facts, array)) == list(map(facts, whole))


def test_popqa_answers_are_json_in_a_string(read: Read) -> None:
    row = {
        "id": 4222362,
        "prop": "occupation",
        "question": "What is Ada's occupation?",
        "possible_answers": '["politician", "polit.", "politician"]',
        "paragraphs": [
            {"title": "Ada", "text": "Ada sat in the House.", "is_supporting": True},
            {"title": "Politician", "text": "One who governs.", "is_supporting": False},
        ],
    }
    (question,), _ = read("popqa", [row])
    assert question.answers == ["politician", "polit."]
    assert (question.source_id, question.question_type) == ("4222362", "occupation")
    assert question.supporting == [True, False]
    with pytest.raises(DataInvalid, match="possible_answers is not a JSON list"):
        read("popqa", [row | {"possible_answers": "politician"}])


def processed(question: Question) -> dict[str, Any]:
    """The processed form of a question, as its publishers write it."""
    row: dict[str, Any] = {
        "question_id": question.source_id,
        "question_text": question.question,
        "answers_objects": [{"number": "", "date": {"day": ""}, "spans": question.answers}],
        "contexts": [
            {"idx": idx, "title": title, "paragraph_text": text, "is_supporting": flag}
            for idx, (title, text, flag) in enumerate(
                zip(question.titles, question.texts, question.supporting, strict=True)
            )
        ],
        "type": question.question_type,
    }
    return row | ({"reasoning_steps": question.plan} if question.plan else {})


@pytest.mark.parametrize("form", ["hotpotqa", "2wikimultihopqa", "musique"])
def test_both_forms_of_a_question_give_the_same_row(read: Read, official: dict[str, Any], form: str) -> None:
    questions, _ = read(form, official[form])
    again, ledger = read(form, "\n".join(json.dumps(processed(q)) for q in questions).encode())
    assert list(map(facts, again)) == list(map(facts, questions))
    assert ledger.variant == "processed"


@pytest.mark.parametrize(
    ("sentences", "text"),
    [
        ([], ""),
        (["One."], "One."),
        (["One.", " Two."], "One. Two."),
        (["One.", "Two."], "One. Two."),
        (["He said:", ' "No.', '"'], 'He said: "No."'),
    ],
)
def test_sentences_are_joined_as_their_set_splits_them(sentences: list[str], text: str) -> None:
    assert paragraph_text(sentences) == text


def bad_hotpot(official: dict[str, Any], **changes: object) -> dict[str, Any]:
    row = official["hotpotqa"][0] | {"_id": "bad"} | changes
    return {key: value for key, value in row.items() if value is not ...}


@pytest.mark.parametrize(
    ("changes", "reason", "detail"),
    [
        ({"question": 5}, "wrong_schema", "$.question"),
        ({"question": ...}, "wrong_schema", "question"),
        ({"context": [["Ada", "not a list"]]}, "wrong_schema", "$.context[0][1]"),
        ({"context": [["Ada", [None]]]}, "wrong_schema", "$.context[0][1][0]"),
        ({"context": []}, "no_documents", "bad"),
        ({"context": [["A\0da", ["x"]]]}, "nul_character", "bad"),
        ({"question": " \n"}, "blank_question", "bad"),
        ({"_id": " "}, "blank_id", "blank"),
        ({"answer": ""}, "blank_answer", "blank"),
        ({"supporting_facts": [["Ada"]]}, "wrong_schema", "supporting_facts"),
    ],
)
def test_bad_rows_fail_by_name_or_are_counted(
    read: Read, official: dict[str, Any], changes: dict[str, Any], reason: str, detail: str
) -> None:
    good, bad = official["hotpotqa"][0], bad_hotpot(official, **changes)
    with pytest.raises(DataInvalid) as caught:
        read("hotpotqa", [good, bad])
    assert caught.value.exit_code == 20
    assert caught.value.where.endswith("source[1]")
    assert detail in str(caught.value)
    questions, ledger = read("hotpotqa", [bad, good, bad], on_invalid="skip")
    assert [question.source_id for question in questions] == [good["_id"]]
    assert (ledger.rows, dict(ledger.skipped)) == (3, {reason: 2})
    assert ledger.examples[1].split(": ")[0].endswith("source[2]")


def test_broken_lines_are_ordinary_bad_rows(read: Read, official: dict[str, Any]) -> None:
    good = json.dumps(official["hotpotqa"][0]).encode()
    lines = [b"{", good, b"", good[:-9], b'{"a": "\xff"}', b"5", b"[" * 100_000, good + good, good[:50]]
    with pytest.raises(DataInvalid) as caught:
        read("hotpotqa", b"\r\n".join(lines))
    assert caught.value.where.endswith("source:1")
    questions, ledger = read("hotpotqa", b"\r\n".join(lines), on_invalid="skip")
    assert len(questions) == 1
    assert ledger.rows == 8  # the blank line is no row
    assert ledger.rows == len(questions) + ledger.skipped.total()
    assert set(ledger.skipped) == {"invalid_json", "wrong_schema"}


def test_broken_syntax_inside_an_array_refuses_the_file(read: Read, official: dict[str, Any]) -> None:
    good = json.dumps(official["hotpotqa"][0])
    with pytest.raises(DataInvalid, match="broken JSON") as caught:
        read("hotpotqa", f'[{good}, {{"a" 1}}, {good}]'.encode(), on_invalid="skip")
    assert caught.value.where.endswith("source[1]")
    # An unclosed quote swallows what follows; nothing of it may pass for a row.
    with pytest.raises(DataInvalid):
        read("hotpotqa", f'[{good}, {{"a": "b}}, {good}]'.encode(), on_invalid="skip")


@pytest.mark.parametrize("odd", [r'"\ud800"', "NaN", '"\xff"'])
def test_odd_values_in_an_array_are_bad_rows(read: Read, official: dict[str, Any], odd: str) -> None:
    good = json.dumps(official["hotpotqa"][0])
    bad = good.replace('"yes"', odd)
    questions, ledger = read("hotpotqa", f"[{bad}, {good}]".encode("latin-1"), on_invalid="skip")
    assert (len(questions), ledger.skipped.total()) == (1, 1)


def test_wrong_format_names_what_lacks(read: Read, official: dict[str, Any]) -> None:
    with pytest.raises(DataInvalid, match=r"official lacks _id, context; processed lacks") as caught:
        read("hotpotqa", official["musique"], on_invalid="skip")
    assert "paragraphs" in caught.value.next_step
    with pytest.raises(DataInvalid, match="JSON object"):
        read("hotpotqa", b"{\n", on_invalid="skip")
    with pytest.raises(DataInvalid, match="no rows"):
        read("hotpotqa", [])


def test_limit_reads_no_further(read: Read, official: dict[str, Any]) -> None:
    good = json.dumps(official["hotpotqa"][0]).encode()
    questions, ledger = read("hotpotqa", good + b"\n{broken", limit=1)
    assert (len(questions), ledger.rows) == (1, 1)


def test_too_many_steps(read: Read, official: dict[str, Any]) -> None:
    row = official["2wikimultihopqa"][0]
    row["evidences"] = [["a", "b", "c"]] * 128
    with pytest.raises(DataInvalid, match="128 reasoning steps"):
        read("2wikimultihopqa", [row])
