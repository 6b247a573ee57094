#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares networks in Python with gandem's built-in networks and with PyTorch.

    benchmarks/own_networks.py --bin build/bin --python VENV/bin/python

Trains each pair of networks at 64x64 in plain PyTorch (pytorch_gan.py), in gandem
with the networks of pytorch_gan.py, and in gandem with equal built-in networks.
The runs alternate. Prints a table with median and range of images/s, the ratios
to the built-in networks with equal settings and to the best PyTorch row of the
pair, and the waiting shares; writes a JSON file. The title of a pair has the cost
of a discriminator pass divided by that of a generator pass.

--processor_time measures the CPU time per image of all processes, as the
difference to a run of one round. On a busy machine it is more reliable than
images/s, but includes spinning threads.

Needs a build with workers inside Python (scripts/build.sh --python) and, for
--python, the interpreter of that build with torch==2.11.0 and numpy.
"""

import dataclasses
import json
import os
import pathlib
import resource
import statistics
import sys

import throughput

ROLES = ("generator", "discriminator")


@dataclasses.dataclass(frozen=True)
class Pair:
    recipe: str
    rounds: int
    discriminator_width: int
    loss: str = ""  # default: the recipe's
    # Requires one backward pass of FUSED. Built-in networks choose it by default.
    one_pass: bool = False

    def network(self):
        return {**throughput.RECIPES[self.recipe]["network"],
                "discriminator_width": self.discriminator_width,
                **({"loss": self.loss} if self.loss else {})}

    def shared_sets(self):
        return [*throughput.RECIPES[self.recipe]["sets"],
                *([f"loss={self.loss}"] if self.loss else [])]

    def built_in_sets(self):
        family = self.network()["network"]
        return [*self.shared_sets(), f"discriminator.network.{family}.width="
                f"{self.discriminator_width}"]

    def fused_sets(self):
        return (["schedule.fused_backward=ONE_PASS"] if self.one_pass else [])

    def python_sets(self):
        network = self.network()
        shared = [f"network='{network['network']}'", f"size={network['size']}"]
        arguments = {
            "generator": [*shared, f"width={network['width']}",
                          f"noise_dim={network['noise_dim']}"],
            "discriminator": [*shared, f"width={self.discriminator_width}"]}
        # Fields of the built-in family would select that family.
        sets = [one for one in self.shared_sets() if ".network." not in one]
        file = throughput.SOURCE / "benchmarks" / "pytorch_gan.py"
        for role in ROLES:
            path = f"{role}.network.python"
            sets += [f'{path}.module="{file}"', f'{path}.name="make_{role}"',
                     f"{path}.arguments={json.dumps(arguments[role])}"]
        return [*sets, "generator.network.python.noise_dim="
                f"{network['noise_dim']}"]


# Pairs in which a discriminator pass costs as much as a generator pass, or twice
# as much.
PAIRS = {
    "dcgan 64, equal": Pair("dcgan_64", 30, 64),
    "sngan 64, equal": Pair("sngan_64", 20, 32),
    "dcgan 64, twice the cost": Pair("dcgan_64", 24, 88),
    "dcgan 64, larger discriminator": Pair("dcgan_64", 24, 96),
    "sngan 64, larger discriminator": Pair("sngan_64", 20, 44),
    "sngan 64, twice the cost, one pass":
        Pair("sngan_64", 20, 44, loss="NON_SATURATING", one_pass=True),
}
PYTORCH = {"PyTorch, NCHW": [], "PyTorch, channels_last": ["--channels_last"]}


@dataclasses.dataclass(frozen=True)
class Setting:
    sets: list
    colocated: bool = False
    flags: list = dataclasses.field(default_factory=list)


SETTINGS = {
    "decoupled L1 SNAPSHOT": Setting(throughput.sets(1)),
    "decoupled L2 SNAPSHOT": Setting(throughput.sets(2)),
    "decoupled L2 SNAPSHOT, 2 threads each":
        Setting(throughput.sets(2, threads=2), flags=["--bind_cores", "none"]),
    "decoupled L1 FUSED, 2 threads each":
        Setting(throughput.sets(1, feedback="FUSED", threads=2),
                flags=["--bind_cores", "none"]),
    "colocated L1 FUSED":
        Setting(throughput.sets(1, feedback="FUSED", threads=2),
                colocated=True),
}
FORMS = ("built-in", "Python")


def is_chosen(name, parts):
    return not parts or any(part in name for part in parts)


def runs_of(args, pair):
    """Returns row -> function that trains a number of rounds and returns images/s
    and the waiting shares (None for PyTorch)."""
    def pytorch(flags):
        return lambda rounds: (float(throughput.pytorch_gan(
            args.python, pair.network(), rounds, flags)), None)

    def gandem(form, setting):
        sets = (pair.python_sets() if form == "Python"
                else pair.built_in_sets())
        if "schedule.feedback=FUSED" in setting.sets:
            sets = [*sets, *pair.fused_sets()]
        return lambda rounds: throughput.run_gandem(
            args.bin, pair.recipe, rounds, setting.colocated,
            [*sets, *setting.sets], [*setting.flags, "--python", args.python])

    runs = {name: pytorch(flags) for name, flags in PYTORCH.items()
            if is_chosen(name, args.trainer)}
    for setting, how in SETTINGS.items():
        for form in FORMS:
            name = f"{form}, {setting}"
            if is_chosen(name, args.trainer):
                runs[name] = gandem(form, how)
    return runs


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(args, pair):
    """Returns images/s, waiting shares and CPU seconds per image, by row."""
    rounds = args.rounds or pair.rounds
    speeds, waits, processor = {}, {}, {}
    for _ in range(args.repetitions):
        for name, run in runs_of(args, pair).items():
            start = processor_seconds()
            speed, waits[name] = run(rounds)
            speeds.setdefault(name, []).append(speed)
            print(f"{pair.recipe} {pair.discriminator_width}, {name}: "
                  f"{speed:.1f} images/s", file=sys.stderr, flush=True)
            if not args.processor_time:
                continue
            taken = processor_seconds()
            run(1)
            taken = (taken - start) - (processor_seconds() - taken)
            processor.setdefault(name, []).append(
                taken / (rounds - 1) / throughput.BATCH)
            print(f"  {1000 * processor[name][-1]:.1f} ms of processor time",
                  file=sys.stderr, flush=True)
    return speeds, waits, processor


def print_rows(title, speeds, waits, processor):
    def ratio(medians, name, other):
        return f"{medians[name] / medians[other]:.2f}" \
            if name != other and other in medians else ""

    medians, seconds = ({name: statistics.median(values)
                         for name, values in figures.items()}
                        for figures in (speeds, processor))
    pytorch = max((name for name in PYTORCH if name in medians),
                  key=medians.get, default="")
    for name, values in speeds.items():
        waiting = ["", ""]
        if waits[name]:
            waiting = [f"{sum(waits[name][role].values()):.0%}"
                       for role in ROLES]
        equal = name.replace("Python, ", "built-in, ")
        spent = (f"{1000 * seconds[name]:.1f} ms" +
                 (f" ({ratio(seconds, name, equal)})"
                  if equal in seconds and name != equal else "")
                 if name in seconds else "")
        print(f"| {title} | {name} | {medians[name]:.1f} | {min(values):.1f} "
              f"| {max(values):.1f} | {ratio(medians, name, equal)} "
              f"| {ratio(medians, name, pytorch)} "
              f"| {waiting[0]} | {waiting[1]} | {spent} |", flush=True)
        title = ""


def main():
    parser = throughput.arguments(__doc__, "own_networks.json", 5)
    parser.add_argument("--python", required=True,
                        help="Python interpreter that gandem was built for")
    parser.add_argument("--pair", action="append",
                        help="part of the names of pairs to run; default: all")
    parser.add_argument("--trainer", action="append",
                        help="part of the names of rows to run; default: all")
    parser.add_argument("--processor_time", action="store_true",
                        help="also measure the CPU time per image")
    parser.add_argument("--rounds", type=int,
                        help="measured rounds, at least 2; default: by pair")
    args = parser.parse_args()
    args.bin = pathlib.Path(args.bin).resolve()
    result = {"cores": os.cpu_count()}
    print("| networks (D / G) | trainer | images/s | min | max | / built-in "
          "| / best PyTorch | G waits | D waits | processor time of an image "
          "(/ built-in) |\n" + "|---" * 10 + "|")
    for name, pair in PAIRS.items():
        if not is_chosen(name, args.pair):
            continue
        cost = [float(word) for word in throughput.pytorch_gan(
            args.python, pair.network(), args.rounds or pair.rounds,
            ["--cost", "--channels_last"]).split()]
        speeds, waits, processor = measure(args, pair)
        print_rows(f"{name} ({cost[1] / cost[0]:.2f})", speeds, waits,
                   processor)
        result[name] = {"pass_seconds": dict(zip(ROLES, cost)),
                        "images_per_second": speeds, "wait_share": waits,
                        "processor_seconds_of_an_image": processor}
    pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
