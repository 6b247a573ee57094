# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine, and runs of `gandem launch slurm` on it.

Nodes are network namespaces (slurm_cluster.sh): one file system, one set of
cores, addresses and links of their own. Needs root.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE / "slurm_cluster.sh"
SOURCE = HERE.parents[1]
BIN = pathlib.Path(os.environ.get("GANDEM_BIN_DIR", SOURCE / "build" / "bin"))
SMOKE = SOURCE / "recipes" / "mlp_smoke.textproto"
# Seconds for anything that should take a few: only what hangs takes as long.
DEADLINE = 300


def wait_for(condition, what, seconds=DEADLINE):
    """Polls until `condition()` is true and returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s for {what}")


def why_not():
    """Reason why no cluster can be started; empty if one can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [name for name in ("slurmctld", "slurmd", "srun", "munged", "ip")
               if shutil.which(name, path="/usr/sbin:/sbin:" + os.environ["PATH"])
               is None]
    if missing:
        return "not installed: " + ", ".join(missing)
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True)
    return "" if probe.returncode == 0 else "no network namespaces here"


class Cluster:
    def __init__(self, folder, nodes=3, env=None):
        self.folder = pathlib.Path(folder)
        self.env = env or {}
        self.do("up", nodes)

    def do(self, command, *arguments, check=True, **options):
        return subprocess.run(
            ["bash", SCRIPT, command, self.folder,
             *[str(argument) for argument in arguments]],
            check=check, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **self.env}, **options)

    def run(self, *command, check=True):
        """A command where users are; what it prints."""
        return self.do("run", *command, check=check, timeout=DEADLINE).stdout

    def hint_down(self, node):
        """Slurm is told what it would notice after SlurmdTimeout."""
        self.run("scontrol", "update", f"nodename={node}", "state=down",
                 "reason=test", check=False)

    def state(self, job):
        text = self.run("scontrol", "--oneliner", "show", "job", job, check=False)
        found = re.search(r"JobState=(\w+)", text)
        return found[1] if found else ""

    def steps(self, job):
        """Names of the living steps of the job, the script's own left out."""
        # The components of a heterogeneous job have numbers of their own.
        jobs = self.run("squeue", "-h", "-j", job, "-o", "%A", check=False)
        lines = self.run("squeue", "-h", "-s", "-j", ",".join(jobs.split()),
                         "-o", "%i %j %N", check=False).splitlines()
        return [line for line in lines
                if re.search(r" (generator|discriminator)-\d", line)]

    def node_of(self, job, name):
        """The node on which the newest step of a worker runs."""
        for line in reversed(self.steps(job)):
            _, step, node = line.split()
            if step == name:
                return node
        return None

    def running(self):
        """Numbers of the running jobs."""
        return set(self.run("squeue", "-h", "-t", "RUNNING", "-o",
                            "%A").split())

    def workers(self, node, run_dir):
        """Pids of the run's living workers on the node."""
        found = set()
        for pid in self.do("pids", node).stdout.split():
            with contextlib.suppress(OSError):  # gone since
                command = pathlib.Path("/proc", pid, "cmdline").read_text()
                if re.match(r"[^\0]*_worker\0", command) and \
                        str(run_dir) in command:
                    found.add(pid)
        return found

    @contextlib.contextmanager
    def not_shared(self, node, folder):
        """The node has an empty folder of its own there."""
        self.do("mounts", node, "mount", "-t", "tmpfs", "none", folder)
        try:
            yield
        finally:
            self.do("mounts", node, "umount", folder)

    def idle(self):
        return set(self.run("sinfo", "-h", "-N", "-o", "%T").split()) == {"idle"}

    def wait_idle(self):
        wait_for(self.idle, "all nodes to be idle")

    def down(self):
        self.do("down", check=False)


class Launch:
    """One `gandem launch slurm`, and the job that it has submitted or found."""

    def __init__(self, cluster, run_dir, sets=(), flags=(), recipe=SMOKE,
                 cwd=None):
        self.cluster = cluster
        self.dir = pathlib.Path(run_dir)
        self.output = self.dir.with_suffix(".out")
        self.dir.parent.mkdir(parents=True, exist_ok=True)
        command = ["bash", SCRIPT, "run", cluster.folder, BIN / "gandem",
                   "launch", "slurm", recipe, "--run_dir", self.dir, *flags]
        for assignment in sets:
            command += ["--set", assignment]
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, cwd=cwd)

    def text(self):
        """Output of the launch and the logs of its jobs."""
        said = self.output.read_text(errors="replace")
        for log in sorted((self.dir / "slurm").glob("job-*.log")):
            said += log.read_text(errors="replace")
        return said

    def job(self):
        """Number of the job; None if Slurm or gandem has refused the job."""
        if self.process.wait(DEADLINE) != 0:
            return None
        said = self.output.read_text(errors="replace")
        return re.findall(r"^(?:submitted )?job (\d+) ", said, re.MULTILINE)[-1]

    def job_end(self):
        """The exit code of the job's script; None: it is not over."""
        line = self.cluster.run("scontrol", "--oneliner", "show", "job",
                                self.job()).splitlines()[0]
        fields = dict(word.split("=", 1) for word in line.split()
                      if "=" in word)
        if fields["JobState"] in ("PENDING", "RUNNING", "COMPLETING",
                                  "CONFIGURING", "SUSPENDED", "REQUEUED"):
            return None
        if fields["JobState"] not in ("COMPLETED", "FAILED"):
            return 75
        code, signal_number = map(int, fields["ExitCode"].split(":"))
        return 128 + signal_number if signal_number else code

    def rounds(self):
        """Rounds of which the generator has told."""
        path = self.dir / "metrics.jsonl"
        lines = path.read_text().splitlines()[:-1] if path.exists() else []
        for line in reversed(lines):
            if '"generator"' in line:
                return int(re.search(r'"round": ?"?(\d+)', line)[1]) + 1 \
                    if '"round"' in line else 1
        return 0

    def rounds_per_second(self):
        """Speed of the generator, from its first record to its last."""
        text = (self.dir / "metrics.jsonl").read_text()
        records = [json.loads(line) for line in text.splitlines()]
        told = [record for record in records if record["role"] == "generator"]
        seconds = [float(record["unix_seconds"])
                   for record in (told[0], told[-1])]
        return (len(told) - 1) / (seconds[1] - seconds[0])

    def wait_rounds(self, rounds):
        def there():
            if self.job() is None or self.job_end() is not None:
                raise AssertionError("ended early:\n" + self.text()[-3000:])
            return self.rounds() >= rounds
        wait_for(there, f"round {rounds} of {self.dir.name}")

    def wait(self, seconds=DEADLINE):
        """The exit code of the launch, or that of its job."""
        if self.job() is None:
            return self.process.returncode
        wait_for(lambda: self.job_end() is not None,
                 f"the end of {self.dir.name}", seconds)
        return self.job_end()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def checkpoint(self):
        found = sorted((self.dir / "checkpoints").glob("step-*[0-9]"))
        return found[-1].name if found else None

    def hashes(self):
        """SHA-256 of each tensor file of the newest checkpoint."""
        folder = self.dir / "checkpoints" / self.checkpoint()
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
                for file in sorted(folder.glob("*.safetensors"))}

    def log(self):
        path = self.dir / "logs" / "gandem.log"
        return path.read_text(errors="replace") if path.exists() else ""
