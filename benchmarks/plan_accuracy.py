#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares predictions of `gandem plan` with measured runs.

    benchmarks/plan_accuracy.py --bin build/bin

Compares images/s, memory and waiting. Measures a profile of each network (`gandem
profile`), predicts configurations that the profile has not probed (`gandem plan
--as_it_is`; their batch sizes lie between the probed ones) and runs each
configuration: 1 + 1, 1 + 2 and 2 + 2 workers and one process, with all feedback
modes, two batch sizes and three lags. FUSED has one backward pass in
fashion_mnist_sngan and two in dcgan_64. The runs alternate, and their first rounds
are not counted. The memory of a role is the largest VmHWM of its workers, the
median over the runs. Also runs the choice of `gandem plan --objective throughput`.
The regret of this plan is the loss in images/s against the fastest measured run
with an equal batch size.

Prints these figures for each network and for all networks together, and the
difference between two halves of the runs, which limits the agreement that
predictions can reach on a busy machine. With four or more repetitions, also prints
Kendall's tau over the pairs of configurations of which one was faster in every
repetition.

With --device cuda:0, each run is one process on that GPU with larger batches, and
memory is that of the GPU, which no other process should use.

Takes under 25 minutes on two idle cores, and under two minutes with --fast, a
smoke test without meaningful figures. --profiles keeps the profiles in a folder,
to reuse them. docs/cost_model.md has the result.
"""

import itertools
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import memory
import throughput

# Batch sizes that neither the probes nor the recipes have.
SMALL, LARGE = 48, 96
LEAST_ROUNDS, MOST_ROUNDS = 6, 2000
# Smallest number of repetitions to tell two configurations apart. Of two equally
# fast ones, the same one wins 4 of 4 repetitions with probability 1/8.
LEAST_TURNS = 4
ROLES = ("generator", "discriminator")


def pair(generators, discriminators, batch, lag, feedback="SNAPSHOT", micro=0):
    return False, [*throughput.sets(lag, feedback=feedback, micro=micro),
                   f"generator.workers={generators}",
                   f"discriminator.workers={discriminators}",
                   f"generator.batch_size={batch}",
                   f"discriminator.batch_size={batch}"]


def together(batch, lag, feedback="SNAPSHOT"):
    _, sets = pair(1, 1, batch, lag, feedback)
    return True, [*sets, "generator.threads=2", "discriminator.threads=2"]


# Name -> (colocated, values of --set).
CONFIGURATIONS = {
    "1 + 1 SNAPSHOT L1 b48": pair(1, 1, SMALL, 1),
    "1 + 1 SNAPSHOT L2 b96": pair(1, 1, LARGE, 2),
    "1 + 1 IMAGE_GRADIENT L1 b96": pair(1, 1, LARGE, 1, "IMAGE_GRADIENT"),
    "1 + 1 IMAGE_GRADIENT L2 b48, by 24":
        pair(1, 1, SMALL, 2, "IMAGE_GRADIENT", micro=24),
    "1 + 1 FUSED L1 b48": pair(1, 1, SMALL, 1, "FUSED"),
    "1 + 2 SNAPSHOT L2 b48": pair(1, 2, SMALL, 2),
    "1 + 2 FUSED L1 b96": pair(1, 2, LARGE, 1, "FUSED"),
    "2 + 2 SNAPSHOT L1 b96": pair(2, 2, LARGE, 1),
    "2 + 2 IMAGE_GRADIENT L1 b48": pair(2, 2, SMALL, 1, "IMAGE_GRADIENT"),
    "2 + 2 FUSED L1 b48": pair(2, 2, SMALL, 1, "FUSED"),
    "colocated SNAPSHOT L0 b48": together(SMALL, 0),
    "colocated SNAPSHOT L1 b96": together(LARGE, 1),
    "colocated FUSED L1 b96": together(LARGE, 1, "FUSED"),
}
# All runs are one process. Small batches leave a GPU idle.
CONFIGURATIONS_ON_GPU = {
    "colocated SNAPSHOT L0 b48": together(SMALL, 0),
    "colocated SNAPSHOT L1 b96": together(LARGE, 1),
    "colocated SNAPSHOT L2 b192": together(2 * LARGE, 2),
    "colocated IMAGE_GRADIENT L1 b96": together(LARGE, 1, "IMAGE_GRADIENT"),
    "colocated FUSED L1 b48": together(SMALL, 1, "FUSED"),
    "colocated FUSED L1 b96": together(LARGE, 1, "FUSED"),
    "colocated FUSED L1 b192": together(2 * LARGE, 1, "FUSED"),
}
# In the first, the discriminator is slower; in the second, both networks are
# equally fast.
NETWORKS = ("fashion_mnist_sngan", "dcgan_64")
# For --fast.
FAST_NETWORKS = ("mlp_smoke",)
FAST_CONFIGURATIONS = {name: CONFIGURATIONS[name] for name in (
    "1 + 1 SNAPSHOT L1 b48", "1 + 1 FUSED L1 b48", "1 + 2 SNAPSHOT L2 b48",
    "colocated SNAPSHOT L0 b48")}


class Bench:
    """Profiles, predicts and measures one network."""

    def __init__(self, args, folder, recipe):
        self.args, self.folder, self.recipe = args, folder, recipe
        self.path = throughput.SOURCE / "recipes" / f"{recipe}.textproto"
        self.profile = (args.profiles or folder) / f"{recipe}.textproto"
        self.sets = [*args.set, *throughput.of_both_roles(
            f"device={args.device}")]

    def gandem(self, command, sets, *flags):
        """Runs gandem with a temporary cache. Returns the standard output."""
        words = [self.args.bin / "gandem", command, self.path, *flags]
        for assignment in [*self.sets, *sets]:
            words += ["--set", assignment]
        done = subprocess.run(
            [str(word) for word in words], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=memory.LONGEST, check=False,
            env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")})
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return done.stdout

    def measure_profile(self):
        text = self.gandem("profile", [], "-o", self.profile, "--budget",
                           self.args.budget)
        print(f"{self.recipe}: {text.splitlines()[-1]}", flush=True)

    def plan(self, name, sets, *flags):
        path = self.folder / f"{self.recipe}-{name}.textproto"
        self.gandem("plan", sets, "--profile", self.profile, "-o", path, *flags)
        return path

    def predict(self, colocated, sets):
        path = self.plan("asked", sets, "--as_it_is",
                         *["--colocated"] * colocated)
        return prediction_of(path.read_text())

    def choose(self):
        """Returns the path of the fastest plan for the larger batch size."""
        return self.plan(
            "chosen", [f"{role}.batch_size={LARGE}" for role in ROLES],
            "--objective", "throughput", "--max_batch", LARGE)

    def run(self, sets, flags, round_seconds):
        """Returns rounds/s, waiting shares by role, and peak bytes by program."""
        rounds = math.ceil(self.args.seconds / round_seconds)
        rounds = min(max(rounds, LEAST_ROUNDS), MOST_ROUNDS)
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        command = throughput.train_command(
            self.args.bin, self.recipe, folder / "run",
            [*self.sets, *sets, f"rounds={throughput.WARM_UP + rounds}"],
            flags)
        if "--plan" in flags:
            command.remove(str(self.path))
        # nvidia-smi takes CPU time, so it runs once a second only.
        on_gpu = self.args.device != "cpu"
        peaks = memory.watch(command, look_seconds=1 if on_gpu else 0.1,
                             device=self.args.device)
        speed, waits = throughput.speed_and_waits(
            throughput.records_of(folder / "run"))
        return speed, waits, peaks


def prediction_of(plan):
    """Returns the numbers of the first candidate's prediction, by field."""
    block = re.search(r"(?m)^  prediction \{\n(.*?)^  \}", plan, re.S).group(1)
    numbers = {name: float(value) for name, value in
               re.findall(r"(\w+): (-?[\d.e+-]+)$", block, re.M)}
    # The text format omits fields that are 0.
    return {"generator_wait": 0, "discriminator_wait": 0, **numbers}


