"""Questions with true and false answers that differ in one fact and in nothing else.

True and false answers use the same wordings, and a wrong value is drawn from where right ones come from, so an answer
alone does not show whether it is true; the evidence does. Because the world is invented, a reader who is not given the
evidence cannot know: it is therefore put in front of the question unless the settings leave it out, which makes the
set a control on which every critic must be at chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from faithline.pipeline.errors import ConfigError
from faithline.world.claims import comparative_claim, false_value
from faithline.world.draws import Draws
from faithline.world.facts import Entity, Fact
from faithline.world.library import Chain, Library
from faithline.world.passages import Passage
from faithline.world.prose import Reference, capitalised, say
from faithline.world.questions import QuestionKind, ask_of_chain, noun_phrase
from faithline.world.settings import TruthfulSettings
from faithline.world.values import answer_text
from faithline.world.world import Stream, World

__all__ = ["TruthfulItem", "truthful_items"]

_TRIES = 200


class TruthfulItem(msgspec.Struct, frozen=True, kw_only=True):
    """A question with its true and false answers, form by form."""

    category: str
    adversarial: bool
    """Whether the false value stands elsewhere in the evidence, so that copying any value of the right sort fails."""
    question: str
    passages: tuple[Passage, ...]
    true_answers: list[str]
    false_answers: list[str]
    """The same forms as the true ones, in the same order."""
    best: int
    """Which form is the best answer."""
    template: str
    cluster: int
    place: int


def truthful_items(world: World, settings: TruthfulSettings) -> Iterator[TruthfulItem]:
    """The first `settings.questions` items; item i is the same however many there are."""
    makers = {"lookup": _lookup, "two_hops": _two_hops, "comparison": _comparison}
    shares: Mapping[str, float] = msgspec.structs.asdict(settings.shares)
    per_cluster = world.settings.questions_per_cluster
    for index, first in enumerate(range(0, settings.questions, per_cluster)):
        library = world.library(Stream.TRUTHFULQA, index)
        asked: set[str] = set()
        for place in range(min(per_cluster, settings.questions - first)):
            draws = Draws(world.seed, "item", Stream.TRUTHFULQA, index, place)
            for _ in range(_TRIES):
                item = makers[draws.weighted(shares)](library, draws)
                if item is not None and item.question not in asked:
                    break
            else:
                raise ConfigError(
                    f"a cluster has no more than {len(asked)} different questions of these kinds",
                    where="generate_sample.questions_per_cluster",
                    next_step="lower it, or allow more kinds of question",
                )
            asked.add(item.question)
            yield msgspec.structs.replace(item, cluster=index, place=place)


def _lookup(library: Library, draws: Draws) -> TruthfulItem:
    return _of_chain(draws.choice(library.chains(1)), library, draws)


def _two_hops(library: Library, draws: Draws) -> TruthfulItem:
    return _of_chain(draws.choice(library.chains(2)), library, draws)


def _of_chain(chain: Chain, library: Library, draws: Draws) -> TruthfulItem:
    kind = QuestionKind.SINGLE if len(chain) == 1 else QuestionKind.COMPOSITIONAL
    question = ask_of_chain(chain, kind, draws)
    fact = chain[-1]
    phrase = chain[0].subject.mention if len(chain) == 1 else noun_phrase(chain[:-1], draws)[0]
    rivals = _rivals(chain, library)
    rival = draws.choice(rivals) if rivals else None
    if rival and draws.chance(0.5):
        value = rival.value
    else:
        # A close value: one from another walk of life would show which is false (a captain born in 1901).
        value = false_value(fact, library.cluster, draws, close=len(chain) > 1)
    wrong = msgspec.structs.replace(fact, value=value)
    subjects = {f.subject.key: f.subject for f in chain} | ({rival.subject.key: rival.subject} if rival else {})
    passages = draws.shuffled([library.main(subject) for subject in subjects.values()])
    return TruthfulItem(
        category="Two hops" if len(chain) > 1 else fact.kind.value.capitalize() + "s",
        adversarial=any(stated.value == wrong.value for passage in passages for stated in passage.facts),
        question=question.text,
        passages=tuple(passages),
        true_answers=_forms(fact, phrase),
        false_answers=_forms(wrong, phrase),
        best=draws.below(len(fact.attribute.claims)),
        template=question.template,
        cluster=0,
        place=0,
    )


def _rivals(chain: Chain, library: Library) -> list[Fact]:
    """Facts at the end of other chains of the same attributes, with another value."""
    attributes = [fact.attribute for fact in chain]
    last = chain[-1]
    return [
        other[-1]
        for other in library.chains(len(chain))
        if other[-1].value not in (last.value, last.subject)
        and [fact.attribute for fact in other] == attributes
        and other[-1].subject.key != last.subject.key
    ]


def _comparison(library: Library, draws: Draws) -> TruthfulItem | None:
    fact = draws.choice(library.chains(1))[0]
    others = [other for other in library.by_attribute[fact.attribute.name] if other.value != fact.value]
    if fact.attribute.contrast is None or not others:
        return None
    other = draws.choice(others)
    more = draws.chance(0.5)
    claims = [comparative_claim(fact, other, more=more), comparative_claim(other, fact, more=more)]
    true, false = sorted(claims, key=lambda claim: not claim.truth)
    subjects = draws.shuffled((fact.subject, other.subject))
    phrase = fact.attribute.contrast.more if more else fact.attribute.contrast.less
    winner, loser = (fact, other) if claims[0].truth else (other, fact)
    return TruthfulItem(
        category="Comparisons",
        adversarial=True,
        question=f"Which of the two {phrase}: {subjects[0].mention} or {subjects[1].mention}?",
        passages=tuple(library.main(subject) for subject in draws.shuffled(subjects)),
        true_answers=[true.text.removesuffix("."), capitalised(winner.subject.mention)],
        false_answers=[false.text.removesuffix("."), capitalised(loser.subject.mention)],
        best=0,
        template=f"comparison.{true.template}",
        cluster=0,
        place=0,
    )


def _forms(fact: Fact, phrase: str) -> list[str]:
    """Every way of giving an answer: the claims about the subject as the question describes it, and the bare value."""
    reference = Reference(phrase, phrase + "'s", phrase)
    sentences = [capitalised(say(claim, fact, reference)) for claim, _ in fact.attribute.claims]
    value = fact.value.mention if isinstance(fact.value, Entity) else answer_text(fact.value, fact.kind)
    return [*sentences, capitalised(value)]
