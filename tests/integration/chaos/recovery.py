# SPDX-License-Identifier: Apache-2.0
"""Measures the time from a worker's death to the next accepted round.

The clock starts with SIGKILL. A round is accepted when the coordinator has a
record of it; unix_seconds in the record is the end of the round.
"""

import collections
import os
import shutil
import signal
import time

import harness

MODES = ("EXACT", "BOUNDED")
# Aims on an idle machine in seconds, by mode and kind of measurement.
AIMS = {("EXACT", "with it again"): 5, ("BOUNDED", "without it"): 1,
        ("BOUNDED", "with it again"): 5}

Death = collections.namedtuple("Death", "mode shape role without again")


def _records(run):
    return run.records("generator") + run.records("discriminator")


def _epoch(run):
    return max((record["run_epoch"] for record in _records(run)), default=0)


def _next_round(run, role, epoch, workers):
    """End of the first round, in `epoch` or later, in which the role has this
    number of workers, or None."""
    times = [record["unix_seconds"] for record in run.records(role)
             if record["run_epoch"] >= epoch
             and record.get("workers", 1) == workers]
    return min(times, default=None)


def measure(folder, mode, workers, role):
    """Kills the last worker of `role` in a run with `workers` in each role."""
    run = harness.Run(folder / f"{mode}-{workers}-{role}", sets=[
        "rounds=200000", "samples.every_rounds=0", "schedule.lag=2",
        f"schedule.consistency={mode}", f"generator.workers={workers}",
        f"discriminator.workers={workers}", "checkpoint.every_rounds=50"]
        + (["schedule.max_samples_per_image=2"] if mode == "BOUNDED" else []))
    try:
        harness.wait_for(lambda: "checkpoint of" in run.text(), "a checkpoint")
        before = _epoch(run)
        pid = harness.wait_for(
            lambda: run.processes().get((role, workers - 1)), "the worker")
        killed = time.time()
        os.kill(pid, signal.SIGKILL)
        with_it = lambda: _next_round(run, role, before + 1, workers)
        without = None
        if mode == "BOUNDED" and workers > 1:
            # A worker may return before the others have continued without it.
            without_it = lambda: _next_round(run, role, before + 1,
                                             workers - 1)
            harness.wait_for(lambda: without_it() or with_it(), "a round")
            without = without_it()
        again = harness.wait_for(with_it, "a round with the worker")
        return Death(mode, f"{workers}+{workers}", role,
                     without and without - killed, again - killed)
    finally:
        run.kill()
        shutil.rmtree(run.dir, ignore_errors=True)


def measure_all(folder, times=3):
    return [measure(folder, mode, workers, role)
            for mode in MODES for workers in (1, 2)
            for role in ("generator", "discriminator") for _ in range(times)]


def _cell(mode, what, seconds):
    if not seconds:
        return ""
    aim = AIMS.get((mode, what))
    worst = max(seconds)
    judgement = "" if aim is None else \
        f" (aim {aim}: {'met' if worst <= aim else 'MISSED'})"
    return (f"{sorted(seconds)[len(seconds) // 2]:.2f}, at most {worst:.2f}"
            f"{judgement}")


def table(deaths):
    """A table in Markdown."""
    rows = {}
    for death in deaths:
        key = death.mode, death.shape, death.role
        rows.setdefault(key, []).append(death)
    lines = ["| seconds from a kill to the next round | without the worker |"
             " with it again |", "|---|---|---|"]
    for (mode, shape, role), row in rows.items():
        cells = [_cell(mode, what, [s for s in seconds if s is not None])
                 for what, seconds in
                 (("without it", [death.without for death in row]),
                  ("with it again", [death.again for death in row]))]
        lines.append(f"| {mode}, {shape}, a {role} | " + " | ".join(cells)
                     + " |")
    return "\n".join(lines)
