"""Writing a response sentence by sentence, with faults put in on purpose and labelled.

Each sentence restates something the source holds. With the given rate it gets one fault: a conflict replaces the value,
baseless information adds a sentence or a shade of meaning. The label covers exactly the faulty words, and nothing else
in a response is unsupported, so the labels are complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from faithline.world.alterations import altered_value
from faithline.world.businesses import Business, Trait
from faithline.world.claims import false_value
from faithline.world.draws import Draws
from faithline.world.facts import Fact, Value
from faithline.world.library import Library
from faithline.world.passages import Passage
from faithline.world.prose import capitalised, named, say
from faithline.world.schema import Kind
from faithline.world.spans import Draft, LabelType
from faithline.world.values import in_prose

__all__ = ["Faults", "write_about_business", "write_from_passages"]

_GAP = "\x00"
"""Stands for the value while a sentence is split around it."""
_OPENERS = {
    "QA": ("", "Based on the given passages, here is the answer. ", "According to the passages: "),
    "Summary": ("", "In short: ", "The text can be summarised as follows. "),
}
_BUSINESS_OPENERS = ("", "Here is an overview of the business. ")
_SHADES = (
    "which experts consider a remarkable case",
    "to the surprise of most visitors",
    "much to the pride of the people there",
    "probably for good reasons",
    "as is widely known abroad",
)
_INVENTED = (
    "It won a regional prize last year.",
    "The owners plan to open a second branch.",
    "There is live music on most evenings.",
    "Children under six eat free of charge.",
)
_ORDERED = (Kind.NUMBER, Kind.YEAR, Kind.DATE)
_OFF_BY_LITTLE = ("business_stars", "hours")
"""Record fields of which a wrong value is near the right one."""


class Faults(NamedTuple):
    """How a model errs."""

    rate: float
    """Share of sentences with a fault."""
    subtle: float
    """Share of faults that are subtle."""
    baseless: float
    """Share of faults that add something rather than contradict."""

    def draw(self, draws: Draws) -> LabelType | None:
        """The next sentence's fault, if any."""
        if not draws.chance(self.rate):
            return None
        subtle, baseless = draws.chance(self.subtle), draws.chance(self.baseless)
        if baseless:
            return LabelType.SUBTLE_BASELESS if subtle else LabelType.EVIDENT_BASELESS
        return LabelType.SUBTLE_CONFLICT if subtle else LabelType.EVIDENT_CONFLICT


def write_from_passages(
    draft: Draft,
    task: str,
    needs: Sequence[Fact],
    *,
    passages: Sequence[Passage],
    library: Library,
    faults: Faults,
    draws: Draws,
) -> None:
    """Restate the needed facts and a few others that the passages state."""
    draft.add(draws.choice(_OPENERS[task]))
    others = [fact for passage in passages for fact in passage.facts if all(fact.key != n.key for n in needs)]
    extra = draws.sample(others, draws.between(1, 2) if task == "QA" else 4)
    unsaid = [fact for fact in library.unstated if any(p.subject.key == fact.subject.key for p in passages)]
    unsaid = draws.shuffled(unsaid)
    for place, fact in enumerate([*needs, *extra]):
        draft.add(" " if place else "")
        fault = faults.draw(draws)
        if fault is LabelType.EVIDENT_BASELESS and unsaid:
            _sentence(draft, fact, draws)
            draft.add(" ")
            _baseless_sentence(draft, unsaid.pop(), library, draws)
        elif fault in (LabelType.EVIDENT_BASELESS, LabelType.SUBTLE_BASELESS):
            _sentence(draft, fact, draws, shade=draws.choice(_SHADES))
        elif fault is None:
            _sentence(draft, fact, draws)
        else:
            subtle = fault is LabelType.SUBTLE_CONFLICT and fact.kind in _ORDERED
            value = _wrong(fact, library, draws, subtle=subtle)
            kind = LabelType.SUBTLE_CONFLICT if subtle else LabelType.EVIDENT_CONFLICT
            _sentence(draft, fact, draws, wrong=(value, kind))


