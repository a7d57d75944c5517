"""What is taken from the noise statistics: the right figure for each kind of set, and nothing by default."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from faithline.gates.noise_figures import NoiseFigures, read_figures, with_noise
from faithline.gates.profile import Declared
from faithline.gates.tally import Measured
from faithline.noise.measure import measure
from faithline.noise.settings import Noise
from faithline.pipeline.errors import DataInvalid

Rows = dict[str, list[dict[str, Any]]]
SETTINGS = {
    "quantiles": [0.5],
    "near_duplicates": {"shingle_words": 3, "permutations": 64, "min_jaccard": 0.8},
    "leakage": {"ngram_words": 13, "max_document_ngrams": 100000},
    "language": {"min_words": 10, "min_function_words": 0.1, "max_other_script": 0.5},
    "truncated_min_words": 5,
    "longest_text": 1000000,
    "sort_mib": 16,
    "examples": 3,
}


def leaked(exact: float, ngram: float) -> dict[str, Any]:
    return {"evaluation": 10, "exact": {"count": 0, "share": exact}, "ngram": {"count": 0, "share": ngram}}


def test_questions_leak_by_question_and_responses_by_document(tmp_path: Path) -> None:
    both = {"questions": leaked(0.1, 0.2), "documents": leaked(0.3, 0.4), "long_answers": {}}
    near = {"near_duplicates": {"count": 1, "share": 0.05}}
    report = {
        "sets": {
            "hop": {"documents": near, "leakage": both},
            "truth": {"leakage": both},
            "rag": {"documents": near, "leakage": both},
        }
    }
    path = tmp_path / "noise.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    declared: Declared = {
        "hop": {"questions": 1, "documents": 1},
        "truth": {"claims": 1},
        "rag": {"responses": 1, "documents": 1},
    }
    assert read_figures(path, declared) == {
        "hop": NoiseFigures(near_duplicates=0.05, leaked_exact=0.1, leaked_ngram=0.2),
        "truth": NoiseFigures(near_duplicates=None, leaked_exact=0.1, leaked_ngram=0.2),
        "rag": NoiseFigures(near_duplicates=0.05, leaked_exact=0.3, leaked_ngram=0.4),
    }


@pytest.mark.parametrize("content", [None, "{", "{}", '{"sets": {"hop": {}}}'])
def test_missing_or_strange_statistics_are_an_error(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "noise.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(DataInvalid, match="no noise statistics"):
        read_figures(path, {})


def test_figures_stand_beside_the_other_measures() -> None:
    profile = {"questions.question": {"blank values": Measured(0)}}
    figures = NoiseFigures(near_duplicates=0.1, leaked_exact=0.2, leaked_ngram=None)
    assert with_noise(profile, {"questions": 3}, figures) == {
        "questions.question": {
            "blank values": Measured(0),
            "share leaked (exact)": Measured(0.2),
            "share leaked (n-gram)": Measured(None),
        }
    }
    assert profile == {"questions.question": {"blank values": Measured(0)}}


def test_the_statistics_hold_the_figures(
    tables: Rows, write: Callable[..., Path], declared: Declared, tmp_path: Path
) -> None:
    tables["questions"][8]["question"] = tables["questions"][0]["question"]  # one of four evaluation questions
    tables["documents"] += [
        row | {"document_id": f"hop/{row['title']}"} for row in tables["documents"] if row["set"] == "hop"
    ]
    report = measure(write(tables), msgspec.convert(SETTINGS, Noise), lambda _: None)
    path = tmp_path / "noise.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    found = read_figures(path, declared)
    assert set(found) == set(declared)
    assert found["hop"].leaked_exact == 0.25
    assert found["hop"].near_duplicates is not None
    assert found["hop"].near_duplicates >= 0.5
    assert found["truth"] == NoiseFigures(near_duplicates=None, leaked_exact=0.0, leaked_ngram=0.0)
