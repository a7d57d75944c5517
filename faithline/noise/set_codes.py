"""Small numbers for the names of sets, in order of appearance."""

from __future__ import annotations

from faithline.pipeline.errors import ConfigError

__all__ = ["SetCodes"]

_MOST = 64
"""Training membership is a mask of 64 bits."""


class SetCodes:
    """Gives codes and remembers names."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """Return the code of a set.

        Raises:
            ConfigError: If there are more sets than leakage can be told apart for.
        """
        if name not in self._codes:
            if len(self.names) == _MOST:
                raise ConfigError(
                    f"more than {_MOST} sets, the last is {name}",
                    where="params.yaml: prepare_data.sources",
                    next_step="prepare the sets in several runs",
                )
            self._codes[name] = len(self.names)
            self.names.append(name)
        return self._codes[name]
