"""Readers of the public sets: each streams typed records from a file, row by row, and accounts for every row."""

from __future__ import annotations

from collections.abc import Mapping

from faithline.data.readers.bioasq import BIOASQ
from faithline.data.readers.hotpotqa import HOTPOTQA
from faithline.data.readers.musique import MUSIQUE
from faithline.data.readers.popqa import POPQA
from faithline.data.readers.two_wiki import TWO_WIKI
from faithline.data.readers.variants import QuestionFormat

__all__ = ["QUESTION_FORMATS"]

QUESTION_FORMATS: Mapping[str, QuestionFormat] = {
    "2wikimultihopqa": TWO_WIKI,
    "bioasq": BIOASQ,
    "hotpotqa": HOTPOTQA,
    "musique": MUSIQUE,
    "popqa": POPQA,
}
"""Formats of questions with documents; TruthfulQA and RAGTruth are read by their own functions."""
