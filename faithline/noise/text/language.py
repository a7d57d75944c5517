"""Script and language by two cheap rules.

Script: a text counts as written in another script than Latin
when more than a given share of its characters are of that one. Language: connected English text holds at least every
fifth word from a short list of function words, lists and tables hold few, other languages nearly none; so a longer text
in Latin script below a given share is noted. The rule does not say which of these it is.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from faithline.noise.settings import Language
from faithline.noise.text.characters import SCRIPTS, Characters
from faithline.noise.text.faults import Fault, Faults, flag
from faithline.noise.text.tokens import Tokens, tokenise

__all__ = ["language_faults"]

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_FUNCTION_WORDS = "the of and in to a is was for on by with as at from that it an he his are were be or which"


def language_faults(tokens: Tokens, characters: Characters, lengths: Ints, rule: Language) -> tuple[Faults, Ints]:
    """Judge script and language.

    Args:
        tokens: The tokens of n texts.
        characters: Their characters beyond ASCII.
        lengths: Characters of each text, shape (n,).
        rule: Limits.

    Returns:
        faults: OTHER_SCRIPT or FEW_FUNCTION_WORDS, shape (n,).
        scripts: Index into `characters.SCRIPTS` of each text in another script, shape (number of them,).
    """
    script, number = _main_script(characters, len(lengths))
    other = (number > rule.max_other_script * lengths) & (number > 0)
    hits = np.concatenate([[0], np.cumsum(_table()[(tokens.hashes >> np.uint64(48)).view(np.int64)])])
    function_words = hits[tokens.first[1:]] - hits[tokens.first[:-1]]
    judged = (tokens.words >= rule.min_words) & ~other
    foreign = judged & (function_words < rule.min_function_words * tokens.counts)
    return flag(Fault.OTHER_SCRIPT, other) | flag(Fault.FEW_FUNCTION_WORDS, foreign), script[other]


def _main_script(characters: Characters, texts: int) -> tuple[Ints, Ints]:
    """Return the commonest script other than Latin of each text, and how many of its characters are of it."""
    known = np.flatnonzero(characters.scripts < len(SCRIPTS))
    rows, place = np.unique(characters.owners[known], return_inverse=True)
    counts = np.bincount(place * len(SCRIPTS) + characters.scripts[known], minlength=len(rows) * len(SCRIPTS))
    counts = counts.reshape(len(rows), len(SCRIPTS))
    script, number = np.zeros((2, texts), dtype=np.int64)
    if len(rows):
        script[rows], number[rows] = counts.argmax(axis=1), counts.max(axis=1)
    return script, number


@lru_cache(maxsize=1)
def _table() -> npt.NDArray[np.uint8]:
    """Which first 16 bits of a token's hash mean a function word; another token hits by chance once in 2,600."""
    table = np.zeros(1 << 16, dtype=np.uint8)
    table[(tokenise(pa.array([_FUNCTION_WORDS])).hashes >> np.uint64(48)).view(np.int64)] = 1
    return table
