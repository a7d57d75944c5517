"""Calibration error by hand, on perfectly calibrated draws, and at the edges of the bins."""

from __future__ import annotations

import numpy as np
import pytest

from faithline.metrics.calibration import brier, expected_calibration_error, reliability


def test_by_hand() -> None:
    confidence, correct = np.array([0.9, 0.8, 0.3, 0.1]), np.array([1.0, 0.0, 0.0, 0.0])
    # two bins: {0.3, 0.1}: confidence 0.2, accuracy 0; {0.9, 0.8}: 0.85 and 0.5 -> (2 * 0.2 + 2 * 0.35) / 4
    assert expected_calibration_error(confidence, correct, 2) == pytest.approx(0.275)
    assert brier(confidence, correct) == pytest.approx((0.01 + 0.64 + 0.09 + 0.01) / 4)
    assert [(part.lo, part.hi, part.n) for part in reliability(confidence, correct, 4)] == [
        (0, 0.25, 1),
        (0.25, 0.5, 1),
        (0.75, 1, 2),
    ]


def test_edges_belong_to_the_lower_bin() -> None:
    parts = reliability(np.array([0.0, 0.5, 1.0]), np.ones(3), 2)
    assert [part.n for part in parts] == [2, 1]


def test_calibrated_draws_have_a_small_error() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.random(20_000)
    correct = (rng.random(20_000) < confidence).astype(float)
    assert expected_calibration_error(confidence, correct, 10) < 0.02
    assert expected_calibration_error(confidence, 1 - correct, 10) > 0.4


@pytest.mark.parametrize(
    ("confidence", "correct"),
    [([], []), ([0.5], [1.0, 0.0]), ([1.5], [1.0]), ([float("nan")], [1.0]), ([0.5], [0.5])],
)
def test_bad_values_are_refused(confidence: list[float], correct: list[float]) -> None:
    with pytest.raises(ValueError, match=r"shape|0\.\.1|neither"):
        expected_calibration_error(np.array(confidence), np.array(correct), 5)
