# SPDX-License-Identifier: Apache-2.0
"""Whole training runs of 20 rounds in float64 with losses and penalties beyond
those of training_goldens.py, which has the rules of a round, the constants and
the format; here is what differs.

    python tests/oracles/objective_training_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. Writes training/mlp.safetensors for
fully connected networks on 8x8 images, with loss_discriminator in place of
loss_real and loss_generated.

LeCam's anchors are averages of the mean logits of the steps before; until
LECAM_START they are those of the last step, and the penalty begins in the step
after LECAM_START. A relativistic generator step compares its image j of round t
with real image (t * BATCH + j) mod 6, judged by the same frozen critic.
"""
import sys

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

import networks as nets
from training_goldens import (BATCH, DISCRIMINATOR_ADAM, GENERATOR_ADAM,
                              NOISE_DIM, NUM_REAL, ROUNDS, average_step)

SIZE = 8
LECAM_DECAY = 0.9
LECAM_START = 4


def make_g():
    return nets.MlpGenerator(NOISE_DIM, [8, 6], 1, SIZE)


def make_d():
    return nets.MlpDiscriminator([7, 5], 1, SIZE)


LOSSES = {
    "least_squares": (lambda r, g: ((r - 1)**2 + g**2).mean() / 2,
                      lambda r, g: ((g - 1)**2).mean() / 2),
    "saturating": (lambda r, g: (F.softplus(-r) + F.softplus(g)).mean(),
                   lambda r, g: -F.softplus(g).mean()),
    "relativistic_paired": (lambda r, g: F.softplus(g - r).mean(),
                            lambda r, g: F.softplus(r - g).mean()),
    "relativistic_average":
        (lambda r, g: (F.softplus(g.mean() - r) + F.softplus(g - r.mean())
                       ).mean(),
         lambda r, g: (F.softplus(r.mean() - g) + F.softplus(r - g.mean())
                       ).mean()),
}

# name: (lag, loss, weights of penalties, every how many steps r1 and r2)
CASES = {
    "lag0_least_squares_lecam": (0, "least_squares", {"lecam": 0.3}, 1),
    "lag1_saturating_lazy_r1": (1, "saturating", {"r1": 0.5}, 3),
    "lag1_relativistic_paired_r1_r2":
        (1, "relativistic_paired", {"r1": 0.5, "r2": 0.25}, 1),
    "lag0_relativistic_average": (0, "relativistic_average", {}, 1),
}


def slope_square(D, x):
    """Mean over images of |dD/dx|^2 / 2."""
    x = x.detach().requires_grad_()
    slope, = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return (slope**2).sum() / len(x) / 2


def train(initial, noise, real, lag, loss, weights, every):
    G, D, average = (make().double() for make in (make_g, make_d, make_g))
    for network, role in ((G, "generator"), (D, "discriminator"),
                          (average, "generator")):
        nets.load(network, initial[role])
    adam_g = torch.optim.Adam(G.parameters(), foreach=False, **GENERATOR_ADAM)
    adam_d = torch.optim.Adam(
        D.parameters(), foreach=False, **DISCRIMINATOR_ADAM)
    discriminator_loss, generator_loss = LOSSES[loss]
    anchor_real = anchor_generated = 0.0
    records = []
    for t in range(ROUNDS):
        x_real = real[torch.arange(t * BATCH, (t + 1) * BATCH) % NUM_REAL]
        x = G(noise[t])
        older_critic = nets.frozen(make_d, D)
        adam_d.zero_grad()
        r, g = D(x_real), D(x.detach())
        total = discriminator_loss(r, g)
        if t % every == 0:
            for name, images in (("r1", x_real), ("r2", x)):
                if name in weights:
                    total = total + (every * weights[name]
                                     * slope_square(D, images))
        if "lecam" in weights and t > LECAM_START:
            total = total + weights["lecam"] * (
                F.relu(r - anchor_generated)**2
                + F.relu(anchor_real - g)**2).mean()
        total.backward()
        adam_d.step()
        decay = LECAM_DECAY if t >= LECAM_START else 0.0
        anchor_real += (1 - decay) * (r.mean().item() - anchor_real)
        anchor_generated += (1 - decay) * (g.mean().item() - anchor_generated)

        critic = nets.frozen(make_d, D) if lag == 0 else older_critic
        adam_g.zero_grad()
        value = generator_loss(critic(x_real).detach(), critic(x))
        gradients = torch.autograd.grad(value, list(G.parameters()))
        for parameter, gradient in zip(G.parameters(), gradients):
            parameter.grad = gradient
        adam_g.step()
        average_step(average, G, t)
        records.append([total.item(), value.item()])
    return G, average, D, torch.tensor(records, dtype=torch.float64)


def main(folder):
    torch.set_num_threads(1)
    rng = torch.Generator().manual_seed(17)
    noise = torch.randn(ROUNDS, BATCH, NOISE_DIM, generator=rng)
    real = torch.rand(NUM_REAL, 1, SIZE, SIZE, generator=rng) * 2 - 1
    out = {"noise": noise, "real": real}
    initial = {}
    for role, make, seed in (("generator", make_g, 1),
                             ("discriminator", make_d, 2)):
        network = make()
        nets.randomize(network, seed)
        initial[role] = nets.state(network)
        for tensor, value in initial[role].items():
            out[f"initial.{role}.{tensor}"] = value
    for case, options in CASES.items():
        G, average, D, records = train(initial, noise.double(), real.double(),
                                       *options)
        for role, network in (("generator", G), ("average", average),
                              ("discriminator", D)):
            for tensor, value in nets.state(network).items():
                out[f"{case}.{role}.{tensor}"] = value
        for i, part in enumerate(("discriminator", "generator")):
            out[f"{case}.loss_{part}"] = records[:, i].contiguous()
        print(case, "first", records[0].tolist(), "last", records[-1].tolist())
    save_file(out, f"{folder}/training/mlp.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
