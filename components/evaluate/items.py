"""One row per answered question: what was asked, what was said, and its scores.

An answerable question is scored against its gold answers; without gold answers its scores are null. Only the outcome
`ok` carries an answer: anything else scores 0, whatever text stands in `prediction`. An unanswerable question has one
right answer, to abstain: 1 for that and 0 for anything else (SQuAD 2.0's rule). Whether a question is answerable says
the stage that asked it, for it may have been given fewer documents than the set has. `hallucinated` follows one of the
rules of `faithline.metrics.hallucination`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from faithline.metrics.answers import AnswerScores, score_many
from faithline.metrics.hallucination import unfound, wrong
from faithline.metrics.labels import answer_type, noise_levels
from faithline.metrics.normalise import NORMALISATIONS, Normalisation
from faithline.metrics.passages import recall_at_k
from faithline.pipeline.errors import DataInvalid

__all__ = ["SCORES", "add_hallucinated", "join", "score_items"]

SCORES = ("em_official", "f1_official", "em_strict", "f1_strict", "accuracy", "recall")
"""Score columns of the items table; accuracy and recall follow the headline normalisation."""

_FROM_QUESTIONS = ["set", "split", "question", "question_type", "hops", "answers"]
_FROM_ANSWERS = ["answerable", "prediction", "outcome", "completion", "context"]


def join(answers: pa.Table, questions: pa.Table) -> tuple[pa.Table, dict[str, int]]:
    """Put each answer beside its question, in the order of the questions.

    Args:
        answers: As `read_answers` returns them.
        questions: The prepared questions of all splits.

    Returns:
        The joined table, and per set the number of questions without an answer in the splits that were answered.

    Raises:
        DataInvalid: If an answered question does not exist, or has a blank gold answer.
    """
    positions = pc.index_in(answers["question_id"], value_set=questions["question_id"])
    if positions.null_count:
        unknown = answers["question_id"].filter(pc.is_null(positions))
        raise DataInvalid(
            f"{len(unknown)} answered questions are not among the prepared questions, the first is {unknown[0]}",
            where="data/answers/answers.parquet: question_id",
            next_step="answers and questions come from different runs: run `dvc repro`",
        )
    order = pc.sort_indices(positions)
    answers, asked = answers.take(order), questions.take(positions.take(order))
    _check_golds(asked)
    columns = {name: asked[name] for name in ["question_id", *_FROM_QUESTIONS]}
    supporting = _supporting(asked["documents"].combine_chunks(), asked["supporting"].combine_chunks())
    said = {name: answers[name].combine_chunks() for name in _FROM_ANSWERS}
    labels = {
        "answer_type": [answer_type(golds) for golds in asked["answers"].to_pylist()],
        "noise_level": noise_levels(said["context"], supporting, _all_known(asked["supporting"].combine_chunks())),
    }
    joined = pa.table({**columns, **labels, "supporting_documents": supporting, **said})
    return joined, _unanswered(asked, questions)


def score_items(asked: pa.Table, headline: Normalisation) -> pa.Table:
    """Add the scores to a joined table.

    Args:
        asked: As `join` returns it.
        headline: Normalisation behind `accuracy` and `recall`.

    Returns:
        The items table, see `SCORES`; `context_recall` is the share of the gold passages that were shown (null where
        there are none), `length` the words of the answer (null where there is none).
    """
    predictions, golds = asked["prediction"].to_pylist(), asked["answers"].to_pylist()
    scores: dict[str, npt.NDArray[np.float64]] = {}
    for normalisation in NORMALISATIONS:
        table = score_many(predictions, golds, normalisation)
        by_name = dict(zip(AnswerScores._fields, table.T, strict=True))
        scores |= {f"em_{normalisation}": by_name["em"], f"f1_{normalisation}": by_name["f1"]}
        if normalisation == headline:
            scores |= {"accuracy": by_name["accuracy"], "recall": by_name["recall"]}
    answerable = np.asarray(asked["answerable"])
    outcome = np.asarray(asked["outcome"])
    for name, column in scores.items():
        answered = np.where((outcome == "ok") | np.isnan(column), column, 0.0)
        scores[name] = np.where(answerable, answered, outcome == "abstained")
    words = np.array([len(prediction.split()) for prediction in predictions])
    shown = [lists.combine_chunks() for lists in (asked["context"], asked["supporting_documents"])]
    columns = {name: pa.array(scores[name], from_pandas=True) for name in SCORES}
    columns["context_recall"] = pa.array(recall_at_k(*shown), from_pandas=True)
    columns["length"] = pa.array(words, pa.int32(), mask=outcome != "ok")
    return pa.table({**{name: asked[name] for name in asked.column_names}, **columns})


def add_hallucinated(items: pa.Table, headline: Normalisation, texts: Mapping[str, str] | None) -> pa.Table:
    """Add the column `hallucinated`: 1, 0, or null where it cannot be told.

    Args:
        items: As `score_items` returns them.
        headline: Normalisation whose F1 tells what is wrong.
        texts: Title and text of every passage shown, for the rule `unfound`; None: the rule `wrong`.
    """
    answered = np.asarray(items["outcome"]) == "ok"
    if texts is None:
        f1 = np.array(items[f"f1_{headline}"].to_numpy(), dtype=np.float64)
        found = wrong(answered, np.asarray(items["answerable"]), f1)
    else:
        found = unfound(answered, items["prediction"].to_pylist(), items["context"].to_pylist(), texts)
    return items.append_column("hallucinated", pa.array(found, from_pandas=True))


def _all_known(supporting: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether the part of every document of a question is known."""
    unknown = np.asarray(pc.list_parent_indices(supporting), dtype=np.int64)[
        np.asarray(pc.is_null(pc.list_flatten(supporting)))
    ]
    return np.asarray(np.bincount(unknown, minlength=len(supporting)) == 0, dtype=np.bool_)


def _supporting(documents: pa.Array, supporting: pa.Array) -> pa.Array:
    """Keep the documents marked as gold evidence; unknown counts as not marked."""
    marked = pc.fill_null(pc.list_flatten(supporting), False)
    rows = np.asarray(pc.list_parent_indices(documents), dtype=np.int64)[np.asarray(marked)]
    ends = np.cumsum(np.bincount(rows, minlength=len(documents)))
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pc.list_flatten(documents).filter(marked))


def _check_golds(asked: pa.Table) -> None:
    golds = asked["answers"].combine_chunks()
    blank = pc.equal(pc.utf8_trim_whitespace(pc.list_flatten(golds)), "")
    rows = pc.list_parent_indices(golds).filter(blank)
    if len(rows):
        raise DataInvalid(
            f"{len(rows)} gold answers are blank, the first belongs to {asked['question_id'][rows[0].as_py()]}",
            where="data/prepared/questions.parquet: answers",
            next_step="run `dvc repro prepare_data`",
        )


def _unanswered(asked: pa.Table, questions: pa.Table) -> dict[str, int]:
    expected, answered = (
        Counter(zip(table["set"].to_pylist(), table["split"].to_pylist(), strict=True)) for table in (questions, asked)
    )
    left: Counter[str] = Counter()
    for (name, split), count in answered.items():
        left[name] += expected[name, split] - count
    return dict(left)
