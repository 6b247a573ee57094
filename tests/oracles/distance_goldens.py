# SPDX-License-Identifier: Apache-2.0
"""FID-infinity and CMMD of two small sets of features, in numpy and scipy.

    python tests/oracles/distance_goldens.py tests/goldens

Needs numpy, scipy and safetensors. Both are written from the papers (Chong and
Forsyth 2020; Jayasumana et al. 2024) and from the behavior of their authors'
code, with scipy's matrix root, numpy's covariance and numpy's fit of a line.
Writes distances.safetensors, all in float64 or int64:

    reference [300, 12], generated [400, 12]   features, not Gaussian
    rows.<i> [size]            rows of each subset for the extrapolation
    sizes [15]                 number of rows of each subset
    fid_infinity [1]
    cmmd [1]
"""
import sys

import numpy as np
from safetensors.numpy import save_file
from scipy import linalg

POINTS, SMALLEST = 15, 40
SIGMA, SCALE = 10, 1000


def frechet(x, y):
    a, b = np.cov(x, rowvar=False), np.cov(y, rowvar=False)
    root = linalg.sqrtm(a @ b)
    shift = x.mean(0) - y.mean(0)
    return shift @ shift + np.trace(a + b - 2 * np.real(root))


def fid_infinity(reference, generated, subsets):
    sizes = np.array([len(rows) for rows in subsets])
    values = [frechet(reference, generated[rows]) for rows in subsets]
    _, at_zero = np.polyfit(1 / sizes, values, 1)
    return at_zero


def cmmd(x, y):
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    y = y / np.linalg.norm(y, axis=1, keepdims=True)

    def kernel(a, b):
        squared = ((a[:, None] - b[None]) ** 2).sum(-1)
        return np.exp(-squared / (2 * SIGMA**2)).mean()

    return SCALE * (kernel(x, x) + kernel(y, y) - 2 * kernel(x, y))


def main(folder):
    rng = np.random.RandomState(11)
    mixing = rng.randn(12, 12)
    out = {
        "reference": np.maximum(rng.randn(300, 12) @ mixing + 0.5, 0),
        "generated": np.maximum(rng.randn(400, 12) @ mixing + 0.7, 0) ** 1.1,
    }
    count = len(out["generated"])
    sizes = np.linspace(SMALLEST, count, POINTS).astype("int32")
    subsets = [rng.permutation(count)[:size] for size in sizes]
    out |= {f"rows.{i}": rows.astype(np.int64)
            for i, rows in enumerate(subsets)}
    out["sizes"] = sizes.astype(np.int64)
    out["fid_infinity"] = np.array(
        [fid_infinity(out["reference"], out["generated"], subsets)])
    out["cmmd"] = np.array([cmmd(out["reference"], out["generated"])])
    print("all images", frechet(out["reference"], out["generated"]))
    for name in ("fid_infinity", "cmmd"):
        print(name, out[name])
    save_file({name: np.ascontiguousarray(value)
               for name, value in out.items()},
              f"{folder}/distances.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
