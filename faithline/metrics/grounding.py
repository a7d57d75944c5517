"""Faithfulness scores from the verdicts of an entailment model: AHR, attribution precision, contradiction, support.

Pure functions of arrays: somebody else splits answers into claims and asks the model about (claim, evidence sentence)
pairs. The papers name these scores and define none; the definitions are ours. A claim is supported if some sentence of
the documents it may rest on entails it (entailment is the likeliest label). Attribution precision: share of the (claim,
document) pairs whose best sentence, the one of highest entailment probability, entails the claim. Contradiction rate:
share of the claims that some sentence contradicts (contradiction likeliest). Support: mean over claims of the highest
entailment probability. AHR: share of the responses with at least one unsupported claim. A response without a claim has
no score, and a claim without evidence is unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["CONTRADICTION", "ENTAILMENT", "NEUTRAL", "Grounding", "ground"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)
"""Columns of the probabilities, whatever order the model itself has."""


@dataclass(frozen=True)
class Grounding:
    """Counts and sums per response, shape (responses,) each."""

    claims: Ints
    unsupported: Ints
    """Claims that no sentence entails."""
    contradicted: Ints
    """Claims that some sentence contradicts."""
    pairs: Ints
    """(claim, document) pairs."""
    attributed: Ints
    """Pairs whose best sentence entails the claim."""
    support_sum: Floats
    """Sum over claims of the highest entailment probability."""

    @property
    def hallucinated(self) -> Floats:
        """1 where a claim is unsupported, else 0; NaN without claims. Its mean is the AHR."""
        return np.where(self.claims > 0, (self.unsupported > 0).astype(np.float64), np.nan)

    @property
    def attribution_precision(self) -> Floats:
        """Share of each response's pairs that hold; NaN without pairs."""
        return _share(self.attributed, self.pairs)

    @property
    def contradiction_rate(self) -> Floats:
        """Share of each response's claims that are contradicted; NaN without claims."""
        return _share(self.contradicted, self.claims)

    @property
    def support(self) -> Floats:
        """Mean highest entailment probability of each response's claims; NaN without claims."""
        return _share(self.support_sum, self.claims)


def ground(response: Ints, claim: Ints, document: Ints, probabilities: Floats, responses: int) -> Grounding:
    """Score responses from sentence-level verdicts.

    Args:
        response: Shape (claims,): which response each claim belongs to.
        claim: Shape (rows,): which claim each row judges.
        document: Shape (rows,): which document the row's sentence is from.
        probabilities: Shape (rows, 3): entailment, neutral, contradiction.
        responses: Number of responses.

    Raises:
        ValueError: If shapes disagree, an index is out of range, or a row is no probability distribution.
    """
    _check(response, claim, document, probabilities, responses)
    count = response.size
    label = probabilities.argmax(axis=1)
    entails = label == ENTAILMENT
    best = np.zeros(count)
    np.maximum.at(best, claim, probabilities[:, ENTAILMENT])
    supported = np.bincount(claim[entails], minlength=count) > 0
    contradicted = np.bincount(claim[label == CONTRADICTION], minlength=count) > 0
    first = _best_of_pairs(claim, document, probabilities[:, ENTAILMENT])

    def per_response(members: Ints, weights: Floats | None = None) -> npt.NDArray[np.float64]:
        return np.bincount(members, weights=weights, minlength=responses).astype(np.float64)

    def counted(members: Ints) -> Ints:
        return np.bincount(members, minlength=responses).astype(np.int64)

    return Grounding(
        claims=counted(response),
        unsupported=counted(response[~supported]),
        contradicted=counted(response[contradicted]),
        pairs=counted(response[claim[first]]),
        attributed=counted(response[claim[first[entails[first]]]]),
        support_sum=per_response(response, best),
    )


def _best_of_pairs(claim: Ints, document: Ints, entailment: Floats) -> Ints:
    """Row of the highest entailment probability of each (claim, document) pair; the first of equals."""
    order = np.lexsort((-entailment, document, claim))
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = (np.diff(claim[order]) != 0) | (np.diff(document[order]) != 0)
    return order[new]


def _share(part: Ints | Floats, whole: Ints) -> Floats:
    share = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _check(response: Ints, claim: Ints, document: Ints, probabilities: Floats, responses: int) -> None:
    if claim.shape != document.shape or probabilities.shape != (claim.size, 3):
        raise ValueError(f"rows disagree: {claim.shape}, {document.shape}, {probabilities.shape}")
    for name, index, size in (("response", response, responses), ("claim", claim, response.size)):
        if index.size and (index.min() < 0 or index.max() >= size):
            raise ValueError(f"a {name} index lies outside 0..{size - 1}")
    if not (np.isfinite(probabilities).all() and (probabilities >= 0).all()):
        raise ValueError("a probability is negative or not finite")
    if not np.allclose(probabilities.sum(axis=1), 1, atol=1e-3):
        raise ValueError("a row of probabilities does not sum to 1")
