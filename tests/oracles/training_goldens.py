# SPDX-License-Identifier: Apache-2.0
"""Whole training runs of 20 rounds in float64, written from design.md section 4
without any code of gandem.

    python tests/oracles/training_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. R = 1, REUSED images, EXACT. Round t
with lag L, theta_t the generator and phi_t the discriminator after t steps:

    x_t = G(z_t) at theta_t, a training pass; its graph is kept
    discriminator step: training pass on the real images, backward; training
        pass on x_t, backward; the gradients add up; one Adam step -> phi_t+1
    generator step: the gradient of the generator loss with respect to x_t, by
        phi_t+1 (L = 0) or phi_t (L = 1) frozen: batch statistics are used and
        not recorded, the stored u and v are used and not iterated; backward
        through the kept graph; one Adam step -> theta_t+1
    average = decay * average + (1 - decay) * G for parameters and float
        buffers, a copy for counters and before START_ROUND

With micro-batches each pass is over one micro-batch, in ascending order (all
real ones, then all generated ones); a loss is the sum over its images divided
by the whole batch size.

Writes training/<network>.safetensors for NETWORKS below, each with

    initial.generator.<tensor>, initial.discriminator.<tensor>   float32
    noise      [20, BATCH, NOISE_DIM], float32
    real       [6, channels, 32, 32], float32; image j of step t is number
               (t * BATCH + j) mod 6
    <case>.generator.<tensor>, <case>.average.<tensor>,
    <case>.discriminator.<tensor>       after the last round, float64
    <case>.loss_real, <case>.loss_generated, <case>.loss_generator   [20]

for the cases of CASES; <tensor> are gandem's names of parameters and buffers.
Inputs are float32 so that they are the same numbers in both precisions.
"""
import sys

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

import networks as nets

ROUNDS = 20
BATCH = 4
NOISE_DIM = 6
NUM_REAL = 6
# eps is large because a bias before batch norm has a gradient of rounding errors
# only, which Adam would otherwise blow up: two correct programs differ there.
GENERATOR_ADAM = dict(lr=1e-3, betas=(0.5, 0.99), eps=1e-5)
DISCRIMINATOR_ADAM = dict(lr=2e-3, betas=(0.0, 0.9), eps=1e-6)
EMA_DECAY = 0.9
START_ROUND = 3

# name: (channels, generator, discriminator)
NETWORKS = {
    "dcgan": (1, lambda: nets.DcganGenerator(NOISE_DIM, 4, 1, 32),
              lambda: nets.DcganDiscriminator(4, 1, 32)),
    "sndcgan": (1, lambda: nets.SndcganGenerator(NOISE_DIM, 4, 1),
                lambda: nets.SndcganDiscriminator(4, 1)),
    "sngan": (3, lambda: nets.SnganGenerator(NOISE_DIM, 4, 3),
              lambda: nets.SnganDiscriminator(4, 3)),
}

# network: [(case, lag, loss, micro-batch)]
CASES = {
    "dcgan": [("lag0_non_saturating", 0, "non_saturating", BATCH),
              ("lag1_non_saturating", 1, "non_saturating", BATCH),
              ("lag1_hinge_micro_batches", 1, "hinge", 2)],
    "sndcgan": [("lag0_hinge", 0, "hinge", BATCH),
                ("lag1_non_saturating", 1, "non_saturating", BATCH)],
    "sngan": [("lag0_non_saturating", 0, "non_saturating", BATCH),
              ("lag1_hinge", 1, "hinge", BATCH)],
}


def losses(kind):
    """Per-image losses: on real logits, on generated logits, generator's."""
    if kind == "hinge":
        return (lambda r: F.relu(1 - r), lambda g: F.relu(1 + g), lambda g: -g)

    def bce(logits, target):
        return F.binary_cross_entropy_with_logits(
            logits, torch.full_like(logits, target), reduction="none")

    return (lambda r: bce(r, 1.0), lambda g: bce(g, 0.0), lambda g: bce(g, 1.0))


def average_step(average, network, t):
    with torch.no_grad():
        source = network.state_dict()
        for name, target in average.state_dict().items():
            if t < START_ROUND or not target.is_floating_point():
                target.copy_(source[name])
            else:
                target.mul_(EMA_DECAY).add_(source[name], alpha=1 - EMA_DECAY)


def train(make_g, make_d, initial, noise, real, lag, loss, micro):
    G, D, average = (make().double() for make in (make_g, make_d, make_g))
    for network, role in ((G, "generator"), (D, "discriminator"),
                          (average, "generator")):
        nets.load(network, initial[role])
    adam_g = torch.optim.Adam(G.parameters(), foreach=False, **GENERATOR_ADAM)
    adam_d = torch.optim.Adam(
        D.parameters(), foreach=False, **DISCRIMINATOR_ADAM)
    loss_real, loss_generated, loss_generator = losses(loss)
    records = []
    for t in range(ROUNDS):
        pieces = range(0, BATCH, micro)
        numbers = torch.arange(t * BATCH, (t + 1) * BATCH) % NUM_REAL
        images = [G(noise[t, i:i + micro]) for i in pieces]

        older_critic = nets.frozen(make_d, D)  # phi_t
        adam_d.zero_grad()
        record = [0.0, 0.0, 0.0]
        for i in pieces:
            part = loss_real(D(real[numbers[i:i + micro]])).sum() / BATCH
            part.backward()
            record[0] += part.item()
        for x in images:
            part = loss_generated(D(x.detach())).sum() / BATCH
            part.backward()
            record[1] += part.item()
        adam_d.step()

        critic = nets.frozen(make_d, D) if lag == 0 else older_critic
        adam_g.zero_grad()
        for x in images:
            leaf = x.detach().requires_grad_()
            part = loss_generator(critic(leaf)).sum() / BATCH
            record[2] += part.item()
            x.backward(torch.autograd.grad(part, leaf)[0])
        adam_g.step()
        average_step(average, G, t)
        records.append(record)
    return G, average, D, torch.tensor(records, dtype=torch.float64)


def main(folder):
    torch.set_num_threads(1)
    for name, (channels, make_g, make_d) in NETWORKS.items():
        rng = torch.Generator().manual_seed(9)
        noise = torch.randn(ROUNDS, BATCH, NOISE_DIM, generator=rng)
        real = torch.rand(NUM_REAL, channels, 32, 32, generator=rng) * 2 - 1
        # Not mere noise: a ramp that differs from image to image.
        slope = torch.linspace(-0.9, 0.9, 32)
        real = 0.3 * real + 0.7 * slope * torch.linspace(
            -1, 1, NUM_REAL)[:, None, None, None]
        out = {"noise": noise, "real": real}
        initial = {}
        for role, make, seed in (("generator", make_g, 1),
                                 ("discriminator", make_d, 2)):
            network = make()
            nets.randomize(network, seed)
            initial[role] = nets.state(network)
            for tensor, value in initial[role].items():
                out[f"initial.{role}.{tensor}"] = value
        for case, lag, loss, micro in CASES[name]:
            G, average, D, records = train(make_g, make_d, initial,
                                           noise.double(), real.double(), lag,
                                           loss, micro)
            for role, network in (("generator", G), ("average", average),
                                  ("discriminator", D)):
                for tensor, value in nets.state(network).items():
                    out[f"{case}.{role}.{tensor}"] = value
            for i, part in enumerate(("real", "generated", "generator")):
                out[f"{case}.loss_{part}"] = records[:, i].contiguous()
            print(name, case, "first", records[0].tolist(), "last",
                  records[-1].tolist())
        save_file(out, f"{folder}/training/{name}.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
