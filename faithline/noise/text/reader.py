"""Everything that is measured on the bytes of texts, a batch at a time; pure, so batches may be read in parallel."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.noise.settings import Noise
from faithline.noise.text.characters import beyond_ascii
from faithline.noise.text.faults import Fault, Faults, encoding_faults, ending_faults, flag
from faithline.noise.text.hashing import Words
from faithline.noise.text.language import language_faults
from faithline.noise.text.minhash import Signatures, signatures
from faithline.noise.text.ngrams import Runs, grams_of
from faithline.noise.text.personal import personal
from faithline.noise.text.tokens import tokenise

__all__ = ["TextFacts", "TextReader"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TextFacts:
    """Facts of n texts."""

    words: Ints
    """White-space words, exact, shape (n,)."""
    characters: Ints
    """Code points, exact, shape (n,)."""
    keys: Words
    """Hash of the normalised text, shape (n,)."""
    tokens: Ints
    """Tokens, shape (n,); 0 = nothing to compare."""
    faults: Faults
    """Bits of `Fault`, shape (n,)."""
    scripts: Ints
    """Index into SCRIPTS of every text with the fault OTHER_SCRIPT."""
    strings: Counter[Fault]
    """Strings that look personal, by kind."""
    signatures: Signatures | None
    """MinHash, shape (n, permutations); None if not asked for."""
    grams: Words
    """Hashes of token runs, shape (m,)."""
    gram_texts: Ints
    """Text of each of them, shape (m,)."""


@dataclass(frozen=True)
class TextReader:
    """Reads texts under given settings."""

    settings: Noise
    window: int
    """See `grams_of`."""
    with_signatures: bool

    def read(self, texts: pa.Array) -> TextFacts:
        """Measure texts without nulls, shape (n,)."""
        lengths = np.asarray(pc.utf8_length(texts), dtype=np.int64)
        long = lengths > self.settings.longest_text
        shown = texts if not long.any() else pc.utf8_slice_codeunits(texts, 0, self.settings.longest_text)
        tokens = tokenise(shown)
        words = tokens.words
        if long.any():
            words = words.copy()
            words[long] = [_words(text.as_py()) for text in texts.filter(pa.array(long))]
        runs = Runs.of(tokens)
        beyond = beyond_ascii(shown)
        faults = encoding_faults(shown, beyond) | flag(Fault.PARTLY_READ, long)
        faults |= ending_faults(shown, tokens, self.settings.truncated_min_words)
        language, scripts = language_faults(
            tokens, beyond, np.minimum(lengths, self.settings.longest_text), self.settings.language
        )
        personal_faults, strings = personal(shown)
        faults |= language | personal_faults
        near = self.settings.near_duplicates
        grams, gram_texts = grams_of(runs, self.settings.leakage.ngram_words, self.window)
        return TextFacts(
            words=words,
            characters=lengths,
            keys=runs.whole(),
            tokens=tokens.counts,
            faults=faults,
            scripts=scripts,
            strings=strings,
            signatures=signatures(runs, near.shingle_words, near.permutations) if self.with_signatures else None,
            grams=grams,
            gram_texts=gram_texts,
        )


def _words(text: str) -> int:
    """Count words one by one: `split` would hold all words of an absurdly long text at once."""
    return sum(1 for _ in re.finditer(r"\S+", text))
