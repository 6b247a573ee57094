# SPDX-License-Identifier: Apache-2.0
"""Faults in a run of two generators and two discriminators, at named points.

Whatever happens to a process or a connection, the run ends in time with exit
code 0 and the bits of a run that nothing has happened to, all its checkpoints
can be read, and none of its processes is left. chaos_test.py plays a few of the
faults, this program (scripts/chaos.sh) all of them.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import harness

SILENCE = 4  # seconds until a silent worker is declared dead
PATIENCE = 120  # the same, where nobody is dead or silent for long
BOUND = 600  # seconds for a run that takes some five: more is a hang
# Networks on both sides of the size above which sums travel around the ring.
RECIPE = harness.SMOKE.read_text().replace(
    "discriminator {\n  network { mlp { hidden: 32 hidden: 32 } }",
    "discriminator {\n  network { mlp { hidden: 160 hidden: 160 } }")
SETS = ["rounds=24", "checkpoint.every_rounds=6", "samples.every_rounds=0",
        "generator.workers=2", "discriminator.workers=2",
        "generator.sync.divergence_check_interval=6",
        "discriminator.sync.divergence_check_interval=6",
        f"control.heartbeat_timeout_seconds={SILENCE}",
        "control.heartbeat_seconds=0.1", "control.restart_budget=20"]
ROUNDS = 24

# What a line of FAULTS says: how the run is set up, what happens, at which
# pass of which point in which process (common/process/failpoint.h). What happens:
#   kill    SIGKILL. A killed `gandem` is started again.
#   stop    SIGSTOP, for longer than the heartbeat timeout. A worker is killed
#           by `gandem`; `gandem` itself is continued, and nobody is dead.
#   zombie  The same to a worker that was started by hand: another one takes its
#           place, then it is continued, and has to leave with exit code 75.
#   pause   SIGSTOP, for less than the timeout: nothing has happened.
#   cut=... Connections break: between the workers of a role (fleet), between
#           the roles (exchange), with `gandem` (control), or all. In the setup
#           tcp-1 the last two are TCP's.
#   corrupt A bit of a message is wrong: of the exchange it is sent again, of the
#           workers of a role it ends the run epoch.
FAULTS = """
snapshot-1 kill ring.before_open@generator-1:1
snapshot-1 kill ring.admitted@discriminator-0:1
snapshot-1 kill ring.accepted@discriminator-1:1
snapshot-1 kill ring.before_send@generator-0:13
snapshot-1 kill ring.before_send@discriminator-1:31
snapshot-1 kill ring.received@generator-1:16
snapshot-1 kill ring.received@discriminator-0:43
snapshot-1 kill collective.half_way@generator-0:17
snapshot-1 kill collective.half_way@discriminator-1:20
snapshot-1 stop ring.before_open@discriminator-0:1
snapshot-1 stop ring.before_send@generator-1:15
snapshot-1 stop ring.received@discriminator-1:27
snapshot-1 stop collective.half_way@discriminator-0:11
snapshot-1 zombie ring.before_send@generator-0:14
snapshot-1 zombie ring.received@discriminator-0:35
snapshot-1 zombie collective.half_way@discriminator-1:9
snapshot-1 pause ring.before_send@discriminator-0:20
snapshot-1 pause collective.half_way@generator-0:12
snapshot-1 cut=fleet ring.before_open@generator-0:1
snapshot-1 cut=fleet ring.admitted@generator-1:1
snapshot-1 cut=fleet ring.accepted@discriminator-0:1
snapshot-1 cut=fleet ring.before_send@generator-1:17
snapshot-1 cut=fleet ring.received@discriminator-0:35
snapshot-1 cut=fleet collective.half_way@generator-0:18
snapshot-1 cut=fleet collective.half_way@discriminator-1:10
snapshot-1 cut ring.before_send@discriminator-1:30
snapshot-1 corrupt ring.encode_frame@generator-1:17
snapshot-1 corrupt ring.encode_frame@discriminator-0:31
gradient-1 kill collective.half_way@generator-1:14
gradient-1 cut=fleet ring.received@generator-0:12

