# SPDX-License-Identifier: Apache-2.0
"""Measures Frechet distances of samples from one Gaussian:

  python tests/oracles/sampling_goldens.py tests/goldens

A Monte-Carlo experiment in numpy without gandem's formulas: the mean and the
spread of the Frechet distance between a sample of n rows and a fixed or new
sample of m rows, with eigenvalues k^-power. Prints the results and writes
sampling.safetensors; takes minutes."""

import sys

import numpy as np
from safetensors.numpy import save_file

# dimensions, n, m, power of the spectrum
BIAS = [(64, 32, 32, 1.0), (64, 32, 2000, 1.0), (64, 100, 100, 1.0),
        (64, 400, 400, 1.0), (256, 100, 100, 1.0), (256, 100, 250, 0.5),
        (256, 1000, 100, 1.0)]
# dimensions, n, m, distance of the means in units of the deviations
SPREAD = [(32, 16, 200, 0.0), (32, 128, 200, 0.0), (32, 16, 200, 1.0),
          (32, 128, 200, 1.0)]


def root(rows):
    """A matrix R of few rows for which R^T R is the covariance."""
    rows = rows.astype(np.float64)
    centered = (rows - rows.mean(0)) / np.sqrt(len(rows) - 1)
    return np.linalg.qr(centered, mode="r")


def distance(x, y):
    a, b = root(x), root(y)
    nuclear = np.linalg.svd(a @ b.T, compute_uv=False).sum()
    means = x.mean(0, np.float64) - y.mean(0, np.float64)
    return (means**2).sum() + (a**2).sum() + (b**2).sum() - 2 * nuclear


def deviations(dim, power):
    return np.sqrt(10 / np.arange(1, dim + 1)**power)


def measure_bias(rng, out):
    rows = []
    for i, (dim, n, m, power) in enumerate(BIAS):
        scale = deviations(dim, power)
        values = [distance(rng.randn(n, dim) * scale, rng.randn(m, dim) * scale)
                  for _ in range(40 if dim < 200 else 20)]
        rows.append([dim, n, m, power, np.mean(values),
                     np.std(values, ddof=1) / np.sqrt(len(values))])
        # An evaluation knows the Gaussian only from a sample of m rows.
        samples = [rng.randn(m, dim) * scale for _ in range(4)]
        out[f"eigenvalues.{i}"] = np.stack([np.linalg.svd(
            root(x), compute_uv=False)[:min(dim, m - 1)]**2 for x in samples])
        print("bias", rows[-1])
    out["bias"] = np.array(rows)


def measure_spread(rng, out):
    rows = []
    for i, (dim, n, m, shift) in enumerate(SPREAD):
        scale = deviations(dim, 1.0)
        reference = (rng.randn(m, dim) * scale).astype(np.float32)
        draw = lambda: ((rng.randn(n, dim) + shift) * scale).astype(np.float32)
        values = [distance(draw(), reference) for _ in range(400)]
        rows.append([dim, n, m, shift, np.std(values, ddof=1)])
        out[f"reference.{i}"] = reference
        out[f"samples.{i}"] = np.stack([draw() for _ in range(8)])
        print("spread", rows[-1])
    out["spread"] = np.array(rows)


def main(folder):
    rng = np.random.RandomState(11)
    out = {}
    measure_bias(rng, out)
    measure_spread(rng, out)
    save_file({name: np.ascontiguousarray(value)
               for name, value in out.items()},
              f"{folder}/sampling.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
