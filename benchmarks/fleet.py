#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures images/s and all-reduced bytes of fleets on two cores.

    benchmarks/fleet.py --bin build/bin --python VENV/bin/python

Trains DCGAN at 64x64 in batches of 64 images: gandem with 1 generator + 2
discriminator workers, with 2 + 2 workers, and colocated in one process, and
PyTorch with DistributedDataParallel in two ranks. The runs alternate (A B C A B
C ...). Prints the median and range of images/s, and the share of time in which a
role waits for its all-reduce. Then prints the bytes all-reduced per image and
worker, compared with data parallelism over both networks.

VENV needs torch==2.11.0 and numpy. Without --python, PyTorch is not measured.
"""

import json
import os
import pathlib
import statistics
import subprocess

import throughput

RECIPE = "dcgan_64"
BATCH = throughput.BATCH
# Parameters of the recipe's networks (tests/models/model_param_counts.csv).
PARAMETERS = {"generator": 3_574_656, "discriminator": 2_763_520}


def fleet(generators, discriminators, interval=1):
    return [*throughput.sets(1), f"generator.workers={generators}",
            f"discriminator.workers={discriminators}",
            f"generator.sync.interval={interval}",
            f"discriminator.sync.interval={interval}"]


# Name -> (colocated, values of --set, sync interval).
GANDEM = {
    "gandem colocated, 2 threads": (True, throughput.sets(0, threads=2), 1),
    "gandem 1 G + 1 D": (False, throughput.sets(1), 1),
    "gandem 1 G + 2 D": (False, fleet(1, 2), 1),
    "gandem 2 G + 2 D": (False, fleet(2, 2), 1),
    "gandem 1 G + 2 D, interval 2": (False, fleet(1, 2, 2), 2),
    "gandem 2 G + 2 D, interval 2": (False, fleet(2, 2, 2), 2),
}
DDP = {"PyTorch DDP, 2 ranks": 1, "PyTorch DDP, 2 ranks, interval 2": 2}


def run_ddp(python, rounds, interval):
    done = subprocess.run(
        [python, str(throughput.SOURCE / "benchmarks" / "pytorch_ddp.py"),
         "--batch", str(BATCH), "--rounds", str(rounds // interval),
         "--interval", str(interval), "--warm_up", str(throughput.WARM_UP)],
        check=True, capture_output=True, text=True, timeout=900)
    return float(done.stdout)


def sent_per_image(records, role):
    """Returns the bytes of a worker's all-reduce per image of its training."""
    mine = [r for r in throughput.after_warm_up(records) if r["role"] == role]
    return (sum(int(r.get("sync_bytes", 0)) for r in mine)
            / sum(int(r["images"]) for r in mine))


def measure(args):
    speeds, waits, sent = {}, {}, {}
    for repetition in range(args.repetitions):
        if args.python:
            for name, interval in DDP.items():
                speeds.setdefault(name, []).append(
                    run_ddp(args.python, args.rounds, interval))
        for name, (colocated, assignments, interval) in GANDEM.items():
            records = throughput.train(args.bin, RECIPE,
                                       args.rounds // interval, colocated,
                                       assignments)
            rounds_per_second, waits[name] = throughput.speed_and_waits(records)
            speeds.setdefault(name, []).append(
                BATCH * interval * rounds_per_second)
            sent[name] = {role: sent_per_image(records, role)
                          for role in PARAMETERS}
        print(f"repetition {repetition + 1} of {args.repetitions}", flush=True)
    return speeds, waits, sent


def print_speeds(speeds, waits):
    medians = {name: statistics.median(values)
               for name, values in speeds.items()}
    bases = [next(iter(GANDEM)), *list(DDP)[:1]]
    bases = [base for base in bases if base in medians]
    print(f"\n### {RECIPE}, batch {BATCH}, two cores, images/s\n")
    print("| trainer | median | min | max | "
          + " | ".join(f"/ {base}" for base in bases)
          + " | G waits for sums | D waits for sums |")
    print("|---" * (6 + len(bases)) + "|")
    for name, values in speeds.items():
        ratios = " | ".join(f"{medians[name] / medians[base]:.2f}"
                            for base in bases)
        waiting = [f"{waits[name][role]['wait_sync_seconds']:.0%}"
                   if name in waits else "" for role in PARAMETERS]
        print(f"| {name} | {medians[name]:.1f} | {min(values):.1f} "
              f"| {max(values):.1f} | {ratios} | {waiting[0]} "
              f"| {waiting[1]} |")


def print_bytes(sent):
    # In a ring of N = 2 ranks, each rank sends 2 (N - 1) / N = 1 times the bytes
    # of both gradients for its half of a batch.
    ddp = 4 * sum(PARAMETERS.values()) / (BATCH / 2)
    print("\n### Bytes all-reduced per image and worker\n")
    print("| trainer | generator | discriminator | mean / DDP |")
    print("|---|---|---|---|")
    print(f"| DDP over both networks, 2 ranks | | {ddp:,.0f} | 1.00 |")
    for name, roles in sent.items():
        if "2 G + 2 D" in name:
            mean = statistics.mean(roles.values())
            print(f"| {name} | {roles['generator']:,.0f} "
                  f"| {roles['discriminator']:,.0f} | {mean / ddp:.2f} |")


def main():
    parser = throughput.arguments(__doc__, "fleet.json", 5)
    parser.add_argument("--python", help="Python interpreter with torch")
    parser.add_argument("--rounds", type=int, default=24,
                        help="measured rounds, each a batch of 64 images")
    args = parser.parse_args()
    speeds, waits, sent = measure(args)
    print_speeds(speeds, waits)
    print_bytes(sent)
    result = {"cores": os.cpu_count(), "images_per_second": speeds,
              "wait_share": waits, "sent_bytes_per_image": sent}
    pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten: {args.json}")


if __name__ == "__main__":
    main()
