# SPDX-License-Identifier: Apache-2.0
"""Starts real `gandem` runs for tests and inspects their results.

Everything has a deadline, and only processes that a test started get signals.
The environment names the build: GANDEM_BIN_DIR, GANDEM_SOURCE_DIR.
"""

import contextlib
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["GANDEM_BIN_DIR"])
SOURCE = pathlib.Path(os.environ["GANDEM_SOURCE_DIR"])
SMOKE = SOURCE / "recipes" / "mlp_smoke.textproto"
# Deadline in seconds for anything that should take a few seconds, with room for
# busy machines. Only a hanging process ever takes this long.
DEADLINE = 300
# Deadline with evaluations during training, which run at low priority.
BESIDE = 4 * DEADLINE
# Processes inherit this variable, so that a test finds all that it started.
TOKEN = "GANDEM_TEST_RUN"


def descendants(pid):
    """Pids of all living descendants of `pid`, without zombies."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = pathlib.Path("/proc", entry, "stat").read_text()
        except OSError:
            continue
        state, parent = stat.rsplit(")", 1)[1].split()[:2]
        if state != "Z":
            children.setdefault(int(parent), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def family(token):
    """Pids of all living processes that were started with TOKEN=token."""
    wanted = f"{TOKEN}={token}".encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # ended, or another user's
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def command_of(pid):
    try:
        return pathlib.Path("/proc", str(pid), "cmdline").read_bytes().split(
            b"\0")[0].decode().rsplit("/", 1)[-1]
    except OSError:
        return ""


def standing(token):
    """States of the family's threads, for the message of a failed wait."""
    lines = []
    for pid in family(token):
        with contextlib.suppress(OSError):  # ended meanwhile
            command = pathlib.Path("/proc", str(pid), "cmdline").read_bytes()
            lines.append(f"{pid}: " + command.decode(errors="replace")
                         .replace("\0", " "))
            for task in pathlib.Path("/proc", str(pid), "task").iterdir():
                name, place, call = (
                    (task / file).read_text().strip()
                    for file in ("comm", "wchan", "syscall"))
                lines.append(f"  {task.name} {name}: {place} {call}")
    return "\n".join(lines)


def wait_for(condition, what, seconds=DEADLINE):
    """Polls until `condition()` is true and returns its value. Tests wait only
    here."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s for {what}")


def pass_time(seconds):
    """Waits, for tests in which a duration is the fault."""
    end = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() >= end, "the end of a silence")


def is_running(pid):
    """False if the process is stopped or has ended."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # The name may have spaces and parentheses.
    return stat.rpartition(")")[2].split()[0] in "RSDI"


def stop_for(pid, seconds):
    """Stops a process with SIGSTOP for some seconds."""
    os.kill(pid, signal.SIGSTOP)
    try:
        pass_time(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)


def dataset(*arguments):
    """The exit code and the output of `gandem dataset`."""
    done = subprocess.run(
        [str(part) for part in [BIN / "gandem", "dataset", *arguments]],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=DEADLINE)
    return done.returncode, done.stdout.decode()


_given_ports = set()


def free_port():
    """An unused TCP port of 127.0.0.1 outside the range that the system assigns.
    Never returns the same port twice."""
    below = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")
                .read_text().split()[0])
    for port in random.sample(range(below // 2, below), below // 2):
        if port in _given_ports:
            continue
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            _given_ports.add(port)
            return port
    raise AssertionError("all ports are in use")


class Worker:
    """A worker that the test starts itself, for a run with --external."""

    def __init__(self, command, output, env):
        self.output = output
        with open(output, "ab") as out:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, env={**os.environ, **(env or {})})

    def text(self):
        return self.output.read_text(errors="replace")

    def wait(self, seconds=DEADLINE):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s:\n"
                                 + self.text()[-4000:]) from None


