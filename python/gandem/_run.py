# SPDX-License-Identifier: Apache-2.0
"""A run folder (docs/reference/run_folder.md) and what can be had of it.

Thread safety: a Run holds no state but its path. Errors: ConfigError where
there is no run, or not yet what is asked for; GandemError of the programs.
"""
from __future__ import annotations

import json
import os
import pathlib
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Optional

from gandem import _metrics, _program
from gandem._errors import ConfigError
from gandem._text_proto import parse_message

if TYPE_CHECKING:
    import torch

# Time limit for exporting a generator to PyTorch, grid and card included.
EXPORT_SECONDS = 1800.0


class Run:
    """The run in the folder `run_dir`, live or not."""

    def __init__(self, run_dir: str | os.PathLike[str]) -> None:
        self.dir = pathlib.Path(run_dir)
        if not (self.dir / "config.textproto").is_file():
            raise ConfigError(f"'{self.dir}' holds no run: there is no "
                              "config.textproto; gandem.train makes one")

    def __repr__(self) -> str:
        return f"gandem.Run({str(self.dir)!r})"

    @property
    def config(self) -> dict[str, Any]:
        """The effective recipe, every default written out."""
        path = self.dir / "config.textproto"
        try:
            return parse_message(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"'{path}' cannot be read "
                              f"({error.strerror})") from error
        except ConfigError as error:
            raise ConfigError(f"'{path}': {error.message}: gandem has not "
                              "written this") from error

    def status(self) -> dict[str, Any]:
        """Returns the fields of `gandem status --json`: "state",
        "completed_rounds" and so on."""
        return whole_numbers(json.loads(
            _program.call("status", self.dir, "--json")))

    def metrics(self, role: Optional[str] = None, rank: Optional[int] = None, *,
                since: int = 0, every: int = 1,
                fields: Optional[Iterable[str]] = None) -> _metrics.Columns:
        """Returns the metrics of the workers, one row for each role, rank and
        round: sequences of one length by the names of proto/metrics.proto. A
        repeated round appears once. `since` leaves out earlier rounds,
        `every=10` keeps the rounds 0, 10, 20 and so on. `fields` names the
        columns, such as ["round", "loss", "data"], where "data" selects all of
        its fields. Numbers take 9 bytes each."""
        return _metrics.columns_of(self.dir, role, rank, since, every, fields)

    def checkpoint(self) -> pathlib.Path:
        """The newest complete one."""
        found = [path for path in (self.dir / "checkpoints").glob("step-*")
                 if re.fullmatch(r"step-\d+", path.name)
                 and (path / "manifest.textproto").is_file()]
        if not found:
            raise ConfigError(f"'{self.dir}' has no complete checkpoint yet: "
                              "train at least checkpoint.every_rounds rounds")
        return max(found, key=lambda path: int(path.name[5:]))

    def generator(self) -> torch.nn.Module:
        """The generator of the newest checkpoint with the averaged weights, on
        the CPU, for evaluation: `forward(noise)`, or what docs/export.md says.
        For a network of your own, your class. Needs torch."""
        from gandem import _generator
        return _generator.load(self)

    def export(self, file: str | os.PathLike[str], *, raw: bool = False,
               checkpoint: Optional[int] = None) -> pathlib.Path:
        """`gandem export -o FILE`, a .pt or .safetensors, or a .onnx with the
        same inputs and any number of images, which needs torch. `raw`: the
        weights of the last step; `checkpoint`: that of a step."""
        file = pathlib.Path(file)
        flags: list[object] = ["--raw"] if raw else []
        if checkpoint is not None:
            flags += ["--checkpoint", checkpoint]
        if sys.executable and "python" in self.config["generator"]["network"]:
            flags += ["--python", sys.executable]
        if file.suffix == ".onnx":
            from gandem import _generator
            _generator.export_onnx(self, file, flags)
        else:
            _program.call("export", self.dir, "-o", file, *flags,
                          timeout=EXPORT_SECONDS)
        return file

    def sample(self, num_images: int, seed: int = 0,
               label: Optional[int] = None) -> torch.Tensor:
        """Images [N, C, H, W] in [-1, 1], a function of the checkpoint and
        `seed`; with classes those of one, or drawn uniformly. Noise is Torch's:
        `gandem sample` makes other images. Needs torch."""
        from gandem import _generator
        return _generator.sample(self, num_images, seed, label)

    def evaluate(self, metric: str = "fid", *, timeout: Optional[float] = None,
                 **options: Any) -> dict[str, float]:
        """Figures of the metric card by name, {"FID": 12.3}. `options` are those
        of `gandem evaluate --help`: num=10000, features="net.pt", first=True.
        `timeout` in seconds; the same call goes on with what was begun."""
        card = self.evaluate_card(metric, timeout=timeout, **options)
        return {one["name"]: float(one["value"]) for one in card["metrics"]}

    def evaluate_card(self, metric: str = "fid", *,
                      timeout: Optional[float] = None,
                      **options: Any) -> dict[str, Any]:
        """The whole card (proto/evaluation.proto), with what has to agree
        where figures are compared."""
        flags = ["--metric", metric]
        if sys.executable and "python" not in options:
            flags += ["--python", sys.executable]
        for name, value in options.items():
            if value is True:
                flags.append(f"--{name}")
            elif value is not None and value is not False:
                flags += [f"--{name}", str(value)]
        return whole_numbers(json.loads(_program.call(
            "evaluate", self.dir, *flags, "--quiet", "--json", "-",
            timeout=timeout)))


def whole_numbers(value: Any, name: str = "") -> Any:
    """JSON of protobuf has 64-bit numbers as text."""
    if isinstance(value, dict):
        return {key: whole_numbers(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [whole_numbers(one, name) for one in value]
    if isinstance(value, str) and name not in TEXTS and \
            re.fullmatch(r"-?\d+", value):
        return int(value)
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    return value


# Fields of text, which may consist of digits.
TEXTS = frozenset(("run_name", "host", "name", "detail", "sha256", "version",
                   "sample_grid", "split"))
