# SPDX-License-Identifier: Apache-2.0
"""Whole training runs in float64, for all losses and for local SGD, written from
the papers and docs without any code of gandem.

    python tests/oracles/training_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. R = 1, REUSED images, EXACT. Round t
with lag L, theta_t the generator and phi_t the discriminator after t steps:

    x_t = G(z_t) at theta_t, a training pass; its graph is kept
    discriminator step: training pass on the real images, backward; training
        pass on x_t, backward; the gradients add up; one step -> phi_t+1
    generator step: the gradient of the generator loss with respect to x_t, by
        phi_t+1 (L = 0) or phi_t (L = 1) frozen: batch statistics are used and
        not recorded, the stored u and v are used and not iterated; backward
        through the kept graph; one step -> theta_t+1
    average = decay * average + (1 - decay) * G for parameters and float
        buffers, a copy for counters and before START_ROUND

A fused case (lag 1) has no frozen pass: the gradient of the generator loss with
respect to x_t comes from the training pass on x_t. That pass precedes the one on
the real images, except for relativistic losses, which need the real images first.

With micro-batches each pass is over one micro-batch, in ascending order (all
real ones, then all generated ones); a loss is the sum over its images divided
by the whole batch size.

Parameters whose names match a case's `freeze` have requires_grad False. The first
match in `factors` multiplies the learning rate of a parameter. Layers of frozen
parameters still run as in training: spectral norm iterates, batch norm records.

A case with path lengths (Karras et al. 2020, equation 4) adds, in every n-th
generator step, weight * n * mean over the first batch / shrink noises of that step
of (|J^T y| - a)^2. J is the derivative of the image by the styles of its layers,
whose squares are averaged over the layers; y is the file's `direction` /
sqrt(height * width); a is 0 at first, and each such step ends with
a = 0.99 a + 0.01 * mean |J^T y|. StyleGAN2's draws have purpose 1 and step t for
x_t, purpose 25 and step t for path lengths.

A case with `separate` takes lazy terms in a second Adam step after the normal
one, at the updated parameters, like StyleGAN2's program; r1 uses the same real
images. There a moves before the term, and the gradient passes through a. The rates
of STYLEGAN2 are that program's times k / (k + 1), the betas to that power.

An adaptive case augments what D sees (ada_goldens.py) with probability p, from
draws of seed 0 (common/philox.h): step t and the image's place in the batch, and
12, 13 or 14 for real, generated and judged images. A critic has the p of its
version. After every ADA_INTERVAL-th discriminator step, p moves by the number of
images of those steps / ADA_IMAGES: up if the mean sign of the logits on their real
images is above ADA_TARGET, down if it is below. p stays in [0, 1].

With several ranks, each rank has its own generator, discriminator and contiguous
slice of the batch, and trains by itself (local SGD, Stich 2019). After every
SYNC_EVERY-th step of a role, all of its ranks become their mean, over parameters
and the optimizer's float state (momentum, Adam's moments), with the slices' sizes
as weights. The last round is not such a step, so that the ranks differ.

Writes training/<name>.safetensors for FILES below, each with

    initial.generator.<tensor>, initial.discriminator.<tensor>   float32
    noise      [rounds, batch, NOISE_DIM], float32
    direction  [rounds, batch, channels, size, size], float32, for path lengths
    real       [images, channels, size, size], float32; image j of step t is
               number (t * batch + j) mod images; local: [rounds, batch, ...]
    <case>.generator.<tensor>, <case>.average.<tensor>,
    <case>.discriminator.<tensor>       after the last round, float64; local:
                                        <case>.<role>.<rank>.<tensor>
    <case>.loss_<part>                  [rounds], one rank only
    <case>.p                            [rounds], after each; adaptive only

<tensor> is gandem's name of a parameter or buffer. Inputs are float32, so that
both precisions get the same numbers.
"""
import dataclasses
import fnmatch
import pathlib
import sys
import typing

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

import ada_goldens
import networks as nets
import r3gan_networks
import stylegan2_networks as styles

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "common"))
import philox_reference  # noqa: E402

