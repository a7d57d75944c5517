"""Protocols: prompts' structure, verdicts out of replies, counting, kappa; values by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faithline.data.readers.contextual_judge_bench import _SPLITS
from faithline.judges import contextual, facts, faithjudge
from faithline.judges.agreement import agreement
from faithline.judges.facts import Label, Sentence
from faithline.judges.faithjudge import Example, Span, Verdict

EXAMPLES = [
    Example("The mayor is 50.", [[Span("50", "Subtle Baseless Info", note="says\nnothing", implicit_true=True)]]),
    Example(" The mayor resigned. ", [[]]),
    Example("He has a cat.", [[Span("cat", "Evident Conflict", due_to_null=True)]]),
]


def test_faithjudge_prompt_has_the_published_parts_in_their_order() -> None:
    text = faithjudge.prompt("ragtruth-qa", "Who resigned?", "passage 1: {x}", EXAMPLES, "The mayor resigned.")
    parts = [
        "Hallucination Categories:",
        "• Evident Conflict",
        "• Subtle Introduction of Baseless Information",
        "• Consistent:",
        "• Inconsistent:",
        'Query:\n"Who resigned?"',
        "Source Passages:\npassage 1: {x}",
        "Annotated Examples:",
        'Response (1): "The mayor is 50."',
        'Hallucinated Span from Response: "50"',
        'Label: "Subtle Introduction of Baseless Information"',
        'Annotator Note: "says nothing"',
        'Response (2): "He has a cat."',
        'Response to Evaluate:\n"The mayor resigned."',
        '"Final classification: [Inconsistent / Consistent]"',
        '"Final classification: Invalid"',
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.count("The mayor resigned.") == 1  # the identical example is left out
    assert "true perhaps" in text.lower()
    assert "null value" in text


def test_faithbench_has_its_own_categories_and_several_annotators() -> None:
    example = Example("A cat sat.", [[Span("cat", "Unwanted.Intrinsic")], []])
    text = faithjudge.prompt("faithbench-summary", "", "A dog sat.", [example], "A dog sat.")
    assert "• Benign" in text
    assert "Evident Conflict" not in text
    assert "Query:" not in text
    assert text.index("Annotator (A) Annotations:") < text.index('Label: "Unwanted"') < text.index("Annotator (B)")
    assert "No Hallucinated Spans Identified by Annotator" in text


def test_examples_come_from_the_prepared_table() -> None:
    label = {
        "start": 0,
        "end": 2,
        "text": "50",
        "type": "Evident Baseless Info",
        "implicit_true": None,
        "due_to_null": True,
    }
    found = faithjudge.examples_of([{"response": "x", "labels": [label]}])
    assert found == [Example("x", [[Span("50", "Evident Baseless Info", due_to_null=True)]])]


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Reasons.\nFinal classification: Consistent", Verdict.CONSISTENT),
        ("final classification:   INCONSISTENT.", Verdict.INCONSISTENT),
        ("**Final classification:** [Inconsistent]", Verdict.INCONSISTENT),
        ("Final classification: **Invalid**", Verdict.INVALID),
        (
            "It could be Final classification: Consistent, but no.\nFinal classification: Inconsistent",
            Verdict.INCONSISTENT,
        ),
        ('I must write "Final classification: [Inconsistent / Consistent]".', None),
        ("Final classification: Inconsistent / Consistent", None),
        ("Final classification: [Consistent | Inconsistent]", None),
        ("The summary is consistent.", None),
        ("Final classification: Consistently wrong", None),
        ("Final classification:", None),
        ("", None),
    ],
)
def test_faithjudge_verdicts(reply: str, verdict: Verdict | None) -> None:
    assert faithjudge.parse(reply) == verdict


@given(st.text())
def test_any_text_is_a_verdict_or_a_failure(text: str) -> None:
    assert faithjudge.parse(text) in {None, *Verdict}
    assert contextual.parse(text) in {None, "A", "B"}
    sentences = facts.parse(text)
    assert sentences is None or sentences


def test_faithjudge_rates_by_hand() -> None:
    verdicts = [Verdict.CONSISTENT, Verdict.INCONSISTENT, Verdict.INVALID, None, Verdict.CONSISTENT, None]
    found = faithjudge.rates(verdicts)
    assert (found.n, found.failed) == (4, 2)
    assert (found.consistent, found.hallucinated, found.invalid, found.answered) == (0.5, 0.25, 0.25, 0.75)
    assert faithjudge.rates([None]).hallucinated is None


def line(sentence: str, label: str) -> str:
    return f'{{"sentence": "{sentence}", "label": "{label}", "rationale": "r", "excerpt": null}}'


@pytest.mark.parametrize(
    ("reply", "labels"),
    [
        (line("A.", "supported") + "\n" + line("B.", "no_rad"), ["supported", "no_rad"]),
        ("```json\n" + line("A.", "supported") + "\n```", ["supported"]),
        (f"[{line('A.', 'supported')}, {line('B.', 'unsupported')}]", ["supported", "unsupported"]),
        (f"{line('A.', 'supported')},\n{line('B.', 'contradictory')},", ["supported", "contradictory"]),
        ('{"sentence": "a\\n{", "label": "supported"}', ["supported"]),
        (line("A.", "supported") + "\nand so on", None),
        (line("A.", "sort of"), None),
        ('{"sentence": "A."}', None),
        (line("A.", "supported") + '\n{"sentence": "B', None),
        ("[]", None),
        ("Sorry.", None),
        ("", None),
    ],
)
def test_facts_replies(reply: str, labels: list[str] | None) -> None:
    found = facts.parse(reply)
    assert (None if found is None else [sentence.label for sentence in found]) == labels


def test_facts_rates_by_hand() -> None:
    good = [Sentence("a", Label.SUPPORTED), Sentence("b", Label.NO_RAD)]
    bad = [Sentence("a", Label.SUPPORTED), Sentence("b", Label.UNSUPPORTED)]
    worse = [Sentence("a", Label.CONTRADICTORY)]
    found = facts.rates([good, bad, worse, None, good])
    assert (found.n, found.failed, found.grounded, found.sentences) == (4, 1, 0.5, 7)
    assert found.labels["supported"] == pytest.approx(3 / 7, abs=1e-6)
    assert facts.rates([]).grounded is None


def test_facts_prompt() -> None:
    text = facts.prompt("Q?", "C {0}", "R.")
    assert [text.index(part) for part in ("User Query:\nQ?", "Context:\nC {0}", "Response:\nR.")]
    assert all(f'"{label}"' in text for label in Label)


def test_contextual_pairs_are_shown_in_both_orders() -> None:
    first, second = contextual.prompts("conciseness_qa", "Q?", "ctx", "good", "bad")
    assert first.index("Response A:\ngood") < first.index("Response B:\nbad")
    assert second.index("Response A:\nbad") < second.index("Response B:\ngood")
    assert "conciseness" in first
    assert first.replace("good", "X").replace("bad", "Y") == second.replace("bad", "X").replace("good", "Y")


def test_the_eight_splits_are_those_of_the_data() -> None:
    assert {split: pair for pair, split in contextual.SPLITS.items()} == _SPLITS
    assert contextual.split_of("faithfulness", "summary") == "faithfulness_summ"
    with pytest.raises(ValueError, match="no split"):
        contextual.split_of("faithfulness", "poem")


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("Final choice: A", "A"),
        ("**Final choice:** [B]", "B"),
        ("final choice: b.", "B"),
        ("Final choice: [A / B]", None),
        ("Final choice: Apple", None),
        ("A", None),
    ],
)
def test_contextual_choices(reply: str, choice: str | None) -> None:
    assert contextual.parse(reply) == choice


def test_contextual_rates_by_hand() -> None:
    always_a = contextual.pair_verdict("A", "A")
    verdicts = [
        contextual.pair_verdict("A", "B"),
        always_a,
        contextual.pair_verdict("B", "A"),
        contextual.pair_verdict(None, "B"),
    ]
    found = contextual.rates(verdicts)
    assert (found.n, found.failed) == (3, 1)
    assert found.accuracy == pytest.approx(1 / 3, abs=1e-6)
    assert found.consistent == pytest.approx(2 / 3, abs=1e-6)
    assert (found.as_first, found.as_second) == pytest.approx((2 / 3, 1 / 3), abs=1e-6)
    assert contextual.rates([always_a]).accuracy == 0


def test_kappa_by_hand() -> None:
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, chance 0.5, kappa 0.4
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    found = agreement([*first, None, "y"], [*second, "y", None])
    assert (found.n, found.failed, found.observed, found.kappa) == (50, 2, 0.7, 0.4)
    assert agreement(["y", "y"], ["y", "y"]).kappa is None  # both constant: no more than chance
    assert agreement(["y", "n"], ["n", "y"]).kappa == -1
    assert agreement([None], ["y"]).observed is None
    with pytest.raises(ValueError, match="not the same items"):
        agreement(["y"], [])
