# SPDX-License-Identifier: Apache-2.0
"""metrics.jsonl and the files before it (proto/metrics.proto), as columns.

A line that is being written, or that a crash has cut, is none. Memory: 9 bytes
for each number that is kept, 8 for each text, and 24 for each record.
"""
from __future__ import annotations

import array
import bisect
import heapq
import json
import os
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional, Union

from gandem._errors import ConfigError

ROLES = ("discriminator", "generator")
EMPTY: list[Any] = []  # of repeated fields, most of which have no values


class Column(Sequence[Any]):
    """The values of one field; None where a record does not have it. Numbers
    are kept as machine words: int64 as long as all are whole, else float64."""

    def __init__(self, rows: int = 0) -> None:
        self._values: Union[array.array[Any], list[Any]] = array.array("q")
        self._present = bytearray(rows)
        self._values.extend(0 for _ in range(rows))

    def __len__(self) -> int:
        return len(self._present)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        return self._values[place] if self._present[place] else None

    def __iter__(self) -> Iterator[Any]:
        return (value if present else None
                for value, present in zip(self._values, self._present))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def append_none(self) -> None:
        self._present.append(0)
        self._values.append(0)

    def put(self, row: int, value: Any) -> None:
        self._present[row] = value is not None
        if value is None:
            return
        try:
            self._values[row] = value
        except (TypeError, OverflowError):
            self._widen(value)
            self._values[row] = value

    def _widen(self, value: Any) -> None:
        if isinstance(value, float) and self._values.typecode == "q":
            self._values = array.array("d", self._values)
        else:
            self._values = list(self._values)

    def in_order(self, rows: Sequence[int]) -> Column:
        """The values of these rows."""
        ordered = Column()
        ordered._present = bytearray(self._present[row] for row in rows)
        values = (self._values[row] for row in rows)
        ordered._values = list(values) if isinstance(self._values, list) else \
            array.array(self._values.typecode, values)
        return ordered


class Columns(dict[str, Column]):
    """Sequences of one length by name."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, where pandas is installed."""
        try:
            import pandas
        except ImportError as error:
            raise ConfigError("to_pandas() needs pandas: pip install pandas; the "
                              "columns are sequences") from error
        return pandas.DataFrame({name: list(column)
                                 for name, column in self.items()})


def files_of(run_dir: pathlib.Path) -> list[pathlib.Path]:
    """The oldest first."""
    numbered = []
    for path in run_dir.glob("metrics.*.jsonl"):
        match = re.fullmatch(r"metrics\.(\d+)\.jsonl", path.name)
        if match:
            numbered.append((-int(match[1]), path))
    return [path for _, path in sorted(numbered)] + [run_dir / "metrics.jsonl"]


def read_lines(run_dir: pathlib.Path) -> Iterator[bytes]:
    for path in files_of(run_dir):
        try:
            with open(path, "rb") as stream:
                yield from stream
        except FileNotFoundError:  # it has just become the next one, or is none
            continue


def parse_record(line: bytes) -> Optional[dict[str, Any]]:
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
        int(record["round"]), record["role"], record["rank"]
    except (ValueError, KeyError, TypeError):
        return None
    return record


class Table:
    """Rows as they come; those of one role, rank and round are one, which has
    what the highest run_epoch has said. `fields`: None for all."""

    def __init__(self, fields: Optional[Iterable[str]]) -> None:
        self.fields = None if fields is None else tuple(fields)
        self.columns: dict[str, Column] = {}
        self.wanted: dict[str, bool] = {}  # by the names of records
        self.epochs = array.array("q")
        # Rounds in ascending order and the row of each, by role and rank.
        self.places: dict[tuple[str, int],
                          tuple[array.array[int], array.array[int]]] = {}

    def add(self, record: dict[str, Any]) -> None:
        round_, epoch = int(record["round"]), int(record.get("run_epoch", 0))
        rounds, rows = self.places.setdefault(
            (record["role"], record["rank"]),
            (array.array("q"), array.array("q")))
        at = bisect.bisect_left(rounds, round_)
        if at == len(rounds) or rounds[at] != round_:
            rounds.insert(at, round_)
            rows.insert(at, len(self.epochs))
            self.epochs.append(epoch)
            for column in self.columns.values():
                column.append_none()
        elif epoch < self.epochs[rows[at]]:
            return
        row = rows[at]
        self.epochs[row] = epoch
        values = {name: value for name, value in flat(record)
                  if self.is_wanted(name)}
        for name in values.keys() - self.columns.keys():
            self.columns[name] = Column(len(self.epochs))
        for name, column in self.columns.items():
            column.put(row, values.get(name))

    def is_wanted(self, name: str) -> bool:
        """A field is named itself, or by the message that it is in."""
        if name not in self.wanted:
            self.wanted[name] = self.fields is None or any(
                name == field or name.startswith(field + ".")
                for field in self.fields)
        return self.wanted[name]

    def check_fields(self) -> None:
        """ConfigError: there is no such field."""
        for field in self.fields or ():
            if self.wanted and not any(
                    name == field or name.startswith(field + ".")
                    for name in self.wanted):
                raise ConfigError(f"fields: no record has '{field}'; the records "
                                  f"have {', '.join(sorted(self.wanted))}")

    def rows(self) -> array.array[int]:
        """Returns the rows in the order of rounds, then roles, then ranks."""
        def places(role: str, rank: int) -> Iterator[tuple[int, str, int, int]]:
            for round_, row in zip(*self.places[role, rank]):
                yield round_, role, rank, row
        merged = heapq.merge(*(places(*key) for key in self.places))
        return array.array("q", (row for *_, row in merged))


def columns_of(run_dir: pathlib.Path, role: Optional[str] = None,
               rank: Optional[int] = None, since: int = 0, every: int = 1,
               fields: Optional[Iterable[str]] = None) -> Columns:
    """Keeps, of the records with one role, rank and round, the record with the
    highest run_epoch. The rows are in the order of rounds."""
    if role not in (None, *ROLES):
        raise ConfigError(f"role '{role}' is none of {', '.join(ROLES)}")
    if every < 1:
        raise ConfigError(f"every={every}: expected 1, for all rounds, or more")
    if isinstance(fields, str):
        raise ConfigError(f"fields='{fields}': expected a list of names, "
                          f"['{fields}']")
    table = Table(fields)
    for line in read_lines(run_dir):
        record = parse_record(line)
        if record is not None and role in (None, record["role"]) and \
                rank in (None, record["rank"]) and \
                int(record["round"]) >= since and \
                int(record["round"]) % every == 0:
            table.add(record)
    table.check_fields()
    rows = table.rows()
    return Columns({name: table.columns.pop(name).in_order(rows)
                    for name in list(table.columns)})


def flat(record: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, str):
            yield prefix + name, sys.intern(value)
        else:
            yield prefix + name, EMPTY if value == EMPTY else value


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
