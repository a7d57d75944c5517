"""Readers of the public sets: each streams typed records from a file, row by row, and accounts for every row."""

from __future__ import annotations

from faithline.data.readers.question_formats import QUESTION_FORMATS, joined_format

__all__ = ["QUESTION_FORMATS", "joined_format"]