NOISE_DIM = 6
EMA_DECAY = 0.9
START_ROUND = 3
SYNC_EVERY = 2
LECAM_DECAY = 0.9
LECAM_START = 4
ADA_START = 0.5
ADA_TARGET = 0.2
ADA_INTERVAL = 2
ADA_IMAGES = 50


# --- Losses of a step ---


class PerImage:
    """A loss that is a sum over images."""
    parts = ("real", "generated", "generator")

    def __init__(self, real, generated, generator):
        self.real, self.generated, self.generator = real, generated, generator

    def train(self, D, reals, images, t):
        """Leaves gradients in D; returns the losses."""
        batch = sum(map(len, reals))
        record = []
        for loss, pieces in ((self.real, reals), (self.generated, images)):
            record.append(0.0)
            for piece in pieces:
                part = loss(D(piece)).sum() / batch
                part.backward()
                record[-1] += part.item()
        return record

    def judge(self, critic, real, image, batch):
        return self.generator(critic(image)).sum() / batch

    def train_fused(self, D, reals, images, t):
        """Like train(); also returns the generator's loss and its gradients with
        respect to the images."""
        batch = sum(map(len, reals))
        real = generated = generator = 0.0
        slopes = []
        for piece in images:
            leaf = piece.requires_grad_()
            logits = D(leaf)
            mine = self.generator(logits).sum() / batch
            slopes += torch.autograd.grad(mine, leaf, retain_graph=True)
            part = self.generated(logits).sum() / batch
            part.backward()
            generator += mine.item()
            generated += part.item()
        for piece in reals:
            part = self.real(D(piece)).sum() / batch
            part.backward()
            real += part.item()
        return [real, generated, generator], slopes


def bce(target):
    return lambda logits: F.binary_cross_entropy_with_logits(
        logits, torch.full_like(logits, target), reduction="none")


def non_saturating():
    return PerImage(bce(1.0), bce(0.0), bce(1.0))


def softplus():  # an equivalent form of non_saturating()
    return PerImage(lambda r: F.softplus(-r), F.softplus,
                    lambda g: F.softplus(-g))


def hinge():
    return PerImage(lambda r: F.relu(1 - r), lambda g: F.relu(1 + g),
                    lambda g: -g)


def slope_square(D, x):
    """Mean over images of |dD/dx|^2 / 2."""
    x = x.detach().requires_grad_()
    slope, = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return (slope**2).sum() / len(x) / 2