class Run:
    """One `gandem train` and its run folder. Its output goes to a file, or to the
    descriptor `out`; then text() is its log."""

    numbers = itertools.count()

    def __init__(self, run_dir, recipe=SMOKE, sets=(), flags=(), env=None,
                 out=None):
        self.dir = pathlib.Path(run_dir)
        self.output = self.dir.with_suffix(".out")
        self.printed = self.output if out is None \
            else self.dir / "logs" / "gandem.log"
        self.token = f"{os.getpid()}-{next(Run.numbers)}"
        command = [BIN / "gandem", "train", recipe, "--run_dir", self.dir]
        for assignment in sets:
            command += ["--set", assignment]
        with open(self.output, "ab") as file:
            self.process = subprocess.Popen(
                [str(part) for part in [*command, *flags]],
                stdin=subprocess.DEVNULL, stdout=file if out is None else out,
                stderr=file,
                env={**os.environ, **(env or {}), TOKEN: self.token})
        self.by_hand = []

    def text(self):
        return self.printed.read_text(errors="replace") \
            if self.printed.exists() else ""

    def worker(self, name):
        """Waits for a worker process by the name of its binary."""
        def find():
            for pid in descendants(self.process.pid):
                if command_of(pid) == name:
                    return pid
            return None
        return wait_for(find, name)

    def processes(self):
        """Pids of living workers by (role, rank)."""
        found = {}
        for pid in family(self.token):
            name = command_of(pid)
            if not name.endswith("_worker"):
                continue
            with contextlib.suppress(OSError, ValueError):  # ended meanwhile
                words = pathlib.Path("/proc", str(pid), "cmdline") \
                    .read_bytes().decode().split("\0")
                rank = int(words[words.index("--rank") + 1])
                found[name.removesuffix("_worker"), rank] = pid
        return found

    def control_address(self):
        """Waits until workers can register."""
        path = self.dir / "state" / "control.addr"
        wait_for(path.exists, "the address of gandem")
        return path.read_text().strip()

    def start_worker(self, role, flags=(), under=(), env=None, rank=0):
        """Starts a worker of a run with --external, as arguments of the command
        `under` if there is one."""
        command = [*under, BIN / f"{role}_worker", "--control",
                   self.control_address(), "--rank", rank, "--token_file",
                   self.dir / "state" / "token", *flags]
        worker = Worker(command, self.dir.with_suffix(f".{role}-{rank}"), env)
        self.by_hand.append(worker)
        return worker

    def wait(self, seconds=DEADLINE):
        """Waits until the whole family has ended. Returns the exit code."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            where = standing(self.token)
            self.kill()
            raise AssertionError(f"still running after {seconds} s:\n{where}\n"
                                 + self.text()[-4000:]) from None
        wait_for(lambda: not family(self.token), "the workers to end")
        return self.process.returncode

    def records(self, role):
        """Records in metrics.jsonl, except for an incomplete last line."""
        path = self.dir / "metrics.jsonl"
        lines = path.read_text().splitlines(True) if path.exists() else []
        found = [json.loads(line) for line in lines if line.endswith("\n")]
        return [record for record in found if record["role"] == role]

    def rounds(self, role="generator"):
        """Completed rounds of a role."""
        records = self.records(role)
        return int(records[-1].get("round", 0)) + 1 if records else 0

    def kill(self):
        self.process.kill()
        self.process.wait()
        for pid in family(self.token):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def final_state(self):
        """Bytes of all tensors of the newest checkpoint by file."""
        newest = max((self.dir / "checkpoints").glob("step-*"))
        return newest.name, {
            file.name: file.read_bytes()
            for file in sorted(newest.glob("*.safetensors"))}


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-test-"))
        self.runs = []
        self.addCleanup(self._clean_up)

    def _clean_up(self):
        for run in self.runs:
            if run.process.poll() is None:
                run.kill()
            for worker in run.by_hand:
                worker.process.kill()
                worker.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, **options):
        run = Run(self.folder / name, **options)
        self.runs.append(run)
        return run

    def train(self, name, code=0, **options):
        """Runs to the end and checks the exit code."""
        run = self.start(name, **options)
        self.assertEqual(run.wait(), code, run.text()[-4000:])
        return run

    def assert_same_state(self, run, other):
        step, files = run.final_state()
        other_step, other_files = other.final_state()
        self.assertEqual(step, other_step)
        self.assertEqual(sorted(files), sorted(other_files))
        self.assertTrue(files)
        for name, content in files.items():
            self.assertTrue(content == other_files[name],
                            f"{name} of {step} differs")


def main():
    """Like unittest.main(), but exits with 77 if all tests were skipped."""
    result = unittest.main(exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun == len(result.skipped) else 0)


if __name__ == "__main__":
    sys.exit("harness.py is imported by the tests beside it")
