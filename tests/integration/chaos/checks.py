# SPDX-License-Identifier: Apache-2.0
"""Conditions that every run must fulfill at its end, after any fault."""

import os
import pathlib
import subprocess

import harness


def check(condition, what, run):
    if not condition:
        logs = "".join(f"\n--- {log.name}\n" + log.read_text()[-1500:]
                       for log in sorted(run.dir.glob("logs/*-*.log")))
        raise AssertionError(f"{what}\n{run.text()[-4000:]}{logs}")


def all_rounds(run, setup):
    """Both roles reported the last round, and a checkpoint has it. A full disk
    may lose records, but then the log says so."""
    has_records = "metrics are missing: " not in run.text()
    for role in ("generator", "discriminator") if has_records else ():
        rounds = {record.get("round", 0) for record in run.records(role)}
        check(setup.rounds - 1 in rounds, f"no last round of the {role}", run)
    name, _ = run.final_state()
    check(name == f"step-{setup.rounds:09}", f"{name} is the newest checkpoint",
          run)


def readable_checkpoints(run, command, folder):
    """`gandem` reads each checkpoint: a run of that many rounds is complete.
    `command` starts the run, without its folder."""
    for path in sorted((run.dir / "checkpoints").glob("step-*[0-9]")):
        rounds = int(path.name.removeprefix("step-"))
        reader = folder / f"reader-{rounds}"
        (reader / "checkpoints").mkdir(parents=True)
        (reader / "checkpoints" / path.name).symlink_to(path)
        done = subprocess.run(
            [*command, "--run_dir", str(reader), "--set", f"rounds={rounds}"],
            capture_output=True, text=True, timeout=harness.DEADLINE,
            check=False)
        check(done.returncode == 0
              and f"resuming after round {rounds} of" in done.stdout,
              f"{path.name} cannot be read:\n{done.stdout}{done.stderr}", run)


def no_new_epoch(run):
    check("new run epoch" not in run.text(), "a new run epoch", run)


def shared_memory():
    """Names of all shared memory."""
    folder = pathlib.Path("/dev/shm")
    return set(os.listdir(folder)) if folder.is_dir() else set()


def nothing_left(run, deaths, tmp, shared_before):
    """No socket and no shared memory; harness.Run.wait() checks processes."""
    check(not shared_memory() - shared_before, "shared memory is left", run)
    # The successor of a killed worker removes the worker's files, but a BOUNDED
    # run may end before that.
    left = sorted(path.name for path in tmp.iterdir())
    check(len(left) <= deaths, f"left in TMPDIR: {left}", run)
