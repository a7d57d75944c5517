"""Which files a source consists of: the rule that the stage and the lock command share.

Most sources are one file. RAGTruth's release is a folder of two; a local FaithBench or ContextualJudgeBench folder is
listed when it is read, but a remote folder cannot be, so those are named file by file.
"""

from __future__ import annotations

from pathlib import PurePosixPath

__all__ = ["RESPONSES_FILE", "SOURCES_FILE", "remote_files"]

SOURCES_FILE = "source_info.jsonl"
RESPONSES_FILE = "response.jsonl"
_SINGLE = {".json", ".jsonl", ".parquet"}


def remote_files(form: str, uri: str) -> list[str]:
    """Return the addresses behind a source's remote path.

    Args:
        form: The source's format.
        uri: Its path; for ragtruth the folder's address, or that of the hub form's table.
    """
    if form == "ragtruth" and PurePosixPath(uri).suffix not in _SINGLE:
        return [f"{uri.rstrip('/')}/{name}" for name in (SOURCES_FILE, RESPONSES_FILE)]
    return [uri]
