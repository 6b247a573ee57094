# SPDX-License-Identifier: Apache-2.0
"""100 steps of every optimizer in float64: by PyTorch if it has the optimizer,
otherwise by NumPy straight from the paper.

    python tests/oracles/optimizer_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. Writes optimizers.safetensors:

    initial.<parameter>      parameters kernel [3, 2, 2, 2] and scale [5]
    noise.<parameter>        [100, ...]; the gradient of step t, counted from 0,
                             is noise[t] + 0.3 * parameter
    <case>.config            the OptimizerConfig as text, its bytes as float64
    <case>.<parameter>       parameters after the last step
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


def by_torch(make, initial, noise, before_step=lambda optimizer, step: None):
    torch.set_num_threads(1)
    parameters = [torch.tensor(p, requires_grad=True) for p in initial]
    optimizer = make(parameters)
    for step in range(STEPS):
        before_step(optimizer, step)
        for parameter, steps in zip(parameters, noise):
            parameter.grad = (torch.tensor(steps[step])
                              + CURVATURE * parameter.detach())
        optimizer.step()
    return [p.detach().numpy() for p in parameters]


def pytorch(name, **options):
    """A case by torch.optim.<name>, one tensor after the other."""
    return lambda *args: by_torch(
        lambda p: getattr(torch.optim, name)(p, foreach=False, **options), *args)


def adam_of_r3gan(steps, first, last, **options):
    """Adam with beta2 by the authors' cosine_decay_with_warmup."""
    def set_beta2(optimizer, step):
        decay = 0.5 * (1 + np.cos(np.pi * step / steps))
        beta2 = last if step > steps else first + (1 - decay) * (last - first)
        for group in optimizer.param_groups:
            group["betas"] = (group["betas"][0], beta2)

    return lambda *args: by_torch(
        lambda p: torch.optim.Adam(p, foreach=False, **options), *args,
        before_step=set_beta2)


def adafactor_of_torch(**options):
    """PyTorch factors the last two dimensions, gandem the first and the rest."""
    def run(initial, noise):
        def as_matrix(x, dim):
            return x if x.ndim == dim + 1 else x.reshape(*x.shape[:dim + 1], -1)

        found = by_torch(
            lambda p: torch.optim.Adafactor(p, foreach=False, **options),
            [as_matrix(w, 0) for w in initial],
            [as_matrix(steps, 1) for steps in noise])
        return [w.reshape(start.shape) for w, start in zip(found, initial)]

    return run


# --- NumPy, from the papers ---


class Rule:
    """The rule for one parameter w; update() returns the change of w."""

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
    """SGD with L2 weight decay."""

    def __init__(self, rate, decay):
        self.rate, self.decay = rate, decay

    def update(self, t, w, g):
        return -self.rate * (g + self.decay * w)


