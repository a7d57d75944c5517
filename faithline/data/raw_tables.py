"""One raw file or folder as table rows, outside a run: what `faithline noise PATH` reads.

All of it is one set, named after its format, in one split.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from faithline.data.raw_source import RawSource
from faithline.data.readers.ledger import RowLedger
from faithline.data.source_settings import FORMATS, Shares, SourceSettings
from faithline.data.splits import Splitter
from faithline.data.table_stream import Tables, table_stream
from faithline.pipeline.errors import ConfigError

__all__ = ["raw_tables"]

_ONE_SPLIT = Shares(train=0.0, validation=0.0, test=1.0)


def raw_tables(path: Path, name: str, ledger: RowLedger) -> Iterator[Tables]:
    """Stream the table rows of a raw source, batch by batch.

    Args:
        path: The file, or the folder for formats of several files.
        name: One of FORMATS.
        ledger: Takes note of every row.

    Raises:
        ConfigError: If the format is unknown.
        DataInvalid: If a file is missing or cannot be read.
    """
    known = next((form for form in FORMATS if form == name), None)
    if known is None:
        raise ConfigError(f"unknown format {name}", where=str(path), next_step=f"one of {', '.join(sorted(FORMATS))}")
    settings = SourceSettings(name=known, format=known, path=str(path), limit=None, shares=_ONE_SPLIT)
    source = RawSource(settings, path)
    source.files()  # names what is missing
    shares = (_ONE_SPLIT.train, _ONE_SPLIT.validation, _ONE_SPLIT.test)
    return table_stream(source, Splitter(0, known, shares), ledger, ledger.apart(), lambda _: None)
