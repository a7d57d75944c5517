"""Evaluation subsets: questions of split test and the corpora of their documents, as ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.compose_training import eligible
from components.compose_training.draws import Destination, Draws, Flags
from components.compose_training.params import Subset
from faithline.data.digest_index import DigestIndex
from faithline.noise.text.hashing import Words, hash_strings
from faithline.pipeline.errors import ConfigError
from faithline.training_sets.schema import CORPUS, SUBSETS

__all__ = ["EvaluationSubsets"]


class EvaluationSubsets:
    """Chooses the questions of all subsets while the questions table streams by twice."""

    def __init__(self, settings: Sequence[Subset]) -> None:
        """Take the settings.

        Raises:
            ConfigError: If two subsets share a name.
        """
        names = [subset.name for subset in settings]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(
                    f"two evaluation subsets are named {name}",
                    where="params.yaml: compose_training.evaluation",
                    next_step="give each a name of its own",
                )
        self._settings = settings
        self._destinations = {
            subset.name: Destination(subset.name, subset.sets, {"test": subset.questions}, eligible.all_rows)
            for subset in settings
        }
        drawn = [self._destinations[subset.name] for subset in settings if subset.select == "draw"]
        self._draws = Draws(drawn)
        self._taken: Counter[tuple[str, str]] = Counter()
        self._corpora: dict[tuple[str, str], DigestIndex] = {}

    def offer(self, set_name: str, rows: pa.RecordBatch, keys: Words) -> None:
        """Take note of questions of one set, all splits; first time round."""
        self._draws.offer(set_name, rows, keys)

    def tables(self, set_name: str, rows: pa.RecordBatch, keys: Words) -> list[tuple[pa.Table, pa.Table]]:
        """Return the rows of SUBSETS and CORPUS that these questions give, per subset; second time round."""
        found = []
        for subset in self._settings:
            chosen = self._chosen(subset, set_name, rows, keys)
            picked = rows.filter(pa.array(chosen))
            if picked.num_rows:
                found.append((self._questions(subset, set_name, picked), self._corpus(subset, set_name, picked)))
        return found

    def _chosen(self, subset: Subset, set_name: str, rows: pa.RecordBatch, keys: Words) -> Flags:
        none = np.zeros(rows.num_rows, dtype=np.bool_)
        if subset.select == "draw":
            return self._draws.drawn(self._destinations[subset.name], set_name, rows, keys).get("test", none)
        if subset.sets is not None and set_name not in subset.sets:
            return none
        test = np.asarray(pc.equal(rows.column("split"), "test"), dtype=np.bool_)
        before = self._taken[subset.name, set_name]
        return test if subset.questions is None else test & (before + np.cumsum(test) <= subset.questions)

    def _questions(self, subset: Subset, set_name: str, picked: pa.RecordBatch) -> pa.Table:
        first = self._taken[subset.name, set_name]
        self._taken[subset.name, set_name] += picked.num_rows
        return pa.table(
            {
                "subset": pa.array([subset.name] * picked.num_rows, pa.string()),
                "set": picked.column("set"),
                "position": pa.array(np.arange(first, first + picked.num_rows), pa.int32()),
                "question_id": picked.column("question_id"),
            },
            schema=SUBSETS,
        )

    def _corpus(self, subset: Subset, set_name: str, picked: pa.RecordBatch) -> pa.Table:
        ids = pc.list_flatten(picked.column("documents"))
        hashes = hash_strings(ids)
        known = self._corpora.setdefault((subset.name, set_name), DigestIndex())
        fresh, _ = known.add(hashes, hashes)
        new = ids.filter(pa.array(fresh))
        names = [pa.array([name] * len(new), pa.string()) for name in (subset.name, set_name)]
        return pa.table([*names, new], schema=CORPUS)
