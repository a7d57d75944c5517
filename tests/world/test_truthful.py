"""True and false answers differ in one fact, and a bag of words cannot tell them apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from faithline.pipeline.errors import ConfigError
from faithline.world.settings import TruthfulSettings, TruthfulShares, check_truthful
from faithline.world.truthful import TruthfulItem, truthful_items
from faithline.world.world import World


def settings_of(questions: int) -> TruthfulSettings:
    shares = TruthfulShares(lookup=0.5, two_hops=0.25, comparison=0.25)
    return TruthfulSettings(questions=questions, evidence=True, shares=shares)


@pytest.fixture(scope="module")
def items(world: World) -> list[TruthfulItem]:
    return list(truthful_items(world, settings_of(900)))


def test_answers_differ_in_the_value_only(items: list[TruthfulItem]) -> None:
    for item in items:
        assert len(item.true_answers) == len(item.false_answers)
        assert not set(item.true_answers) & set(item.false_answers)
        right, wrong = item.true_answers[-1], item.false_answers[-1]
        for true, false in zip(item.true_answers, item.false_answers, strict=True):
            assert ";" not in true + false
            if item.category == "Comparisons":
                assert (
                    sorted(re.findall(r"\w+", true.lower())) == sorted(re.findall(r"\w+", false.lower()))
                    or true == right
                )
            else:
                assert swap(true, right, wrong) == false


def swap(text: str, right: str, wrong: str) -> str:
    swapped = re.sub(re.escape(right), lambda _: wrong, text, flags=re.IGNORECASE)
    return (
        swapped if text.lower().startswith(right.lower()) else swapped.replace(wrong, wrong_inside(wrong, text, right))
    )


def wrong_inside(wrong: str, text: str, right: str) -> str:
    """The false value as it stands inside a sentence: in lower case where the true one is."""
    start = text.lower().index(right.lower())
    return wrong[0].lower() + wrong[1:] if text[start].islower() else wrong


def test_the_evidence_holds_the_true_value(items: list[TruthfulItem]) -> None:
    for item in items:
        prose = " ".join(passage.text for passage in item.passages).lower()
        right, wrong = (a[-1].lower().removeprefix("the ") for a in (item.true_answers, item.false_answers))
        assert re.search(rf"(?<!\w){re.escape(right)}(?!\w)", prose)
        if item.category != "Comparisons" and item.adversarial:
            assert wrong in prose


def test_about_half_of_the_false_values_stand_elsewhere_in_the_evidence(items: list[TruthfulItem]) -> None:
    lookups = [item for item in items if item.category != "Comparisons"]
    assert 0.3 < sum(item.adversarial for item in lookups) / len(lookups) < 0.75


def test_lengths_do_not_differ(items: list[TruthfulItem]) -> None:
    def mean(kind: str) -> float:
        return float(np.mean([len(answer) for item in items for answer in getattr(item, kind)]))

    assert abs(mean("true_answers") - mean("false_answers")) < 0.25


def features(texts: list[str]) -> npt.NDArray[np.float64]:
    """Counts of words and pairs of words that occur in five or more texts, l2-normalised (TF-IDF in all but name)."""
    bags = []
    for text in texts:
        words = re.findall(r"[a-z]+|\d+", text.lower())
        # Digits keep their length and first place; whole numbers hardly repeat.
        words = [f"{len(w)}digits{w[0]}" if w.isdigit() else w for w in words]
        bags.append(set(words) | {f"{a} {b}" for a, b in pairwise(words)})
    counts: dict[str, int] = {}
    for bag in bags:
        for word in bag:
            counts[word] = counts.get(word, 0) + 1
    kept = {word: place for place, word in enumerate(sorted(w for w, n in counts.items() if n >= 5))}
    matrix = np.zeros((len(texts), len(kept)))
    for row, bag in enumerate(bags):
        for word in bag & kept.keys():
            matrix[row, kept[word]] = np.log(len(texts) / counts[word])
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)


def auroc(scores: npt.NDArray[np.float64], labels: npt.NDArray[np.float64]) -> float:
    order = scores.argsort().argsort() + 1.0
    positive = labels == 1
    n, m = positive.sum(), (~positive).sum()
    return float((order[positive].sum() - n * (n + 1) / 2) / (n * m))


def fitted(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    weights = np.zeros(x.shape[1])
    for _ in range(80):
        weights -= 4.0 * (x.T @ (1 / (1 + np.exp(-x @ weights)) - y) / len(y) + 1e-3 * weights)
    return weights


def surface_auroc(items: list[TruthfulItem]) -> float:
    texts = [answer for item in items for answer in (item.true_answers[item.best], item.false_answers[item.best])]
    labels = np.tile([1.0, 0.0], len(items))
    x = features(texts)
    folds = np.repeat(np.arange(len(items)) % 4, 2)
    scores = np.zeros(len(texts))
    for fold in range(4):
        train = folds != fold
        scores[~train] = x[~train] @ fitted(x[train], labels[train])
    return auroc(scores, labels)


def test_a_bag_of_words_is_at_chance(items: list[TruthfulItem]) -> None:
    assert 0.45 < surface_auroc(items) < 0.55


def test_the_bag_of_words_would_see_a_style(items: list[TruthfulItem]) -> None:
    """The control works: with false answers that hedge, it finds them."""
    marked = [
        TruthfulItem(
            **{f: getattr(i, f) for f in i.__struct_fields__}
            | {"false_answers": ["Perhaps " + a for a in i.false_answers]}
        )
        for i in items[:400]
    ]
    assert surface_auroc(marked) > 0.95


def test_items_do_not_depend_on_their_number(make_world: Callable[..., World]) -> None:
    few = list(truthful_items(make_world(3), settings_of(21)))
    assert list(truthful_items(make_world(3), settings_of(40)))[:21] == few


def test_nonsense_is_refused() -> None:
    with pytest.raises(ConfigError):
        check_truthful(settings_of(-1), "x")
    shares = TruthfulShares(lookup=0.5, two_hops=0.25, comparison=0.5)
    with pytest.raises(ConfigError, match=r"add up to 1\.25"):
        check_truthful(TruthfulSettings(questions=1, evidence=True, shares=shares), "x")
