#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the effect of the lag on image quality, for equal numbers of images.

    benchmarks/quality_study.py train    # two hours on two cores; resumable
    benchmarks/quality_study.py speed    # ten minutes on an idle machine
    VENV/bin/python benchmarks/quality_study.py report

`train` trains every setting of STUDY, evaluates its checkpoints with `gandem
watch-eval` and adds the distances to docs/quality.json. It skips finished runs and
resumes interrupted ones. The runs are colocated on one thread each; the weights of
decoupled runs are bit-identical (tests/training/runs/equality_test.cc).

`speed` measures images/s, to convert images seen into wall time. It runs two
processes of one thread each; lag 0 runs in one process with two threads, and FUSED
in the faster way.

`report` prints the table of docs/quality.md and draws its picture, without the
settings of REST. VENV needs matplotlib. quality_fit.py fits the planner's constants
to the results.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import throughput

SOURCE = pathlib.Path(__file__).resolve().parent.parent
RECIPE = "fashion_mnist_sngan"
RESULTS = SOURCE / "docs" / "quality.json"
PICTURE = SOURCE / "docs" / "images" / "quality.png"
BATCH = 64
ROUNDS = 1600
EVERY = 200  # rounds between evaluated checkpoints
NUM = 5000  # generated images for the evaluation of a checkpoint
WIDTH = 16
SPEED_ROUNDS = 150
SPEED_REPETITIONS = 3
HOURS = 3600  # seconds


class Setting:
    """A setting of the study. `optimism` is a number for both roles or a pair
    (generator, discriminator); `other` is a key of OTHERS."""

    def __init__(self, lag, beta1, optimism=0, source="REUSED",
                 feedback="SNAPSHOT", rule="FIXED", other=None):
        self.lag = lag
        self.fused = feedback == "FUSED"
        self.name = f"lag {lag}, beta1 {beta1:g}"
        pair = optimism if isinstance(optimism, tuple) else (optimism,) * 2
        if optimism:
            self.name += ", optimism " + "+".join(
                f"{a:g}" for a in (pair if pair[0] != pair[1] else pair[:1]))
        if source != "REUSED":
            self.name += f", {source}"
        if feedback != "SNAPSHOT":
            self.name += f", {feedback}"
        if other:
            self.name += f", {other}"
        self.sets = [f"schedule.lag={lag}", f"schedule.image_source={source}",
                     f"schedule.feedback={feedback}"]
        for role, a in zip(("generator", "discriminator"), pair):
            self.sets += [f"{role}.network.sndcgan.width={WIDTH}",
                          f"{role}.layout=CHANNELS_LAST",
                          f"{role}.optimizer.adam.beta1={beta1}",
                          f"{role}.optimizer.optimism={a}",
                          f"{role}.optimizer.optimism_rule={rule}"]
        self.sets += OTHERS[other] if other else []


def lag_matched(lag, beta1, other=None):
    """Returns a setting with optimism_rule LAG_MATCHED (docs/optimizers.md). Its
    name has the resulting optimism, lag / 2."""
    return Setting(lag, beta1, optimism=lag / 2, rule="LAG_MATCHED",
                   other=other)


def of_adam(field, generator, discriminator):
    return [f"generator.optimizer.adam.{field}={generator}",
            f"discriminator.optimizer.adam.{field}={discriminator}"]


# Settings that may compensate for a long lag besides optimism. A pair is
# (generator, discriminator). The other runs have learning rate 2e-4, beta2 0.999
# and EMA decay 0.995.
OTHERS = {
    "rate 1e-4": of_adam("learning_rate", 1e-4, 1e-4),
    "rate 1e-4+2e-4": of_adam("learning_rate", 1e-4, 2e-4),
    "rate 2e-4+1e-4": of_adam("learning_rate", 2e-4, 1e-4),
    "beta2 0.9": of_adam("beta2", 0.9, 0.9),
    "beta2 0.99": of_adam("beta2", 0.99, 0.99),
    "ema 0.99": ["ema.decay=0.99"],
}


BASE = [Setting(lag, beta1) for beta1 in (0, 0.5) for lag in (0, 1)]
MORE = [Setting(2, 0), Setting(3, 0), Setting(1, 0, source="FRESH"),
        Setting(1, 0, feedback="IMAGE_GRADIENT"),
        Setting(2, 0.5, optimism=1)]