def memory_pairs(predicted, peaks):
    """Returns (predicted, measured) bytes of each kind of worker."""
    pairs = {}
    for program, measured in peaks.items():
        role = program.removesuffix("_worker")
        field = "discriminator" if role == "colocated" else role
        pairs[role] = (predicted[f"{field}_bytes"], measured)
    return pairs


def relative_error(predicted, measured):
    return predicted / measured - 1


def kendall_tau(*groups):
    """Returns Kendall's tau-b of pairs (a, b), compared within each group."""
    signs = [((a > c) - (a < c), (b > d) - (b < d)) for pairs in groups
             for (a, b), (c, d) in itertools.combinations(pairs, 2)]
    untied = [sum(sign[i] != 0 for sign in signs) for i in (0, 1)]
    if not all(untied):
        return math.nan
    return sum(a * b for a, b in signs) / math.sqrt(untied[0] * untied[1])


def halves_of(row):
    """Returns the median images/s of the even runs and of the odd runs."""
    speeds = [run["images_per_second"] for run in row["runs"]]
    return statistics.median(speeds[::2]), statistics.median(speeds[1::2])


def told_apart(rows):
    """Returns the pairs of configurations of which the same one was faster in
    every repetition, each configuration as (predicted, measured) images/s."""
    def is_told(pair):
        one, other = ([run["images_per_second"] for run in row["runs"]]
                      for row in pair)
        return len({a > b for a, b in zip(one, other)}) == 1
    return [[(row["predicted"]["images_per_second"], row["measured"])
             for row in pair]
            for pair in itertools.combinations(rows, 2) if is_told(pair)]


