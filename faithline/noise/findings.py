"""Counting findings on texts of one set: how many texts have each fault, out of how many, and which were the first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from faithline.noise.text.characters import SCRIPTS
from faithline.noise.text.faults import Fault
from faithline.noise.text.personal import KINDS
from faithline.noise.text.reader import TextFacts

__all__ = ["Json", "TextFindings", "finding"]

Json = dict[str, object]


def finding(count: int, total: int, examples: Sequence[object] = ()) -> Json:
    """Return a count, its share of the total, and examples if there are any."""
    found: Json = {"count": count, "share": count / total if total else 0.0}
    return found | ({"examples": list(examples)} if examples else {})


class TextFindings:
    """Running counts of faults."""

    def __init__(self, examples: int) -> None:
        self.texts = 0
        self._limit = examples
        self._counts: Counter[Fault] = Counter()
        self._examples: defaultdict[Fault, list[str]] = defaultdict(list)
        self._strings: Counter[Fault] = Counter()
        self._scripts = np.zeros(len(SCRIPTS), dtype=np.int64)

    def add(self, facts: TextFacts, ids: pa.Array) -> None:
        """Count texts with these ids."""
        self.texts += len(ids)
        self._strings.update(facts.strings)
        self._scripts += np.bincount(facts.scripts, minlength=len(SCRIPTS))
        present = int(np.bitwise_or.reduce(facts.faults)) if len(ids) else 0
        for fault in Fault:
            if present >> fault & 1:
                rows = np.flatnonzero(facts.faults >> np.uint32(fault) & np.uint32(1))
                self._counts[fault] += len(rows)
                known = self._examples[fault]
                known.extend(ids.take(pa.array(rows[: self._limit - len(known)])).to_pylist())

    def found(self, fault: Fault) -> Json:
        """Return one fault's count, share and examples."""
        return finding(self._counts[fault], self.texts, self._examples.get(fault, ()))

    def report(self) -> Json:
        """Return encoding, language and personal strings."""
        scripts = {name: int(count) for name, count in zip(SCRIPTS, self._scripts, strict=True) if count}
        return {
            "encoding": {
                fault.name.lower(): self.found(fault)
                for fault in (Fault.REPLACEMENT, Fault.MOJIBAKE, Fault.CONTROL, Fault.INVISIBLE, Fault.NOT_NFC)
            },
            "language": {
                "few_function_words": self.found(Fault.FEW_FUNCTION_WORDS),
                "other_script": self.found(Fault.OTHER_SCRIPT) | {"scripts": scripts},
            },
            "personal": {kind.name.lower(): self.found(kind) | {"strings": self._strings[kind]} for kind in KINDS},
            "partly_read": self.found(Fault.PARTLY_READ),
        }
