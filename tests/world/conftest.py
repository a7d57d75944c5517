"""Worlds that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faithline.world.library import Library
from faithline.world.settings import Noise, WorldSettings
from faithline.world.world import Stream, World

MakeWorld = Callable[..., World]


@pytest.fixture(scope="session")
def make_world() -> MakeWorld:
    """Factory of worlds: every noise share equal to `noise`, or mixed ones."""

    def make(seed: int = 11, *, documents: int = 6, per_cluster: int = 16, noise: float | None = None) -> World:
        shares = (0.2, 0.3, 0.2, 0.6) if noise is None else (noise,) * 4
        noises = Noise(near_duplicate=shares[0], outdated=shares[1], conflicting=shares[2], same_attribute=shares[3])
        settings = WorldSettings(documents_per_question=documents, questions_per_cluster=per_cluster, noise=noises)
        return World(seed, settings)

    return make


@pytest.fixture(scope="session")
def world(make_world: MakeWorld) -> World:
    return make_world()


@pytest.fixture(scope="session")
def libraries(world: World) -> list[Library]:
    """Twelve regions and four fields of medicine."""
    regions = [world.library(Stream.CLAIMS, index) for index in range(12)]
    return regions + [world.library(Stream.BIOASQ, index) for index in range(4)]
