# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, with the messages of the programs."""
from __future__ import annotations

EXIT_USAGE = 2
EXIT_INTERNAL = 70
EXIT_RESUMABLE = 75


class GandemError(Exception):
    """`message` is gandem's own, `exit_code` that of docs/runbook.md."""

    def __init__(self, message: str, exit_code: int = EXIT_INTERNAL) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code

    def __reduce__(self):  # so that pools of processes hand it on
        return type(self), (self.message, self.exit_code)


class ConfigError(GandemError):
    """Code 2: the same call would fail again; the message says what to do."""

    def __init__(self, message: str, exit_code: int = EXIT_USAGE) -> None:
        super().__init__(message, exit_code)


class NetworkError(Exception):
    """A network of the user's own is at fault, says the message; it is shown
    without a traceback."""


def error_of(message: str, exit_code: int) -> GandemError:
    if exit_code == EXIT_USAGE:
        return ConfigError(message)
    return GandemError(message, exit_code)
