"""Questions with their meaning, answer, needed facts and plan, and the factory for lookups along a path."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from faithline.world.draws import Draws
from faithline.world.facts import Fact
from faithline.world.library import Chain, Library
from faithline.world.prose import capitalised
from faithline.world.queries import Gap, IsMore, IsSame, Lookup, Path, Query, Total
from faithline.world.values import aliases, answer_text

__all__ = [
    "INFERRED",
    "Question",
    "QuestionKind",
    "Step",
    "ask_chain",
    "ask_inference",
    "ask_of_chain",
    "ask_past",
    "ask_single",
    "ask_unanswerable",
    "noun_phrase",
    "plan_chain",
]


class QuestionKind(StrEnum):
    """What it takes to answer."""

    SINGLE = "single"
    """One fact."""
    COMPOSITIONAL = "compositional"
    """Two or three facts, each about the value of the one before."""
    INFERENCE = "inference"
    """Two family relations that the question names as one: "grandfather"."""
    COMPARISON = "comparison"
    """The same attribute of two subjects: which is larger, earlier; yes or no."""
    BRIDGE_COMPARISON = "bridge_comparison"
    """As comparison, but the subjects are described by a relation."""
    NUMERIC = "numeric"
    """Difference or sum of two numbers."""
    TEMPORAL = "temporal"
    """An older value at a given year, or the years between two events."""


class Step(msgspec.Struct, frozen=True):
    """One sub-question; "#1" stands for the answer of step 1."""

    question: str
    answer: str
    fact: Fact | None
    """The fact that answers it; None for the last step of a derivation."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question about one cluster."""

    kind: QuestionKind
    text: str
    query: Query
    answer: str
    aliases: list[str]
    """Other accepted forms of the answer."""
    needs: tuple[Fact, ...]
    """Facts its derivation uses, in order."""
    plan: tuple[Step, ...]
    template: str
    """Names the wording and the attributes, not the subjects: what to hold out by."""
    answerable: bool = True
    """False if a needed fact is stated in no passage; `answer` is then what the world knows."""

    @property
    def derived(self) -> bool:
        """Whether the answer was computed rather than read, so that it need not occur in any passage."""
        return isinstance(self.query, (IsMore, IsSame, Gap, Total))


INFERRED = {
    ("father", "father"): "paternal grandfather",
    ("mother", "father"): "maternal grandfather",
    ("father", "mother"): "paternal grandmother",
    ("mother", "mother"): "maternal grandmother",
    ("spouse", "father"): "father-in-law",
    ("spouse", "mother"): "mother-in-law",
}
"""Family relations that two stated ones make."""
_INFERENCES = (
    "Who was the {role} of {s}?",
    "What was the name of the {role} of {s}?",
    "Which person was the {role} of {s}?",
)

_LONG = 3
"""Hops from which the subject is a long phrase."""


def ask_single(library: Library, draws: Draws) -> Question | None:
    """Ask for one stated fact."""
    return ask_of_chain(draws.choice(library.chains(1)), QuestionKind.SINGLE, draws)


def ask_chain(library: Library, draws: Draws, hops: int) -> Question | None:
    """Ask for the end of a chain of stated facts."""
    chains = library.chains(hops)
    return ask_of_chain(draws.choice(chains), QuestionKind.COMPOSITIONAL, draws) if chains else None


def ask_unanswerable(library: Library, draws: Draws, hops: int) -> Question | None:
    """Ask for the end of a chain whose last fact is stated nowhere."""
    chains = library.broken_chains(hops)
    kind = QuestionKind.SINGLE if hops == 1 else QuestionKind.COMPOSITIONAL
    return ask_of_chain(draws.choice(chains), kind, draws, answerable=False) if chains else None


def ask_inference(library: Library, draws: Draws) -> Question | None:
    """Ask for a relative whose relation is made of two stated ones."""
    options = [c for c in library.chains(2) if (c[0].attribute.name, c[1].attribute.name) in INFERRED]
    if not options:
        return None
    chain = draws.choice(options)
    attributes = (chain[0].attribute.name, chain[1].attribute.name)
    variant = draws.below(len(_INFERENCES))
    text = _INFERENCES[variant].format(role=INFERRED[attributes], s=chain[0].subject.mention)
    return Question(
        kind=QuestionKind.INFERENCE,
        text=text,
        query=Lookup(Path(chain[0].subject, attributes)),
        answer=answer_text(chain[-1].value, chain[-1].kind),
        aliases=aliases(chain[-1]),
        needs=chain,
        plan=plan_chain(chain),
        template=f"inference.{'-'.join(attributes)}.{variant}",
    )


def ask_past(library: Library, draws: Draws) -> Question | None:
    """Ask for the older value of an attribute that varies, naming its year."""
    facts = [fact for fact in library.stated.values() if fact.attribute.asks_past]
    if not facts:
        return None
    now = draws.choice(facts)
    fact = library.cluster.past[now.key]
    variant = draws.below(len(fact.attribute.asks_past))
    text = fact.attribute.asks_past[variant].format(s=fact.subject.mention, y=fact.year)
    return Question(
        kind=QuestionKind.TEMPORAL,
        text=capitalised(text),
        query=Lookup(Path(fact.subject, (fact.attribute.name,)), past=True),
        answer=answer_text(fact.value, fact.kind),
        aliases=aliases(fact),
        needs=(fact,),
        plan=(Step(capitalised(text), answer_text(fact.value, fact.kind), fact),),
        template=f"past.{fact.attribute.name}.{variant}",
    )


def noun_phrase(chain: Chain, draws: Draws) -> tuple[str, str]:
    """A noun phrase for the value at the end of a chain of relations, and the digits of the wordings drawn."""
    phrase = chain[0].subject.mention
    digits = ""
    for fact in chain:
        variant = draws.below(len(fact.attribute.noun))
        phrase = fact.attribute.noun[variant].format(s=phrase)
        digits += str(variant)
    return phrase, digits


def plan_chain(chain: Chain, first: int = 1) -> tuple[Step, ...]:
    """Sub-questions along a chain; the first step has number `first`."""
    steps = []
    for place, fact in enumerate(chain):
        subject = fact.subject.mention if place == 0 else f"#{first + place - 1}"
        question = capitalised(fact.attribute.asks[0].format(s=subject))
        steps.append(Step(question, answer_text(fact.value, fact.kind), fact))
    return tuple(steps)


def ask_of_chain(chain: Chain, kind: QuestionKind, draws: Draws, *, answerable: bool = True) -> Question:
    """Ask for the value at the end of a given chain."""
    subject, digits = noun_phrase(chain[:-1], draws) if len(chain) > 1 else (chain[0].subject.mention, "")
    last = chain[-1]
    variant = _variant(last.attribute.asks, len(chain), draws)
    attributes = tuple(fact.attribute.name for fact in chain)
    return Question(
        kind=kind,
        text=capitalised(last.attribute.asks[variant].format(s=subject)),
        query=Lookup(Path(chain[0].subject, attributes)),
        answer=answer_text(last.value, last.kind),
        aliases=aliases(last),
        needs=chain,
        plan=plan_chain(chain),
        template=f"{kind.value}.{'-'.join(attributes)}.{variant}{digits}",
        answerable=answerable,
    )


def _variant(asks: tuple[str, ...], hops: int, draws: Draws) -> int:
    """Draw a wording; for a long subject one that ends in it, as a verb left hanging behind it is hard to read."""
    fitting = [place for place, wording in enumerate(asks) if hops < _LONG or wording.endswith("{s}?")]
    return draws.choice(fitting)
