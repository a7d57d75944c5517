from __future__ import annotations

import re
from pathlib import Path

from faithline.world.names import GIVEN_NAMES, Stems


def test_stems_never_repeat_within_or_across_blocks() -> None:
    stems = Stems(3)
    shortest = 64 * 5 * 41
    middle = 64 * 45 * 41
    numbers = [*range(shortest), *range(shortest, shortest + 4000), *range(shortest + middle, shortest + middle + 4000)]
    numbers += [10**9, 10**12, 10**12 + 1]
    assert len({stems[number] for number in numbers}) == len(numbers)


def test_seeds_name_differently() -> None:
    one, two = Stems(1), Stems(2)
    assert sum(one[number] == two[number] for number in range(500)) < 5


def test_stems_look_like_names() -> None:
    stems = Stems(9)
    assert all(re.fullmatch(r"[A-Z][a-z]{5,}", stems[number]) for number in (0, 5, 13_119, 13_120, 200_000, 10**7))


def test_given_names_differ() -> None:
    assert len(set(GIVEN_NAMES)) == len(GIVEN_NAMES) == 500


def test_names_are_no_words_of_real_text(real_data: Path) -> None:
    words: set[str] = set()
    for path in sorted(real_data.rglob("*")):
        if path.is_file():
            words |= set(re.findall(r"[A-Za-z]{4,}", path.read_text(encoding="utf-8").lower()))
    assert len(words) > 20_000
    stems = Stems(7)
    names = {stems[number].lower() for number in range(64 * 5 * 41)} | {name.lower() for name in GIVEN_NAMES}
    assert names & words == set()