snapshot-1 kill exchange.greeted@generator-0:2
snapshot-1 kill exchange.send_images@generator-1:9
snapshot-1 kill exchange.images_received@discriminator-0:10
snapshot-1 kill exchange.images_acknowledged@generator-0:11
snapshot-1 kill exchange.before_publish@discriminator-1:8
snapshot-1 kill exchange.send_critic@discriminator-0:9
snapshot-1 kill exchange.critic_received@generator-1:12
snapshot-1 kill exchange.critic_acknowledged@discriminator-1:14
snapshot-1 kill exchange.send_finish@generator-0:1
snapshot-1 kill exchange.finish_answered@generator-1:1
snapshot-1 stop exchange.greeted@generator-1:1
snapshot-1 stop exchange.images_received@discriminator-1:9
snapshot-1 stop exchange.critic_received@generator-0:15
snapshot-1 zombie exchange.send_images@generator-1:10
snapshot-1 zombie exchange.send_critic@discriminator-0:12
snapshot-1 pause exchange.images_received@discriminator-1:16
snapshot-1 cut=exchange exchange.greeted@generator-0:1
snapshot-1 cut=exchange exchange.send_images@generator-1:19
snapshot-1 cut=exchange exchange.images_received@discriminator-1:14
snapshot-1 cut=exchange exchange.images_acknowledged@generator-1:7
snapshot-1 cut=exchange exchange.after_publish@discriminator-0:10
snapshot-1 cut=exchange exchange.send_critic@discriminator-0:8
snapshot-1 cut=exchange exchange.critic_received@generator-0:13
snapshot-1 cut=exchange exchange.critic_acknowledged@discriminator-0:10
snapshot-1 cut=exchange exchange.send_finish@generator-0:1
snapshot-1 cut=exchange exchange.finish_answered@generator-0:2
snapshot-1 cut exchange.send_images@generator-0:14
snapshot-1 corrupt exchange.encode_frame@generator-0:19
snapshot-1 corrupt exchange.encode_frame@discriminator-1:12
tcp-1 cut=tcp exchange.send_critic@discriminator-0:9
tcp-1 cut=tcp exchange.critic_received@generator-1:12
gradient-1 kill exchange.before_answer@discriminator-0:9
gradient-1 kill exchange.after_answer@discriminator-1:12
gradient-1 kill exchange.feedback_received@generator-1:11
gradient-1 kill exchange.answer_acknowledged@discriminator-1:8
gradient-1 stop exchange.send_answer@discriminator-1:12
gradient-1 zombie exchange.feedback_received@generator-1:14
gradient-1 corrupt exchange.encode_frame@discriminator-0:15
gradient-1 corrupt ring.encode_frame@generator-0:12
gradient-1 cut=exchange exchange.send_answer@discriminator-0:11
gradient-1 cut=exchange exchange.feedback_received@generator-0:10
gradient-1 cut=exchange exchange.answer_acknowledged@discriminator-1:13

snapshot-0 kill generator.before_update@generator-1:9
snapshot-0 stop discriminator.before_update@discriminator-1:10
snapshot-0 cut=exchange exchange.images_received@discriminator-0:9
snapshot-1 kill discriminator.after_take@discriminator-1:15
snapshot-1 kill generator.after_take_critic@generator-0:10
snapshot-1 kill discriminator.before_publish@discriminator-0:12
snapshot-1 stop generator.after_update@generator-0:14
gradient-1 kill discriminator.before_answer@discriminator-1:14
gradient-1 kill generator.after_take_feedback@generator-0:13
gradient-2 kill discriminator.after_update@discriminator-0:13
gradient-2 kill generator.before_send@generator-1:11
gradient-2 zombie generator.after_send@generator-0:10
gradient-2 cut=exchange exchange.send_answer@discriminator-1:9