def order_of(*networks):
    """Returns the tau over the pairs of told_apart(); empty if there were too few
    repetitions."""
    pairs = [pair for rows, plan_row in networks for pair in told_apart(
        [row for name, row in rows.items() if name != plan_row])]
    if not pairs or any(len(row["runs"]) < LEAST_TURNS for rows, _ in networks
                        for row in rows.values()):
        return {}
    return {"told_pairs": len(pairs), "told_tau": kendall_tau(*pairs)}


def batch_of(sets):
    return next(int(s.split("=")[1]) for s in sets
                if s.startswith("discriminator.batch_size"))


def wait_share(waits, role):
    return sum(waits[role].values())


def measure(bench, configurations):
    """Returns the rows by name, and the name of the row of the chosen plan."""
    rows = {}
    for name, how in configurations.items():
        try:
            rows[name] = {"predicted": bench.predict(*how), "runs": []}
        except RuntimeError as error:  # a short profile lacks some costs
            print(f"{bench.recipe}: {name} is left out: {error}", flush=True)
    chosen = bench.choose()
    name = re.search(r'name: "(.*)"', chosen.read_text()).group(1)
    plan_row = f"the plan: {name}"
    rows[plan_row] = {"predicted": prediction_of(chosen.read_text()),
                      "runs": []}
    for repetition in range(bench.args.repetitions):
        for name, row in rows.items():
            seconds = row["predicted"]["round_seconds"]
            if name == plan_row:
                run = bench.run([], ["--plan", chosen], seconds)
                batch = LARGE
            else:
                colocated, sets = configurations[name]
                run = bench.run(sets,
                                ["--colocated"] * colocated, seconds)
                batch = batch_of(sets)
            row["batch"] = batch
            row["runs"].append({"images_per_second": batch * run[0],
                                "waits": run[1], "peaks": run[2]})
        print(f"{bench.recipe}: repetition {repetition + 1} of "
              f"{bench.args.repetitions}", flush=True)
    for row in rows.values():
        row["measured"] = statistics.median(
            run["images_per_second"] for run in row["runs"])
    return rows, plan_row


