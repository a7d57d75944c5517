"""The wording of the world: every entity type and attribute, by theme.

Two themes: `region` (towns, people, companies, ships, ...) and `medicine` (drugs, proteins, diseases, trials). They
share no entity type.
"""

from __future__ import annotations

from faithline.world.schema import Attribute, EntityType
from faithline.world.vocabulary import (
    bridges,
    clinic,
    companies,
    culture,
    institutes,
    landscape,
    medicine,
    people,
    ships,
    towns,
    works,
)

__all__ = ["ATTRIBUTES", "ATTRIBUTES_OF", "TYPES"]

_MODULES = (towns, landscape, bridges, people, companies, institutes, culture, works, ships, medicine)

TYPES: dict[str, EntityType] = {kind.name: kind for module in _MODULES for kind in module.TYPES}
"""Entity types by name."""

ATTRIBUTES: dict[str, Attribute] = {
    attribute.name: attribute
    for attribute in (*(a for module in _MODULES for a in module.ATTRIBUTES), *clinic.ATTRIBUTES)
}
"""Attributes by name; names are unique over all types."""

ATTRIBUTES_OF: dict[str, tuple[Attribute, ...]] = {
    name: tuple(a for a in ATTRIBUTES.values() if a.subject == name) for name in TYPES
}
"""Attributes of each entity type."""
