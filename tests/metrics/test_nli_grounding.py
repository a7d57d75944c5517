"""Faithfulness scores from entailment verdicts: a case by hand, and brute force on random ones."""

from __future__ import annotations

import numpy as np
import pytest

from faithline.metrics.grounding import ground

E, N, C = [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]


def test_by_hand() -> None:
    # response 0: claims 0, 1; response 1: claim 2 without evidence; response 2: no claim
    found = ground(
        response=np.array([0, 0, 1]),
        claim=np.array([0, 0, 0, 1, 1]),
        document=np.array([7, 7, 8, 7, 8]),
        probabilities=np.array([N, E, N, C, N]),
        responses=3,
    )
    # pairs (0,7): best sentence E; (0,8): N; (1,7): C, for it has as much entailment as nothing else; (1,8): N
    assert found.claims.tolist() == [2, 1, 0]
    assert found.unsupported.tolist() == [1, 1, 0]
    assert found.contradicted.tolist() == [1, 0, 0]
    assert (found.attributed.tolist(), found.pairs.tolist()) == ([1, 0, 0], [4, 0, 0])
    np.testing.assert_array_equal(found.hallucinated, [1, 1, np.nan])
    np.testing.assert_allclose(found.attribution_precision, [0.25, np.nan, np.nan])
    np.testing.assert_allclose(found.contradiction_rate, [0.5, 0, np.nan])
    np.testing.assert_allclose(found.support, [(0.8 + 0.1) / 2, 0, np.nan])


@pytest.mark.parametrize("seed", range(5))
def test_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    responses, claims, rows = 5, 9, 40
    response, claim = rng.integers(0, responses, claims), rng.integers(0, claims, rows)
    document, probabilities = rng.integers(0, 3, rows), rng.dirichlet([1, 1, 1], rows)
    found = ground(response, claim, document, probabilities, responses)
    for number in range(responses):
        own = [c for c in range(claims) if response[c] == number]
        judged = {c: [r for r in range(rows) if claim[r] == c] for c in own}
        bad = [c for c in own if not any(probabilities[r].argmax() == 0 for r in judged[c])]
        against = [c for c in own if any(probabilities[r].argmax() == 2 for r in judged[c])]
        pairs = {(c, document[r]) for c in own for r in judged[c]}
        best = {
            pair: max((r for r in judged[pair[0]] if document[r] == pair[1]), key=lambda r: probabilities[r, 0])
            for pair in pairs
        }
        held = [pair for pair in pairs if probabilities[best[pair]].argmax() == 0]
        assert (found.claims[number], found.unsupported[number], found.contradicted[number]) == (
            len(own),
            len(bad),
            len(against),
        )
        assert (found.pairs[number], found.attributed[number]) == (len(pairs), len(held))
        top = [max((probabilities[r, 0] for r in judged[c]), default=0.0) for c in own]
        assert found.support_sum[number] == pytest.approx(sum(top))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claim": np.array([3])}, "claim index"),
        ({"response": np.array([5])}, "response index"),
        ({"probabilities": np.array([[0.5, 0.5, 0.5]])}, "sum to 1"),
        ({"probabilities": np.array([[np.nan, 0.5, 0.5]])}, "not finite"),
        ({"document": np.array([0, 1])}, "disagree"),
    ],
)
def test_bad_arrays_are_refused(change: dict[str, np.ndarray], message: str) -> None:
    good = {
        "response": np.array([0]),
        "claim": np.array([0]),
        "document": np.array([0]),
        "probabilities": np.array([[1.0, 0.0, 0.0]]),
    }
    with pytest.raises(ValueError, match=message):
        ground(**(good | change), responses=1)
