"""A source whose files are on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from faithline.data.readers.contextual_judge_bench import judgement_files
from faithline.data.readers.faithbench import batch_files
from faithline.data.source_files import RESPONSES_FILE, SOURCES_FILE
from faithline.data.source_settings import SourceSettings
from faithline.pipeline.errors import DataInvalid

__all__ = ["RawSource"]


@dataclass(frozen=True)
class RawSource:
    """A source whose path was resolved."""

    settings: SourceSettings
    path: Path
    documents: Path | None = None
    """The passage file, if the settings name one."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Local path of a fetched file to its address."""

    def files(self) -> list[Path]:
        """The files that are read.

        Raises:
            DataInvalid: If one is missing.
        """
        files = [*self._rows(), *([self.documents] if self.documents else [])]
        for file in files or [self.path]:
            if not file.is_file():
                raise DataInvalid(
                    f"source {self.settings.name}: file not found",
                    where=str(file),
                    next_step="check prepare_data.root and the source's path in params.yaml",
                )
        return files

    def located(self, where: str) -> str:
        """Return a place with the addresses of fetched files instead of their links."""
        for local, address in self.addresses.items():
            where = where.replace(local, address)
        return where

    def _rows(self) -> list[Path]:
        match self.settings.format:
            case "ragtruth" if not self.path.is_file():
                return [self.path / name for name in (SOURCES_FILE, RESPONSES_FILE)]
            case "faithbench":
                return batch_files(self.path)
            case "contextualjudgebench":
                return judgement_files(self.path)
        return [self.path]
