"""Sentences of the documents that state a number, or what a question is about."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from decimal import Decimal

from components.compose_training.words import content_words, sentences
from faithline.agents.march.numbers import find_numbers
from faithline.agents.passage import Passage, one_line

__all__ = ["best_sentence", "evidence_of", "numbers_in", "statement", "states"]

_SPELT_TEXT = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""
_SPELT = _SPELT_TEXT.split()
_ORDINARY = 31
"""Numbers up to this stand in many sentences by chance (days, counts): they need a word in common with the question."""
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = re.compile(rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|\b{_MONTH} \d{{1,2}}\b")


def numbers_in(text: str) -> set[Decimal]:
    """Return the numbers that a response would be asked about; the day of a date goes with its year."""
    bare = _DAY.sub(lambda date: re.sub(r"\d", "", date[0]), text)
    return {number.value for number in find_numbers(bare)}


def states(passage: Passage, value: Decimal) -> bool:
    """Whether a passage states a number, in digits or (up to twenty) in letters."""
    text = f"{passage.title} {passage.text}"
    if any(abs(number.value) == abs(value) for number in find_numbers(text)):
        return True
    spelt = value == value.to_integral_value() and 0 <= value < len(_SPELT) and _SPELT[int(value)]
    return bool(spelt) and spelt in content_words(text)


def evidence_of(
    question: str, value: Decimal, passages: Sequence[Passage], flags: Sequence[bool | None]
) -> tuple[Passage, str] | None:
    """Return the sentence that states the answer to a question about a number, with its passage; or None.

    Args:
        question: The question.
        value: Its answer.
        passages: Where to look.
        flags: Per passage gold, distractor or unknown; distractors are not looked at.
    """
    words, found = content_words(question), []
    for passage, flag in zip(passages, flags, strict=True):
        if flag is False:
            continue
        title = content_words(passage.title)
        for sentence in sentences(passage.text):
            if any(number.value == value for number in find_numbers(sentence)):
                common = len(words & (content_words(sentence) | title))
                if common or (flag and abs(value) > _ORDINARY):
                    found.append((common, passage, sentence))
    if not found:
        return None
    _, passage, sentence = max(found, key=lambda item: item[0])
    return passage, sentence


def best_sentence(passage: Passage, answer: str, words: Set[str], *, numbers: bool = True) -> str | None:
    """Return the sentence with the answer and the most of some words, the first of equal ones; None if there is none.

    Args:
        passage: Where to look.
        answer: What is looked for first of all.
        words: As `content_words` returns them; those of the title do not count.
        numbers: Whether it may state numbers.
    """
    wanted, found = words - content_words(passage.title), one_line(answer).casefold()
    usable = [text for text in sentences(passage.text) if numbers or not find_numbers(text)]
    return max(usable, key=lambda text: (found in text.casefold(), len(content_words(text) & wanted)), default=None)


def statement(passage: Passage, sentence: str) -> str:
    """Make a sentence complete without its document: the title goes before it unless it is in it."""
    title = one_line(passage.title)
    subject = re.sub(r" \([^()]*\)$", "", title)
    return sentence if not title or subject.casefold() in sentence.casefold() else f"{title}: {sentence}"
