"""Questions that weigh two facts: which is more, yes or no, the difference, the sum, the years between.

The two facts belong to two subjects of one type. In a bridge comparison the subjects are not named but described by a
relation ("the builder of the MS Orl"), so each side takes two facts. Yes and no are equally likely, and so are both
orders of mention.
"""

from __future__ import annotations

from collections.abc import Sequence

from faithline.world.draws import Draws
from faithline.world.facts import Entity
from faithline.world.library import Chain, Library
from faithline.world.prose import capitalised
from faithline.world.queries import Extreme, Gap, IsMore, IsSame, Path, Query, Total, evaluate
from faithline.world.questions import Question, QuestionKind, Step, noun_phrase, plan_chain
from faithline.world.schema import Contrast, Kind
from faithline.world.values import number_aliases
from faithline.world.vocabulary import TYPES

__all__ = ["ask_bridge_comparison", "ask_comparison", "ask_gap", "ask_interval"]

_WHICH_THING = (
    "Which {noun} {phrase}, {a} or {b}?",
    "Which of the two {plural} {phrase}: {a} or {b}?",
    "Of {a} and {b}, which {noun} {phrase}?",
)
_WHICH_PERSON = (
    "Who {phrase}, {a} or {b}?",
    "Which of the two people {phrase}: {a} or {b}?",
    "Of {a} and {b}, who {phrase}?",
)
_TRIES = 12


def ask_comparison(library: Library, draws: Draws) -> Question | None:
    """Which of two named subjects has more, or a yes/no question about the two."""
    if draws.chance(0.4):
        return _ask_same(library, draws, QuestionKind.COMPARISON, hops=1)
    pair = _pair(library, draws, hops=1, ordered=True)
    return _ask_more(library, draws, QuestionKind.COMPARISON, pair) if pair else None


def ask_bridge_comparison(library: Library, draws: Draws) -> Question | None:
    """The same about two subjects that are described by a relation."""
    if draws.chance(0.4):
        return _ask_same(library, draws, QuestionKind.BRIDGE_COMPARISON, hops=2)
    pair = _pair(library, draws, hops=2, ordered=True)
    return _ask_more(library, draws, QuestionKind.BRIDGE_COMPARISON, pair) if pair else None


def ask_gap(library: Library, draws: Draws) -> Question | None:
    """The difference or the sum of two numbers."""
    pair = _pair(library, draws, hops=1, ordered=True, kind=Kind.NUMBER)
    if pair is None:
        return None
    left, right = sorted(pair, key=lambda chain: -chain[-1].number)
    contrast = _contrast(left)
    if contrast.total and draws.chance(0.35):
        left, right = draws.shuffled((left, right))
        query: Query = Total(_path(left), _path(right))
        return _ask(
            library,
            draws,
            QuestionKind.NUMERIC,
            (left, right),
            wording=contrast.total,
            query=query,
            last_step="What is #1 plus #2?",
        )
    if not contrast.gap:
        return None
    query = Gap(_path(left), _path(right))
    return _ask(
        library,
        draws,
        QuestionKind.NUMERIC,
        (left, right),
        wording=contrast.gap,
        query=query,
        last_step="What is #1 minus #2?",
    )


def ask_interval(library: Library, draws: Draws) -> Question | None:
    """The years between two events of the same sort."""
    pair = _pair(library, draws, hops=1, ordered=True, kind=Kind.YEAR)
    if pair is None or not _contrast(pair[0]).gap:
        return None
    query = Gap(_path(pair[0]), _path(pair[1]))
    last = "How many years lie between #1 and #2?"
    wording = _contrast(pair[0]).gap
    return _ask(library, draws, QuestionKind.TEMPORAL, pair, wording=wording, query=query, last_step=last)


def _ask_more(library: Library, draws: Draws, kind: QuestionKind, pair: tuple[Chain, Chain]) -> Question:
    contrast = _contrast(pair[0])
    more = draws.chance(0.5)
    size, other = ("later", "earlier") if pair[0][-1].attribute.is_event else ("larger", "smaller")
    if draws.chance(0.35):
        query: Query = IsMore(_path(pair[0]), _path(pair[1]))
        last = f"Is #1 {size} than #2?"
        return _ask(library, draws, kind, pair, wording=contrast.check, query=query, last_step=last)
    subject = pair[0][-1].subject
    wordings = _WHICH_THING if subject.pronoun == "it" else _WHICH_PERSON
    variant = draws.below(len(wordings))
    noun = TYPES[subject.type]
    wording = wordings[variant].format(
        noun=noun.noun, plural=noun.plural, phrase=contrast.more if more else contrast.less, a="{a}", b="{b}"
    )
    query = Extreme(_path(pair[0]), _path(pair[1]), more)
    last = f"Which is {size if more else other}, #1 or #2?"
    name = f"{'more' if more else 'less'}{variant}"
    return _ask(library, draws, kind, pair, wording=wording, query=query, last_step=last, variant=name)


