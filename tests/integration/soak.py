# SPDX-License-Identifier: Apache-2.0
"""Checks that nothing grows in a long run in which a process dies every minute.

Memory, file descriptors and threads of each process count from its fifth minute
on. Before that, malloc's free lists grow, although the memory in use does not
(docs/chaos.md). The slope is that of all processes of a kind, each around its own
mean. scripts/soak.sh takes an hour, soak_test.py ten minutes.

With flipped bits, the workers are equal in every complete checkpoint, and the last
checkpoint has the bits of an undisturbed run.
"""

import argparse
import collections
import csv
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time

import fleet_shards
import harness

WARM_UP = 240  # first seconds of each process, which do not count
BETWEEN_SAMPLES = 2  # seconds
GANDEM_DIES = 0.1  # fraction of all deaths; low, so that its memory may grow
KEEP_LAST = 3
SETS = ["rounds=1000000000", "generator.workers=2", "discriminator.workers=2",
        "checkpoint.every_rounds=500", f"checkpoint.keep_last={KEEP_LAST}",
        "samples.every_rounds=0", "control.restart_budget=100000",
        "control.metrics_every_rounds=10"]

# Limits for the growth of one process per minute.
MOST_GROWTH = {"memory (KiB)": 256, "file descriptors": 0.5, "threads": 0.5}
# Limits for the sizes of parts of the run folder at any time, in MiB
# (docs/reference/run_folder.md, "Disk use").
MOST_MIB = {"checkpoints": 32, "state": 1, "logs": 5 * 4 * 16,
            "metrics": 16 * 64, "tensorboard": 17 * 64}

Sample = collections.namedtuple("Sample", "seconds pid values")


def look_at(pid):
    """A sample of the process, or None if it has ended."""
    folder = pathlib.Path("/proc", str(pid))
    try:
        status = dict(line.split(":", 1) for line in
                      (folder / "status").read_text().splitlines())
        return {"memory (KiB)": int(status["VmRSS"].split()[0]),
                "file descriptors": len(os.listdir(folder / "fd")),
                "threads": int(status["Threads"])}
    except (OSError, KeyError):
        return None