def memory_text(row):
    parts = []
    for role, (predicted, measured) in row_memory(row).items():
        parts.append(f"{role[0].upper()} {predicted / 2**20:.0f} / "
                     f"{measured / 2**20:.0f}")
    return ", ".join(parts)


def peaks_of(row):
    """Returns the peak bytes of each run, by program."""
    return {program: [run["peaks"][program] for run in row["runs"]]
            for program in row["runs"][0]["peaks"]}


def row_memory(row):
    """Returns predicted and measured memory, as the median over the runs: heap
    sizes depend on the order in which threads allocate."""
    return memory_pairs(row["predicted"],
                        {program: statistics.median(peaks)
                         for program, peaks in peaks_of(row).items()})


def memory_spreads(row):
    """Returns the relative deviations of the peaks from their median."""
    return [abs(relative_error(peak, statistics.median(peaks)))
            for peaks in peaks_of(row).values() for peak in peaks]


def waits_text(row):
    return ", ".join(
        f"{role[0].upper()} {row['predicted'][f'{role}_wait']:.0%} / "
        f"{wait_share(row['runs'][-1]['waits'], role):.0%}"
        for role in ROLES)


def print_rows(recipe, rows):
    print(f"\n### {recipe}\n\n| configuration | predicted images/s | measured "
          "| error | memory: predicted / measured MiB "
          "| waits: predicted / measured |\n" + "|---" * 6 + "|")
    for name, row in rows.items():
        predicted = row["predicted"]["images_per_second"]
        print(f"| {name} | {predicted:.1f} | {row['measured']:.1f} "
              f"| {relative_error(predicted, row['measured']):+.1%} "
              f"| {memory_text(row)} | {waits_text(row)} |")


def speeds_of(rows, plan_row):
    """Returns name -> (predicted, measured) images/s without the chosen plan."""
    return {name: (row["predicted"]["images_per_second"], row["measured"])
            for name, row in rows.items() if name != plan_row}


def errors_of(speeds, all_rows):
    """Returns the errors of the speeds, and of the memory of the rows."""
    errors = {name: abs(relative_error(*speed))
              for name, speed in speeds.items()}
    memory_errors = [abs(relative_error(*pair)) for row in all_rows
                     for pair in row_memory(row).values()]
    return {"configurations": len(speeds),
            "median_error": statistics.median(errors.values()),
            "worst_error": max(errors.values()),
            "worst": max(errors, key=errors.get),
            "median_memory_error": statistics.median(memory_errors),
            "worst_memory_error": max(memory_errors),
            "worst_memory_spread": max(sum(map(memory_spreads, all_rows), []))}


def repeat_of(*networks):
    """Returns the differences between two halves of the runs; empty if a network
    has one run only."""
    groups = [[halves_of(row) for row in rows.values()] for rows in networks
              if all(len(row["runs"]) > 1 for row in rows.values())]
    if len(groups) < len(networks):
        return {}
    return {"repeat_error": statistics.median(
                abs(relative_error(*pair)) for pair in sum(groups, [])),
            "repeat_tau": kendall_tau(*groups)}


def summary_of(rows, plan_row):
    speeds = speeds_of(rows, plan_row)
    picked = max(speeds, key=lambda name: speeds[name][0])
    best = max(measured for _, measured in speeds.values())
    with_batch = [row["measured"] for row in rows.values()
                  if row["batch"] == rows[plan_row]["batch"]]
    return {**errors_of(speeds, rows.values()), **repeat_of(rows),
            **order_of((rows, plan_row)),
            "kendall_tau": kendall_tau(list(speeds.values())),
            "regret_in_list": 1 - speeds[picked][1] / best,
            "plan_regret": 1 - rows[plan_row]["measured"] / max(with_batch)}