snapshot-1 kill checkpoint.before_shard@generator-0:2
snapshot-1 kill checkpoint.after_shard@discriminator-0:3
snapshot-1 kill checkpoint.before_manifest@gandem:2
snapshot-1 kill checkpoint.before_rename@gandem:3
snapshot-1 kill checkpoint.after_rename@gandem:4
snapshot-1 kill checkpoint.prune@gandem:1
snapshot-1 stop checkpoint.before_shard@discriminator-0:2
snapshot-1 stop checkpoint.before_rename@gandem:2
snapshot-1 zombie checkpoint.before_shard@generator-0:2
snapshot-1 cut=control checkpoint.after_shard@generator-0:2
snapshot-1 cut=control checkpoint.before_rename@gandem:2

snapshot-1 kill control.before_register@generator-1:1
snapshot-1 kill control.joined@discriminator-0:1
snapshot-1 kill control.shard_reported@generator-0:3
snapshot-1 kill control.heartbeat_answered@discriminator-1:1
snapshot-1 kill coordinator.after_epoch@gandem:1
snapshot-1 kill coordinator.after_register@gandem:3
snapshot-1 kill coordinator.after_shard@gandem:3
snapshot-1 stop control.registered@generator-0:1
snapshot-1 stop coordinator.after_join@gandem:1
snapshot-1 zombie control.before_join@discriminator-1:1
snapshot-1 cut=control control.registered@discriminator-0:1
snapshot-1 cut=control control.joined@discriminator-1:1
snapshot-1 cut=control control.before_heartbeat@generator-0:1
snapshot-1 cut=control control.before_shard_report@generator-0:2
snapshot-1 cut=control coordinator.after_register@gandem:4
"""

# What costs no state: of a worker's death nobody may speak.
HARMLESS = ("pause", "cut=exchange", "cut=control", "cut=tcp")

# What every build is tested with: all kinds, all places.
TEN = """
snapshot-1 kill collective.half_way@discriminator-1:20
snapshot-1 cut=fleet ring.received@discriminator-0:35
snapshot-1 zombie ring.before_send@generator-0:14
snapshot-1 kill exchange.send_images@generator-1:9
snapshot-1 cut=exchange exchange.send_critic@discriminator-0:8
gradient-1 stop exchange.send_answer@discriminator-1:12
gradient-1 corrupt exchange.encode_frame@discriminator-0:15
snapshot-1 pause collective.half_way@generator-0:12
snapshot-1 kill checkpoint.before_rename@gandem:3
snapshot-1 cut=control control.joined@discriminator-1:1
"""


class Fault(collections.namedtuple("Fault", "setup kind point process count")):
    def __str__(self):
        return (f"{self.setup} {self.kind} {self.point}@{self.process}:"
                f"{self.count}")


def parse(text):
    pattern = re.compile(r"(\S+) (\S+) ([\w.]+)@([\w-]+):(\d+)")
    return [Fault(*pattern.fullmatch(line).groups())
            for line in text.strip().splitlines() if line]


def sets_of(setup):
    feedback, lag = setup.split("-")
    mode = "IMAGE_GRADIENT" if feedback == "gradient" else "SNAPSHOT"
    return SETS + [f"schedule.feedback={mode}", f"schedule.lag={lag}"]


def check(condition, what, run):
    if not condition:
        logs = "".join(f"\n--- {log.name}\n" + log.read_text()[-1500:]
                       for log in sorted(run.dir.glob("logs/*-*.log")))
        raise AssertionError(f"{what}\n{run.text()[-4000:]}{logs}")


class Play:
    """One run, to which one fault or nothing happens, in a folder of its own."""

    def __init__(self, folder, fault=None, setup=None):
        self.fault = fault
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.recipe = self.folder / "recipe.textproto"
        self.recipe.write_text(RECIPE)
        self.setup = setup or fault.setup
        self.sets = sets_of(self.setup)
        if fault is not None and fault.kind in HARMLESS:
            self.sets.append(f"control.heartbeat_timeout_seconds={PATIENCE}")
        self.marker = self.folder / "happened"
        self.env = {}
        if fault is not None:
            kind = "stop" if fault.kind in ("zombie", "pause") else fault.kind
            self.env["GANDEM_FAILPOINT"] = (
                f"{kind} {fault.point}@{fault.process}:{fault.count}:"
                f"{self.marker}")
        self.runs = []

    def start(self, flags=()):
        self.runs.append(harness.Run(
            self.folder / "run", recipe=self.recipe, sets=self.sets,
            flags=flags, env=self.env))
        return self.runs[-1]

    def run(self):
        """Plays, checks all but the bits, and returns the last run."""
        try:
            kind = self.fault.kind if self.fault else None
            if kind == "zombie":
                run = self._zombie()
            elif kind in ("stop", "pause"):
                run = self._stopped()
            elif kind == "kill" and self.fault.process == "gandem":
                run = self._killed_gandem()
            elif self.setup == "tcp-1":
                run, workers = self._by_hand(["--listen", "127.0.0.1:0"])
                self._finish(run, workers)
            else:
                run = self.start()
                self._finish(run)
            check(self.fault is None or self.marker.exists(),
                  "the point was not passed", run)
            self._check_epochs(run)
            self._check_checkpoints(run)
            return run
        finally:
            for run in self.runs:
                run.kill()
                for worker in run.by_hand:
                    worker.process.kill()
                    worker.process.wait()

    def _by_hand(self, listen=()):
        """A run whose workers the test starts, and these."""
        run = self.start(flags=["--external", *listen])
        flags = {"generator": [], "discriminator": listen}
        return run, {
            f"{role}-{rank}": run.start_worker(role, flags[role], rank=rank,
                                               env=self.env)
            for role in flags for rank in (0, 1)}

    def _finish(self, run, workers=None):
        check(run.wait(BOUND) == 0, f"exit code {run.process.returncode}",
              run)
        for name, worker in (workers or {}).items():
            check(worker.wait() == 0, f"{name} left with "
                  f"{worker.process.returncode}:\n{worker.text()}", run)

    def _killed_gandem(self):
        run = self.start()
        check(run.wait(BOUND) == -signal.SIGKILL, "gandem was not killed", run)
        run = self.start()
        self._finish(run)
        return run

    def _stopped_pid(self, run):
        def happened():
            check(run.process.poll() is None, "the point was not passed", run)
            return self.marker.exists() and self.marker.read_text().endswith(
                "\n")
        harness.wait_for(happened, "the fault")
        return int(self.marker.read_text())

    def _stopped(self):
        run = self.start()
        pid = self._stopped_pid(run)
        if self.fault.kind == "pause" or self.fault.process == "gandem":
            harness.stop_for(pid, 0.5 if self.fault.kind == "pause"
                             else SILENCE + 0.5)
        self._finish(run)
        return run

    def _zombie(self):
        run, workers = self._by_hand()
        pid = self._stopped_pid(run)
        zombie = workers[self.fault.process]
        check(pid == zombie.process.pid, "another process was stopped", run)
        role, rank = self.fault.process.split("-")
        harness.wait_for(lambda: f"{role} {rank} was silent" in run.text(),
                         "its death")
        workers[self.fault.process] = run.start_worker(role, rank=int(rank))
        os.kill(pid, signal.SIGCONT)
        check(zombie.wait() == 75, f"the zombie left with "
              f"{zombie.process.returncode}:\n{zombie.text()}", run)
        self._finish(run, workers)
        return run

    def _check_epochs(self, run):
        """What costs no state starts no new run epoch."""
        kind, gandem = "", False
        if self.fault is not None:
            kind, gandem = self.fault.kind, self.fault.process == "gandem"
        is_harmless = kind in ("", *HARMLESS) or (kind == "stop" and gandem)
        check(not is_harmless or "new run epoch" not in run.text(),
              "a new run epoch", run)

    def _check_checkpoints(self, run):
        """`gandem` reads each: a run of as many rounds is complete."""
        found = sorted((run.dir / "checkpoints").glob("step-*[0-9]"))
        check(found[-1].name == f"step-{ROUNDS:09}", "no last checkpoint", run)
        for path in found:
            rounds = int(path.name.removeprefix("step-"))
            reader = self.folder / f"reader-{rounds}"
            (reader / "checkpoints").mkdir(parents=True)
            (reader / "checkpoints" / path.name).symlink_to(path)
            command = [harness.BIN / "gandem", "train", self.recipe,
                       "--run_dir", reader]
            for assignment in [*self.sets, f"rounds={rounds}"]:
                command += ["--set", assignment]
            done = subprocess.run(
                [str(part) for part in command], capture_output=True, text=True,
                timeout=harness.DEADLINE)
            check(done.returncode == 0
                  and f"resuming after round {rounds} of" in done.stdout,
                  f"{path.name} cannot be read:\n{done.stdout}{done.stderr}",
                  run)


class Stage:
    """Plays faults beside each other; runs without a fault are made once."""

    def __init__(self, folder, jobs=2):
        self.folder = pathlib.Path(folder)
        self.jobs = jobs

    def play(self, faults, report):
        """Calls report(fault, seconds, problem) in some order; no problem: ''."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            setups = sorted({fault.setup for fault in faults})
            states = dict(zip(setups, pool.map(self._undisturbed, setups)))
            playing = {
                pool.submit(self._one, number, fault, states[fault.setup]):
                fault for number, fault in enumerate(faults)}
            for done in concurrent.futures.as_completed(playing):
                report(playing[done], *done.result())

    def _undisturbed(self, setup):
        return Play(self.folder / setup, setup=setup).run().final_state()

    def _one(self, number, fault, expected):
        start = time.monotonic()
        folder = self.folder / str(number)
        try:
            run = Play(folder, fault).run()
            check(run.final_state() == expected, "other bits", run)
            problem = ""
        except Exception as error:  # a broken test is a failed one
            problem = str(error) if isinstance(error, AssertionError) \
                else traceback.format_exc()
        if not problem:
            shutil.rmtree(folder)
        return time.monotonic() - start, problem