def _ask_same(library: Library, draws: Draws, kind: QuestionKind, hops: int) -> Question | None:
    """A yes/no question whether two subjects share a value; yes as often as no."""
    wanted = draws.chance(0.5)
    for _ in range(_TRIES):
        pair = _pair(library, draws, hops=hops, ordered=False)
        if pair and (pair[0][-1].value == pair[1][-1].value) == wanted:
            query = IsSame(_path(pair[0]), _path(pair[1]))
            wording = pair[0][-1].attribute.same
            last = "Are #1 and #2 the same?"
            return _ask(library, draws, kind, pair, wording=wording, query=query, last_step=last, variant="same")
    return None


def _ask(
    library: Library,
    draws: Draws,
    kind: QuestionKind,
    pair: tuple[Chain, Chain],
    *,
    wording: str,
    query: Query,
    last_step: str,
    variant: str = "",
) -> Question:
    (a, first), (b, second) = (_described(chain, draws) for chain in pair)
    text = capitalised(wording.format(a=a, b=b))
    answer = evaluate(query, library.cluster)
    attributes = "-".join(fact.attribute.name for fact in pair[0])
    other = "-".join(fact.attribute.name for fact in pair[1][:-1])
    left = plan_chain(pair[0])
    right = plan_chain(pair[1], first=len(left) + 1)
    middle = last_step.replace("#2", f"#{len(left) + len(right)}").replace("#1", f"#{len(left)}")
    names = "-".join(filter(None, (attributes, other)))
    return Question(
        kind=kind,
        text=text,
        query=query,
        answer=answer,
        aliases=_aliases(query, answer, pair),
        needs=(*pair[0], *pair[1]),
        plan=(*left, *right, Step(middle, answer, None)),
        template=f"{kind.value}.{names}.{variant or type(query).__name__.lower()}{first}{second}",
    )


def _described(chain: Chain, draws: Draws) -> tuple[str, str]:
    """How the last fact's subject is referred to."""
    return noun_phrase(chain[:-1], draws) if len(chain) > 1 else (chain[0].subject.mention, "")


def _aliases(query: Query, answer: str, pair: tuple[Chain, Chain]) -> list[str]:
    if isinstance(query, Extreme):
        chosen = next(chain[-1].subject for chain in pair if chain[-1].subject.name == answer)
        return [chosen.mention] if chosen.article else []
    if isinstance(query, (Gap, Total)):
        unit = "years" if pair[0][-1].attribute.is_event else pair[0][-1].attribute.unit
        return number_aliases(int(answer.replace(",", "")), unit)
    return []


def _pair(
    library: Library, draws: Draws, *, hops: int, ordered: bool, kind: Kind | None = None
) -> tuple[Chain, Chain] | None:
    """Two chains with different last subjects whose last facts can be compared, or None if luck runs out."""
    for _ in range(_TRIES):
        chain = draws.choice(library.chains(hops))
        attribute = chain[-1].attribute
        fits = bool(attribute.contrast) if ordered else bool(attribute.same)
        if not fits or (kind and attribute.kind is not kind):
            continue
        others = _partners(library, chain, hops)
        if ordered:
            others = [other for other in others if other[-1].value != chain[-1].value]
        if others:
            return chain, draws.choice(others)
    return None


def _partners(library: Library, chain: Chain, hops: int) -> Sequence[Chain]:
    """Chains with the same last attribute that share no subject; for two hops also the same relation."""
    if hops == 1:
        facts = library.by_attribute[chain[0].attribute.name]
        return [(fact,) for fact in facts if fact.subject.key != chain[0].subject.key]
    used = {fact.subject.key for fact in chain}
    return [
        (relation, fact)
        for relation in library.by_attribute[chain[0].attribute.name]
        if isinstance(relation.value, Entity) and relation.subject.key not in used and relation.value.key not in used
        for fact in (library.stated.get((relation.value.key, chain[1].attribute.name)),)
        if fact is not None and fact.subject.key not in used
    ]


def _contrast(chain: Chain) -> Contrast:
    contrast = chain[-1].attribute.contrast
    if contrast is None:
        raise TypeError(f"the attribute {chain[-1].attribute.name} has no order")
    return contrast


def _path(chain: Chain) -> Path:
    return Path(chain[0].subject, tuple(fact.attribute.name for fact in chain))