def write_about_business(draft: Draft, business: Business, faults: Faults, draws: Draws) -> None:
    """Describe a business: its place first, then some of its other traits."""
    opener = draws.choice(_BUSINESS_OPENERS)
    draft.add(opener)
    traits = [business.traits[0], *draws.sample(business.traits[1:], 6)]
    invented = draws.shuffled(_INVENTED)
    for trait in traits:
        fault = faults.draw(draws)
        if trait.unknown and fault is None:
            continue
        draft.add("" if draft.text in ("", opener) else " ")
        _trait_sentence(draft, trait, fault, draws, invented)


def _trait_sentence(draft: Draft, trait: Trait, fault: LabelType | None, draws: Draws, invented: list[str]) -> None:
    draft.add(trait.before)
    if trait.unknown:
        draft.add_wrong(trait.wrong, LabelType.EVIDENT_BASELESS, f"{trait.field}: null", due_to_null=True)
        draft.add(trait.after)
    elif fault in (LabelType.EVIDENT_CONFLICT, LabelType.SUBTLE_CONFLICT):
        near = trait.field.split(".")[0] in _OFF_BY_LITTLE and fault is LabelType.SUBTLE_CONFLICT
        kind = LabelType.SUBTLE_CONFLICT if near else LabelType.EVIDENT_CONFLICT
        draft.add_wrong(trait.wrong, kind, f"{trait.field}: {trait.right}")
        draft.add(trait.after)
    else:
        draft.add(trait.right)
        if fault is LabelType.SUBTLE_BASELESS:
            draft.add(trait.after.removesuffix(".") + ", ")
            draft.add_wrong(draws.choice(_SHADES), fault, "not in the record")
            draft.add(".")
        else:
            draft.add(trait.after)
        if fault is LabelType.EVIDENT_BASELESS:
            draft.add(" ")
            draft.add_wrong(invented.pop(), fault, "not in the record")


def _sentence(
    draft: Draft, fact: Fact, draws: Draws, *, wrong: tuple[Value, LabelType] | None = None, shade: str = ""
) -> None:
    """Append a sentence about a fact, its value replaced or a shade of meaning added on request."""
    template = draws.choice((*fact.attribute.says, *(claim for claim, _ in fact.attribute.claims)))
    before, after = capitalised(say(template, fact, named(fact.subject), _gap)).split(_GAP)
    right = in_prose(fact.value, fact.kind)
    value = in_prose(wrong[0], fact.kind) if wrong else right
    value = value if before else capitalised(value)
    draft.add(before)
    if wrong:
        draft.add_wrong(value, wrong[1], right)
    else:
        draft.add(value)
    draft.add(after)
    if shade:
        draft.add(", ")
        draft.add_wrong(shade, LabelType.SUBTLE_BASELESS, "not in the source")
    draft.add(".")


def _baseless_sentence(draft: Draft, fact: Fact, library: Library, draws: Draws) -> None:
    """Append a sentence about something the source leaves open: what the world knows, or a wrong guess."""
    true = draws.chance(0.5)
    value = fact.value if true else altered_value(fact, library.cluster, draws)
    claim = draws.choice(fact.attribute.claims)[0]
    text = say(claim, fact, named(fact.subject), lambda _, kind: in_prose(value, kind))
    draft.add_wrong(capitalised(text) + ".", LabelType.EVIDENT_BASELESS, "not in the source", implicit_true=true)


def _wrong(fact: Fact, library: Library, draws: Draws, *, subtle: bool) -> Value:
    """A value near the right one, or another subject's."""
    if subtle:
        return false_value(fact, library.cluster, draws, close=True)
    known = (fact.value, fact.subject, *(past.value for past in [library.cluster.past.get(fact.key)] if past))
    others = [
        other.value
        for other in library.cluster.facts.values()
        if other.attribute is fact.attribute and other.value not in known
    ]
    return draws.choice(others) if others else altered_value(fact, library.cluster, draws)


def _gap(_value: Value, _kind: Kind) -> str:
    return _GAP