class Optimistic(Rule):
    """Daskalakis et al. 2018, algorithm 1 (optimism 1), around any inner rule:
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


class AdaBelief(Rule):
    """Zhuang et al. 2020, algorithm 2, with eps inside at every step and outside.
    `rectified` uses the steps of RAdam (Liu et al. 2020), like adabelief-pytorch."""

    def __init__(self, rate, beta1, beta2, eps, eps_root, correct=True, l2=0.0,
                 decoupled=0.0, rectify=False):
        self.rate, self.beta1, self.beta2 = rate, beta1, beta2
        self.eps, self.eps_root, self.correct = eps, eps_root, correct
        self.l2, self.decoupled, self.rectify = l2, decoupled, rectify
        self.m = self.s = 0.0

    def rectified(self, t):
        """The step without the learning rate."""
        longest = 2 / (1 - self.beta2) - 1
        decayed = self.beta2**t
        length = longest - 2 * t * decayed / (1 - decayed)
        if length < 5:
            return self.m / (1 - self.beta1**t)
        r = math.sqrt((length - 4) / (longest - 4) * (length - 2)
                      / (longest - 2) * longest / length)
        return (r * math.sqrt(1 - decayed) / (1 - self.beta1**t) * self.m
                / (np.sqrt(self.s) + self.eps))

    def update(self, t, w, g):
        g = g + self.l2 * w
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.s = (self.beta2 * self.s + (1 - self.beta2) * (g - self.m)**2
                  + self.eps_root)
        if self.rectify:
            return -self.rate * (self.decoupled * w + self.rectified(t))
        m_hat = self.m / (1 - self.beta1**t) if self.correct else self.m
        s_hat = self.s / (1 - self.beta2**t) if self.correct else self.s
        return (-self.rate * self.decoupled * w
                - self.rate * m_hat / (np.sqrt(s_hat) + self.eps))


class RmspropInside(Rule):
    """Hinton 2012 with eps under the root, like TensorFlow."""

    def __init__(self, rate, alpha, eps_root):
        self.rate, self.alpha, self.eps_root, self.s = rate, alpha, eps_root, 0.0

    def update(self, t, w, g):
        self.s = self.alpha * self.s + (1 - self.alpha) * g**2
        return -self.rate * g / np.sqrt(self.s + self.eps_root)


def norm(x):
    return math.sqrt(float(np.sum(x**2)))


class Lars(Rule):
    """You et al. 2017, algorithm 1."""

    def __init__(self, rate, momentum, trust, decay, skip_vectors):
        self.rate, self.momentum, self.trust = rate, momentum, trust
        self.decay, self.skip_vectors, self.v = decay, skip_vectors, 0.0

    def update(self, t, w, g):
        decay, ratio = self.decay, None
        if self.skip_vectors and w.ndim <= 1:
            decay, ratio = 0.0, 1.0
        else:
            ratio = self.trust * norm(w) / (norm(g) + decay * norm(w))
        self.v = self.momentum * self.v + self.rate * ratio * (g + decay * w)
        return -self.v


class Lamb(Rule):
    """You et al. 2020, algorithm 2, with the identity as phi."""

    def __init__(self, rate, beta1, beta2, eps, decay, correct=True,
                 skip_vectors=False):
        self.rate, self.beta1, self.beta2, self.eps = rate, beta1, beta2, eps
        self.decay, self.correct, self.skip = decay, correct, skip_vectors
        self.m = self.v = 0.0

    def update(self, t, w, g):
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * g**2
        m_hat = self.m / (1 - self.beta1**t) if self.correct else self.m
        v_hat = self.v / (1 - self.beta2**t) if self.correct else self.v
        ratio = m_hat / (np.sqrt(v_hat) + self.eps)
        if self.skip and w.ndim <= 1:
            return -self.rate * ratio
        r = ratio + self.decay * w
        return -self.rate * norm(w) / norm(r) * r


class Lion(Rule):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, rate, beta1, beta2, decay):
        self.rate, self.beta1, self.beta2 = rate, beta1, beta2
        self.decay, self.m = decay, 0.0

    def update(self, t, w, g):
        c = np.sign(self.beta1 * self.m + (1 - self.beta1) * g)
        self.m = self.beta2 * self.m + (1 - self.beta2) * g
        return -self.rate * (c + self.decay * w)


class Adafactor(Rule):
    """Shazeer and Stern 2018, algorithms 4 (matrices) and 5 (vectors), with the
    decay of section 7.2, the step sizes of section 8, and beta1 averaging steps
    like in the authors' code."""

    def __init__(self, rate, relative=True, scale=True, beta1=0.0, d=1.0,
                 decay=0.0, eps1=1e-30, eps2=1e-3, exponent=0.8):
        self.rate, self.relative, self.scale = rate, relative, scale
        self.beta1, self.d, self.decay = beta1, d, decay
        self.eps1, self.eps2, self.exponent = eps1, eps2, exponent
        self.R = self.C = self.V = self.m = 0.0

    def second_moment(self, g, b):
        if g.ndim == 1:
            self.V = b * self.V + (1 - b) * (g**2 + self.eps1)
            return self.V
        matrix = (g**2 + self.eps1).reshape(g.shape[0], -1)
        n, m = matrix.shape
        self.R = b * self.R + (1 - b) * matrix @ np.ones((m, 1))
        self.C = b * self.C + (1 - b) * np.ones((1, n)) @ matrix
        return (self.R @ self.C / (np.ones((1, n)) @ self.R)).reshape(g.shape)

    def update(self, t, w, g):
        rho = min(self.rate, 1 / math.sqrt(t)) if self.relative else self.rate
        alpha = rho
        if self.scale:
            alpha *= max(self.eps2, norm(w) / math.sqrt(w.size))
        u = g / np.sqrt(self.second_moment(g, 1 - t**-self.exponent))
        u = u / max(1.0, norm(u) / math.sqrt(u.size) / self.d)
        step = alpha * u
        if self.beta1:
            self.m = self.beta1 * self.m + (1 - self.beta1) * step
            step = self.m
        return -step - self.rate * self.decay * w  # like torch.optim


