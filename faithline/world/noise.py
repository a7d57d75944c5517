"""Passages that make a question harder: paraphrases, older values, withdrawn claims; and the choice of distractors."""

from __future__ import annotations

from faithline.world.alterations import altered_value
from faithline.world.draws import Draws
from faithline.world.facts import Fact
from faithline.world.genres import CONFLICTS, GENRES, OUTDATED
from faithline.world.library import Library
from faithline.world.passages import Passage, Role, Sentence
from faithline.world.prose import capitalised, named, opening, say, write_passage
from faithline.world.values import alternative, in_prose

__all__ = ["conflicting", "distractors", "near_duplicate", "outdated"]


def near_duplicate(passage: Passage, library: Library, draws: Draws) -> Passage:
    """The facts of a main passage in another genre, order, wording and number format."""
    genres = [genre for genre in GENRES if genre.name != passage.genre]
    facts = passage.facts
    region = library.cluster.region
    return write_passage(
        passage.subject, facts, draws.choice(genres), Role.NEAR_DUPLICATE, region=region, draws=draws, text=alternative
    )


def outdated(fact: Fact, library: Library, draws: Draws) -> Passage:
    """A passage that states the older value of a fact that varies, dated, and little else."""
    past = library.cluster.past[fact.key]
    genre = draws.choice(OUTDATED)
    region = library.cluster.region
    return write_passage(past.subject, (past,), genre, Role.OUTDATED, region=region, draws=draws)


def conflicting(fact: Fact, library: Library, draws: Draws) -> Passage:
    """A passage that quotes a wrong value and says that it is wrong, so that the answer stays unique."""
    frame = draws.choice(CONFLICTS)
    region = library.cluster.region
    subject = fact.subject
    claim = draws.choice(fact.attribute.claims)[0]
    wrong = Fact(subject=subject, attribute=fact.attribute, value=altered_value(fact, library.cluster, draws))
    sentences = (
        Sentence(opening(frame.lead, subject, region), ()),
        Sentence(capitalised(frame.quote.format(c=say(claim, wrong, named(subject), in_prose))), ()),
        Sentence(frame.closing, ()),
    )
    return Passage(
        title=opening(frame.title, subject, region),
        sentences=sentences,
        subject=subject,
        genre="conflict",
        role=Role.CONFLICTING,
    )


def distractors(
    needs: tuple[Fact, ...], library: Library, count: int, same_attribute: float, draws: Draws
) -> list[Passage]:
    """Main passages of other subjects, a share of which state a needed attribute."""
    taken = {fact.subject.key for fact in needs}
    hard_keys: dict[int, None] = {}
    for attribute in {fact.attribute.name: None for fact in needs}:
        for fact in library.by_attribute.get(attribute, ()):
            if fact.subject.key not in taken:
                hard_keys[fact.subject.key] = None
    hard = draws.shuffled(list(hard_keys))
    easy = [key for key in library.passages if key not in taken and key not in hard_keys]
    easy = draws.sample(easy, count)
    chosen = []
    for _ in range(count):
        pool = hard if (draws.chance(same_attribute) and hard) or not easy else easy
        if not pool:
            break
        chosen.append(library.passages[pool.pop()])
    return chosen
