"""The fact table: complete, functional, without ties, and possible in time."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from faithline.world.facts import Cluster, Entity, Fact
from faithline.world.library import Library
from faithline.world.schema import Kind
from faithline.world.vocabulary import ATTRIBUTES_OF
from faithline.world.world import Stream, World

OPTIONAL = {"died", "residence", "father", "mother", "spouse"}
DEEDS = {  # relation to whoever did it -> when it was done
    "founder": "established",
    "first_climber": "first_climbed",
    "river_mapper": "river_mapped",
    "bridge_designer": "bridge_opened",
    "maker": "completed",
}


@pytest.fixture(scope="module")
def clusters(libraries: list[Library]) -> list[Cluster]:
    return [library.cluster for library in libraries]


def test_every_entity_has_each_attribute_of_its_type(clusters: list[Cluster]) -> None:
    for cluster in clusters:
        for entity in cluster.entities:
            have = {name for key, name in cluster.facts if key == entity.key}
            expected = {attribute.name for attribute in ATTRIBUTES_OF[entity.type]}
            assert have <= expected
            assert expected - have <= OPTIONAL, entity


def test_values_have_the_declared_type(clusters: list[Cluster]) -> None:
    python_types = {Kind.NUMBER: int, Kind.YEAR: int, Kind.DATE: date, Kind.WORD: str, Kind.NAME: Entity}
    for cluster in clusters:
        for fact in [*cluster.facts.values(), *cluster.past.values()]:
            assert type(fact.value) is python_types[fact.kind], fact
            if isinstance(fact.value, Entity):
                assert fact.value.type == fact.attribute.target
                assert fact.value.key != fact.subject.key
            if fact.kind is Kind.WORD:
                assert fact.value in fact.attribute.words


def test_relations_stay_inside_the_cluster(clusters: list[Cluster]) -> None:
    for cluster in clusters:
        by_key = {entity.key: entity for entity in cluster.entities}
        assert all(f.value == by_key[f.value.key] for f in cluster.facts.values() if isinstance(f.value, Entity))


def test_numbers_of_an_attribute_never_tie(clusters: list[Cluster]) -> None:
    for cluster in clusters:
        values = Counter((f.attribute.name, f.value) for f in cluster.facts.values() if f.kind is Kind.NUMBER)
        assert max(values.values()) == 1


def test_names_are_unique_in_the_world(clusters: list[Cluster]) -> None:
    names = [entity.name for cluster in clusters for entity in cluster.entities]
    former = [
        f.value.name for c in clusters for f in c.past.values() if isinstance(f.value, Entity) and f.value.key >= 1000
    ]
    assert len(set(names)) == len(names)
    assert len(set(former)) == len(former)
    assert not set(names) & set(former)


def test_older_values_differ_and_are_older(clusters: list[Cluster]) -> None:
    for cluster in clusters:
        assert {k for k, f in cluster.facts.items() if f.attribute.varies} == set(cluster.past)
        for key, past in cluster.past.items():
            now = cluster.facts[key]
            assert past.value != now.value
            assert not past.current
            assert past.year <= now.year if now.kind is Kind.NAME else past.year < now.year


def test_deeds_fall_into_adult_life(clusters: list[Cluster]) -> None:
    def value(cluster: Cluster, entity: Entity, name: str) -> Fact:
        return cluster.facts[entity.key, name]

    seen = 0
    for cluster in clusters:
        for (key, name), fact in cluster.facts.items():
            if name not in DEEDS or not isinstance(fact.value, Entity):
                continue
            year = cluster.facts[key, DEEDS[name]].value
            born = value(cluster, fact.value, "born").value
            assert isinstance(year, int)
            assert isinstance(born, date)
            assert born.year + 18 <= year <= 2023
            if (fact.value.key, "died") in cluster.facts:
                died = value(cluster, fact.value, "died").value
                assert isinstance(died, date)
                assert year < died.year
            seen += 1
    assert seen > 100


def test_families_are_possible(clusters: list[Cluster]) -> None:
    for cluster in clusters:
        for (key, name), fact in cluster.facts.items():
            if name not in ("father", "mother") or not isinstance(fact.value, Entity):
                continue
            child, parent = cluster.facts[key, "born"].value, cluster.facts[fact.value.key, "born"].value
            assert isinstance(child, date)
            assert isinstance(parent, date)
            assert 15 <= child.year - parent.year <= 60
            assert fact.value.pronoun == ("he" if name == "father" else "she")
            died = cluster.facts.get((fact.value.key, "died"))
            assert died is None or (isinstance(died.value, date) and died.value > child)


def test_offices_are_held_by_the_living_one_each(clusters: list[Cluster]) -> None:
    for cluster in clusters:
        offices = ("mayor", "chief", "director", "captain")
        holders = [
            f.value.key for f in cluster.facts.values() if f.attribute.name in offices and isinstance(f.value, Entity)
        ]
        assert len(set(holders)) == len(holders)
        assert all((key, "died") not in cluster.facts for key in holders)


def test_marriage_is_stated_of_one_spouse(clusters: list[Cluster]) -> None:
    for cluster in clusters:
        couples = [
            (k, f.value.key)
            for (k, name), f in cluster.facts.items()
            if name == "spouse" and isinstance(f.value, Entity)
        ]
        assert not {(b, a) for a, b in couples} & set(couples)


def test_clusters_are_functions_of_seed_and_number(world: World) -> None:
    again = World(world.seed, world.settings)
    one, two = world.library(Stream.SPARE, 5).cluster, again.library(Stream.SPARE, 5).cluster
    assert one == two
    other = World(world.seed + 1, world.settings).library(Stream.SPARE, 5).cluster
    assert {entity.name for entity in one.entities} != {entity.name for entity in other.entities}
