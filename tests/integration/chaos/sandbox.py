# SPDX-License-Identifier: Apache-2.0
"""Private mounts, networks and memory limits, if the system allows them. They
vanish with the processes that use them."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import harness

_INSIDE = "GANDEM_CHAOS_SANDBOX"  # lists the namespaces of this process
_CGROUPS = pathlib.Path("/sys/fs/cgroup")


class Unavailable(Exception):
    """This machine cannot play the fault; the text says why."""


def _unshare(*what):
    """Prefix of a command that runs its arguments in new namespaces."""
    command = ["unshare", *what]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    return command


def _works(command):
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True, check=False,
                              timeout=harness.DEADLINE).returncode == 0
    return False


def enter():
    """Restarts this program in new namespaces; call it first. Does nothing if
    they are not permitted; faults that need them then say so."""
    if _INSIDE in os.environ:
        return
    wanted = ["--mount", "--ipc"]
    if shutil.which("ip"):
        wanted.append("--net")
    for namespaces in (wanted, ["--mount"]):
        command = _unshare(*namespaces)
        if _works([*command, "true"]):
            os.environ[_INSIDE] = " ".join(namespaces)
            os.execvp(command[0], [*command, sys.executable,
                                   *sys.orig_argv[1:]])
    os.environ[_INSIDE] = ""


def set_up():
    """Call it in the sandbox before starting anything."""
    if has("--net"):
        run("ip", "link", "set", "lo", "up")
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    if has("--mount"):
        run("mount", "-t", "tmpfs", "none", "/dev/shm")


def has(namespace):
    return namespace in os.environ.get(_INSIDE, "").split()


def need(namespace):
    if not has(namespace):
        raise Unavailable(f"`unshare {namespace}` is not permitted"
                          + (" or `ip` is missing (Debian's iproute2)"
                             if namespace == "--net" else ""))


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True,
                          capture_output=True, check=False,
                          timeout=harness.DEADLINE)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.stderr}")


class Disk:
    """A separate file system in a folder."""

    SIZE = 32 << 20  # holds several run folders

    def __init__(self, folder):
        need("--mount")
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "none", folder)

    def fill(self):
        with open(self.folder / "filler", "wb", buffering=0) as filler:
            with contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(4096))

    def make_room(self):
        (self.folder / "filler").unlink()

    def remount(self, how):
        """`how` is "ro" or "rw". Retries while files are open for writing."""
        def tried():
            return _works(["mount", "-o", f"remount,{how}", str(self.folder)])
        harness.wait_for(tried, f"the disk to be {how}")

    def close(self):
        # The kernel frees the file system with its last process.
        run("umount", "--lazy", self.folder)


class MemoryLimit:
    """A control group that limits the total memory of its processes to
    `limit_bytes`; 0 means no further memory."""

    def __init__(self, name, limit_bytes=0):
        memory = _CGROUPS / "memory"
        is_first = memory.is_dir()
        self.folder = (memory if is_first else _CGROUPS) / name
        limit = "memory.limit_in_bytes" if is_first else "memory.max"
        try:
            self.folder.mkdir()
            (self.folder / limit).write_text(str(limit_bytes))
            self._forbid_swapping(limit_bytes)
        except OSError as error:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            raise Unavailable(f"no control group for memory: {error}") from None

    def add(self, pid):
        (self.folder / "cgroup.procs").write_text(str(pid))

    def _forbid_swapping(self, limit_bytes):
        # Many kernels do not count swap.
        for name, most in (("memory.memsw.limit_in_bytes", limit_bytes),
                           ("memory.swap.max", 0)):
            if (self.folder / name).exists():
                (self.folder / name).write_text(str(most))

    def has_killed(self):
        """Whether the kernel killed a process at the limit."""
        control = self.folder / "memory.oom_control"
        events = control if control.exists() else self.folder / "memory.events"
        numbers = dict(line.split()
                       for line in events.read_text().splitlines())
        return int(numbers.get("oom_kill", 0)) > 0

    def close(self):
        def removed():
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            return not self.folder.exists()
        harness.wait_for(removed, f"{self.folder} to be empty")


class Host:
    """A separate host name, network and /tmp for one worker."""

    def __init__(self, network, number, name, tmp):
        self.address = f"{network}.{number}.2"
        gateway = f"{network}.{number}.1"
        # `cat` ends with this program, because its input ends then.
        self.holder = subprocess.Popen(
            [*_unshare("--net", "--uts", "--mount"), "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        harness.wait_for(
            lambda: harness.command_of(self.holder.pid) == "cat", "a network")
        self.under = ["nsenter", "--target", self.holder.pid, "--net", "--uts",
                      "--mount", "--"]
        veth = f"v{network.replace('.', '-')}-{number}"
        run("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0",
            "netns", self.holder.pid)
        run("ip", "address", "add", f"{gateway}/24", "dev", veth)
        run("ip", "link", "set", veth, "up")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "route", "add", "default", "via", gateway)
        self.run("mount", "-t", "tmpfs", "none", tmp)
        if name:
            self.run("hostname", name)

    def run(self, *command):
        run(*self.under, *command)

    def lose(self, address):
        """Drops all packets from this host to that address."""
        self.run("ip", "route", "add", "blackhole", f"{address}/32")

    def find(self, address):
        self.run("ip", "route", "del", "blackhole", f"{address}/32")

    def close(self):
        self.holder.send_signal(signal.SIGKILL)
        self.holder.wait()
        self.holder.stdin.close()
