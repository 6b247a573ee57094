# SPDX-License-Identifier: Apache-2.0
"""What happens to a run from outside of its processes.

An accident is made before its run starts. While a process of the run stands at
the point of the fault it strikes; mend() follows when that process goes on, and
check() when the run is over. close() comes always, and last.
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
    """The library of interpose.cc; built once, and gone with this process."""
    # Two of a cached function's first calls at once would both build it, and
    # one of them, whose folder is forgotten, would get a library that is gone.
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
    """A new file of zeros, in memory."""
    path.write_bytes(bytes(mmap.PAGESIZE))
    with open(path, "r+b") as file:
        return mmap.mmap(file.fileno(), mmap.PAGESIZE)


class Accident:
    def __init__(self, fault, folder):
        self.fault = fault
        self.folder = folder
        self.env = {}    # of all processes of the run
        self.out = None  # a descriptor in place of a file for its output

    def strike(self, run, pid):
        """`pid` stands at the point."""

    def mend(self, run):
        """It goes on."""

    def check(self, run):
        """It has really happened."""

    def close(self):
        pass


class BadDisk(Accident):
    """A disk takes nothing until a checkpoint was given up: that of the run
    folder if it is full, that of the checkpoints if it is read-only, as nobody
    may have a file open then."""

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
                         "a complaint of the disk")
        if self.fault.value == "full":
            self.disk.make_room()
        else:
            self.disk.remount("rw")

    def close(self):
        self.disk.close()


class DeathOnAFullDisk(Accident):
    """A worker dies while the run folder's disk is full; there is space once
    the next run epoch could not begin, or could, in the room that a checkpoint
    has left that was being written."""

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
    """In what a process sends next, wherever to."""

    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        self.wire = _shared_page(folder / "wire")
        self.env = {"LD_PRELOAD": _interpose(),
                    "GANDEM_CHAOS_WIRE": str(folder / "wire")}

    def strike(self, run, pid):
        struct.pack_into("=qq", self.wire, 0, pid, int(self.fault.value))

    def check(self, run):
        _, left = struct.unpack_from("=qq", self.wire)
        check(left == 0, f"{left} bytes are missing to the wrong one", run)


class NoMemory(Accident):
    """A worker gets no further memory. It is told of, and started again."""

    def __init__(self, fault, folder):
        super().__init__(fault, folder)
        self.limit = sandbox.MemoryLimit(
            f"gandem-chaos-{os.getpid()}-{folder.name}") \
            if fault.value == "cgroup" else None
        if self.limit is None:
            return
        # A worker keeps the memory of its steps, and may not ask for any more.
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
              and "memory" in run.text(), "nobody speaks of memory", run)

    def close(self):
        if self.limit is not None:
            self.limit.close()


class UnreadOutput(Accident):
    """A pipe that is full, or a terminal, that nobody reads."""

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
              "somebody has read the output", run)

    def close(self):
        os.close(self.reader)
        os.close(self.out)


_ACCIDENTS = {"disk=full": BadDisk, "disk=readonly": BadDisk,
              "disk=death": DeathOnAFullDisk, "disk=slow": SlowDisk,
              "clock": ClockStep, "wire": WrongBit, "memory": NoMemory,
              "unread": UnreadOutput}


def accident_of(fault, folder):
    """None: it is one that the processes bring about themselves."""
    kind = _ACCIDENTS.get(fault.kind, _ACCIDENTS.get(fault.family))
    return kind and kind(fault, folder)
