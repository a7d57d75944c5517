"""RAGTruth's two files: what the models were given, and what they answered, with labelled spans.

The `source` field, which names where the original took a text from, carries the template.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import orjson

from faithline.world.formats.streams import Row
from faithline.world.responses import Source

__all__ = ["response_rows", "source_row"]

_TEMPERATURE = 0.7
"""The original records one; pseudo models have none."""


def source_row(source: Source) -> Row:
    """The row of `source_info.jsonl`."""
    return {
        "source_id": str(source.index),
        "task_type": source.task,
        "source": f"evidence-world/{source.template}",
        "source_info": _info(source),
        "prompt": _prompt(source),
    }


def response_rows(source: Source) -> Iterator[Row]:
    """The rows of `response.jsonl` that belong to a source."""
    for number, response in enumerate(source.responses):
        yield {
            "id": str(source.index * len(source.responses) + number),
            "source_id": str(source.index),
            "model": response.model,
            "temperature": _TEMPERATURE,
            "labels": [msgspec.structs.asdict(span) for span in response.spans],
            "split": source.split,
            "quality": response.quality,
            "response": response.text,
        }


def _info(source: Source) -> object:
    if source.business:
        return source.business.record
    if source.task == "QA":
        return {"question": source.question, "passages": _numbered(source) + "\n\n"}
    return " ".join(passage.text for passage in source.passages)


def _prompt(source: Source) -> str:
    info = _info(source)
    if isinstance(info, str):
        return f"Summarize the following text:\n{info}\noutput:"
    if source.business:
        data = orjson.dumps(info).decode()
        return f"Write an objective overview of this local business, based only on the data:\n{data}\noverview:"
    return (
        f"Briefly answer the following question:\n{source.question}\nBear in mind that your response should be "
        f"strictly based on the following {len(source.passages)} passages:\n{_numbered(source)}\n"
        "In case the passages do not contain the necessary information, please reply with: "
        '"Unable to answer based on given passages."\noutput:'
    )


def _numbered(source: Source) -> str:
    return "\n\n".join(f"passage {number}:{passage.text}" for number, passage in enumerate(source.passages, 1))