class Joint:
    """A loss of all logits of a batch, with penalties. r1 and r2 apply only in
    every `every`-th step.

    LeCam's anchors are averages of the mean logits of the previous steps, and of
    this step if they move first. Until LECAM_START they are the mean logits of
    the last step, and the penalty begins in the step after LECAM_START. A
    relativistic generator step compares its image j of round t with real image
    (t * batch + j) mod images by the same frozen critic.
    """
    parts = ("discriminator", "generator")
    LOSSES = {
        "non_saturating": (lambda r, g: (F.softplus(-r) + F.softplus(g)).mean(),
                           lambda r, g: F.softplus(-g).mean()),
        "least_squares": (lambda r, g: ((r - 1)**2 + g**2).mean() / 2,
                          lambda r, g: ((g - 1)**2).mean() / 2),
        "saturating": (lambda r, g: (F.softplus(-r) + F.softplus(g)).mean(),
                       lambda r, g: -F.softplus(g).mean()),
        "relativistic_paired": (lambda r, g: F.softplus(g - r).mean(),
                                lambda r, g: F.softplus(r - g).mean()),
        "relativistic_average":
            (lambda r, g: (F.softplus(g.mean() - r)
                           + F.softplus(g - r.mean())).mean(),
             lambda r, g: (F.softplus(r.mean() - g)
                           + F.softplus(r - g.mean())).mean()),
    }

    def __init__(self, loss, weights, every=1, separate=False,
                 lecam_moves_first=False):
        self.discriminator, self.generator = self.LOSSES[loss]
        self.weights, self.every, self.separate = weights, every, separate
        self.lecam_moves_first = lecam_moves_first
        self.anchor_real = self.anchor_generated = 0.0

    def train(self, D, reals, images, t):
        (x_real,), (x,) = reals, images
        return [self.step(D, x_real, x, D(x_real), D(x), t)]

    def train_fused(self, D, reals, images, t):
        (x_real,), (x,) = reals, images
        leaf = x.clone().requires_grad_()
        r, g = D(x_real), D(leaf)
        mine = self.generator(r.detach(), g)
        slopes = torch.autograd.grad(mine, leaf, retain_graph=True)
        return [self.step(D, x_real, x, r, g, t), mine.item()], slopes

    def step(self, D, x_real, x, r, g, t):
        total = self.discriminator(r, g)
        if t % self.every == 0 and not self.separate:
            for name, penalized in (("r1", x_real), ("r2", x)):
                if name in self.weights:
                    total = total + (self.every * self.weights[name]
                                     * slope_square(D, penalized))
        if self.lecam_moves_first:
            self.move_anchors(r, g, t)
        if "lecam" in self.weights and t > LECAM_START:
            total = total + self.weights["lecam"] * (
                F.relu(r - self.anchor_generated)**2
                + F.relu(self.anchor_real - g)**2).mean()
        total.backward()
        if not self.lecam_moves_first:
            self.move_anchors(r, g, t)
        return total.item()

    def second_step(self, D, reals, t):
        """The loss of a second update; None if there is none."""
        if not self.separate or t % self.every != 0:
            return None
        x, = reals
        # The second term gives every parameter a gradient, if only 0.
        return (self.every * self.weights["r1"] * slope_square(D, x)
                + 0 * D(x).sum())

    def move_anchors(self, r, g, t):
        decay = LECAM_DECAY if t >= LECAM_START else 0.0
        self.anchor_real += (1 - decay) * (r.mean().item() - self.anchor_real)
        self.anchor_generated += (1 - decay) * (
            g.mean().item() - self.anchor_generated)

    def judge(self, critic, real, image, batch):
        return self.generator(critic(real).detach(), critic(image))


