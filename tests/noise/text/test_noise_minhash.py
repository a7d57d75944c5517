"""MinHash estimates against exact Jaccard similarity of shingle sets."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from faithline.noise.text.minhash import estimates, signatures
from faithline.noise.text.ngrams import Runs
from faithline.noise.text.tokens import tokenise

WORDS = [f"w{number}" for number in range(4000)]


def signed(texts: list[str], bins: int = 64) -> np.ndarray:
    return signatures(Runs.of(tokenise(pa.array(texts, pa.string()))), 3, bins)


def jaccard(left: str, right: str) -> float:
    sets = [{tuple(words[at : at + 3]) for at in range(len(words) - 2)} for words in (left.split(), right.split())]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def altered(rng: random.Random, words: list[str], changes: int) -> list[str]:
    words = list(words)
    for _ in range(changes):
        words[rng.randrange(len(words))] = rng.choice(WORDS)
    return words


@pytest.mark.parametrize(("length", "bins"), [(15, 64), (60, 64), (400, 64), (60, 256)])
def test_estimates_are_unbiased_with_the_stated_error(length: int, bins: int) -> None:
    rng = random.Random(length)
    lefts, rights = [], []
    for _ in range(600):
        words = rng.choices(WORDS, k=length)
        lefts.append(" ".join(words))
        rights.append(" ".join(altered(rng, words, rng.randrange(1 + length // 6))))
    exact = np.array([jaccard(left, right) for left, right in zip(lefts, rights, strict=True)])
    error = estimates(signed(lefts, bins), signed(rights, bins)) - exact
    stated = np.sqrt((exact * (1 - exact) / bins).mean())
    # Texts shorter than the number of bins borrow, which costs some precision.
    assert np.sqrt((error**2).mean()) < 1.25 * stated
    assert abs(error.mean()) < 4 * stated / np.sqrt(len(error))


def test_extremes() -> None:
    rng = random.Random(1)
    one, other = (" ".join(rng.choices(WORDS, k=200)) for _ in range(2))
    repeated = f"{one} {one}"
    assert estimates(signed([one]), signed([one.upper().replace(" ", ", ")]))[0] == 1
    assert estimates(signed([one]), signed([other]))[0] <= 0.05
    assert estimates(signed([one]), signed([repeated]))[0] >= 0.95  # a set: only two shingles are new


def test_very_long_texts_do_not_agree_by_chance() -> None:
    texts = [" ".join(f"{side}{number}" for number in range(60_000)) for side in "ab"]
    both = signed(texts)
    assert estimates(both[:1], both[1:])[0] <= 0.05


def test_short_texts_and_batches() -> None:
    texts = ["", "one", "one two", "one two three", "one  TWO", *(f"{n} words apart" for n in range(50))]
    together = signed(texts)
    for index, text in enumerate(texts):
        assert (together[index] == signed([text])[0]).all()
    assert (together[2] == together[4]).all()
    assert estimates(together[1:2], together[2:3])[0] <= 0.05
    assert signed([]).shape == (0, 64)