def size_of(path):
    """Bytes of a file or a folder, whose files may vanish meanwhile."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                pass
    return total


def disk(run_dir):
    """Bytes of each part of the run folder."""
    sizes = {part: size_of(run_dir / part)
             for part in MOST_MIB if part != "metrics"}
    sizes["metrics"] = sum(path.stat().st_size
                           for path in run_dir.glob("metrics*.jsonl"))
    return sizes


def slope(samples, value):
    """Growth per minute within processes: least squares, each process around
    its own mean."""
    by_pid = collections.defaultdict(list)
    for sample in samples:
        by_pid[sample.pid].append((sample.seconds / 60, sample.values[value]))
    together = apart = 0.0
    for points in by_pid.values():
        x_mean = statistics.fmean(x for x, _ in points)
        y_mean = statistics.fmean(y for _, y in points)
        together += sum((x - x_mean) * (y - y_mean) for x, y in points)
        apart += sum((x - x_mean) ** 2 for x, _ in points)
    return together / apart if apart else 0.0


def flips(every):
    """GANDEM_FAILPOINT that flips a bit of a parameter in each worker after every
    `every` updates of its process, but never in two workers at once."""
    return ";".join(
        f"corrupt update.parameters@{role}-{rank}:{every * (4 * times + at + 1)}"
        for times in range(100)
        for at, (role, rank) in enumerate(
            [("generator", 0), ("generator", 1), ("discriminator", 0),
             ("discriminator", 1)]))


class Soak:
    def __init__(self, run_dir, minutes, seed, seconds_between_deaths=60,
                 updates_between_flips=0):
        self.dir = run_dir
        self.env = {}
        if updates_between_flips > 0:
            self.env["GANDEM_FAILPOINT"] = flips(updates_between_flips)
        self.compared = set()  # names of complete checkpoints
        self.seconds = 60 * minutes
        self.between = seconds_between_deaths
        self.random = random.Random(seed)
        self.samples = collections.defaultdict(list)  # by kind of process
        self.most = collections.Counter()  # bytes by part of the run folder
        self.deaths = collections.Counter()
        self.first_seen = {}

    def play(self):
        self.run = harness.Run(self.dir, sets=SETS, env=self.env)
        try:
            self._wait_for_rounds()
            self._play_until(time.monotonic() + self.seconds)
            self._wait_for_rounds()
            self.run.process.send_signal(signal.SIGTERM)
            code = self.run.wait()
            if code != 75:
                raise AssertionError(
                    f"exit code {code}:\n{self.run.text()[-4000:]}")
        finally:
            self.run.kill()

    def _wait_for_rounds(self):
        """Waits until all workers are there and have done new rounds."""
        before = disk(self.dir)["metrics"]
        harness.wait_for(lambda: len(self.run.processes()) == 4
                         and disk(self.dir)["metrics"] > before, "new rounds")

    def _play_until(self, end):
        start = time.monotonic()
        next_death = start + self.between
        while time.monotonic() < end:
            self._sample(time.monotonic() - start)
            if time.monotonic() >= next_death:
                next_death += self.between
                self._kill_somebody()
            due = time.monotonic() + BETWEEN_SAMPLES
            harness.wait_for(lambda due=due: time.monotonic() >= due,
                             "the next sample")

    def _sample(self, seconds):
        if self.run.process.poll() is not None:
            raise AssertionError(f"gandem left with "
                                 f"{self.run.process.returncode}:\n"
                                 + self.run.text()[-4000:])
        self.compare_checkpoints()
        pids = {"gandem": self.run.process.pid}
        for (role, rank), pid in self.run.processes().items():
            pids[f"{role}-{rank}"] = pid
        for name, pid in pids.items():
            since = self.first_seen.setdefault(pid, seconds)
            values = look_at(pid)
            if values is not None and seconds - since >= WARM_UP:
                self.samples[name.split("-")[0]].append(
                    Sample(seconds, pid, values))
        for part, size in disk(self.dir).items():
            self.most[part] = max(self.most[part], size)

    def compare_checkpoints(self):
        """Checks that the workers of each role had equal states in all complete
        checkpoints."""
        for folder in self.dir.glob("checkpoints/step-*[0-9]"):
            if folder.name in self.compared:
                continue
            try:
                fault = fleet_shards.fault_in(folder)
            except FileNotFoundError:  # pruned meanwhile
                continue
            if fault:
                raise AssertionError(f"{folder}: {fault}")
            self.compared.add(folder.name)

    def differences(self):
        """How often workers differed, at a checkpoint or at a comparison between
        two checkpoints."""
        text = self.run.text()
        return (text.count(" workers differ after round")
                + len(re.findall(r"new run epoch: \w+ \d+ DATA_LOSS: the states "
                                 "of this fleet differ", text)))

    def compare_with_whole(self):
        """Compares with an undisturbed run to the same round."""
        name, files = self.run.final_state()
        whole = harness.Run(self.dir.with_name("whole"), sets=[
            *SETS, f"rounds={int(name.removeprefix('step-'))}"])
        try:
            code = whole.wait(max(harness.DEADLINE, 4 * self.seconds))
        finally:
            whole.kill()
        if code != 0 or whole.final_state() != (name, files):
            raise AssertionError(f"{name} has not the bits of a run without "
                                 f"faults (exit code {code})")

    def _kill_somebody(self):
        if self.random.random() < GANDEM_DIES:
            self.deaths["gandem"] += 1
            self.run.process.kill()
            self.run.wait()
            self.run = harness.Run(self.dir, sets=SETS, env=self.env)
            self._wait_for_rounds()
            return
        key = (self.random.choice(["generator", "discriminator"]),
               self.random.randrange(2))
        harness.wait_for(lambda: key in self.run.processes(), f"{key}")
        self.deaths[key[0]] += 1
        os.kill(self.run.processes()[key], signal.SIGKILL)

    def write_samples(self, path):
        """Writes the samples that judge() uses."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["process", "pid", "seconds", *MOST_GROWTH])
            for name, samples in sorted(self.samples.items()):
                for sample in samples:
                    writer.writerow([name, sample.pid, f"{sample.seconds:.0f}",
                                     *(sample.values[v] for v in MOST_GROWTH)])

    def judge(self):
        """Returns a table in Markdown and the values that grow too fast."""
        faults = []
        lines = ["| | largest at the end | growth per minute | limit |",
                 "|---|---|---|---|"]
        for name, samples in sorted(self.samples.items()):
            last = samples[-1].seconds
            for value, most in MOST_GROWTH.items():
                growth = slope(samples, value)
                largest = max(s.values[value] for s in samples
                              if last - s.seconds <= 60)
                lines.append(f"| {name}: {value} | {largest} | {growth:.2f} | "
                             f"{most} |")
                if growth > most:
                    faults.append(f"{name}: {value} grow by {growth:.2f} per "
                                  f"minute; the limit is {most}")
        for part, most in MOST_MIB.items():
            mib = self.most[part] / (1 << 20)
            lines.append(f"| run folder: {part} (MiB) | {mib:.1f} | | at most "
                         f"{most} |")
            if mib > most:
                faults.append(f"{part}: {mib:.1f} MiB; the limit is {most}")
        for missing in {"gandem", "generator", "discriminator"} - set(
                self.samples):
            faults.append(f"{missing}: no process lived for {WARM_UP} s")
        deaths = ", ".join(f"{number} of {name}"
                           for name, number in sorted(self.deaths.items()))
        return (f"{self.seconds / 60:.0f} minutes, deaths: {deaths}.\n\n"
                + "\n".join(lines), faults)


def main():
    parser = argparse.ArgumentParser(
        prog="soak.sh", description="Runs for a long time while a process dies "
        "every minute, and checks that memory, file descriptors, threads and "
        "disk use do not grow.")
    parser.add_argument("minutes", nargs="?", type=float, default=60,
                        help="duration in minutes (default: 60)")
    parser.add_argument("--seed", type=int, default=1,
                        help="seed of the random deaths (default: 1)")
    parser.add_argument("--flip_bits", type=int, default=0, metavar="UPDATES",
                        help="updates between flipped bits in a worker "
                        "(default: 0, never)")
    options = parser.parse_args()
    if options.minutes <= 0:
        parser.error(f"{options.minutes} minutes are not positive")
    if not (harness.BIN / "gandem").exists():
        sys.exit(f"no programs in {harness.BIN}: run scripts/build.sh")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-soak-"))
    soak = Soak(folder / "run", options.minutes, options.seed,
                updates_between_flips=options.flip_bits)
    soak.play()
    text, faults = soak.judge()
    print(text)
    found = soak.differences()
    print(f"Workers differed {found} times, but in none of "
          f"{len(soak.compared)} complete checkpoints.")
    if options.flip_bits > 0:
        soak.compare_with_whole()
        print("The last checkpoint has the bits of a run without faults.")
    for fault in faults:
        print(f"NOT FLAT: {fault}")
    if faults:
        soak.write_samples(folder / "samples.csv")
        print(f"its run is in {folder}, all samples in {folder}/samples.csv")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
