"""How an answer's text is normalised before it is compared.

`official` is the SQuAD and HotpotQA rule: lower case, `string.punctuation` deleted, the articles a, an, the deleted,
white space collapsed. It empties some answers ("A" becomes ""), glues numbers ("1.5" becomes "15") and keeps
typographic quotes. `strict` is the same rule with three corrections: a non-empty string never becomes empty, sign and
decimal point inside numbers stay, Unicode punctuation is deleted too (faults.md 36). Both are deterministic functions
of the text alone; scores under the two are reported side by side.
"""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache
from typing import Literal

__all__ = ["NORMALISATIONS", "Normalisation", "normalise", "official", "strict", "tokens"]

Normalisation = Literal["official", "strict"]
NORMALISATIONS: tuple[Normalisation, ...] = ("official", "strict")

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PLANES = 0x20000
"""Unicode has punctuation in its first two planes only; looking at all seventeen takes half a second."""
_DIGIT = re.compile(r"\d")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)

# Marks that belong to a number. A sign stands before a digit (a currency sign or decimal point may come between) and
# not after a letter or digit, so the hyphens of "covid-19" and "2001-2005" are punctuation; or in an exponent.
_NUMBER_MARK = re.compile(
    r"""  (?<![^\W_]) [+\-−] (?= [$€£¥]? \.? \d )
        | (?<= \d[eE] ) [+\-−] (?= \d )
        | (?<= \d ) \. (?= \d )
        | (?<! [^\W_] ) (?<! \. ) \. (?= \d )
    """,
    re.VERBOSE,
)


def official(text: str) -> str:
    """Normalise as the SQuAD 1.1 and HotpotQA evaluation scripts do.

    Source: `normalize_answer` of both scripts; FlashRAG, HippoRAG and MRQA use the same function.
    """
    return _without_articles(text.lower().translate(_ASCII_PUNCTUATION))


def strict(text: str) -> str:
    """Normalise as `official`, but never to an empty string, numbers intact, Unicode punctuation deleted.

    Where the official rule would leave nothing, its last step with something left counts: "The" stays "the", "?!"
    stays "?!". The minus sign U+2212 of a number becomes "-".
    """
    lowered = text.lower()
    kept = _without_punctuation(lowered)
    return _without_articles(kept) or _collapsed(kept) or _collapsed(lowered) or lowered


def normalise(text: str, normalisation: Normalisation) -> str:
    """Normalise by name."""
    return strict(text) if normalisation == "strict" else official(text)


def tokens(normalised: str) -> list[str]:
    """Split a normalised text at white space; a text of white space alone is one token."""
    return normalised.split() or ([normalised] if normalised else [])


def _without_articles(text: str) -> str:
    return _collapsed(_ARTICLES.sub(" ", text))


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _without_punctuation(text: str) -> str:
    table = _all_punctuation()
    if not _DIGIT.search(text):
        return text.translate(table)
    pieces, end = [], 0
    for mark in _NUMBER_MARK.finditer(text):
        pieces += [text[end : mark.start()].translate(table), mark[0].replace("−", "-")]
        end = mark.end()
    return "".join([*pieces, text[end:].translate(table)])


@cache
def _all_punctuation() -> dict[int, None]:
    """Deletion table of `string.punctuation` and every character of a Unicode category P*."""
    unicode = {code for code in range(_PLANES) if unicodedata.category(chr(code))[0] == "P"}
    return dict.fromkeys(unicode | {ord(char) for char in string.punctuation})
