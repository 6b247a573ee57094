# SPDX-License-Identifier: Apache-2.0
"""Metrics of two small sets of features, computed by independent code.

    python tests/oracles/metric_goldens.py tests/goldens

Needs torch==2.11.0, numpy, scipy, safetensors, torch-fidelity==0.4.0 and
pytorch-fid==0.3.0. Writes metrics.safetensors, all in float64 or int64:

    reference [350, 20], generated [400, 20]   features; not Gaussian, and two
                                units are always 0 in both sets
    logits [400, 10]
    order [400]                 order in which torch-fidelity uses the logits
    reference_rows, generated_rows [12, 100]   torch-fidelity's subsets
    frechet_distance.torch_fidelity, frechet_distance.pytorch_fid
    kernel_distance [2], inception_score [2]   mean and standard deviation
    precision_recall [2]                       by torch-fidelity
    density_coverage [2]        by the definitions, in numpy, with k = 5
"""
import sys

import numpy as np
import torch
from pytorch_fid.fid_score import calculate_frechet_distance
from safetensors.numpy import save_file
from torch_fidelity.metric_fid import (fid_features_to_statistics,
                                       fid_statistics_to_metric)
from torch_fidelity.metric_isc import isc_features_to_metric
from torch_fidelity.metric_kid import kid_features_to_metric
from torch_fidelity.metric_prc import prc_features_to_metric

SEED = 2020  # torch-fidelity's own
SUBSETS, SUBSET_ROWS = 12, 100


def make_inputs():
    rng = np.random.RandomState(7)
    mixing = rng.randn(20, 20) * 0.8**np.arange(20)
    mixing[:, 18:] = 0  # always below zero, so these units are 0
    bias = np.where(np.arange(20) < 18, 0.5, -1.0)
    reference = np.maximum(rng.randn(350, 20) @ mixing + bias, 0)
    other = mixing + 0.15 * rng.randn(20, 20) * (np.arange(20) < 18)
    generated = np.maximum(rng.randn(400, 20) @ other + bias + 0.1 *
                           (np.arange(20) < 18), 0)
    logits = 2 * rng.randn(400, 10) + 3 * rng.rand(10)
    return {"reference": reference, "generated": generated, "logits": logits}


def choices(out):
    """The random choices of torch-fidelity's generators."""
    rng = np.random.RandomState(SEED)
    rows = {"generated": [], "reference": []}
    for _ in range(SUBSETS):
        for name in ("generated", "reference"):
            rows[name].append(
                rng.choice(len(out[name]), SUBSET_ROWS, replace=False))
    return {
        "order": np.random.RandomState(SEED).permutation(len(out["logits"])),
        "generated_rows": np.stack(rows["generated"]),
        "reference_rows": np.stack(rows["reference"]),
    }


def density_coverage(reference, generated, k=5):
    def distances(x, y):
        return np.linalg.norm(x[:, None] - y[None], axis=2)

    radii = np.sort(distances(reference, reference), axis=1)[:, k]  # 0: itself
    inside = distances(reference, generated) < radii[:, None]
    return [inside.sum(0).mean() / k, inside.any(1).mean()]


def main(folder):
    out = make_inputs()
    out |= choices(out)
    reference, generated = (torch.tensor(out[name])
                            for name in ("reference", "generated"))
    statistics = [fid_features_to_statistics(x) for x in (generated, reference)]
    out["frechet_distance.torch_fidelity"] = fid_statistics_to_metric(
        *statistics, verbose=False)["frechet_inception_distance"]
    out["frechet_distance.pytorch_fid"] = calculate_frechet_distance(
        *(s[key] for s in statistics for key in ("mu", "sigma")))
    kernel = kid_features_to_metric(
        generated, reference, kid_subsets=SUBSETS, kid_subset_size=SUBSET_ROWS,
        rng_seed=SEED, verbose=False)
    out["kernel_distance"] = [
        kernel["kernel_inception_distance_mean"],
        kernel["kernel_inception_distance_std"]]
    score = isc_features_to_metric(
        torch.tensor(out["logits"]), splits=10, shuffle=True, rng_seed=SEED)
    out["inception_score"] = [score["inception_score_mean"],
                              score["inception_score_std"]]
    neighbors = prc_features_to_metric(
        generated, reference, prc_neighborhood=3, prc_batch_size=10000,
        save_cpu_ram=False, verbose=False)
    out["precision_recall"] = [neighbors["precision"], neighbors["recall"]]
    out["density_coverage"] = density_coverage(out["reference"],
                                               out["generated"])
    for name, value in out.items():
        if np.asarray(value).size <= 2:
            print(name, value)
    save_file({name: np.ascontiguousarray(value)
               for name, value in out.items()}, f"{folder}/metrics.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
