"""Invented names that never repeat, however large the world grows.

Stem number n is a word of syllables found by a keyed bijection on the numbers of its block (the shortest words
first), so stems are unique over all clusters without any memory of what was used. Syllables were chosen so
that stems look like names but are none: tests hold them against the words of real data sets.
"""

from __future__ import annotations

from hashlib import blake2b

from faithline.world.schema import listed

__all__ = ["GIVEN_NAMES", "Stems"]

_HEADS = listed(
    "Brov, Chul, Dorv, Dwil, Falb, Fenk, Gask, Glim, Grev, Hurv, Ilv, Jask, Jorb, Kelv, Klem, Krul, Lund, Mabr, Mirv, "
    "Murk, Nalv, Nask, Orl, Ostr, Pelv, Plov, Prusk, Quil, Rasv, Relk, Sulv, Skarn, Slev, Smor, Stalv, Taln, Tesk, "
    "Thulv, Tolv, Trusk, Ulb, Ursk, Vask, Velk, Vorl, Vrin, Wesk, Wolv, Yalb, Yesk, Zalv, Zelk, Zorv, Bremk, Calv, "
    "Drusk, Elv, Fusk, Golv, Hesk, Ivr, Jelk, Kusk, Lisk"
)
_VOWELS = listed("a, e, i, o, u")
_MIDDLES = listed(
    "abo, ado, afe, aga, alu, ama, ani, aro, asa, ebu, eda, efo, egi, ela, emu, eno, eri, eto, ibe, idu, ifa, igo, "
    "ilo, ima, inu, ipe, iru, oba, odi, ofu, oge, oli, omu, ona, opi, oru, ube, udo, ufi, uga, ule, umo, una, upo, uri"
)
_TAILS = listed(
    "bask, bek, brin, dask, dulm, fask, fenn, frith, gask, gund, karth, kesh, klin, lusk, marv, mesk, moth, nask, "
    "nurv, penk, plin, rask, reth, rund, sarv, sket, sund, tarn, tesk, thal, trin, tulm, varn, vesk, vik, vund, wask, "
    "wend, zarn, zelm, zund"
)
_EXTRA = listed("lda, mbe, rki, ntu, sko, lva, rpe, nzi, mpo, rga, ltu, ndre, sti, lku, rmo, nka")
_MASK = (1 << 64) - 1

GIVEN_NAMES = tuple(
    head + tail
    for head in listed(
        "Abr, Bros, Chal, Dov, Elf, Firb, Gam, Huk, Istr, Jov, Kas, Lorb, Mav, Nesk, Olm, Pask, Quor, Rav, Serv, Tav, "
        "Ulf, Vosk, Wim, Yark, Zel"
    )
    for tail in listed(
        "abrin, adra, efur, egith, ekel, elith, imir, inosk, iqua, irin, oruk, osa, otha, ovir, owen, ubra, ulis, "
        "uthe, uva, uzin"
    )
)
"""Given names; persons of one cluster have different ones."""


class Stems:
    """Stem number → stem, a bijection keyed by the seed."""

    def __init__(self, seed: int) -> None:
        self._key = int.from_bytes(blake2b(f"stems {seed}".encode(), digest_size=8).digest(), "big")

    def __getitem__(self, number: int) -> str:
        tables = [_HEADS, _VOWELS, _TAILS]
        while number >= (size := _size(tables)):
            number -= size
            tables = (
                [_HEADS, _MIDDLES, *tables[2:-1], _TAILS] if tables[1] is _VOWELS else [*tables[:-1], _EXTRA, _TAILS]
            )
        digits = []
        for table in tables:
            number, digit = divmod(number, len(table))
            digits.append(digit)
        self._mix(digits, tables)
        return "".join(table[digit] for table, digit in zip(tables, digits, strict=True))

    def _mix(self, digits: list[int], tables: list[tuple[str, ...]]) -> None:
        """Shift each digit by a hash of the others, twice: each shift can be undone, so this is a bijection."""
        for step in range(2 * len(digits)):
            place = step % len(digits)
            others = self._key + step
            for other, digit in enumerate(digits):
                if other != place:
                    others = others * 509 + digit
            shift = ((others * 0x9E3779B97F4A7C15) & _MASK) >> 35
            digits[place] = (digits[place] + shift) % len(tables[place])


def _size(tables: list[tuple[str, ...]]) -> int:
    size = 1
    for table in tables:
        size *= len(table)
    return size