class Lookahead(Rule):
    """Zhang et al. 2019, algorithm 1, around another rule."""

    def __init__(self, k, alpha, inner):
        self.k, self.alpha, self.inner = k, alpha, inner

    def start(self, w):
        self.slow = w.copy()
        self.inner.start(w)

    def update(self, t, w, g):
        fast = w + self.inner.update(t, w, g)
        if t % self.k != 0:
            return fast - w
        self.slow = self.slow + self.alpha * (fast - self.slow)
        return self.slow - w


# --- Cases: gandem's config, and the function that computes it ---

CASES = {
    "adam": (
        "adam { learning_rate: 2e-3 beta1: 0.9 beta2: 0.999 eps: 1e-8 }",
        pytorch("Adam", lr=2e-3, betas=(0.9, 0.999), eps=1e-8)),
    "adam_no_momentum": (
        "adam { learning_rate: 1e-3 beta1: 0 beta2: 0.9 eps: 1e-6 }",
        pytorch("Adam", lr=1e-3, betas=(0.0, 0.9), eps=1e-6)),
    "adam_r3gan": (
        "adam { learning_rate: 2e-3 beta1: 0 beta2: 0.9 eps: 1e-8"
        " beta2_steps: 60 final_beta2: 0.99 }",
        adam_of_r3gan(60, 0.9, 0.99, lr=2e-3, betas=(0.0, 0.9), eps=1e-8)),
    "adam_l2": (
        "adam { learning_rate: 1e-2 beta1: 0.5 beta2: 0.99 eps: 1e-3"
        " weight_decay: 0.1 }",
        pytorch("Adam", lr=1e-2, betas=(0.5, 0.99), eps=1e-3,
                weight_decay=0.1)),
    "adamw": (
        "adamw { learning_rate: 1e-2 beta1: 0.9 beta2: 0.99 eps: 1e-6"
        " weight_decay: 0.1 }",
        pytorch("AdamW", lr=1e-2, betas=(0.9, 0.99), eps=1e-6,
                weight_decay=0.1)),
    "sgd": ("sgd { learning_rate: 1e-2 weight_decay: 0.1 }",
            pytorch("SGD", lr=1e-2, weight_decay=0.1)),
    "sgd_momentum": (
        "sgd { learning_rate: 1e-3 momentum: 0.9 dampening: 0.3 }",
        pytorch("SGD", lr=1e-3, momentum=0.9, dampening=0.3)),
    "sgd_nesterov": (
        "sgd { learning_rate: 1e-3 momentum: 0.8 nesterov: true"
        " weight_decay: 0.01 }",
        pytorch("SGD", lr=1e-3, momentum=0.8, nesterov=True,
                weight_decay=0.01)),
    "rmsprop": (
        "rmsprop { learning_rate: 1e-3 alpha: 0.9 eps: 1e-4 }",
        pytorch("RMSprop", lr=1e-3, alpha=0.9, eps=1e-4)),
    "rmsprop_l2_momentum": (
        "rmsprop { learning_rate: 1e-3 alpha: 0.95 momentum: 0.7"
        " weight_decay: 0.1 }",
        pytorch("RMSprop", lr=1e-3, alpha=0.95, eps=1e-8, momentum=0.7,
                weight_decay=0.1)),
    "rmsprop_centered": (
        "rmsprop { learning_rate: 1e-3 alpha: 0.9 eps: 1e-3 centered: true }",
        pytorch("RMSprop", lr=1e-3, alpha=0.9, eps=1e-3, centered=True)),
    "rmsprop_centered_momentum": (
        "rmsprop { learning_rate: 1e-3 alpha: 0.9 eps: 1e-3 centered: true"
        " momentum: 0.5 }",
        pytorch("RMSprop", lr=1e-3, alpha=0.9, eps=1e-3, centered=True,
                momentum=0.5)),
    "rmsprop_eps_inside": (
        "rmsprop { learning_rate: 1e-3 alpha: 0.9 eps: 0 eps_root: 1e-6 }",
        numpy(lambda: RmspropInside(1e-3, 0.9, 1e-6))),
    "radam": (
        "radam { learning_rate: 1e-2 beta1: 0.9 beta2: 0.99 eps: 1e-6 }",
        pytorch("RAdam", lr=1e-2, betas=(0.9, 0.99), eps=1e-6)),
    "radam_l2": (
        "radam { learning_rate: 1e-2 beta1: 0.5 beta2: 0.9 weight_decay: 0.1 }",
        pytorch("RAdam", lr=1e-2, betas=(0.5, 0.9), eps=1e-8,
                weight_decay=0.1)),
    "radam_decoupled": (
        "radam { learning_rate: 1e-2 beta1: 0 beta2: 0.999 eps: 1e-3"
        " weight_decay: 0.1 decoupled_weight_decay: true }",
        pytorch("RAdam", lr=1e-2, betas=(0.0, 0.999), eps=1e-3,
                weight_decay=0.1, decoupled_weight_decay=True)),
    "adabelief": (
        "adabelief { learning_rate: 1e-3 beta1: 0.9 beta2: 0.99 }",
        numpy(lambda: AdaBelief(1e-3, 0.9, 0.99, 1e-12, 1e-12))),
    "adabelief_eps_outside": (
        "adabelief { learning_rate: 1e-3 beta1: 0.5 beta2: 0.9 eps: 1e-4"
        " eps_root: 0 }",
        numpy(lambda: AdaBelief(1e-3, 0.5, 0.9, 1e-4, 0.0))),
    "adabelief_eps_inside": (
        "adabelief { learning_rate: 1e-3 beta1: 0.5 beta2: 0.9 eps: 0"
        " eps_root: 1e-6 }",
        numpy(lambda: AdaBelief(1e-3, 0.5, 0.9, 0.0, 1e-6))),
    "adabelief_uncorrected": (
        "adabelief { learning_rate: 1e-3 beta1: 0.5 beta2: 0.99 eps: 1e-6"
        " bias_correction: false }",
        numpy(lambda: AdaBelief(1e-3, 0.5, 0.99, 1e-6, 1e-12, correct=False))),
    "adabelief_decoupled": (
        "adabelief { learning_rate: 1e-2 beta1: 0.5 beta2: 0.99 eps: 1e-6"
        " weight_decay: 0.1 }",
        numpy(lambda: AdaBelief(1e-2, 0.5, 0.99, 1e-6, 1e-12, decoupled=0.1))),
    "adabelief_l2": (
        "adabelief { learning_rate: 1e-2 beta1: 0.5 beta2: 0.99 eps: 1e-6"
        " weight_decay: 0.1 decoupled_weight_decay: false }",
        numpy(lambda: AdaBelief(1e-2, 0.5, 0.99, 1e-6, 1e-12, l2=0.1))),
    "adabelief_rectified": (
        "adabelief { learning_rate: 1e-3 beta1: 0.9 beta2: 0.99 eps: 1e-8"
        " eps_root: 1e-8 weight_decay: 0.1 rectify: true }",
        numpy(lambda: AdaBelief(1e-3, 0.9, 0.99, 1e-8, 1e-8, decoupled=0.1,
                                rectify=True))),
    "lars": (
        "lars { learning_rate: 0.5 momentum: 0.9 trust: 0.01"
        " weight_decay: 0.1 skip_vectors: false }",
        numpy(lambda: Lars(0.5, 0.9, 0.01, 0.1, False))),
    "lars_skip_vectors": (
        "lars { learning_rate: 1e-3 momentum: 0.5 trust: 0.1"
        " weight_decay: 0.1 }",
        numpy(lambda: Lars(1e-3, 0.5, 0.1, 0.1, True))),
    "lamb": (
        "lamb { learning_rate: 1e-2 beta1: 0.9 beta2: 0.99 eps: 1e-6"
        " weight_decay: 0.1 skip_vectors: false }",
        numpy(lambda: Lamb(1e-2, 0.9, 0.99, 1e-6, 0.1))),
    "lamb_uncorrected": (
        "lamb { learning_rate: 1e-2 beta1: 0.5 beta2: 0.9 eps: 1e-3"
        " bias_correction: false skip_vectors: false }",
        numpy(lambda: Lamb(1e-2, 0.5, 0.9, 1e-3, 0.0, correct=False))),
    "lamb_skip_vectors": (
        "lamb { learning_rate: 1e-2 beta1: 0.5 beta2: 0.9 eps: 1e-6"
        " weight_decay: 0.1 }",
        numpy(lambda: Lamb(1e-2, 0.5, 0.9, 1e-6, 0.1, skip_vectors=True))),
    "lion": (
        "lion { learning_rate: 1e-3 beta1: 0.9 beta2: 0.99 weight_decay: 0.1 }",
        numpy(lambda: Lion(1e-3, 0.9, 0.99, 0.1))),
    "adafactor": ("adafactor {}", numpy(lambda: Adafactor(1e-2))),
    "adafactor_absolute": (
        "adafactor { learning_rate: 1e-3 relative_step: false"
        " scale_by_parameter: false clip_threshold: 2 weight_decay: 0.1 }",
        numpy(lambda: Adafactor(1e-3, False, False, d=2.0, decay=0.1))),
    "adafactor_momentum": (
        "adafactor { learning_rate: 0.2 beta1: 0.9 decay_exponent: 0.5"
        " eps_square: 1e-8 eps_scale: 0.5 }",
        numpy(lambda: Adafactor(0.2, beta1=0.9, exponent=0.5, eps1=1e-8,
                                eps2=0.5))),
    "adafactor_decay": (
        "adafactor { learning_rate: 0.5 weight_decay: 0.1 }",
        adafactor_of_torch(lr=0.5, weight_decay=0.1)),
    "lookahead_adam": (
        "adam { learning_rate: 1e-2 beta1: 0.5 beta2: 0.99 eps: 1e-6 }"
        " lookahead { period: 6 rate: 0.4 }",
        numpy(lambda: Lookahead(6, 0.4, Adam(1e-2, 0.5, 0.99, 1e-6)))),
    "lookahead_optimistic_sgd": (
        "sgd { learning_rate: 1e-2 weight_decay: 0.1 } optimism: 1"
        " lookahead { period: 5 rate: 0.5 }",
        numpy(lambda: Lookahead(5, 0.5, Optimistic(1.0, Sgd(1e-2, 0.1))))),
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
        # Very different magnitudes, so that eps matters for some elements.
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
