#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the peak memory of each worker, by feedback mode.

    benchmarks/memory.py --bin build/bin

Runs a few rounds of dcgan_64 and of a narrower biggan_128, decoupled and colocated
in each feedback mode, and reads the VmHWM of the workers. Other load on the
machine does not change the results. docs/performance.md has the table.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import time

import throughput

ROUNDS = 6
# Time limit of a run in seconds.
LONGEST = 900
RECIPES = {
    "dcgan_64": [],
    # Reduced: one discriminator step, REUSED images, a sixth of the width.
    "biggan_128": ["schedule.discriminator_steps_per_round=1",
                   "schedule.image_source=REUSED",
                   "generator.batch_size=32", "generator.micro_batch=0",
                   "discriminator.batch_size=32",
                   "discriminator.micro_batch=0",
                   "generator.network.biggan.width=16",
                   "discriminator.network.biggan.width=16"],
}
MODES = ("SNAPSHOT", "IMAGE_GRADIENT", "FUSED")
NAMES = ("generator_worker", "discriminator_worker", "colocated_worker")


def peak_bytes(pid):
    """Returns (program, VmHWM in bytes), or None if the process is no worker or
    has ended."""
    try:
        program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmHWM:") and program in NAMES:
            return program, 1024 * int(line.split()[1])
    return None


def gpu_bytes(device):
    """Returns the bytes that all processes use on `device`, "cuda:N"."""
    text = subprocess.run(
        ["nvidia-smi", "--query-gpu=memory.used",
         "--format=csv,noheader,nounits", "-i", device.removeprefix("cuda:")],
        check=True, capture_output=True, text=True, timeout=60).stdout
    return 2**20 * int(text)


def watch(command, look_seconds=0.1, device="cpu"):
    """Runs `command`. Returns the peak bytes of each kind of worker, or of its
    GPU."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    peaks = {}
    deadline = time.monotonic() + LONGEST
    try:
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{command}: not done in {LONGEST} s")
            for pid in throughput.children(process.pid):
                found = peak_bytes(pid)
                if found:
                    program, peak = found
                    if device != "cpu":
                        peak = gpu_bytes(device)
                    peaks[program] = max(peak, peaks.get(program, 0))
            time.sleep(look_seconds)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)
    if process.returncode:
        raise RuntimeError(f"{command}: exit code {process.returncode}")
    return peaks


def run(binaries, recipe, sets, colocated):
    with tempfile.TemporaryDirectory(prefix="gandem-bench-") as folder:
        return watch(throughput.train_command(
            binaries, recipe, pathlib.Path(folder, "run"),
            [*RECIPES[recipe], *sets, f"rounds={ROUNDS}"],
            ["--colocated"] * colocated), look_seconds=0.02)


def main():
    parser = throughput.arguments(__doc__, "memory.json")
    parser.add_argument("--recipe", choices=RECIPES, action="append",
                        help="default: all")
    args = parser.parse_args()
    results = {}
    for recipe in args.recipe or RECIPES:
        for mode in MODES:
            for colocated in (False, True):
                name = ("colocated, " if colocated else "") + mode
                results.setdefault(recipe, {})[name] = run(
                    args.bin, recipe, ["schedule.lag=1",
                                       f"schedule.feedback={mode}"], colocated)
        print(f"\n### {recipe}: MiB\n\n| feedback | generator | discriminator "
              "| both in one process | generator / both |\n" + "|---" * 5 + "|")
        for mode in MODES:
            apart = results[recipe][mode]
            g, d = (apart[name] / 2**20 for name in NAMES[:2])
            both = results[recipe][f"colocated, {mode}"][NAMES[2]] / 2**20
            print(f"| {mode} | {g:.0f} | {d:.0f} | {both:.0f} "
                  f"| {g / both:.2f} |", flush=True)
    pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
