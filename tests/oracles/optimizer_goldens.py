# SPDX-License-Identifier: Apache-2.0
"""100 steps of every optimizer in float64: by PyTorch where it has it, by NumPy
straight from the paper where it has not (or has a variant of it).

    python tests/oracles/optimizer_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. Writes optimizers.safetensors:

    initial.<parameter>      parameters kernel [3, 2, 2, 2] and scale [5]
    noise.<parameter>        [100, ...]; the gradient of step t, counted from 0,
                             is noise[t] + 0.3 * parameter
    <case>.config            the OptimizerConfig as text, its bytes as float64
    <case>.<parameter>       after the last step
"""
import math
import sys

import numpy as np
import torch
from safetensors.numpy import save_file

SHAPES = {"kernel": (3, 2, 2, 2), "scale": (5,)}
STEPS = 100
CURVATURE = 0.3


# --- PyTorch ---


def by_torch(make, initial, noise):
    torch.set_num_threads(1)
    parameters = [torch.tensor(p, requires_grad=True) for p in initial]
    optimizer = make(parameters)
    for step in range(STEPS):
        for parameter, steps in zip(parameters, noise):
            parameter.grad = (torch.tensor(steps[step])
                              + CURVATURE * parameter.detach())
        optimizer.step()
    return [p.detach().numpy() for p in parameters]


def pytorch(name, **options):
    """A case by torch.optim.<name>, plainly one tensor after the other."""
    return lambda *args: by_torch(
        lambda p: getattr(torch.optim, name)(p, foreach=False, **options), *args)


# --- NumPy, from the papers ---


class Rule:
    """How one parameter w moves. update() returns what is added to it."""

    def start(self, w):
        pass

    def update(self, t, w, g):
        raise NotImplementedError


def numpy(make):
    def run(initial, noise):
        result = []
        for w, steps in zip(initial, noise):
            w = w.copy()
            rule = make()
            rule.start(w)
            for t in range(1, STEPS + 1):
                w = w + rule.update(t, w, steps[t - 1] + CURVATURE * w)
            result.append(w)
        return result

    return run


class Adam(Rule):
    """Kingma and Ba 2015, algorithm 1."""

    def __init__(self, rate, beta1, beta2, eps):
        self.rate, self.beta1, self.beta2, self.eps = rate, beta1, beta2, eps
        self.m = self.v = 0.0

    def update(self, t, w, g):
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * g**2
        m_hat = self.m / (1 - self.beta1**t)
        v_hat = self.v / (1 - self.beta2**t)
        return -self.rate * m_hat / (np.sqrt(v_hat) + self.eps)


class Sgd(Rule):
    """With L2 weight decay."""

    def __init__(self, rate, decay):
        self.rate, self.decay = rate, decay

    def update(self, t, w, g):
        return -self.rate * (g + self.decay * w)


class Optimistic(Rule):
    """Daskalakis et al. 2018, algorithm 1 at optimism 1, whatever is inside:
    w_t = w_{t-1} + (1 + optimism) * u_t - optimism * u_{t-1}, u_0 = 0."""

    def __init__(self, optimism, inner):
        self.optimism, self.inner, self.last = optimism, inner, 0.0

    def start(self, w):
        self.inner.start(w)

    def update(self, t, w, g):
        u = self.inner.update(t, w, g)
        step = (1 + self.optimism) * u - self.optimism * self.last
        self.last = u
        return step


# --- The cases: config of ours, and who computes it ---

CASES = {
    "adam": (
        "adam { learning_rate: 2e-3 beta1: 0.9 beta2: 0.999 eps: 1e-8 }",
        pytorch("Adam", lr=2e-3, betas=(0.9, 0.999), eps=1e-8)),
    "adam_no_momentum": (
        "adam { learning_rate: 1e-3 beta1: 0 beta2: 0.9 eps: 1e-6 }",
        pytorch("Adam", lr=1e-3, betas=(0.0, 0.9), eps=1e-6)),
    "adam_l2": (
        "adam { learning_rate: 1e-2 beta1: 0.5 beta2: 0.99 eps: 1e-3"
        " weight_decay: 0.1 }",
        pytorch("Adam", lr=1e-2, betas=(0.5, 0.99), eps=1e-3,
                weight_decay=0.1)),
    "optimistic_adam": (
        "adam { learning_rate: 2e-3 beta1: 0.5 beta2: 0.99 eps: 1e-8 }"
        " optimism: 1",
        numpy(lambda: Optimistic(1.0, Adam(2e-3, 0.5, 0.99, 1e-8)))),
    "half_optimistic_adam": (
        "adam { learning_rate: 2e-3 beta1: 0 beta2: 0.9 eps: 1e-4 }"
        " optimism: 0.5",
        numpy(lambda: Optimistic(0.5, Adam(2e-3, 0.0, 0.9, 1e-4)))),
}


def main(folder):
    rng = np.random.default_rng(5)
    out = {}
    for name, shape in SHAPES.items():
        out[f"initial.{name}"] = rng.standard_normal(shape)
        # Of very different sizes, so that eps matters for some elements.
        scale = 10.0**rng.integers(-6, 2, shape)
        out[f"noise.{name}"] = scale * rng.standard_normal((STEPS, *shape))
    initial = [out[f"initial.{name}"] for name in SHAPES]
    noise = [out[f"noise.{name}"] for name in SHAPES]
    for case, (config, run) in CASES.items():
        out[f"{case}.config"] = np.array(list(config.encode()), np.float64)
        for name, w in zip(SHAPES, run(initial, noise)):
            assert np.isfinite(w).all(), case
            out[f"{case}.{name}"] = w
    save_file(out, f"{folder}/optimizers.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
