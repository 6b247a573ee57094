# SPDX-License-Identifier: Apache-2.0
"""Starts `gandem train`, shows how far it is and ends with it.

Thread safety: one training a call; calls may be in several threads, and Ctrl-C
reaches that of the main thread.
"""
from __future__ import annotations

import collections
import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, Optional

from gandem import _metrics, _program, _recipe
from gandem._errors import (EXIT_RESUMABLE, ConfigError, GandemError, error_of)
from gandem._run import Run

# Seconds between two reads of the metrics.
LOOK_SECONDS = 0.5
# Lines of gandem's output to keep for the message of a failure.
KEPT_LINES = 200
PR_SET_PDEATHSIG = 1


def train(recipe: _recipe.Recipe, run_dir: str | os.PathLike[str], *,
          flags: Sequence[str] = (), progress: bool = True, **set: Any) -> Run:
    """Trains, or goes on with the run in `run_dir`, and returns it at the end.

    `recipe` is a path, a dict (docs/python.md) or text with line breaks; **set
    changes fields of it (rounds=200, schedule={"lag": 0}); `flags` are those of
    `gandem train --help`, ["--colocated"]. Networks of your own run in this
    interpreter's sibling, unless `flags` name another --python.

    Ctrl-C writes a checkpoint and raises KeyboardInterrupt; a second one leaves
    at once. The same call goes on. Errors: ConfigError, GandemError.
    """
    if "gandem._worker" in sys.modules:
        raise ConfigError(
            "gandem.train is called by a file that the worker imports for its "
            "network: put the call under `if __name__ == \"__main__\":`")
    run_dir = pathlib.Path(run_dir)
    flags = [str(flag) for flag in flags]
    if sys.executable and not any(flag.split("=")[0] == "--python"
                                  for flag in flags):
        flags += ["--python", sys.executable]
    with recipe_file(recipe) as path:
        command = [_program.find_program(), "train", path, "--run_dir",
                   str(run_dir), *_recipe.set_flags(set), *flags]
        code, message = Training(command, run_dir, progress).finish()
    if code == EXIT_RESUMABLE:
        message += "\nthe same call goes on from its newest checkpoint"
    if code != 0:
        raise error_of(message, code)
    return Run(run_dir)


@contextlib.contextmanager
def recipe_file(recipe: _recipe.Recipe) -> Iterator[str]:
    if isinstance(recipe, Mapping):
        text = _recipe.recipe_text(recipe)
    elif isinstance(recipe, str) and "\n" in recipe:
        text = recipe
    elif isinstance(recipe, (str, os.PathLike)):
        yield os.fspath(recipe)
        return
    else:
        raise ConfigError(f"recipe: a {type(recipe).__name__} is neither a path "
                          "nor a dict nor text")
    with tempfile.TemporaryDirectory(prefix="gandem-recipe-") as folder:
        path = pathlib.Path(folder, "recipe.textproto")
        path.write_text(text, encoding="utf-8")
        yield str(path)


def dies_with_us() -> Callable[[], None]:
    """For the child between fork and exec: SIGTERM, which is a checkpoint, when
    this thread ends without having waited for it."""
    parent = os.getpid()
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def prepare() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it has ended in between
            os._exit(EXIT_RESUMABLE)
    return prepare


class Training:
    """One process `gandem train`."""

    def __init__(self, command: list[str], run_dir: pathlib.Path,
                 progress: bool) -> None:
        self.run_dir = run_dir
        self.tail = _metrics.Tail(run_dir)
        self.bar = make_bar() if progress else None
        self.losses: dict[str, str] = {}  # the newest of each role
        self.says = progress and self.bar is None
        self.printed: collections.deque[str] = collections.deque(
            maxlen=KEPT_LINES)
        self.errors: collections.deque[str] = collections.deque(
            maxlen=KEPT_LINES)
        # A group of its own: Ctrl-C of a terminal or a notebook reaches it
        # once, through us. A second one would leave without a checkpoint.
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace",
            start_new_session=True, preexec_fn=dies_with_us())
        self.readers = [
            threading.Thread(target=self._read, daemon=True, args=pair)
            for pair in ((self.process.stdout, self.printed),
                         (self.process.stderr, self.errors))]
        for reader in self.readers:
            reader.start()

    def _read(self, stream: IO[str], lines: collections.deque[str]) -> None:
        with stream:
            for line in stream:
                lines.append(line)
                if self.says and stream is self.process.stdout:
                    print(line, end="", flush=True)

    def finish(self) -> tuple[int, str]:
        """Exit code and what is said about it."""
        interrupts = 0
        while True:
            try:
                self._wait()
                break
            except KeyboardInterrupt:
                interrupts += 1
                if self.process.poll() is None:
                    self.process.send_signal(signal.SIGINT)
            except BaseException:  # of a bar, say: nothing is left running
                self.process.send_signal(signal.SIGTERM)
                self.process.wait()
                raise
        if self.bar is not None:
            self.bar.close()
        if interrupts:
            raise KeyboardInterrupt
        code = self.process.returncode
        return (code if code >= 0 else 128 - code,
                _program.failure("".join(self.errors), "".join(self.printed)))

    def _wait(self) -> None:
        while self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(LOOK_SECONDS)
            self._show()
        for reader in self.readers:  # a worker that lives on may hold the pipe
            reader.join(LOOK_SECONDS)
        self._show()

    def _show(self) -> None:
        if self.bar is None:
            return
        for record in self.tail.read():
            self.losses[record["role"]] = f"{record.get('loss', 0):.3f}"
            if record["role"] == "generator":
                self.bar.n = int(record["round"]) + 1
        if self.losses:
            # By now the recipe is that of this start.
            with contextlib.suppress(GandemError):
                self.bar.total = Run(self.run_dir).config.get("rounds")
            self.bar.set_postfix(self.losses, refresh=False)
        self.bar.refresh()


def make_bar() -> Optional[Any]:
    """tqdm's, where there is one: a widget in notebooks."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(unit="round", total=None)