OPTIMISTIC = [Setting(lag, 0.5, optimism=1) for lag in (0, 1)]
OPTIMISTIC.append(Setting(1, 0.5, optimism=1, feedback="FUSED"))
# beta1 of the recipe, and beta1 that `gandem plan` chooses for a lag.
MATCHED = [lag_matched(lag, beta1) for beta1 in (0.5, 0) for lag in (2, 4)]
# The optimism of LAG_MATCHED, distributed unevenly over the roles.
UNEVEN = [Setting(4, 0.5, optimism=pair)
          for pair in ((4, 0), (0, 4), (3, 1), (1, 3))]
# The most promising of OTHERS, with lag 4 and, for comparison, with lag 0.
CLOSEST = [Setting(0, 0, other="beta2 0.99"), lag_matched(4, 0, "beta2 0.99")]
REST = [*(lag_matched(4, 0, other) for other in OTHERS), *CLOSEST,
        Setting(0, 0, other="ema 0.99")]
ALL = [*BASE, *OPTIMISTIC, *MORE, *MATCHED, *UNEVEN, *REST]
SETTINGS = list({setting.name: setting for setting in ALL}.values())
# Pairs (setting, seed), in the order of the runs.
STUDY = ([(setting, 1) for setting in SETTINGS] +
         [(setting, seed) for seed in (2, 3)
          for setting in [*BASE, *OPTIMISTIC, *MATCHED, *CLOSEST]])


class Results:
    """The content of docs/quality.json. save() replaces the whole file."""

    def __init__(self):
        self.data = {"runs": {}, "images_per_second": {}}
        if RESULTS.exists():
            self.data = json.loads(RESULTS.read_text())
        facts = {"recipe": RECIPE, "width": WIDTH, "batch": BATCH,
                 "rounds": ROUNDS, "every": EVERY, "num": NUM}
        if self.data.setdefault("facts", facts) != facts:
            sys.exit(f"{RESULTS} is of another study: remove it first")

    def save(self):
        part = RESULTS.with_suffix(".part")
        part.write_text(json.dumps(self.data, indent=1, sort_keys=True) + "\n")
        part.rename(RESULTS)


def gandem(args, *arguments):
    command = [str(args.bin / "gandem"), *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=3 * HOURS)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout[-2000:]}"
                           f"{done.stderr[-2000:]}")


def train_one(args, setting, seed):
    """Trains and evaluates a run. Returns the distance by images seen."""
    folder = args.runs / f"{setting.name}, seed {seed}".replace(" ", "_")
    sets = [*setting.sets, f"seed={seed}", f"rounds={ROUNDS}",
            "generator.threads=1", "discriminator.threads=1",
            f"checkpoint.every_rounds={EVERY}",
            f"checkpoint.keep_every={EVERY}", "samples.every_rounds=0"]
    gandem(args, "train", SOURCE / "recipes" / f"{RECIPE}.textproto",
           "--run_dir", folder, "--colocated",
           *[word for one in sets for word in ("--set", one)])
    gandem(args, "watch-eval", folder, "--every", EVERY, "--once", "--",
           "--metric", "fid", "--num", NUM)
    curve = {}
    for card in (folder / "evaluation").glob("*.json"):
        card = json.loads(card.read_text())
        step = int(card["images"]["generator"]["step"])
        curve[str(step * BATCH)] = card["metrics"][0]["value"]
    if len(curve) != ROUNDS // EVERY:
        raise RuntimeError(f"{folder}: {len(curve)} judged checkpoints")
    return curve


def train(args):
    results = Results()
    # Trains the classifier once, before parallel runs need it.
    gandem(args, "train-features", "--dataset",
           SOURCE / "recipes" / f"{RECIPE}.textproto")
    todo = [(setting, seed) for setting, seed in STUDY
            if str(seed) not in results.data["runs"].get(setting.name, {})]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(train_one, args, setting, seed): (setting, seed)
                   for setting, seed in todo}
        try:
            for future in concurrent.futures.as_completed(futures):
                setting, seed = futures[future]
                curve = future.result()
                runs = results.data["runs"].setdefault(setting.name, {})
                runs[str(seed)] = curve
                results.save()
                print(f"{setting.name}, seed {seed}: "
                      f"{curve[str(ROUNDS * BATCH)]:.1f}", flush=True)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            pool.shutdown(cancel_futures=True)
            sys.exit(str(error))
    shutil.rmtree(args.runs, ignore_errors=True)


