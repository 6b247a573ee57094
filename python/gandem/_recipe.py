# SPDX-License-Identifier: Apache-2.0
"""Recipes of Python values, for `gandem train`.

Errors: ConfigError names the field; what a recipe must be is checked by gandem.
"""
from __future__ import annotations

import ast
import functools
import inspect
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any, Union

from gandem import _program
from gandem._errors import ConfigError, GandemError
from gandem._text_proto import Enum, format_message, format_value

Recipe = Union[Mapping[str, Any], str, "os.PathLike[str]"]

__all__ = ["Enum", "Recipe", "own"]


@functools.lru_cache(maxsize=None)
def values_of(program: str, path: str) -> frozenset[str]:
    """Returns the values that `gandem explain` lists for an enum field; empty
    for other fields."""
    del program  # another one may know other fields
    try:
        text = _program.call("explain", path)
    except GandemError:  # no such field: gandem says so of the recipe
        return frozenset()
    match = re.match(r"\S+ \((?:list of )?one of ([A-Z][A-Z0-9_, ]*)", text)
    return frozenset(match[1].split(", ")) if match else frozenset()


def is_enum(path: str, text: str) -> bool:
    # Few texts look like one, so few fields are asked for.
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*", text):
        return False
    # Misspelled ones, too: gandem lists those that there are.
    return bool(values_of(_program.find_program(), path))


def recipe_text(recipe: Mapping[str, Any]) -> str:
    return format_message(recipe, is_enum)


def set_flags(fields: Mapping[str, Any], path: str = "") -> list[str]:
    """--set for each of {"rounds": 5, "schedule": {"lag": 1}}, names with dots
    allowed."""
    flags: list[str] = []
    for name, value in fields.items():
        field = f"{path}.{name}" if path else name
        if isinstance(value, Mapping):
            flags += set_flags(value, field)
        elif value is not None:
            flags += ["--set", f"{field}={format_value(value, field, is_enum)}"]
    return flags


def own(network: Any, noise_dim: int = 0, **arguments: Any) -> dict[str, Any]:
    """Returns the `network` of a role for a torch.nn.Module of yours: a class,
    a function that makes a module, or "a.py:Name". `arguments` are its keyword
    arguments, of values that repr() writes as literals; `noise_dim` is for
    generators."""
    file, name = _place_of(network)
    fields: dict[str, Any] = {"module": os.path.abspath(file), "name": name}
    if arguments:
        fields["arguments"] = [_argument(*item) for item in arguments.items()]
    if noise_dim:
        fields["noise_dim"] = noise_dim
    return {"python": fields}


def _place_of(network: Any) -> tuple[str, str]:
    if isinstance(network, (str, os.PathLike)):
        file, colon, name = os.fspath(network).rpartition(":")
        if not colon:
            raise ConfigError(f"own: '{network}' names no class: write "
                              "'file.py:Name'")
        return file, name
    name = getattr(network, "__qualname__", "")
    try:
        file = inspect.getsourcefile(network)
    except (TypeError, OSError):
        file = None
    # A cell of a notebook has a name, too, but no file that lasts.
    if not file or not pathlib.Path(file).is_file() or _is_of_cell(network):
        raise ConfigError(
            f"own: {network!r} is in no file, and workers import it from one: "
            "write the cell to a file (%%writefile my_gan.py), and give the "
            "class, or 'my_gan.py:Name'")
    if not name.isidentifier():
        raise ConfigError(f"own: {name or network!r} cannot be found by name: "
                          "define it at the top of its file")
    return file, name


def _is_of_cell(network: Any) -> bool:
    main = inspect.getmodule(network)
    return main is not None and main.__name__ == "__main__" and \
        not hasattr(main, "__file__")


def _argument(name: str, value: Any) -> str:
    text = repr(value)
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise ConfigError(f"own: argument {name}={text} is no Python literal: "
                          "workers get its text only") from error
    return f"{name}={text}"
