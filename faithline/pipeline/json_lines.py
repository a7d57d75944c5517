"""Files of one JSON object a line that a command is given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from faithline.pipeline.errors import DataInvalid

__all__ = ["json_lines"]


def json_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield number (from 1) and text of every line that is not blank; a byte order mark is left out.

    Raises:
        DataInvalid: If there is no such file.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if text and not text.isspace():
                    yield number, text
    except (FileNotFoundError, IsADirectoryError) as error:
        what = "is a folder" if isinstance(error, IsADirectoryError) else "file not found"
        raise DataInvalid(what, where=str(path), next_step="name a file of JSON lines") from None
