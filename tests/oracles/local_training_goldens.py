# SPDX-License-Identifier: Apache-2.0
"""Local SGD and local Adam with averaging (Stich 2019) of a whole GAN, in
float64, written from design.md sections 4 and 7 without any code of gandem.

    python tests/oracles/local_training_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. RANKS generators and as many
discriminators, lag 0, R = 1, REUSED images, non-saturating loss. In round t
rank r has a contiguous slice of the batch (SLICES), and by itself

    x = G_r(its noise); D_r: one step by the mean loss over its real images and
        over x; in every K-th round all D become their weighted mean
    G_r: one step by the mean loss of x, judged by D_r as it is now; in every
        K-th round all G become their weighted mean

where the mean is over parameters and the optimizer's float state (momentum,
Adam's moments), with the slices' sizes as weights.

Writes training/local.safetensors:

    initial.generator.<tensor>, initial.discriminator.<tensor>   float32
    noise    [ROUNDS, BATCH, NOISE_DIM], float32
    real     [ROUNDS, BATCH, 1, SIZE, SIZE], float32
    <case>.<role>.<rank>.<tensor>    after the last round, float64, for sgd and
             adam; the last round is no K-th one, so that ranks differ
"""
import sys

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

import networks as nets

SLICES = [3, 2, 2]
RANKS = len(SLICES)
BATCH = sum(SLICES)
ROUNDS = 7
K = 2
NOISE_DIM = 6
SIZE = 8

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.5, foreach=False),
    "adam": lambda p: torch.optim.Adam(
        p, lr=2e-3, betas=(0.5, 0.9), eps=1e-6, foreach=False),
}


def make_g():
    return nets.MlpGenerator(NOISE_DIM, [8, 6], 1, SIZE)


def make_d():
    return nets.MlpDiscriminator([7, 5], 1, SIZE)


def state_of(network, optimizer):
    """Tensors that are averaged, in the same order on all ranks."""
    tensors = list(network.parameters())
    for parameter in network.parameters():
        state = optimizer.state[parameter]
        tensors += [state[name] for name in sorted(state)
                    if name != "step" and state[name] is not None]
    return tensors


@torch.no_grad()
def average(locals_):
    for tensors in zip(*(state_of(*local) for local in locals_)):
        mean = sum(n * t for n, t in zip(SLICES, tensors)) / BATCH
        for tensor in tensors:
            tensor.copy_(mean)


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def train(initial, noise, real, make_optimizer):
    def start(make, role):
        result = []
        for _ in range(RANKS):
            network = make().double()
            nets.load(network, initial[role])
            result.append((network, make_optimizer(network.parameters())))
        return result

    generators = start(make_g, "generator")
    discriminators = start(make_d, "discriminator")
    for t in range(ROUNDS):
        noises = noise[t].split(SLICES)
        reals = real[t].split(SLICES)
        images = []
        for rank, (D, optimizer) in enumerate(discriminators):
            x = generators[rank][0](noises[rank])
            images.append(x)
            step(optimizer, F.softplus(-D(reals[rank])).mean()
                 + F.softplus(D(x.detach())).mean())
        if (t + 1) % K == 0:
            average(discriminators)
        for rank, (_, optimizer) in enumerate(generators):
            critic = discriminators[rank][0]
            step(optimizer, F.softplus(-critic(images[rank])).mean())
        if (t + 1) % K == 0:
            average(generators)
    return {"generator": generators, "discriminator": discriminators}


def main(folder):
    torch.set_num_threads(1)
    rng = torch.Generator().manual_seed(23)
    noise = torch.randn(ROUNDS, BATCH, NOISE_DIM, generator=rng)
    real = torch.rand(ROUNDS, BATCH, 1, SIZE, SIZE, generator=rng) * 2 - 1
    out = {"noise": noise, "real": real}
    initial = {}
    for role, make, seed in (("generator", make_g, 1),
                             ("discriminator", make_d, 2)):
        network = make()
        nets.randomize(network, seed)
        initial[role] = nets.state(network)
        for tensor, value in initial[role].items():
            out[f"initial.{role}.{tensor}"] = value
    for case, make_optimizer in OPTIMIZERS.items():
        trained = train(initial, noise.double(), real.double(), make_optimizer)
        for role, locals_ in trained.items():
            for rank, (network, _) in enumerate(locals_):
                for tensor, value in nets.state(network).items():
                    out[f"{case}.{role}.{rank}.{tensor}"] = value
    save_file(out, f"{folder}/training/local.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
