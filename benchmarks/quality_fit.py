#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From docs/quality.json to the constants of the planner's quality model.

    benchmarks/quality_fit.py           # writes the header
    benchmarks/quality_fit.py --check   # 1 where it is not what would be written

What is fitted is the logarithm of how many times the images a setting needs,
against the best synchronous one with the same seed: after the same images a
setting is at a distance that the synchronous run had after fewer. It is a sum of
two terms that the law of docs/optimizers.md names:

    excess^2   excess = max(0, L - a_G - a_D + m_G + m_D): the lag that optimism
               leaves, m = beta1 / (1 - beta1)
    noise      the mean over both roles of (1 + a)^2 + a^2 - 1

Of some fifteen pairs of terms of a lag, optimism and beta1 this one predicted
settings that were left out of the fit best. Plain Python, no packages.
"""
import json
import math
import pathlib
import statistics
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
RESULTS = SOURCE / "docs" / "quality.json"
HEADER = SOURCE / "scaling_manager/planner/quality/quality_constants.h"
BASE = "lag 0, beta1 0"


def settings_of(name):
    """(lag, beta1, optimism), or None: images or feedback of another kind, roles
    with unlike optimism, or other rates, beta2 or averages."""
    parts = dict(part.split() for part in name.split(", ") if " " in part)
    if (len(parts) != len(name.split(", ")) or "+" in name or
            not parts.keys() <= {"lag", "beta1", "optimism"}):
        return None
    return (float(parts["lag"]), float(parts["beta1"]),
            float(parts.get("optimism", 0)))


def final_distances(data):
    """Setting -> seed -> distance at the end. Whole runs before figures of which
    only the end is known."""
    last = str(data["facts"]["rounds"] * data["facts"]["batch"])
    finals = {name: dict(runs) for name, runs in data["reported"].items()}
    for name, runs in data["runs"].items():
        for seed, curve in runs.items():
            finals.setdefault(name, {})[seed] = curve[last]
    return finals


def log_factor(curve, distance):
    """log(images / images after which the synchronous run is at `distance`):
    linear in the logarithm of the distance between judged checkpoints, and on
    with the last slope beyond them."""
    points = sorted((int(images), value) for images, value in curve.items())
    last = points[-1][0]
    for (a, before), (b, after) in zip(points, points[1:]):
        if distance > after or b == last:
            share = math.log(before / distance) / math.log(before / after)
            return math.log(last / (a + share * (b - a)))
    raise ValueError("a curve of one point")


def features(lag, beta1, optimism):
    momentum = beta1 / (1 - beta1)
    excess = max(0.0, lag - 2 * optimism + 2 * momentum)
    return (excess ** 2, (1 + optimism) ** 2 + optimism ** 2 - 1)


def fit(rows):
    """Least squares of two coefficients, each at least 0."""
    def solve(columns):
        a = [[sum(x[i] * x[j] for x, _ in rows) for j in columns]
             for i in columns]
        b = [sum(x[i] * y for x, y in rows) for i in columns]
        if len(columns) == 1:
            return [b[0] / a[0][0]]
        det = a[0][0] * a[1][1] - a[0][1] * a[1][0]
        return [(b[0] * a[1][1] - b[1] * a[0][1]) / det,
                (a[0][0] * b[1] - a[1][0] * b[0]) / det]
    both = solve((0, 1))
    if min(both) >= 0:
        return both
    return [max(0, solve((0,))[0]), 0] if both[1] < 0 else \
        [0, max(0, solve((1,))[0])]


def predicted(weights, setting):
    return sum(w * x for w, x in zip(weights, features(*setting)))


def analyze(data):
    table = {}  # setting -> log factors by seed
    for name, runs in final_distances(data).items():
        setting = settings_of(name)
        if setting is None:
            continue
        table[setting] = [log_factor(data["runs"][BASE][seed], distance)
                          for seed, distance in sorted(runs.items())]
    rows = {setting: [(features(*setting), value) for value in values]
            for setting, values in table.items()}
    weights = fit([row for some in rows.values() for row in some])
    errors = []
    for left_out, values in table.items():
        others = fit([row for setting, some in rows.items()
                      if setting != left_out for row in some])
        errors += [value - predicted(others, left_out) for value in values]
    runs = sum(map(len, table.values()))
    return runs, weights, math.sqrt(statistics.mean(e * e for e in errors))


def number(value):
    return f"{value:.6g}"


def header(data):
    runs, weights, prediction_sd = analyze(data)
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "//",
        "// Written by benchmarks/quality_fit.py from docs/quality.json: change",
        "// these, not this file. Logarithms of images needed against the best",
        f"// synchronous setting; {runs} runs.",
        "#pragma once",
        "",
        "namespace gandem::quality {",
        "",
        "// Weights: squared lag that optimism leaves, and the noise of optimism.",
        f"inline constexpr double kExcessSquared = {number(weights[0])};",
        f"inline constexpr double kOptimismNoise = {number(weights[1])};",
        "// Standard deviation of a run from what is predicted of a setting that was",
        "// not in the fit.",
        f"inline constexpr double kPredictionSd = {number(prediction_sd)};",
        "",
        "}  // namespace gandem::quality",
        "",
    ]
    return "\n".join(lines)


def main():
    text = header(json.loads(RESULTS.read_text()))
    if sys.argv[1:] == ["--check"]:
        if not HEADER.exists() or HEADER.read_text() != text:
            sys.exit(f"{HEADER.relative_to(SOURCE)} is not what docs/quality.json"
                     " says: run benchmarks/quality_fit.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        HEADER.write_text(text)


if __name__ == "__main__":
    main()
