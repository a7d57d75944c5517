"""What a run says of its rows: flat metrics, warnings about what is empty, and the refusal where that may not be."""

from __future__ import annotations

from collections.abc import Iterator

from components.compose_training.compose import Composed
from components.compose_training.params import ComposeTraining, Required
from faithline.pipeline.errors import DataInvalid
from faithline.training_sets.schema import DOMAINS, PARTS, ROLES, TRAINING_SPLITS

__all__ = ["empty_tables", "flat_metrics", "missing_sets", "require"]


def flat_metrics(composed: Composed, settings: ComposeTraining) -> dict[str, int]:
    """Return rows per table, split and set, and what was left out; 0 where a table is empty."""
    found = {f"{table}_{split}".replace(".", "_"): composed.of(table, split) for table, split in _tables(settings)}
    for (table, set_name, split), count in sorted(composed.rows.items()):
        found[f"{table}_{split}_{set_name}".replace(".", "_")] = count
    for (table, reason), count in sorted(composed.left_out.items()):
        if count:
            found[f"{table}_left_out_{reason}".replace(".", "_")] = count
    for set_name, count in sorted(composed.shared.items()):
        found[f"shared_with_test_{set_name}"] = count
    return found


def empty_tables(composed: Composed, settings: ComposeTraining) -> list[tuple[str, str]]:
    """Return the tables without rows, with their split, part or subset."""
    return [(table, split) for table, split in _tables(settings) if not composed.of(table, split)]


def missing_sets(composed: Composed, settings: ComposeTraining) -> list[tuple[str, str]]:
    """Return table and set where the settings name a set that gave the table no row at all."""
    named = {f"march.{domain}": getattr(settings.march, domain).sets for domain in DOMAINS}
    named["critic"] = settings.critic.sets
    found = {(table, set_name) for table, set_name, _ in composed.rows}
    return [(table, name) for table, sets in named.items() for name in sets if (table, name) not in found]


def require(composed: Composed, settings: ComposeTraining) -> None:
    """Refuse a run in which something required has no rows to learn from.

    Raises:
        DataInvalid: Naming the first such table.
    """
    for table in settings.required:
        for split in _learned(table, settings):
            if not composed.of(table, split):
                raise DataInvalid(
                    f"no {split} rows for {table}",
                    where="params.yaml: compose_training.required",
                    next_step=f"add a set that has them to prepare_data.sources and to the settings of {table}, or "
                    f"take {table} out of `required`",
                )


def _learned(table: Required, settings: ComposeTraining) -> list[str]:
    """Splits, parts or subsets in which a required table must have rows."""
    if table == "evaluation":
        return [subset.name for subset in settings.evaluation]
    return ["head_selection", "train"] if table == "critic" else ["train"]


def _tables(settings: ComposeTraining) -> Iterator[tuple[str, str]]:
    names = [*(f"march.{domain}" for domain in DOMAINS), *(f"sft.{role}" for role in ROLES)]
    yield from ((name, split) for name in names for split in TRAINING_SPLITS)
    yield from (("critic", part) for part in PARTS)
    yield from (("evaluation", subset.name) for subset in settings.evaluation)
