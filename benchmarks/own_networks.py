#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What networks in Python cost, and what gandem gives the user who has them.

    benchmarks/own_networks.py --bin build/bin --python VENV/bin/python

Each pair of networks of 64 pixels is trained by plain PyTorch (pytorch_gan.py),
by gandem with the networks of that very script, and by gandem with its
built-in equals, in turns. Prints one table: medians and spread of images/s, the
ratio to the built-in networks with the same settings, that to the best PyTorch
row of the pair, and the shares of waiting; and writes a JSON file. A pair's
title has what a pass of the discriminator costs in passes of the generator.

Needs a build with workers inside Python (scripts/build.sh --python), whose
interpreter --python is, with torch==2.11.0 and numpy.
"""

import dataclasses
import json
import os
import pathlib
import statistics

import throughput

ROLES = ("generator", "discriminator")


@dataclasses.dataclass(frozen=True)
class Pair:
    recipe: str
    rounds: int
    discriminator_width: int

    def network(self):
        """As pytorch_gan.py is told."""
        return {**throughput.RECIPES[self.recipe]["network"],
                "discriminator_width": self.discriminator_width}

    def built_in_sets(self):
        family = self.network()["network"]
        return [*throughput.RECIPES[self.recipe]["sets"],
                f"discriminator.network.{family}.width="
                f"{self.discriminator_width}"]

    def python_sets(self):
        network = self.network()
        shared = [f"network='{network['network']}'", f"size={network['size']}"]
        arguments = {
            "generator": [*shared, f"width={network['width']}",
                          f"noise_dim={network['noise_dim']}"],
            "discriminator": [*shared, f"width={self.discriminator_width}"]}
        # The family's own fields would choose the family again.
        sets = [one for one in throughput.RECIPES[self.recipe]["sets"]
                if ".network." not in one]
        file = throughput.SOURCE / "benchmarks" / "pytorch_gan.py"
        for role in ROLES:
            path = f"{role}.network.python"
            sets += [f'{path}.module="{file}"', f'{path}.name="make_{role}"',
                     f"{path}.arguments={json.dumps(arguments[role])}"]
        return [*sets, "generator.network.python.noise_dim="
                f"{network['noise_dim']}"]


PAIRS = {
    "dcgan 64": Pair("dcgan_64", 30, 64),
    "sngan 64": Pair("sngan_64", 20, 16),
    "dcgan 64, larger discriminator": Pair("dcgan_64", 24, 92),
    "sngan 64, smaller discriminator": Pair("sngan_64", 20, 12),
}
PYTORCH = {"PyTorch, NCHW": [], "PyTorch, channels_last": ["--channels_last"]}


@dataclasses.dataclass(frozen=True)
class Setting:
    sets: list
    colocated: bool = False
    flags: list = dataclasses.field(default_factory=list)


SETTINGS = {
    "decoupled L1": Setting(throughput.sets(1)),
    "decoupled L2": Setting(throughput.sets(2)),
    "decoupled L2, 2 threads each":
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


def measure(args, pair):
    """Images/s and shares of waiting by row, in turns."""
    rounds = args.rounds or pair.rounds
    speeds, waits = {}, {}
    for _ in range(args.repetitions):
        for name, flags in PYTORCH.items():
            speeds.setdefault(name, []).append(float(throughput.pytorch_gan(
                args.python, pair.network(), rounds, flags)))
        for name, setting in SETTINGS.items():
            if not is_chosen(name, args.setting):
                continue
            for form in FORMS:
                sets = (pair.python_sets() if form == "Python"
                        else pair.built_in_sets())
                row = f"{form}, {name}"
                speed, waits[row] = throughput.run_gandem(
                    args.bin, pair.recipe, rounds, setting.colocated,
                    [*sets, *setting.sets],
                    [*setting.flags, "--python", args.python])
                speeds.setdefault(row, []).append(speed)
    return speeds, waits


def print_rows(title, speeds, waits):
    medians = {name: statistics.median(values)
               for name, values in speeds.items()}
    pytorch = max(medians[name] for name in PYTORCH)
    for name, values in speeds.items():
        waiting = ["", ""]
        if name in waits:
            waiting = [f"{sum(waits[name][role].values()):.0%}"
                       for role in ROLES]
        form, _, setting = name.partition(", ")
        of_built_in = (f"{medians[name] / medians[f'built-in, {setting}']:.2f}"
                       if form == "Python" else "")
        print(f"| {title} | {name} | {medians[name]:.1f} | {min(values):.1f} "
              f"| {max(values):.1f} | {of_built_in} "
              f"| {medians[name] / pytorch:.2f} "
              f"| {waiting[0]} | {waiting[1]} |", flush=True)
        title = ""


def main():
    parser = throughput.arguments(__doc__, "own_networks.json", 5)
    parser.add_argument("--python", required=True,
                        help="the interpreter that gandem was built for")
    parser.add_argument("--pair", action="append",
                        help="part of a name; default: all")
    parser.add_argument("--setting", action="append",
                        help="part of a name; default: all")
    parser.add_argument("--rounds", type=int,
                        help="measured rounds; default: by pair")
    args = parser.parse_args()
    args.bin = pathlib.Path(args.bin).resolve()
    result = {"cores": os.cpu_count()}
    print("| networks (D / G) | trainer | images/s | min | max | / built-in "
          "| / best PyTorch | G waits | D waits |\n" + "|---" * 9 + "|")
    for name, pair in PAIRS.items():
        if not is_chosen(name, args.pair):
            continue
        cost = [float(word) for word in throughput.pytorch_gan(
            args.python, pair.network(), args.rounds or pair.rounds,
            ["--cost", "--channels_last"]).split()]
        speeds, waits = measure(args, pair)
        print_rows(f"{name} ({cost[1] / cost[0]:.2f})", speeds, waits)
        result[name] = {"pass_seconds": dict(zip(ROLES, cost)),
                        "images_per_second": speeds, "wait_share": waits}
    pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
