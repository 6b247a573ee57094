# SPDX-License-Identifier: Apache-2.0
"""Faults from outside a run's processes.

An accident is created before its run starts. strike() is called while a process
of the run is stopped at the point of the fault, mend() when that process runs
again, check() when the run is over, and close() always, at the end.
"""

import datetime
import fcntl
import functools
import mmap
import os
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading

import harness
from chaos import sandbox
from chaos.checks import check


_is_building = threading.Lock()


def _interpose():
    """The library of interpose.cc. It is built once and deleted at exit."""
    # Two concurrent first calls of a cached function would both build it, and
    # one of them would get a deleted library.
    with _is_building:
        return _built_interpose()[1]


@functools.cache
def _built_interpose():
    folder = tempfile.TemporaryDirectory(prefix="gandem-interpose-")
    library = f"{folder.name}/interpose.so"
    source = harness.SOURCE / "tests/integration/chaos/interpose.cc"
    compiler = os.environ.get("CXX", "c++")
    if not shutil.which(compiler):
        raise sandbox.Unavailable(f"no compiler '{compiler}'")
    subprocess.run([compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-o",
                    library, str(source)], check=True,
                   timeout=harness.DEADLINE)
    return folder, library


def _shared_page(path):
    """A new memory-mapped file of zeros."""
    path.write_bytes(bytes(mmap.PAGESIZE))
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), mmap.PAGESIZE)


class Accident:
    def __init__(self, fault, folder):
        self.fault = fault
        self.folder = folder
        self.env = {}    # environment of all processes of the run
        self.out = None  # descriptor for the output, instead of a file

    def strike(self, run, pid):
        """Called while `pid` is stopped at the point."""

    def mend(self, run):
        """Called after the process was continued."""

    def check(self, run):
        """Checks that the fault really happened."""

    def close(self):
        pass


class BadDisk(Accident):
    """A disk refuses writes until a checkpoint has failed. A full disk holds the
    run folder. A read-only disk holds only the checkpoints, because no file may
    be open for the remount."""

    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        run = folder / "run"
        self.disk = sandbox.Disk(
            run if fault.value == "full" else run / "checkpoints")

    def strike(self, run, pid):
        if self.fault.value == "full":
            self.disk.fill()
        else:
            self.disk.remount("ro")

    def mend(self, run):
        complaint = {"full": "No space left", "readonly": "Read-only file"}
        harness.wait_for(lambda: complaint[self.fault.value] in run.text(),
                         "an error of the disk")
        if self.fault.value == "full":
            self.disk.make_room()
        else:
            self.disk.remount("rw")

    def close(self):
        self.disk.close()


class DeathOnAFullDisk(Accident):
    """A worker dies while the run folder's disk is full. There is space again
    once the next run epoch failed to begin, or began in the space of an
    unfinished checkpoint."""

    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        self.disk = sandbox.Disk(folder / "run")

    def strike(self, run, pid):
        self.disk.fill()
        os.kill(pid, signal.SIGKILL)
        news = ("the run epoch cannot begin", "resuming after", "goes on with")
        harness.wait_for(lambda: any(text in run.text() for text in news),
                         "the next run epoch")
        self.disk.make_room()

    def close(self):
        self.disk.close()


class SlowDisk(Accident):
    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        self.synced = folder / "synced"
        self.env = {"LD_PRELOAD": _interpose(),
                    "GANDEM_CHAOS_FSYNC_MS": "333",
                    "GANDEM_CHAOS_FSYNCED": str(self.synced)}

    def check(self, run):
        check(self.synced.exists(), "nothing was synced", run)


class ClockStep(Accident):
    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        self.offset = _shared_page(folder / "clock")
        self.env = {"LD_PRELOAD": _interpose(),
                    "GANDEM_CHAOS_CLOCK": str(folder / "clock")}

    def strike(self, run, pid):
        struct.pack_into("=q", self.offset, 0, int(self.fault.value))

    def check(self, run):
        times = [datetime.datetime.fromisoformat(line[:19])
                 for line in (run.dir / "logs/gandem.log").read_text().split("\n")
                 if re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", line)]
        seconds = (max(times) - min(times)).total_seconds()
        check(seconds > 0.9 * abs(int(self.fault.value)),
              f"the clock stepped by {seconds} s", run)


class WrongBit(Accident):
    """A wrong bit in the next bytes that a process sends to any socket."""

    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        self.wire = _shared_page(folder / "wire")
        self.env = {"LD_PRELOAD": _interpose(),
                    "GANDEM_CHAOS_WIRE": str(folder / "wire")}

    def strike(self, run, pid):
        struct.pack_into("=qq", self.wire, 0, pid, int(self.fault.value))

    def check(self, run):
        _, left = struct.unpack_from("=qq", self.wire)
        check(left == 0, f"{left} bytes before the wrong one were not sent", run)


class NoMemory(Accident):
    """A worker gets no further memory. gandem reports and restarts it."""

    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        self.limit = sandbox.MemoryLimit(
            f"gandem-chaos-{os.getpid()}-{folder.name}") \
            if fault.value == "cgroup" else None
        if self.limit is None:
            return
        # A worker keeps the memory of its steps, but cannot get more.
        self.hunger = _shared_page(folder / "hunger")
        self.env = {"LD_PRELOAD": _interpose(),
                    "GANDEM_CHAOS_HUNGER": str(folder / "hunger")}

    def strike(self, run, pid):
        if self.limit is not None:
            self.limit.add(pid)
            struct.pack_into("=qq", self.hunger, 0, pid, mmap.PAGESIZE)
        else:
            resource.prlimit(pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))

    def check(self, run):
        role, rank = self.fault.process.split("-")
        check(f"{role} {rank} " in run.text()
              and "memory" in run.text(), "no message about memory", run)

    def close(self):
        if self.limit is not None:
            self.limit.close()


class UnreadOutput(Accident):
    """The output is a full pipe or a terminal that nobody reads."""

    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        if fault.value == "pipe":
            self.reader, self.out = os.pipe()
            size = fcntl.fcntl(self.out, fcntl.F_GETPIPE_SZ)
            os.write(self.out, bytes(size))
        else:
            self.reader, self.out = pty.openpty()
            # Ctrl-S
            termios.tcflow(self.out, termios.TCOOFF)

    def check(self, run):
        unread = fcntl.ioctl(self.reader, termios.FIONREAD, bytes(4))
        expected = fcntl.fcntl(self.out, fcntl.F_GETPIPE_SZ) \
            if self.fault.value == "pipe" else 0
        check(struct.unpack("=i", unread)[0] == expected,
              "the output was read", run)

    def close(self):
        os.close(self.reader)
        os.close(self.out)


_ACCIDENTS = {"disk=full": BadDisk, "disk=readonly": BadDisk,
              "disk=death": DeathOnAFullDisk, "disk=slow": SlowDisk,
              "clock": ClockStep, "wire": WrongBit, "memory": NoMemory,
              "unread": UnreadOutput}


def accident_of(fault, folder):
    """The accident of a fault, or None if the processes cause the fault."""
    kind = _ACCIDENTS.get(fault.kind, _ACCIDENTS.get(fault.family))
    return kind and kind(fault, folder)
