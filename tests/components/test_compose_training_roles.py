"""What each role learns from a question: targets worked out by hand, and read back by the roles' own parsers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.compose_training.attention_roles import generator, planner, selector
from components.compose_training.case import Case, SftRow
from components.compose_training.evidence import evidence_of, numbers_in, statement, states
from components.compose_training.march_roles import DECLINES, checker, proposer, silent_proposer, solver
from components.compose_training.number_pairs import number_pairs
from components.compose_training.params import Checker, Generator, Planner, Selector
from components.compose_training.plans import lines, read_steps
from faithline.agents import answer
from faithline.agents.march import checker as checker_role
from faithline.agents.march import proposer as proposer_role
from faithline.agents.march.blinding import Pair, blind
from faithline.agents.march.numbers import find_numbers, parse_number, unsupported
from faithline.agents.passage import Passage

PLANNER = Planner(train=None, validation=None, max_steps=4)
ALL = Selector(train=None, validation=None, candidates=None)
ABSTAIN = Generator(train=None, validation=None, without_documents="abstain")
ALWAYS = Checker(train=None, validation=None, cannot_answer=1.0)
NEVER = Checker(train=None, validation=None, cannot_answer=0.0)

TOWN = Passage("s/town", "Elmo (town)", "Elmo is a town. It lies in Oregon. In 1984, 12 people lived there.")
STATE = Passage("s/state", "Oregon", "Oregon is a state. The death penalty was reinstated in Oregon in 1984.")
GARDEN = Passage("s/garden", "Garden", "A garden has flowers. It opened on 3 May 1955.")


def case(**changes: Any) -> Case:
    """A MuSiQue question over two gold documents and a distractor."""
    given: dict[str, Any] = {
        "question": "When did the state of Elmo reinstate the death penalty?",
        "answers": ("1984",),
        "answerable": True,
        "plan": ("Elmo >> state >>>> Oregon", "When did Oregon reinstate the death penalty ? >>>> 1984"),
        "passages": (TOWN, GARDEN, STATE),
        "flags": (True, False, True),
        "order": 5,
    }
    return Case(**(given | changes))


def row(made: SftRow | str) -> SftRow:
    assert isinstance(made, SftRow), made
    return made


def written(**changes: Any) -> list[str]:
    steps = read_steps(case(**changes))
    assert steps is not None
    return lines(steps)


def test_musique_plans_get_their_references_back() -> None:
    assert written() == ["Elmo >> state", "When did #1 reinstate the death penalty ?"]
    plan = ("Who was he? >>>> Al", "Where did Al and Alma live? >>>> Rome", "Is Rome older than Al? >>>> yes")
    assert written(plan=plan) == ["Who was he?", "Where did #1 and Alma live?", "Is #2 older than #1?"]


@pytest.mark.parametrize(
    ("plan", "question", "answers", "expected"),
    [
        # The object is what the next step starts with; the last one is the gold answer.
        (
            ("Queen Ann spouse Bo of Joseon", "Bo of Joseon father Cy"),
            "?", ("Cy",), ["Queen Ann >> spouse", "#1 >> father"],
        ),
        # The subject is named in the question, the object starts with a digit.
        (("inBios Ltd inception 1996",), "Is inBios Ltd old?", ("yes",), ["inBios Ltd >> inception"]),
        # A title without its qualifier; an object of lower-case words that is the answer.
        (("Elmo main craft copper pots",), "?", ("copper pots",), ["Elmo >> main craft"]),
        # Two objects of one relation are one line, and both lead on from it.
        (
            ("Elmo country of origin Italian", "Elmo country of origin American", "American population 9"),
            "?", ("no",), ["Elmo >> country of origin", "#1 >> population"],
        ),
        # A reference is put only where the whole subject is the earlier object.
        (
            ("Elmo director Ben Hur", "Ben Hur Smith father Al"),
            "Ben Hur Smith?", ("Al",), ["Elmo >> director", "Ben Hur Smith >> father"],
        ),
    ],
)  # fmt: skip
def test_triples_lose_their_objects(
    plan: tuple[str, ...], question: str, answers: tuple[str, ...], expected: list[str]
) -> None:
    assert written(plan=plan, question="Queen Ann " + question, answers=answers) == expected


def test_plans_that_cannot_be_cut_are_left_out() -> None:
    for plan in (("Elmo craft copper pots",), ("nobody knows what 5",), (" >>>> x",), ("Who? >>>> ",)):
        assert planner(case(plan=plan), PLANNER) == "plan_not_understood"
    plan = tuple(f"Who is {n}? >>>> A{n}" for n in range(5))
    assert planner(case(plan=plan), PLANNER) == "too_many_steps"
    assert row(planner(case(plan=plan[:4]), PLANNER)).target == "Who is 0?\nWho is 1?\nWho is 2?\nWho is 3?"
    assert row(planner(case(), PLANNER)).documents == ()


@given(
    order=st.integers(0, 2**64 - 1),
    flags=st.lists(st.booleans(), max_size=8),
    most=st.one_of(st.none(), st.integers(1, 9)),
)
def test_selector_names_the_slots_of_gold_documents(order: int, flags: list[bool], most: int | None) -> None:
    passages = tuple(Passage(f"s/{n}", "", str(n)) for n in range(len(flags)))
    made = selector(
        case(passages=passages, flags=tuple(flags), order=order), Selector(train=None, validation=None, candidates=most)
    )
    if not flags:
        assert made == "no_text"
        return
    shown = row(made).documents
    gold = {passage for passage, flag in zip(passages, flags, strict=True) if flag}
    named = [shown[int(name.removeprefix("Document"))] for name in row(made).target.split(",") if name]
    assert set(named) == gold
    assert len(named) == len(gold)
    assert gold <= set(shown) <= set(passages)
    assert len(shown) == len(set(shown)) == (len(flags) if most is None else min(len(flags), max(most, len(gold))))
    assert row(selector(case(passages=passages, flags=tuple(flags), order=order), ALL)).target is not None


def test_selector_shuffles_differently_for_each_question() -> None:
    passages = tuple(Passage(f"s/{n}", "", str(n)) for n in range(6))
    orders = {
        tuple(p.document_id for p in row(selector(case(passages=passages, flags=(False,) * 6, order=n), ALL)).documents)
        for n in range(40)
    }
    assert len(orders) > 30


def test_weak_labels_stand_in_for_unknown_flags() -> None:
    unknown = (None, None, None)
    # "1984" is in town and state, as a substring; for yes or no the question's words decide.
    assert case(flags=unknown).helpful == (True, False, True)
    assert case(flags=unknown, answers=("Flower",)).helpful == (False, True, False)
    assert case(flags=unknown, answers=("no",), question="Is a garden there?").helpful == (False, True, False)
    assert case(flags=(None, True, False)).helpful == (True, True, False)
    assert case(flags=unknown, answers=("The Who",)).helpful is None
    assert selector(case(flags=unknown, answers=()), ALL) == "no_label"


def test_generator_sees_gold_documents_only() -> None:
    made = row(generator(case(), ABSTAIN))
    assert (made.documents, made.target) == ((TOWN, STATE), "**1984**")
    assert answer.parse(made.target).answer == "1984"
    silent = row(generator(case(answerable=False, answers=()), ABSTAIN))
    assert (silent.documents, answer.parse(silent.target).outcome) == ((TOWN, STATE), answer.Outcome.ABSTAINED)
    without = {"flags": (False, False, False)}
    assert row(generator(case(**without), ABSTAIN)) == SftRow("**not in the documents**", case().question)
    memory = Generator(train=None, validation=None, without_documents="answer")
    assert row(generator(case(**without), memory)).target == "**1984**"
    assert generator(case(answers=("**",)), memory) == "no_answer"
    assert generator(case(flags=(None,) * 3, answers=("the",)), memory) == "no_label"


def test_solver_answers_with_sentences_of_gold_documents() -> None:
    made = row(solver(case()))
    assert made.documents == (TOWN, GARDEN, STATE)
    assert made.target == (
        "Elmo (town): In 1984, 12 people lived there. The death penalty was reinstated in Oregon in 1984. "
        "The answer is 1984."
    )
    assert row(solver(case(answerable=False, answers=()))).target == DECLINES
    assert solver(case(answers=("1999",))) == "number_in_no_document"
    assert solver(case(flags=(False, False, False))) == "no_evidence"
    assert solver(case(passages=(), flags=())) == "no_text"
    ideal = "It was reinstated by the state in 1984."
    assert row(solver(case(answers=(ideal,)))).target == ideal
    assert row(solver(case(answers=("J. R.",)))).target.endswith("The answer is J. R.")


def test_number_pairs_take_the_simplest_question_of_each_number() -> None:
    assert number_pairs(case(), read_steps(case()) or []) == [
        Pair("When did Oregon reinstate the death penalty?", "1984")
    ]
    bare = case(plan=(), answers=(" 1,984% ",))
    assert number_pairs(bare, []) == [Pair(bare.question, "1984")]
    assert number_pairs(case(plan=(), answers=("12 May 1955",)), []) == []
    # A relation is no question, an unanswerable question asks for nothing, steps of it do.
    assert number_pairs(case(plan=("Elmo >> population >>>> 12",), answerable=False), []) == []
    asked = case(answerable=False, answers=())
    assert [pair.answer for pair in number_pairs(asked, read_steps(asked) or [])] == ["1984"]


def test_dates_of_triples_are_asked_for_the_year() -> None:
    born = case(
        question="Who is older, Al Bo or Cy Di?",
        answers=("Al Bo",),
        plan=("Al Bo date of birth 3 May 1955", "Cy Di date of birth June 7, 1960"),
    )
    assert number_pairs(born, read_steps(born) or []) == [
        Pair("In which year was Al Bo born?", "1955"),
        Pair("In which year was Cy Di born?", "1960"),
    ]


def test_a_question_that_states_an_answer_is_left_out() -> None:
    told = case(plan=("When, in 1984, was it? >>>> 1984", "How many in 1984? >>>> 12"), answers=("x",))
    assert number_pairs(told, read_steps(told) or []) == [Pair("How many in 1984?", "12")]


def test_proposer_asks_for_every_number_of_the_response() -> None:
    made = row(proposer(case()))
    assert made.response == "The death penalty was reinstated in Oregon in 1984. The answer is 1984."
    assert made.target == "- Question: When did Oregon reinstate the death penalty? [Answer: 1984]"
    assert made.documents == ()
    # A sentence with a number that nobody asks for does not get into the response.
    crowd = Passage("s/state", "Oregon", "In 1984 the death penalty was reinstated in Oregon by 36 votes.")
    assert row(proposer(case(passages=(TOWN, GARDEN, crowd)))).response == "The answer is 1984."
    year = case(
        question="When did the Garden open?", answers=("spring",), plan=("Garden inception 3 May 1955",),
        passages=(GARDEN,), flags=(True,),
    )  # fmt: skip
    assert row(proposer(year)).response == "Garden: It opened on 3 May 1955. The answer is spring."
    assert proposer(case(plan=(), answers=("1999",), question="In 1999?")) == "no_pair_for_its_numbers"


def test_silent_proposer_learns_to_ask_nothing() -> None:
    quiet = case(plan=(), answers=("Oregon",), question="In which state is Elmo?")
    made = row(silent_proposer(quiet))
    assert made.response == "Elmo (town): It lies in Oregon. Oregon is a state. The answer is Oregon."
    assert (made.pairs, made.target) == ((), "No numbers.")
    assert silent_proposer(case(plan=(), answers=("Route 66",))) == "states_numbers"


def test_checker_quotes_the_documents_or_says_that_it_cannot() -> None:
    made = row(checker(case(), NEVER))
    assert (made.question, made.response, made.documents) == ("", "", (TOWN, GARDEN, STATE))
    assert made.target == ("1. Evidence: The death penalty was reinstated in Oregon in 1984. [Answer: 1984]")
    hidden = row(checker(case(), ALWAYS))
    assert hidden.documents == (GARDEN,)  # the town mentions Oregon, and 1984
    assert hidden.target == "1. Evidence: No document states it. [Answer: Cannot answer]"
    assert hidden.pairs[0].answer == hidden.pairs[0].evidence == ""
    # Nothing would be left, so nothing is taken away.
    assert row(checker(case(passages=(TOWN, STATE), flags=(True, True)), ALWAYS)).documents == (TOWN, STATE)
    assert checker(case(plan=(), answers=("Oregon",)), NEVER) == "no_pairs"
    assert checker(case(passages=(), flags=()), NEVER) == "no_text"


def test_checker_declines_only_where_that_is_certain() -> None:
    # The set says that the documents do not hold the answer, and no document states the number.
    declined = case(answerable=False, answers=(), plan=("When did Oregon vote? >>>> 2001",))
    assert row(checker(declined, NEVER)).target.endswith("[Answer: Cannot answer]")
    # Answerable, not stated in digits, but the documents speak of what is asked: nobody knows.
    assert checker(case(plan=(), answers=("2001",), question="When did Oregon vote?"), NEVER) == "no_evidence"
    # Stated in letters.
    spelt = Passage("s/x", "Law", "It took three days.")
    assert states(spelt, Decimal(3))
    days = case(plan=(), answers=("3",), question="How many days did Utah take?", passages=(spelt,), flags=(True,))
    assert checker(days, NEVER) == "no_evidence"


def test_evidence_prefers_the_sentence_about_the_question() -> None:
    town = Passage("s/t", "Elmo", "Elmo has 12 mills. Elmo has 12 inhabitants. It has 1,012 trees.")
    assert evidence_of("How many inhabitants?", Decimal(12), [town], [True]) == (town, "Elmo has 12 inhabitants.")
    assert evidence_of("How many ships?", Decimal(12), [town], [True]) is None  # 12 is met by chance
    assert evidence_of("How many ships?", Decimal(1012), [town], [True]) == (town, "It has 1,012 trees.")
    assert evidence_of("How many ships?", Decimal(1012), [town], [None]) is None
    assert evidence_of("How many trees?", Decimal(1012), [town], [False]) is None


def test_numbers_of_a_response_leave_out_days_of_dates() -> None:
    assert numbers_in("On 3 May 1955 and May 12, 1960, 7 of them; 1st of June 1961.") == set(
        map(Decimal, (1955, 1960, 7, 1961))
    )
    assert numbers_in("May 1955") == {Decimal(1955)}


def test_statement_names_its_document_once() -> None:
    assert statement(TOWN, "It lies in Oregon.") == "Elmo (town): It lies in Oregon."
    assert statement(TOWN, "ELMO is a town.") == "ELMO is a town."
    assert statement(Passage("s/x", "", "A."), "A.") == "A."


NUMBERS = st.one_of(st.integers(32, 3000).map(str), st.sampled_from(["1,234", "12%", "Oregon", "3 May 1955", "3.5"]))


@given(
    facts=st.lists(st.tuples(st.sampled_from(["Elmo", "Oregon", "Utah"]), NUMBERS), min_size=1, max_size=4),
    answerable=st.booleans(),
    hidden=st.booleans(),
    flags=st.lists(st.sampled_from([True, False, None]), min_size=4, max_size=4),
    order=st.integers(0, 2**64 - 1),
)
def test_every_row_keeps_the_promises_of_its_role(
    facts: list[tuple[str, str]], answerable: bool, hidden: bool, flags: list[bool | None], order: int
) -> None:
    plan = tuple(f"What is the size {n} of {name}? >>>> {value}" for n, (name, value) in enumerate(facts, 100))
    passages = tuple(
        Passage(f"s/{n}", f"Page {'abcd'[n]}", f"Here. The size of {name} is {value}.")
        for n, (name, value) in enumerate(facts)
    )
    given = case(
        question="What is the size of the last?", answers=(facts[-1][1],), answerable=answerable, plan=plan,
        passages=passages, flags=tuple(flags[: len(facts)]), order=order,
    )  # fmt: skip
    texts = [f"{p.title}\n{p.text}" for p in passages]
    asked = proposer(given)
    if isinstance(asked, SftRow):
        pairs = proposer_role.parse(asked.target, "strict", 99).pairs
        assert [(p.question, p.answer) for p in pairs] == [(p.question, p.answer) for p in asked.pairs]
        stated = {number.value for number in find_numbers(asked.response)}
        assert {parse_number(p.answer) for p in pairs} <= stated
        assert numbers_in(asked.response) <= {parse_number(p.answer) for p in pairs}
        assert blind(pairs).leaks == 0
    made = checker(given, ALWAYS if hidden else NEVER)
    if isinstance(made, SftRow):
        check = checker_role.parse(made.target, len(made.pairs), "strict")
        assert check.answers == tuple(p.answer or checker_role.CANNOT_ANSWER for p in made.pairs)
        shown = [f"{p.title}\n{p.text}" for p in made.documents]
        for pair in made.pairs:
            value = parse_number(pair.answer)
            if value is None:
                assert not any(f" {n} " in f" {text} " for text in shown for n in [pair.answer] if n)
                assert pair.evidence == ""
            else:
                assert any(pair.evidence.rpartition(": ")[2] in text for text in shown)
                assert value in {number.value for number in find_numbers(pair.evidence)}
    solved = solver(given)
    if isinstance(solved, SftRow):
        assert unsupported(solved.target, texts) == []