def pooled_summary(networks):
    """Returns the summary of all networks. Tau compares pairs within a network only.
    The regrets are the largest ones."""
    speeds = {f"{recipe}: {name}": speed
              for recipe, (rows, plan_row) in networks.items()
              for name, speed in speeds_of(rows, plan_row).items()}
    summaries = [summary_of(*network) for network in networks.values()]
    return {**errors_of(speeds, [row for rows, _ in networks.values()
                                 for row in rows.values()]),
            **repeat_of(*(rows for rows, _ in networks.values())),
            **order_of(*networks.values()),
            "kendall_tau": kendall_tau(*(list(speeds_of(*network).values())
                                         for network in networks.values())),
            **{regret: max(summary[regret] for summary in summaries)
               for regret in ("regret_in_list", "plan_regret")}}


def print_summary(recipe, summary):
    print(f"\n{recipe}: error of {summary['configurations']} configurations: "
          f"median {summary['median_error']:.1%}, worst "
          f"{summary['worst_error']:.1%} ({summary['worst']}); Kendall tau "
          f"{summary['kendall_tau']:.2f}; regret of the best prediction "
          f"{summary['regret_in_list']:.1%}, of the plan "
          f"{summary['plan_regret']:.1%}; memory: median "
          f"{summary['median_memory_error']:.1%}, worst "
          f"{summary['worst_memory_error']:.1%}; a single run is up to "
          f"{summary['worst_memory_spread']:.1%} from the median run")
    if "repeat_tau" in summary:
        print(f"{recipe}: half of the runs against the other half: median "
              f"difference {summary['repeat_error']:.1%}, Kendall tau "
              f"{summary['repeat_tau']:.2f}")
    if "told_tau" in summary:
        print(f"{recipe}: of the {summary['told_pairs']} pairs that every turn "
              f"orders in the same way: Kendall tau {summary['told_tau']:.2f}")


def parsed():
    parser = throughput.arguments(__doc__, "plan_accuracy.json", 2)
    parser.add_argument("--recipe", choices=NETWORKS, action="append",
                        help="default: all")
    parser.add_argument("--budget", default="4m", help="time limit of each profile")
    parser.add_argument("--seconds", type=float, default=5,
                        help="seconds of the measured rounds of a run")
    parser.add_argument("--profiles", type=pathlib.Path,
                        help="folder that keeps the profiles")
    parser.add_argument("--device", default="cpu", help="cpu or cuda:N")
    parser.add_argument("--set", action="append", default=[],
                        metavar="FIELD=VALUE",
                        help="set a field of all recipes")
    parser.add_argument("--fast", action="store_true", help="run a smoke test")
    args = parser.parse_args()
    if not re.fullmatch(r"cpu|cuda:\d+", args.device):
        parser.error(f"--device {args.device} is neither cpu nor cuda:N")
    if args.fast:
        args.budget, args.seconds, args.repetitions = "25s", 1, 1
    if args.profiles:
        args.profiles.mkdir(parents=True, exist_ok=True)
    return args


def main():
    args = parsed()
    recipes = FAST_NETWORKS if args.fast else NETWORKS
    configurations = CONFIGURATIONS
    if args.fast:
        configurations = FAST_CONFIGURATIONS
    if args.device != "cpu":
        configurations = CONFIGURATIONS_ON_GPU
    result = {"cores": os.cpu_count(), "device": args.device, "networks": {}}
    networks = {}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gandem-bench-") as folder:
        for recipe in recipes:
            if args.recipe and recipe not in args.recipe:
                continue
            bench = Bench(args, pathlib.Path(folder), recipe)
            bench.measure_profile()
            rows, plan_row = networks[recipe] = measure(bench, configurations)
            summary = summary_of(rows, plan_row)
            print_rows(recipe, rows)
            print_summary(recipe, summary)
            result["networks"][recipe] = {"rows": rows, "summary": summary}
    if len(networks) > 1:
        result["summary"] = pooled_summary(networks)
        print_summary("all networks", result["summary"])
    result["seconds"] = time.monotonic() - begin
    pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")
    print(f"\n{result['seconds'] / 60:.1f} minutes; written: {args.json}")


if __name__ == "__main__":
    main()