def place_of(fault):
    """Where a fault happens, for the summary."""
    return {"ring": "ring", "collective": "ring", "exchange": "exchange",
            "generator": "update", "discriminator": "update",
            "checkpoint": "checkpoint"}.get(fault.point.split(".")[0],
                                            "join and control")


def summary(results):
    """Markdown: how many faults of which kind went well, by place."""
    kinds = list(dict.fromkeys(fault.kind.split("=")[0] for fault in results))
    places = list(dict.fromkeys(place_of(fault) for fault in results))
    lines = ["| | " + " | ".join(kinds) + " | seconds each |",
             "|---" * (len(kinds) + 2) + "|"]
    for place in places:
        here = {fault: result for fault, result in results.items()
                if place_of(fault) == place}
        cells = []
        for kind in kinds:
            good = [not problem for fault, (_, problem) in here.items()
                    if fault.kind.split("=")[0] == kind]
            cells.append(f"{sum(good)} of {len(good)}" if good else "")
        seconds = [seconds for seconds, _ in here.values()]
        cells.append(f"{min(seconds):.1f} to {max(seconds):.1f}")
        lines.append(f"| {place} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        prog="chaos.sh", description=__doc__.split("\n")[0])
    parser.add_argument("pattern", nargs="*",
                        help="play only faults whose lines contain one of these")
    parser.add_argument("--jobs", type=int, default=2,
                        help="runs beside each other (default: 2)")
    options = parser.parse_args()
    if not (harness.BIN / "gandem").exists():
        sys.exit(f"no programs in {harness.BIN}: run scripts/build.sh")
    faults = [fault for fault in parse(FAULTS) if not options.pattern
              or any(part in str(fault) for part in options.pattern)]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-chaos-"))
    results = {}

    def report(fault, seconds, problem):
        results[fault] = (seconds, problem)
        print(f"{'FAILED' if problem else 'ok':6} {seconds:5.1f} s  {fault}",
              flush=True)
        if problem:
            print("  | " + problem.replace("\n", "\n  | "), flush=True)

    start = time.monotonic()
    Stage(folder, options.jobs).play(faults, report)
    failed = [fault for fault, (_, problem) in results.items() if problem]
    print(f"\n{len(results)} faults in {time.monotonic() - start:.0f} s, "
          f"{len(failed)} failed\n\n"
          f"{summary({f: results[f] for f in faults})}")
    for fault in failed:
        print(f"failed: {fault}")
    if failed:
        print(f"their runs are in {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
