#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares images/s of synchronous and decoupled training, also with PyTorch.

    benchmarks/throughput.py --bin build/bin --python VENV/bin/python

The runs of all trainers alternate (A B C A B C ...), so that a change of the
machine's speed affects all of them. Prints the median and range of images/s,
ratios of medians and waiting shares, and writes a JSON file. VENV needs
torch==2.11.0 and numpy. Without --python, PyTorch is not measured.

With --device cuda:0, all networks of all processes are on that GPU. All but one
row allow nondeterministic sums, as PyTorch does by default.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BATCH = 64

# `network`: arguments of pytorch_gan.py. `sets`: values of --set for the recipe.
RECIPES = {
    "dcgan_64": {"rounds": 30, "sets": [],
                 "network": {"network": "dcgan", "size": 64, "width": 64,
                             "noise_dim": 100}},
    "fashion_mnist_dcgan": {"rounds": 150, "sets": [],
                            "network": {"network": "dcgan", "size": 32,
                                        "width": 32, "noise_dim": 64}},
    "fashion_mnist_sngan": {"rounds": 20,
                            "sets": ["generator.layout=CHANNELS_LAST",
                                     "discriminator.layout=CHANNELS_LAST"],
                            "network": {"network": "sndcgan", "size": 32,
                                        "width": 64, "noise_dim": 128,
                                        "loss": "HINGE"}},
    # Reduced for two cores: one step of each network per round, narrow networks.
    "sngan_64": {"rounds": 20,
                 "sets": ["schedule.discriminator_steps_per_round=1",
                          "generator.batch_size=64",
                          "generator.network.sngan.width=16",
                          "discriminator.network.sngan.width=16"],
                 "network": {"network": "sngan", "size": 64, "width": 16,
                             "noise_dim": 128, "loss": "HINGE"}},
}
# Replacements on a GPU: the full width.
ON_GPU = {
    "sngan_64": {"sets": ["schedule.discriminator_steps_per_round=1",
                          "generator.batch_size=64"],
                 "network": {"network": "sngan", "size": 64, "width": 64,
                             "noise_dim": 128, "loss": "HINGE"}},
}
WARM_UP = 3  # rounds
ROUNDS_ON_GPU = 300


def sets(lag, source="REUSED", feedback="SNAPSHOT", micro=0, threads=1):
    return [f"schedule.lag={lag}", f"schedule.image_source={source}",
            f"schedule.feedback={feedback}", f"generator.micro_batch={micro}",
            f"discriminator.micro_batch={micro}",
            f"generator.threads={threads}", f"discriminator.threads={threads}"]


