"""Words and sentences of English text: what the weak labels and the choice of evidence go by."""

from __future__ import annotations

import re

from faithline.agents.passage import one_line

__all__ = ["content_words", "names", "sentences"]

_STOP_TEXT = """
    a about above after again against all also am an and any are as at be because been before being below
    between both but by can could did do does doing down during each few for from further had has have having
    he her here hers him his how i if in into is it its itself just many me more most much my no nor not now
    of off on once only or other our out over own same she should so some such than that the their them then
    there these they this those through to too under until up very was we were what when where which while who
    whom whose why will with would yes you your
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())

_WORD = re.compile(r"\w+")
_CAPITALISED = re.compile(r"[^\W\d_]*[A-ZÀ-ÖØ-Þ]\w*")
# No end of a sentence: an initial ("J. Smith"), an abbreviation, a full stop before a lower-case word.
_END = re.compile(
    r"""(?<! \b[A-Z]\. ) (?<! \b(?:St|Mr|Dr|Jr|Sr|Mt|No|vs|Co)\. ) (?<! \b(?:Mrs|Inc|Ltd)\. )
        (?: (?<= [.!?] ) | (?<= [.!?]["'”’)] ) ) \s+ (?= ["'“‘(]? [A-Z0-9À-ÖØ-Þ] ) | \s*\n\s*""",
    re.VERBOSE,
)


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text without case and stop words; a text of stop words alone has none."""
    return frozenset(_WORD.findall(text.casefold())) - _STOP_WORDS


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, each one line and not blank; a line break ends one as well."""
    return [sentence for piece in _END.split(text) if (sentence := one_line(piece))]


def names(question: str) -> frozenset[str]:
    """Return the capitalised words of a question, without case: the things it names.

    Question words and articles are stop words; the first word counts, though it may be capitalised for its place only.
    """
    return frozenset(word.casefold() for word in _CAPITALISED.findall(question)) - _STOP_WORDS
