# SPDX-License-Identifier: Apache-2.0
"""Tests `gandem launch slurm` on a real Slurm of three nodes, one line per case.

`scripts/test_slurm.sh [NAME...]` runs it. A run has N_G = 1, N_D = 2 and a node
per worker, unless a case says otherwise. EXACT runs must have the same bits as the
undisturbed run, whatever happens.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from slurm_cluster import (BIN, SOURCE, Cluster, Launch, wait_for, why_not)

# Long enough to be disturbed, short enough to be repeated.
ROUNDS = 1500
SETS = (f"rounds={ROUNDS}", "discriminator.workers=2",
        "checkpoint.every_rounds=100", "samples.every_rounds=0",
        "control.heartbeat_timeout_seconds=4", "control.restart_budget=20")
# An interpreter that has torch.
OWN_PYTHON = os.environ.get("GANDEM_OWN_PYTHON", "")
LAST = f"step-{ROUNDS:09d}"
# For runs that a case ends with scancel.
ENDLESS = "rounds=1000000"
# Message in the coordinator's log about an old worker that returns.
FENCED = "declared dead or replaced is back"
# Limit on BOUNDED's recovery, and the silence after which a worker counts as
# dead.
BOUNDED_SECONDS = 5
BOUNDED_SILENCE = 3


class Cases:
    def __init__(self, folder):
        self.folder = folder
        self.cluster = Cluster(folder / "cluster")
        self.launches = []
        self.oracle = None

    def close(self):
        for launch in self.launches:
            launch.stop()
        self.cluster.down()

    def launch(self, name, sets=(), flags=("--nodes", "3")):
        launch = Launch(self.cluster, self.folder / "runs" / name,
                        [*SETS, *sets], flags)
        self.launches.append(launch)
        return launch

    def finish(self, launch, code=0):
        got = launch.wait()
        assert got == code, f"exit code {got}:\n{launch.text()[-3000:]}"

    def same_bits(self, launch):
        if self.oracle is None:
            self.undisturbed()
        assert launch.checkpoint() == LAST, launch.checkpoint()
        assert launch.hashes() == self.oracle, \
            "the bits differ from those of the undisturbed run"
        return "the bits of the undisturbed run"

    def lonely_node(self, launch):
        """A node that runs a discriminator but not the coordinator."""
        job = launch.job()
        hosts = self.cluster.run("squeue", "-h", "-j", job, "-o", "%B").split()
        nodes = [self.cluster.node_of(job, f"discriminator-{rank}")
                 for rank in (0, 1)]
        return next(node for node in nodes if node not in (None, hosts[0]))

    def bits_at_its_end(self, launch, sets=()):
        """Ends an endless run. It has the bits of an undisturbed one of the same
        number of rounds."""
        self.cluster.run("scancel", launch.job())
        self.finish(launch, code=75)
        self.cluster.wait_idle()
        last = launch.checkpoint()
        straight = self.launch(f"{launch.dir.name}-straight",
                               (f"rounds={int(last[5:])}", *sets))
        self.finish(straight)
        assert straight.checkpoint() == last, straight.checkpoint()
        assert straight.hashes() == launch.hashes(), \
            f"the bits differ from those of an undisturbed run after {last}"
        return f"the bits of an undisturbed run of {int(last[5:])} rounds"

    # The cases.

    def undisturbed(self):
        launch = self.launch("undisturbed")
        self.finish(launch)
        assert launch.checkpoint() == LAST
        self.oracle = launch.hashes()
        return f"{len(self.oracle)} files"

    def one_node(self):
        launch = self.launch("one", flags=("--nodes", "1"))
        self.finish(launch)
        return self.same_bits(launch)

    def power_loss(self):
        """A discriminator's node loses power; Slurm would notice after 25 s."""
        launch = self.launch("power")
        launch.wait_rounds(300)
        node = self.lonely_node(launch)
        at = time.monotonic()
        self.cluster.do("off", node)
        wait_for(lambda: "new run epoch" in launch.log(), "a new run epoch")
        noticed = time.monotonic() - at
        # No worker has completed more rounds so far.
        launch.wait_rounds(launch.rounds() + 1)
        again = time.monotonic() - at
        self.finish(launch)
        self.cluster.do("start", node)
        self.cluster.wait_idle()
        return (f"{self.same_bits(launch)}; noticed after {noticed:.1f} s, "
                f"next new round after {again:.1f} s (EXACT)")

    def partition(self):
        """The worker of a cut-off node survives, and is refused when it returns."""
        launch = self.launch("cut", [ENDLESS])
        launch.wait_rounds(300)
        node = self.lonely_node(launch)
        zombies = self.cluster.workers(node, launch.dir)
        assert len(zombies) == 1, f"{zombies} on {node}"
        at = time.monotonic()
        self.cluster.do("cut", node)
        wait_for(lambda: "new run epoch" in launch.log(), "a new run epoch")
        launch.wait_rounds(launch.rounds() + 1)
        again = time.monotonic() - at
        assert self.cluster.workers(node, launch.dir) == zombies
        assert FENCED not in launch.log()
        left = self.zombies_leave(launch, node)
        launch.wait_rounds(launch.rounds() + 50)
        return (f"next new round after {again:.1f} s; the old worker was "
                f"refused and gone {left:.1f} s after the link was back; "
                f"{self.bits_at_its_end(launch)}")

    def zombies_leave(self, launch, node):
        """Seconds until the old worker is gone after the link is restored."""
        at = time.monotonic()
        self.cluster.do("heal", node)
        wait_for(lambda: not self.cluster.workers(node, launch.dir),
                 "the old worker to be gone")
        left = time.monotonic() - at
        assert self.cluster.state(launch.job()) == "RUNNING"
        wait_for(lambda: FENCED in launch.log(), "its refusal in the log", 5)
        return left

    def slurmctld(self):
        launch = self.launch("slurmctld")
        # slurmctld has not yet saved younger jobs.
        wait_for(lambda: launch.rounds() >= 300, "rounds")
        self.cluster.do("slurmctld")
        self.finish(launch)
        self.cluster.wait_idle()
        return self.same_bits(launch)

    def scancel(self):
        """The run writes a checkpoint immediately, and resumes from it."""
        launch = self.launch("scancel")
        launch.wait_rounds(150)
        at = time.monotonic()
        self.cluster.run("scancel", launch.job())
        self.finish(launch, code=75)
        took = time.monotonic() - at
        made = launch.checkpoint()
        assert int(made[5:]) % 100 != 0, f"{made} is an ordinary checkpoint"
        self.cluster.wait_idle()
        again = self.launch("scancel")
        self.finish(again)
        return f"{made} in {took:.1f} s, then {self.same_bits(again)}"

    def time_limit(self):
        """The signal comes over a minute before the limit; the job is requeued."""
        # More rounds than fit into the limit on this machine.
        probe = self.launch("probe")
        self.finish(probe)
        rounds = int(170 * probe.rounds_per_second()) // 1000 * 1000 + 1000
        sets = (f"rounds={rounds}", "checkpoint.every_rounds=1000")
        launch = self.launch("limit", sets, flags=(
            "--nodes", "3", "--time", "2:05", "--signal_seconds", "60"))
        wait_for(lambda: "requeued: resuming from" in launch.text(),
                 "the signal", 200)
        cut = launch.checkpoint()
        assert int(cut[5:]) % 1000 != 0, f"{cut} is an ordinary checkpoint"
        wait_for(lambda: "start 1" in launch.text(), "the second start")
        self.finish(launch)
        straight = self.launch("straight", sets)
        self.finish(straight)
        assert straight.hashes() == launch.hashes(), "other bits"
        return f"requeued at {cut}, the bits of one stretch"

    def two_jobs(self):
        flags = ("--nodes", "1")
        launches = [self.launch(name, flags=flags) for name in ("two-a", "two-b")]
        jobs = {launch.job() for launch in launches}
        wait_for(lambda: all(launch.rounds() >= 50 for launch in launches)
                 and jobs <= self.cluster.running(), "both jobs at work", 60)
        for launch in launches:
            self.finish(launch)
        return "both at once, " + " and ".join(
            self.same_bits(launch) for launch in launches)

    def found_again(self):
        """The same command finds the running job."""
        launch = self.launch("again")
        launch.wait_rounds(50)
        again = self.launch("again")
        assert again.job() == launch.job()
        assert f"job {again.job()} is at work" in again.text(), again.text()
        self.finish(again)
        return self.same_bits(again)

    def bounded(self):
        """The other workers continue within seconds after a node is lost."""
        took = sorted(self.seconds_without_a_node(f"bounded-{number}")
                      for number in range(3))
        text = ", ".join(f"{seconds:.1f}" for seconds in took)
        assert took[1] <= BOUNDED_SECONDS, f"next round after {text} s"
        return (f"next round after {took[1]:.1f} s (median of {text}; silence "
                f"of {BOUNDED_SILENCE} s is a death), then the rank was replaced")

    def seconds_without_a_node(self, name):
        """Time from the loss of a node to the next round of other workers."""
        launch = self.launch(name, (
            "schedule.consistency=BOUNDED", ENDLESS,
            f"control.heartbeat_timeout_seconds={BOUNDED_SILENCE}"))
        launch.wait_rounds(300)
        # The first node is the coordinator's.
        node = self.lonely_node(launch)
        at = time.monotonic()
        self.cluster.do("off", node)
        wait_for(lambda: "goes on with 1 of 2" in launch.log(), "the others")
        launch.wait_rounds(launch.rounds() + 1)
        took = time.monotonic() - at
        wait_for(lambda: "is back" in launch.log(), "a replacement")
        self.cluster.run("scancel", launch.job())
        self.finish(launch, code=75)
        self.cluster.do("start", node)
        self.cluster.wait_idle()
        return took

    def bad_input(self):
        """Bad input is reported at once, and the queue stays empty."""
        for flags, words in (
                (("--partition", "nowhere"), "invalid partition"),
                (("--nodes", "4"), "more than the 3 workers"),
                (("--gpus_per_worker", "60"), "Slurm refuses"),
                (("--time", "soon"), "Slurm refuses"),
                (("--set", 'generator.network.python.module="x.py"',
                  "--set", 'generator.network.python.name="G"',
                  "--python", "/nowhere"), "'x.py'")):
            launch = self.launch("bad", flags=flags)
            assert launch.wait() == 2, launch.text()
            assert words in launch.text(), launch.text()
            launch.output.unlink()
        assert not self.cluster.run("squeue", "-h").strip()
        return "5 refusals, an empty queue"

    def not_shared(self):
        """The message names a node that does not see the run folder."""
        run_dir = self.folder / "runs" / "not-shared"
        run_dir.mkdir(parents=True)
        with self.cluster.not_shared("n2", run_dir):
            at = time.monotonic()
            launch = self.launch(run_dir.name)
            self.finish(launch, code=2)
            took = time.monotonic() - at
            for word in ("/state/token': No such file",
                         "n2: task 0: Exited with"):
                assert word in launch.text(), launch.text()[-3000:]
            wait_for(lambda: not self.cluster.run("squeue", "-h").strip(),
                     "an empty queue", 30)
            self.cluster.wait_idle()
        assert took < 30, f"{took:.1f} s"
        return f"{took:.1f} s"

    def own_network(self):
        """A network in Python, with a path relative to the working folder; then
        the job is submitted again from another folder."""
        if not OWN_PYTHON:
            return "skipped: GANDEM_OWN_PYTHON is not an interpreter with torch"
        home = self.folder / "mine"
        home.mkdir()
        shutil.copy(SOURCE / "tests" / "integration" / "networks" /
                    "own_networks" / "mlp.py", home)
        sets = [f"{role}.network.python.{field}" for role, name in (
            ("generator", "Generator"), ("discriminator", "Discriminator"))
                for field in ('module="mlp.py"', f'name="{name}"',
                              "noise_dim=8")]
        launch = Launch(self.cluster, self.folder / "runs" / "own",
                        [*SETS, "rounds=40", *sets],
                        ("--nodes", "3", "--python", OWN_PYTHON), cwd=home)
        self.launches.append(launch)
        self.finish(launch)
        self.cluster.run("sbatch", "--wait", launch.dir / "slurm" /
                         "job.sbatch")
        assert "resuming after round 40 of 40" in launch.log(), launch.log()
        return "trained, and resubmitted from another folder"

    def shellcheck(self):
        if shutil.which("shellcheck") is None:
            return "skipped: shellcheck is not installed"
        script = subprocess.run(
            [BIN / "gandem", "launch", "slurm",
             SOURCE / "recipes" / "mlp_smoke.textproto", "--run_dir", "/a",
             "--dry_run"], check=True, text=True, capture_output=True).stdout
        subprocess.run(["shellcheck", "-"], check=True, input=script, text=True)
        return "the script is clean"


NAMES = ("shellcheck", "bad_input", "undisturbed", "one_node", "scancel",
         "power_loss", "partition", "slurmctld", "found_again", "two_jobs",
         "bounded", "not_shared", "time_limit", "own_network")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="cases (default: all): " + ", ".join(NAMES))
    parser.add_argument("--keep", action="store_true",
                        help="keep the runs' folders")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}")
    if why_not():
        sys.exit(f"error: Slurm cannot be started: {why_not()}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-slurm-"))
    try:
        cases = Cases(folder)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(folder, ignore_errors=True)
        sys.exit(f"error: Slurm did not start: {error.stdout[-2000:]}")
    failed = 0
    try:
        for name in arguments.names or NAMES:
            start = time.monotonic()
            try:
                text, result = getattr(cases, name)(), "PASS"
            except Exception as error:  # pylint: disable=broad-except
                text, result = f"{type(error).__name__}: {error}", "FAIL"
                failed += 1
            print(f"{result} {name} ({time.monotonic() - start:.0f} s): {text}",
                  flush=True)
    finally:
        cases.close()
        if arguments.keep or failed:
            print(f"the runs are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