def speed(args):
    results = Results()
    speeds = {}
    for repetition in range(SPEED_REPETITIONS):
        for setting in SETTINGS:
            if setting.name not in results.data["runs"]:
                continue  # report needs no speed without distances
            # A fused run may be faster in one process, so both ways are measured.
            for colocated in {0: [True]}.get(
                    setting.lag, [False, True][:1 + setting.fused]):
                threads = 2 if colocated else 1
                images_per_second, _ = throughput.run_gandem(
                    args.bin, RECIPE, SPEED_ROUNDS, colocated,
                    [*setting.sets, f"generator.threads={threads}",
                     f"discriminator.threads={threads}"])
                speeds.setdefault(setting.name, {}).setdefault(
                    colocated, []).append(images_per_second)
        print(f"repetition {repetition + 1} of {SPEED_REPETITIONS}", flush=True)
    results.data["images_per_second"] = {
        name: max(statistics.median(values) for values in ways.values())
        for name, ways in speeds.items()}
    results.save()


def mean_curve(runs, seeds):
    """Returns images -> mean distance over the seeds."""
    return {int(images): statistics.mean(runs[seed][images] for seed in seeds)
            for images in next(iter(runs.values()))}


def images_to(curve, distance):
    """Returns the images at which `curve` first falls to `distance`, or None.
    Interpolates log(distance) linearly between checkpoints."""
    before = None
    for images, value in sorted(curve.items()):
        if value <= distance:
            if before is None:
                return images
            share = (math.log(before[1] / distance) /
                     math.log(before[1] / value))
            return before[0] + share * (images - before[0])
        before = (images, value)
    return None


def report(args):
    data = Results().data
    all_runs, speeds = data["runs"], data["images_per_second"]
    last = ROUNDS * BATCH
    rest = {setting.name for setting in REST}
    # Seeds differ more than settings, and in the same way for all settings. So a
    # setting is compared with the best setting of lag 0 over the same seeds.
    full = [name for name, runs in all_runs.items()
            if name.startswith("lag 0") and name not in rest and len(runs) ==
            max(map(len, all_runs.values()))]
    best = min(full, key=lambda name: mean_curve(
        all_runs[name], all_runs[name])[last])
    print(f"Best at lag 0: {best}\n")
    print("| setting | seeds | distance after "
          f"{last // 2000}k | {last // 1000}k images | / best at lag 0 | "
          "images to its last but one distance | images/s | time to it |")
    print("|---" * 8 + "|")
    for name, runs in sorted(all_runs.items()):
        curve = mean_curve(runs, runs)
        base = mean_curve(all_runs[best], runs)
        goal = base[last - EVERY * BATCH]
        images = images_to(curve, goal)
        ratio = images and images / images_to(base, goal)
        rate = speeds.get(name)
        cells = [name, len(runs), f"{curve[last // 2]:.0f}",
                 f"{curve[last]:.1f}", f"{curve[last] / base[last]:.2f}",
                 f"{ratio:.2f}x" if images else "not reached",
                 f"{rate:.0f}" if rate else "",
                 f"{ratio * speeds[best] / rate:.2f}x"
                 if rate and images else ""]
        print("| " + " | ".join(map(str, cells)) + " |")
    PICTURE.parent.mkdir(exist_ok=True)
    draw(data, {name: mean_curve(runs, runs)
                for name, runs in all_runs.items() if name not in rest}, speeds)


def draw(data, curves, speeds):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, 2, figsize=(13, 5), sharey=True)
    axes[0].set_prop_cycle(color=pyplot.get_cmap("tab20").colors)
    for name, curve in sorted(curves.items()):
        images = sorted(curve)
        style = "-" if len(data["runs"][name]) > 1 else "--"
        line, = axes[0].plot([i / 1000 for i in images],
                             [curve[i] for i in images], style, label=name)
        for run in data["runs"][name].values() if style == "-" else ():
            axes[0].plot([i / 1000 for i in images],
                         [run[str(i)] for i in images], ".", markersize=3,
                         color=line.get_color())
        if name in speeds:
            axes[1].plot([i / speeds[name] for i in images],
                         [curve[i] for i in images], style,
                         color=line.get_color())
    axes[0].set(xlabel="images seen, thousands", yscale="log",
                ylabel="FD(classifier)")
    axes[1].set(xlabel="seconds on two cores")
    for axis in axes:
        axis.grid(alpha=0.3, which="both")
    figure.tight_layout(rect=(0, 0, 0.78, 1))
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8,
                  loc="center right")
    figure.savefig(PICTURE, dpi=110)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("train", "speed", "report"))
    parser.add_argument("--bin", type=pathlib.Path,
                        default=SOURCE / "build" / "bin")
    parser.add_argument("--runs", type=pathlib.Path,
                        default=pathlib.Path("runs/quality_study"),
                        help="folder of the runs until all are evaluated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="number of parallel runs")
    args = parser.parse_args()
    {"train": train, "speed": speed, "report": report}[args.part](args)


if __name__ == "__main__":
    main()
