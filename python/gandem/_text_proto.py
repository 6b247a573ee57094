# SPDX-License-Identifier: Apache-2.0
"""Protobuf's text format, as far as recipes need it: dicts written, and what
gandem has written read. Pure functions.

A message is a dict, a repeated field a list, an Enum an identifier.
Errors: ConfigError names the field.
"""
from __future__ import annotations

import ast
import math
import numbers
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gandem._errors import ConfigError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<token>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
    r"""|[-+]?[\w.]+(?:[-+]\d+)?|[{}<>\[\]:,;])""")


class Enum(str):
    """A value of an enum: Enum("FUSED")."""


# Whether the text `value` of the field `path` is a value of an enum.
IsEnum = Callable[[str, str], bool]


def format_message(message: Mapping[str, Any], is_enum: IsEnum) -> str:
    return "".join(f"{line}\n" for line in _lines(message, "", "", is_enum))


def _lines(message: Mapping[str, Any], path: str, indent: str,
           is_enum: IsEnum) -> Iterator[str]:
    for name, value in message.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ConfigError(f"recipe: {name!r} in '{path or 'the recipe'}' is "
                              "no name of a field")
        field = f"{path}.{name}" if path else name
        for one in value if is_list(value) else [value]:
            if isinstance(one, Mapping):
                yield f"{indent}{name} {{"
                yield from _lines(one, field, indent + "  ", is_enum)
                yield f"{indent}}}"
            elif one is not None:  # as if it were not there
                yield f"{indent}{name}: {format_value(one, field, is_enum)}"


def is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def format_value(value: Any, path: str, is_enum: IsEnum) -> str:
    if is_list(value):
        inside = ", ".join(format_value(one, path, is_enum) for one in value)
        return f"[{inside}]"
    if isinstance(value, Enum):
        if not NAME.fullmatch(value):
            raise ConfigError(f"{path}: Enum({str(value)!r}) is no identifier")
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return _format_real(float(value))
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if isinstance(text, str):
            return text if is_enum(path, text) else _quote(text, path)
    raise ConfigError(f"{path}: a {type(value).__name__} is no value of a field: "
                      "give a number, text, bool, dict or list")


def _format_real(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _quote(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"{path}: {text!r} is not Unicode text") from error
    return f'"{"".join(map(_escape, text))}"'


def _escape(letter: str) -> str:
    if letter in "\"\\":
        return "\\" + letter
    return letter if ord(letter) >= 32 else f"\\{ord(letter):03o}"


def parse_message(text: str) -> dict[str, Any]:
    """Parses a text proto that gandem has written. A field that appears twice
    becomes a list."""
    reader = _Reader(text)
    message = reader.message("")
    return message


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                line = text.count("\n", 0, at) + 1
                raise ConfigError(f"line {line} is no text proto")
            if match["token"]:
                self.tokens.append(match["token"])
            at = match.end()
        self.tokens.reverse()

    def next(self) -> str:
        return self.tokens.pop() if self.tokens else ""

    def message(self, end: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            name = self.next()
            if name == end:
                return found
            if not NAME.fullmatch(name):
                raise ConfigError(f"'{name}' stands where a field should")
            self._keep(found, name)

    def _keep(self, found: dict[str, Any], name: str) -> None:
        token = self.next()
        if token == ":":
            token = self.next()
        value = self.message("}") if token == "{" else self._value(token)
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name] += value if isinstance(value, list) else [value]
        else:
            found[name] = [found[name], value]

    def _value(self, token: str) -> Any:
        if token == "[":
            values = []
            while (token := self.next()) != "]":
                if token != ",":
                    values.append(self._value(token))
            return values
        if token[:1] in ("'", '"'):
            return self._text(token)
        if token in ("true", "false"):
            return token == "true"
        for kind in (int, float):
            try:
                return kind(token)
            except ValueError:
                pass
        if not NAME.fullmatch(token):
            raise ConfigError(f"'{token}' stands where a value should")
        return Enum(token)

    def _text(self, token: str) -> str:
        # Protobuf's octal escapes are bytes of UTF-8, and so are Python's.
        try:
            parts = [ast.literal_eval("b" + _ascii(token))]
            while self.tokens and self.tokens[-1][:1] in ("'", '"'):
                parts.append(ast.literal_eval("b" + _ascii(self.next())))
            return b"".join(parts).decode()
        except (ValueError, SyntaxError) as error:
            raise ConfigError(f"{token} is no text") from error


def _ascii(token: str) -> str:
    return "".join(c if ord(c) < 128 else
                   "".join(f"\\x{byte:02x}" for byte in c.encode())
                   for c in token)
