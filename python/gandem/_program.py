# SPDX-License-Identifier: Apache-2.0
"""Where `gandem` is, and how its short commands are called.

Errors: ConfigError where there is no program; GandemError with what it says.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from typing import Optional

from gandem._errors import ConfigError, error_of

# Time limit of a command that only reads files.
LOOK_SECONDS = 120.0


def find_program() -> str:
    """$GANDEM_BIN (the program or its folder), the build that this package
    belongs to, $PATH."""
    named = os.environ.get("GANDEM_BIN", "")
    if named:
        path = pathlib.Path(named)
        path = path / "gandem" if path.is_dir() else path
        if not os.access(path, os.X_OK):
            raise ConfigError(f"$GANDEM_BIN: '{path}' cannot be executed: name "
                              "the program gandem, or the folder that has it")
        return str(path.resolve())
    for folder in build_folders():
        if os.access(folder / "gandem", os.X_OK):
            return str(folder / "gandem")
    found = shutil.which("gandem")
    if found is None:
        raise ConfigError(
            "there is no program gandem: set $GANDEM_BIN to the folder that has "
            "it (bin/ of a build), or put that into $PATH; scripts/build.sh "
            "builds it")
    return found


def build_folders() -> list[pathlib.Path]:
    """bin/ of the build that the package was installed from, or lies in."""
    folders = []
    try:
        from gandem import _build
        folders.append(pathlib.Path(_build.BIN_DIR))
    except (ImportError, AttributeError):  # the source tree's
        pass
    folders.append(pathlib.Path(__file__).resolve().parents[2] / "bin")
    return folders


def call(*arguments: object, timeout: Optional[float] = LOOK_SECONDS) -> str:
    """Returns the output of `gandem ARGUMENTS`; `timeout` is in seconds."""
    command = [find_program(), *map(str, arguments)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                              errors="replace", capture_output=True,
                              timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise error_of(f"`gandem {arguments[0]}` has taken more than {timeout} "
                       "s: give it more with timeout=", 70) from error
    if done.returncode != 0:
        raise error_of(failure(done.stderr, done.stdout), done.returncode)
    return done.stdout


def failure(errors: str, printed: str) -> str:
    """Returns the error text of a program that has failed."""
    lines = printed.strip().splitlines()
    first = next((i for i, line in enumerate(lines)
                  if line.startswith("failed: ")), len(lines))
    text = "\n".join([*errors.strip().splitlines(), *lines[first:]])
    text = text or "\n".join(lines[-20:])
    return text.removeprefix("gandem: ") or "gandem failed without a word"
