"""BioASQ's golden format: an object with a list of questions; documents are addresses, evidence is in snippets.

The addresses use the reserved top-level domain `.invalid`, as the abstracts exist nowhere. Offsets count characters of
the abstract (or of the title).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faithline.world.biomedical import BiomedicalItem, BiomedicalType
from faithline.world.formats.streams import Row
from faithline.world.passages import Passage

__all__ = ["address", "bioasq_rows"]

_PER_CLUSTER = 1000


def address(cluster: int, passage: Passage) -> str:
    """The made-up address of an abstract."""
    return f"http://faithline.invalid/pubmed/{(cluster + 1) * _PER_CLUSTER + passage.subject.key}"


def bioasq_rows(items: Iterable[BiomedicalItem]) -> Iterator[Row]:
    """Entries of the list `questions`."""
    for item in items:
        row: dict[str, object] = {
            "body": item.body,
            "documents": [address(item.cluster, passage) for passage in (*item.quoted, *item.unquoted)],
            "ideal_answer": [item.ideal],
            "type": item.type.value,
            "id": item.id,
            "snippets": [snippet for passage in item.quoted for snippet in _snippets(item, passage)],
        }
        if item.type is BiomedicalType.YESNO:
            row["exact_answer"] = item.exact[0][0]
        elif item.type is not BiomedicalType.SUMMARY:
            row["exact_answer"] = item.exact
        yield row


def _snippets(item: BiomedicalItem, passage: Passage) -> Iterator[Row]:
    """The sentences that state what the answer says, after the first one, which names the subject."""
    needed = {fact.key for fact in item.needs}
    start = 0
    for number, sentence in enumerate(passage.sentences):
        end = start + len(sentence.text)
        if number == 0 or any(fact.key in needed for fact in sentence.facts):
            yield _snippet(item, passage, sentence.text, start, end)
        start = end + 1


def _snippet(item: BiomedicalItem, passage: Passage, text: str, start: int, end: int) -> Row:
    return {
        "beginSection": "abstract",
        "document": address(item.cluster, passage),
        "endSection": "abstract",
        "offsetInBeginSection": start,
        "offsetInEndSection": end,
        "text": text,
    }