def draws(purpose, step, count):
    """Rows of uniform numbers, one row per image."""
    rows = []
    for index in range(count):
        w = list(philox_reference.words(0, purpose, step, index,
                                        (ada_goldens.DRAWS + 1) // 2))
        rows.append([((high << 32 | low) >> 11) * 2.0**-53
                     for low, high in zip(w[0::2], w[1::2])])
    return torch.tensor(rows, dtype=torch.float64)[:, :ada_goldens.DRAWS]


class Adaptive:
    """A loss per image, on augmented images."""

    def __init__(self, loss):
        self.loss, self.parts = loss, loss.parts
        self.signs, self.record = [], []

    def seen(self, D, x, purpose, t):
        p = getattr(D, "p", ADA_START)
        return ada_goldens.augment(x, draws(purpose, t, len(x)), p)

    def train(self, D, reals, images, t):
        (x_real,), (x,) = reals, images
        logits = D(self.seen(D, x_real, 12, t))
        real = self.loss.real(logits).mean()
        real.backward()
        generated = self.loss.generated(D(self.seen(D, x, 13, t))).mean()
        generated.backward()
        self.t = t
        self.signs += logits.detach().sign().flatten().tolist()
        return [real.item(), generated.item()]

    def after_step(self, D, batch):
        p = getattr(D, "p", ADA_START)
        if (self.t + 1) % ADA_INTERVAL == 0:
            mean = sum(self.signs) / len(self.signs)
            step = batch * ADA_INTERVAL / ADA_IMAGES
            p += step if mean > ADA_TARGET else -step if mean < ADA_TARGET else 0
            self.signs = []
        D.p = min(max(p, 0.0), 1.0)
        self.record.append(D.p)

    def judge(self, critic, real, image, batch):
        return self.loss.generator(
            critic(self.seen(critic, image, 14, self.t))).mean()


class PathLength:
    def __init__(self, weight, every, shrink, separate=False):
        self.weight, self.every, self.shrink = weight, every, shrink
        self.separate, self.mean = separate, 0.0

    def loss(self, G, z, direction, t):
        count = len(z) // self.shrink
        styles.place[:] = [25, t]
        G.eval()  # does not change the mean style
        w = torch.stack(G.styles(z[:count], None, 2 * len(G.sizes)), dim=1)
        x = G.images(w.unbind(1))
        G.train()
        y = direction[:count] / (x.shape[2] * x.shape[3])**0.5
        slope, = torch.autograd.grad((x * y).sum(), w, create_graph=True)
        lengths = (slope**2).sum(2).mean(1).sqrt()
        moved = self.mean + 0.01 * (lengths.mean() - self.mean)
        mean = moved if self.separate else self.mean
        self.mean = moved.item()
        # The second term gives every parameter a gradient, if only 0.
        return (self.weight * self.every * ((lengths - mean)**2).mean()
                + 0 * x.sum())


def version(make, D):
    """A frozen copy, with the probability p if there is one."""
    critic = nets.frozen(make, D)
    if hasattr(D, "p"):
        critic.p = D.p
    return critic


# --- A run ---


# The gradient of a bias before batch norm is only rounding errors, which Adam
# with a small eps would amplify, so that two correct programs would differ.
ADAM = {"generator": dict(lr=1e-3, betas=(0.5, 0.99), eps=1e-5),
        "discriminator": dict(lr=2e-3, betas=(0.0, 0.9), eps=1e-6)}


def adam(parameters, role):
    return torch.optim.Adam(parameters, foreach=False, **ADAM[role])


# Adam of the reference program before the correction for lazy terms, and the
# interval of lazy terms in steps.
STYLEGAN2 = dict(lr=2e-3, betas=(0.0, 0.99), eps=1e-8)
STYLEGAN2_EVERY = {"generator": 2, "discriminator": 3}


def stylegan2_adam(parameters, role):
    ratio = STYLEGAN2_EVERY[role] / (STYLEGAN2_EVERY[role] + 1)
    return torch.optim.Adam(
        parameters, lr=STYLEGAN2["lr"] * ratio,
        betas=[beta**ratio for beta in STYLEGAN2["betas"]],
        eps=STYLEGAN2["eps"], foreach=False)


def local_sgd(parameters, role):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.5, foreach=False)


def local_adam(parameters, role):
    return torch.optim.Adam(parameters, lr=2e-3, betas=(0.5, 0.9), eps=1e-6,
                            foreach=False)


def decayed_sgd(parameters, role):
    return torch.optim.SGD(parameters, lr=0.02, momentum=0.5, weight_decay=0.01,
                           foreach=False)


@dataclasses.dataclass
class Case:
    objective: typing.Callable
    lag: int = 0
    micro: int = 1000  # images per micro-batch
    fused: bool = False
    optimizer: typing.Callable = adam
    freeze: dict = dataclasses.field(default_factory=dict)  # role: patterns
    factors: dict = dataclasses.field(default_factory=dict)  # role: {pattern: x}
    path_length: tuple = ()  # arguments of PathLength


def matches(name, patterns):
    name = name.replace("weight_orig", "weight")
    return [p for p in patterns if fnmatch.fnmatchcase(name, p)]


def groups(network, role, case):
    """Parameter groups; the factor is applied by scale_rates."""
    by_factor = {}
    for name, parameter in network.named_parameters():
        if matches(name, case.freeze.get(role, [])):
            parameter.requires_grad_(False)
            continue
        factors = case.factors.get(role, {})
        own = matches(name, factors)
        factor = factors[own[0]] if own else 1.0
        by_factor.setdefault(factor, []).append(parameter)
    return [{"params": parameters, "factor": factor}
            for factor, parameters in by_factor.items()]


def scale_rates(optimizer):
    for group in optimizer.param_groups:
        group["lr"] *= group["factor"]
    return optimizer


def average_step(average, network, t):
    with torch.no_grad():
        source = network.state_dict()
        for name, target in average.state_dict().items():
            if t < START_ROUND or not target.is_floating_point():
                target.copy_(source[name])
            else:
                target.mul_(EMA_DECAY).add_(source[name], alpha=1 - EMA_DECAY)


def averaged(network, optimizer):
    """Tensors that ranks average, in the same order on all of them."""
    tensors = list(network.parameters())
    for parameter in network.parameters():
        state = optimizer.state[parameter]
        tensors += [state[name] for name in sorted(state)
                    if name != "step" and state[name] is not None]
    return tensors


@torch.no_grad()
def synchronize(ranks, slices):
    for tensors in zip(*(averaged(*rank) for rank in ranks)):
        mean = sum(n * t for n, t in zip(slices, tensors)) / sum(slices)
        for tensor in tensors:
            tensor.copy_(mean)


def train(make, initial, noise, real, direction, slices, case):
    """Returns the ranks' networks by role, the average, and rank 0's losses."""
    def start(role):
        network = make[role]().double()
        nets.load(network, initial[role])
        return network, scale_rates(
            case.optimizer(groups(network, role, case), role))

    generators = [start("generator") for _ in slices]
    discriminators = [start("discriminator") for _ in slices]
    average, _ = start("generator")
    objectives = [case.objective() for _ in slices]
    batch = sum(slices)
    path_length = PathLength(*case.path_length) if case.path_length else None
    records = []
    for t in range(len(noise)):
        numbers = torch.arange(t * batch, (t + 1) * batch) % len(real)
        reals = [x.split(case.micro) for x in real[numbers].split(slices)]
        styles.place[:] = [1, t]
        images = [[G(z) for z in own.split(case.micro)]
                  for (G, _), own in zip(generators, noise[t].split(slices))]
        critics = [version(make["discriminator"], D)
                   for D, _ in discriminators]  # phi_t
        record = []
        slopes = []
        for rank, (D, optimizer) in enumerate(discriminators):
            optimizer.zero_grad()
            leaves = [x.detach() for x in images[rank]]
            if case.fused:
                losses, own = objectives[rank].train_fused(
                    D, reals[rank], leaves, t)
                record += losses
                slopes.append(own)
            else:
                record += objectives[rank].train(D, reals[rank], leaves, t)
            optimizer.step()
            if isinstance(objectives[rank], Joint):
                part = objectives[rank].second_step(D, reals[rank], t)
                if part is not None:
                    optimizer.zero_grad()
                    part.backward()
                    optimizer.step()
                    record[0] += part.item()
            if isinstance(objectives[rank], Adaptive):
                objectives[rank].after_step(D, batch)
        due = len(slices) > 1 and (t + 1) % SYNC_EVERY == 0
        if due:
            synchronize(discriminators, slices)

        if case.lag == 0:
            critics = [version(make["discriminator"], D)
                       for D, _ in discriminators]
        for rank, (_, optimizer) in enumerate(generators):
            optimizer.zero_grad()
            if case.fused:
                for x, slope in zip(images[rank], slopes[rank]):
                    x.backward(slope)
                optimizer.step()
                continue
            record.append(0.0)
            for real_piece, x in zip(reals[rank], images[rank]):
                leaf = x.detach().requires_grad_()
                part = objectives[rank].judge(critics[rank], real_piece, leaf,
                                              slices[rank])
                record[-1] += part.item()
                x.backward(torch.autograd.grad(part, leaf)[0])
            if path_length and t % path_length.every == 0:
                if path_length.separate:
                    optimizer.step()
                    optimizer.zero_grad()
                part = path_length.loss(generators[rank][0], noise[t],
                                        direction[t], t)
                record[-1] += part.item()
                part.backward()
            optimizer.step()
        if due:
            synchronize(generators, slices)
        average_step(average, generators[0][0], t)
        records.append(record)
    return ({"generator": [G for G, _ in generators],
             "discriminator": [D for D, _ in discriminators]}, average,
            torch.tensor(records, dtype=torch.float64), objectives[0])


# --- Cases ---


@dataclasses.dataclass
class File:
    make_g: typing.Callable
    make_d: typing.Callable
    seed: int
    cases: dict
    channels: int = 1
    size: int = 8
    rounds: int = 20
    slices: list = dataclasses.field(default_factory=lambda: [4])  # batch sizes
    num_real: tuple = (6,)
    has_direction: bool = False  # for path lengths


def mlp(**more):
    return File(lambda: nets.MlpGenerator(NOISE_DIM, [8, 6], 1, 8),
                lambda: nets.MlpDiscriminator([7, 5], 1, 8), **more)


FROZEN_SNDCGAN = dict(
    freeze={"generator": ["linear.*"],
            "discriminator": ["main.0.*", "main.2.*", "main.4.bias"]},
    factors={"generator": {"main.*.weight": 0.5, "main.*": 3.0},
             "discriminator": {"linear.*": 0.25}})
FROZEN_MLP = dict(
    freeze={"generator": ["main.2.*"], "discriminator": ["main.0.*"]},
    factors={"generator": {"main.4.*": 2.0}, "discriminator": {"*.bias": 0.1}})

FILES = {
    "dcgan": File(
        lambda: nets.DcganGenerator(NOISE_DIM, 4, 1, 32),
        lambda: nets.DcganDiscriminator(4, 1, 32), seed=9, size=32, cases={
            "lag0_non_saturating": Case(non_saturating),
            "lag1_non_saturating": Case(non_saturating, lag=1),
            "lag1_hinge_micro_batches": Case(hinge, lag=1, micro=2),
            "fused_non_saturating": Case(non_saturating, lag=1, fused=True),
            "fused_hinge_micro_batches":
                Case(hinge, lag=1, micro=2, fused=True)}),
    "sndcgan": File(
        lambda: nets.SndcganGenerator(NOISE_DIM, 4, 1),
        lambda: nets.SndcganDiscriminator(4, 1), seed=9, size=32, cases={
            "lag0_hinge": Case(hinge),
            "lag1_non_saturating": Case(non_saturating, lag=1),
            "fused_hinge": Case(hinge, lag=1, fused=True),
            "fused_non_saturating_micro_batches":
                Case(non_saturating, lag=1, micro=2, fused=True)}),
    "sngan": File(
        lambda: nets.SnganGenerator(NOISE_DIM, 4, 3),
        lambda: nets.SnganDiscriminator(4, 3), seed=9, size=32, channels=3,
        cases={
            "lag0_non_saturating": Case(non_saturating),
            "lag1_hinge": Case(hinge, lag=1)}),
    "r3gan": File(
        lambda: r3gan_networks.R3ganGenerator(NOISE_DIM, [4] * 4, [2] * 4, 1, 3),
        lambda: r3gan_networks.R3ganDiscriminator([4] * 4, [2] * 4, 1, 3),
        seed=29, size=32, channels=3, cases={
            f"{name}_r1_r2":
                Case(lambda: Joint("relativistic_paired",
                                   {"r1": 0.05, "r2": 0.05}),
                     lag=lag, fused=name == "fused")
            for name, lag in (("lag0", 0), ("lag1", 1), ("fused", 1))}),
    "stylegan2": File(
        lambda: styles.Stylegan2Generator(NOISE_DIM, 6, [4, 4, 2], 2, 1),
        lambda: styles.Stylegan2Discriminator([4, 4, 2], 1, 2),
        seed=41, size=16, has_direction=True, cases={
            f"lag{lag}_non_saturating_path_length":
                Case(non_saturating, lag=lag, path_length=(2.0, 2, 2))
            for lag in (0, 1)} | {
            f"lag{lag}_reference":
                Case(lambda: Joint("non_saturating", {"r1": 1.0}, every=3,
                                   separate=True),
                     lag=lag, optimizer=stylegan2_adam,
                     path_length=(2.0, 2, 2, True))
            for lag in (0, 1)}),
    "mlp": mlp(seed=17, cases={
        "lag0_least_squares_lecam":
            Case(lambda: Joint("least_squares", {"lecam": 0.3})),
        "lag0_least_squares_lecam_moves_first":
            Case(lambda: Joint("least_squares", {"lecam": 0.3},
                               lecam_moves_first=True)),
        "lag1_saturating_lazy_r1":
            Case(lambda: Joint("saturating", {"r1": 0.5}, every=3), lag=1),
        "lag1_saturating_separate_r1":
            Case(lambda: Joint("saturating", {"r1": 0.5}, every=3,
                               separate=True), lag=1),
        "lag1_relativistic_paired_r1_r2":
            Case(lambda: Joint("relativistic_paired", {"r1": 0.5, "r2": 0.25}),
                 lag=1),
        "lag0_relativistic_average":
            Case(lambda: Joint("relativistic_average", {})),
        "fused_relativistic_paired_r1":
            Case(lambda: Joint("relativistic_paired", {"r1": 0.5}), lag=1,
                 fused=True),
        "fused_saturating_lazy_r1":
            Case(lambda: Joint("saturating", {"r1": 0.5}, every=3), lag=1,
                 fused=True)}),
    "local": mlp(seed=23, rounds=7, slices=[3, 2, 2], num_real=(7, 7), cases={
        "sgd": Case(softplus, optimizer=local_sgd),
        "adam": Case(softplus, optimizer=local_adam)}),
    "freeze_sndcgan": File(
        lambda: nets.SndcganGenerator(NOISE_DIM, 4, 1),
        lambda: nets.SndcganDiscriminator(4, 1), seed=29, size=32, cases={
            "frozen_lag0_hinge": Case(hinge, **FROZEN_SNDCGAN),
            "frozen_fused_hinge":
                Case(hinge, lag=1, fused=True, **FROZEN_SNDCGAN)}),
    "ada_mlp": mlp(seed=37, cases={
        "lag0_ada": Case(lambda: Adaptive(softplus())),
        "lag1_ada": Case(lambda: Adaptive(hinge()), lag=1)}),
    "freeze_mlp": mlp(seed=31, cases={
        "frozen_lag1_saturating_lazy_r1":
            Case(lambda: Joint("saturating", {"r1": 0.5}, every=3), lag=1,
                 **FROZEN_MLP),
        "frozen_least_squares_r2_sgd":
            Case(lambda: Joint("least_squares", {"r2": 0.5}),
                 optimizer=decayed_sgd, **FROZEN_MLP)}),
}


def write(path, file):
    rng = torch.Generator().manual_seed(file.seed)
    noise = torch.randn(file.rounds, sum(file.slices), NOISE_DIM,
                        generator=rng)
    real = torch.rand(*file.num_real, file.channels, file.size, file.size,
                      generator=rng) * 2 - 1
    if file.size == 32:
        # A ramp that differs from image to image, with noise.
        slope = torch.linspace(-0.9, 0.9, 32)
        real = 0.3 * real + 0.7 * slope * torch.linspace(
            -1, 1, len(real))[:, None, None, None]
    out = {"noise": noise, "real": real}
    direction = None
    if file.has_direction:
        direction = torch.randn(file.rounds, sum(file.slices), file.channels,
                                file.size, file.size, generator=rng)
        out["direction"] = direction
        direction = direction.double()

    def put(prefix, network):
        for tensor, value in nets.state(network).items():
            out[f"{prefix}.{tensor}"] = value

    initial = {}
    make = {"generator": file.make_g, "discriminator": file.make_d}
    for seed, role in enumerate(make, 1):
        network = make[role]()
        nets.randomize(network, seed)
        initial[role] = nets.state(network)
        put(f"initial.{role}", network)
    for name, case in file.cases.items():
        ranks, average, records, objective = train(
            make, initial, noise.double(), real.flatten(0, -4).double(),
            direction, file.slices, case)
        print(path, name, "first", records[0].tolist(), "last",
              records[-1].tolist())
        if len(file.slices) > 1:
            for role, networks in ranks.items():
                for rank, network in enumerate(networks):
                    put(f"{name}.{role}.{rank}", network)
            continue
        put(f"{name}.average", average)
        for role, (network,) in ranks.items():
            put(f"{name}.{role}", network)
        for i, part in enumerate(objective.parts):
            out[f"{name}.loss_{part}"] = records[:, i].contiguous()
        if isinstance(objective, Adaptive):
            p = torch.tensor(objective.record, dtype=torch.float64)
            out[f"{name}.p"] = p
            out[f"{name}.discriminator.ada_images"] = (
                p[-1] * ADA_IMAGES).round().long()
            print("p", p.tolist())
    save_file(out, path)


def main(folder):
    torch.set_num_threads(1)
    for name, file in FILES.items():
        write(f"{folder}/training/{name}.safetensors", file)


if __name__ == "__main__":
    main(sys.argv[1])
