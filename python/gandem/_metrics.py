# SPDX-License-Identifier: Apache-2.0
"""metrics.jsonl and the files before it (proto/metrics.proto), as columns.

A line that is being written, or that a crash has cut, is none.
"""
from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any, Optional

from gandem._errors import ConfigError

ROLES = ("discriminator", "generator")


class Columns(dict[str, list[Any]]):
    """Lists of one length by name; None where a record has no such field."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, where pandas is installed."""
        try:
            import pandas
        except ImportError as error:
            raise ConfigError("to_pandas() needs pandas: pip install pandas; the "
                              "columns are lists") from error
        return pandas.DataFrame(self)


def files_of(run_dir: pathlib.Path) -> list[pathlib.Path]:
    """The oldest first."""
    numbered = []
    for path in run_dir.glob("metrics.*.jsonl"):
        match = re.fullmatch(r"metrics\.(\d+)\.jsonl", path.name)
        if match:
            numbered.append((-int(match[1]), path))
    return [path for _, path in sorted(numbered)] + [run_dir / "metrics.jsonl"]


def read_records(run_dir: pathlib.Path) -> Iterator[dict[str, Any]]:
    for path in files_of(run_dir):
        try:
            lines = path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:  # it has just become the next one, or is none
            continue
        for line in lines:
            record = parse_record(line)
            if record is not None:
                yield record


def parse_record(line: bytes) -> Optional[dict[str, Any]]:
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
        int(record["round"]), record["role"], record["rank"]
    except (ValueError, KeyError, TypeError):
        return None
    return record


def columns_of(run_dir: pathlib.Path, role: Optional[str],
               rank: Optional[int]) -> Columns:
    """Of records with one role, rank and round the one with the highest
    run_epoch, in the order of rounds."""
    if role not in (None, *ROLES):
        raise ConfigError(f"role '{role}' is none of {', '.join(ROLES)}")
    newest: dict[tuple[int, str, int], dict[str, Any]] = {}
    for record in read_records(run_dir):
        if role not in (None, record["role"]) or \
                rank not in (None, record["rank"]):
            continue
        key = (int(record["round"]), record["role"], record["rank"])
        before = newest.get(key)
        if before is None or \
                before.get("run_epoch", 0) <= record.get("run_epoch", 0):
            newest[key] = record
    rows = [dict(flat(newest[key])) for key in sorted(newest)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Columns({name: [row.get(name) for row in rows] for name in names})


def flat(record: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


class Tail:
    """Records that have come since the last look, as a progress bar wants them:
    what a change of files in between hides is left out."""

    def __init__(self, run_dir: pathlib.Path) -> None:
        self.path = run_dir / "metrics.jsonl"
        self.file = self._identity()
        self.at = self.path.stat().st_size if self.file else 0

    def _identity(self) -> Optional[int]:
        try:
            return self.path.stat().st_ino
        except OSError:
            return None

    def read(self) -> list[dict[str, Any]]:
        file = self._identity()
        if file != self.file:
            self.file, self.at = file, 0
        if file is None:
            return []
        try:
            with open(self.path, "rb") as stream:
                stream.seek(self.at, os.SEEK_SET)
                content = stream.read()
        except OSError:
            return []
        end = content.rfind(b"\n") + 1
        self.at += end
        found = map(parse_record, content[:end].splitlines(keepends=True))
        return [record for record in found if record is not None]