# Name -> (colocated, values of --set), for two cores.
GANDEM = {
    "colocated L0 FRESH": (True, sets(0, source="FRESH", threads=2)),
    "colocated L0 REUSED": (True, sets(0, threads=2)),
    "colocated L1 FUSED": (True, sets(1, feedback="FUSED", threads=2)),
    "decoupled L1 SNAPSHOT": (False, sets(1)),
    "decoupled L2 SNAPSHOT": (False, sets(2)),
    "decoupled L1 IMAGE_GRADIENT": (False, sets(1, feedback="IMAGE_GRADIENT")),
    "decoupled L2 IMAGE_GRADIENT": (False, sets(2, feedback="IMAGE_GRADIENT")),
    "decoupled L1 IMAGE_GRADIENT 4 micro-batches":
        (False, sets(1, feedback="IMAGE_GRADIENT", micro=BATCH // 4)),
    "decoupled L2 IMAGE_GRADIENT 4 micro-batches":
        (False, sets(2, feedback="IMAGE_GRADIENT", micro=BATCH // 4)),
    "decoupled L1 FUSED": (False, sets(1, feedback="FUSED")),
    "decoupled L1 FUSED 4 micro-batches":
        (False, sets(1, feedback="FUSED", micro=BATCH // 4)),
    "decoupled L2 SNAPSHOT, 2 threads each": (False, sets(2, threads=2)),
    "decoupled L1 FUSED, 2 threads each":
        (False, sets(1, feedback="FUSED", threads=2)),
}
PYTORCH = {
    "PyTorch FRESH, channels_last": ["--fresh", "--channels_last"],
    "PyTorch REUSED, NCHW": [],
    "PyTorch REUSED, channels_last": ["--channels_last"],
    "PyTorch REUSED, compiled": ["--channels_last", "--compile"],
    "PyTorch fused, channels_last": ["--fused", "--channels_last"],
}
# Replacements of GANDEM and PYTORCH on a GPU.
GANDEM_ON_GPU = {
    "colocated L0 REUSED": (True, sets(0)),
    "colocated L1 FUSED": (True, sets(1, feedback="FUSED")),
    "colocated L1 FUSED, deterministic": (True, sets(1, feedback="FUSED")),
    "decoupled L1 SNAPSHOT": (False, sets(1)),
    "decoupled L2 SNAPSHOT": (False, sets(2)),
    "decoupled L1 FUSED": (False, sets(1, feedback="FUSED")),
}
PYTORCH_ON_GPU = {
    "PyTorch REUSED, channels_last": ["--channels_last"],
    "PyTorch REUSED, NCHW": [],
    "PyTorch fused, channels_last": ["--fused", "--channels_last"],
}
FAST_PYTORCH_ON_GPU = {
    "PyTorch REUSED, channels_last, TF32": ["--channels_last", "--tf32"],
    "PyTorch REUSED, channels_last, bfloat16":
        ["--channels_last", "--tf32", "--bf16"],
    "PyTorch fused, channels_last, TF32":
        ["--fused", "--channels_last", "--tf32"],
}


def of_both_roles(*fields):
    return [f"{role}.{field}" for role in ("generator", "discriminator")
            for field in fields]


# For --fast. On a GPU, the settings with which PyTorch is fastest.
FAST = of_both_roles("precision=AUTO", "layout=AUTO")
FAST_ON_GPU = of_both_roles("precision=TF32", "layout=CHANNELS_LAST")
WAITS = ["wait_images_seconds", "wait_feedback_seconds", "wait_data_seconds",
         "wait_cache_seconds", "wait_sync_seconds"]


def train_command(binaries, recipe, run_dir, assignments, flags=()):
    """Returns the command of a run without checkpoints and samples."""
    command = [binaries / "gandem", "train",
               SOURCE / "recipes" / f"{recipe}.textproto", "--run_dir", run_dir,
               *flags]
    for assignment in [*assignments, "checkpoint.every_rounds=0",
                       "samples.every_rounds=0"]:
        command += ["--set", assignment]
    return [str(part) for part in command]


def records_of(run_dir):
    lines = (run_dir / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def children(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def arguments(description, json_path, repetitions=0):
    """Returns a parser with the options that several benchmarks share."""
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path,
                        default=SOURCE / "build" / "bin")
    if repetitions:
        parser.add_argument("--repetitions", type=int, default=repetitions)
    parser.add_argument("--json", default=json_path)
    return parser


def train(binaries, recipe, rounds, colocated, assignments, flags=()):
    """Trains the warm-up and `rounds` rounds. Returns the metrics records."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gandem-bench-"))
    try:
        subprocess.run(
            train_command(binaries, recipe, folder / "run",
                          [*assignments, f"rounds={WARM_UP + rounds}"],
                          ["--colocated"] * colocated + list(flags)),
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            timeout=900)
        return records_of(folder / "run")
    finally:
        shutil.rmtree(folder)


def after_warm_up(records):
    return [r for r in records if int(r.get("round", 0)) >= WARM_UP]


def run_gandem(binaries, recipe, rounds, colocated, assignments, flags=()):
    """Returns images/s after the warm-up, and the waiting shares by role."""
    records = train(binaries, recipe, rounds, colocated, assignments, flags)
    rounds_per_second, waits = speed_and_waits(records)
    return BATCH * rounds_per_second, waits


def speed_and_waits(records):
    begin, end, rounds, waits = 0.0, 0.0, 0, {}
    for role in ("generator", "discriminator"):
        mine = [r for r in records if r["role"] == role]
        measured = after_warm_up(mine)
        begin = max(begin, next(r["unix_seconds"] for r in mine
                                if int(r.get("round", 0)) == WARM_UP - 1))
        end = max(end, measured[-1]["unix_seconds"])
        rounds = 1 + int(measured[-1]["round"]) - WARM_UP
        total = sum(r["round_seconds"] for r in measured)
        waits[role] = {w: sum(r.get(w, 0) for r in measured) / total
                       for w in WAITS}
    return rounds / (end - begin), waits


def pytorch_gan(python, network, rounds, flags):
    command = [python, SOURCE / "benchmarks" / "pytorch_gan.py",
               "--batch", BATCH, "--rounds", rounds, "--warm_up", WARM_UP,
               "--threads", 2, *flags]
    for name, value in network.items():
        command += [f"--{name}", value]
    return subprocess.run([str(part) for part in command], check=True,
                          stdout=subprocess.PIPE, text=True,
                          timeout=900).stdout


class Place:
    """The device of the runs, and the trainers to measure on it."""

    def __init__(self, device, fast):
        self.device, self.fast = device, fast
        self.recipes, self.gandem, self.pytorch = RECIPES, GANDEM, PYTORCH
        if device != "cpu":
            self.recipes = {name: {**recipe, "rounds": ROUNDS_ON_GPU,
                                   **ON_GPU.get(name, {})}
                            for name, recipe in RECIPES.items()}
            self.gandem = GANDEM_ON_GPU
            self.pytorch = FAST_PYTORCH_ON_GPU if fast else PYTORCH_ON_GPU

    def run_pytorch(self, python, recipe, rounds, flags):
        if self.device != "cpu":
            flags = [*flags, "--device", self.device]
        elif self.fast:
            flags = [*flags, "--bf16"]
        return float(pytorch_gan(python, self.recipes[recipe]["network"],
                                 rounds, flags))

    def sets(self, name):
        """Returns values of --set for the trainer `name` on this device."""
        if self.device == "cpu":
            return FAST if self.fast else []
        return [*of_both_roles(f"device={self.device}",
                               "deterministic=" + ("true" if "deterministic"
                                                   in name else "false")),
                *(FAST_ON_GPU if self.fast else [])]


def chosen(args, trainers):
    return {name: how for name, how in trainers.items()
            if not args.trainer or any(part in name for part in args.trainer)}


def measure(args, place, recipe):
    rounds = args.rounds or place.recipes[recipe]["rounds"]
    speeds, waits = {}, {}
    for repetition in range(args.repetitions):
        if args.python:
            for name, flags in chosen(args, place.pytorch).items():
                speeds.setdefault(name, []).append(
                    place.run_pytorch(args.python, recipe, rounds, flags))
        for name, (colocated, assignments) in chosen(args,
                                                     place.gandem).items():
            assignments = [*place.recipes[recipe]["sets"], *assignments,
                           *place.sets(name)]
            speed, waits[name] = run_gandem(args.bin, recipe, rounds, colocated,
                                            assignments)
            speeds.setdefault(name, []).append(speed)
        print(f"{recipe}: repetition {repetition + 1} of {args.repetitions}",
              flush=True)
    return speeds, waits


def report(recipe, speeds, waits):
    medians = {name: statistics.median(values)
               for name, values in speeds.items()}
    reused = medians.get("colocated L0 REUSED", float("nan"))
    pytorch = max((median for name, median in medians.items()
                   if name.startswith("PyTorch") and "fused" not in name),
                  default=0)
    print(f"\n### {recipe}, batch {BATCH}, images/s\n")
    print("| trainer | median | min | max | / colocated REUSED "
          "| / best PyTorch | G waits | D waits |")
    print("|---|---|---|---|---|---|---|---|")
    for name, values in speeds.items():
        waiting = ["", ""]
        if name in waits:
            waiting = [f"{sum(waits[name][role].values()):.0%}"
                       for role in ("generator", "discriminator")]
        print(f"| {name} | {medians[name]:.1f} | {min(values):.1f} "
              f"| {max(values):.1f} | {medians[name] / reused:.2f} "
              f"| {medians[name] / pytorch if pytorch else float('nan'):.2f} "
              f"| {waiting[0]} | {waiting[1]} |")


def main():
    parser = arguments(__doc__, "throughput.json", 5)
    parser.add_argument("--python", help="Python interpreter with torch")
    parser.add_argument("--recipe", choices=RECIPES, action="append",
                        help="default: all")
    parser.add_argument("--trainer", action="append",
                        help="part of the names of trainers to run; ratios need "
                        "`colocated L0 REUSED`; default: all")
    parser.add_argument("--rounds", type=int,
                        help="measured rounds; default: by recipe")
    parser.add_argument("--fast", action="store_true",
                        help="use precision and layout AUTO, and bfloat16 in "
                        "PyTorch; on a GPU, TF32 in both")
    parser.add_argument("--device", default="cpu", help="cpu or cuda:N")
    args = parser.parse_args()
    place = Place(args.device, args.fast)
    result = {"cores": os.cpu_count(), "device": args.device}
    for recipe in args.recipe or RECIPES:
        speeds, waits = measure(args, place, recipe)
        report(recipe, speeds, waits)
        result[recipe] = {"images_per_second": speeds, "wait_share": waits}
    pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten: {args.json}")


if __name__ == "__main__":
    main()
