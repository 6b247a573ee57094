# SPDX-License-Identifier: Apache-2.0
"""The synchronous baseline of benchmarks/throughput.py: DCGAN in plain PyTorch.

Written as a good PyTorch user would: PyTorch's DCGAN example with in-place
activations, set_to_none, fused Adam, frozen discriminator in the generator
step, no needless .item(). Prints images/s over the rounds after the warm-up.

Needs torch==2.11.0 and numpy.
"""

import argparse
import gzip
import time

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def generator(size, noise_dim, width):
    widest = width * size // 8
    layers = [nn.ConvTranspose2d(noise_dim, widest, 4, 1, 0, bias=False),
              nn.BatchNorm2d(widest), nn.ReLU(True)]
    while widest > width:
        layers += [nn.ConvTranspose2d(widest, widest // 2, 4, 2, 1,
                                      bias=False),
                   nn.BatchNorm2d(widest // 2), nn.ReLU(True)]
        widest //= 2
    return nn.Sequential(
        *layers, nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False), nn.Tanh())


def discriminator(size, width):
    layers = [nn.Conv2d(1, width, 4, 2, 1, bias=False),
              nn.LeakyReLU(0.2, True)]
    for _ in range(size.bit_length() - 4):
        layers += [nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False),
                   nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2, True)]
        width *= 2
    return nn.Sequential(*layers, nn.Conv2d(width, 1, 4, 1, 0, bias=False),
                         nn.Flatten(0))


def initialize(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(module.weight, 0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1, 0.02)


def real_images(path, size):
    with gzip.open(path) as file:
        pixels = np.frombuffer(file.read(), np.uint8, offset=16)
    images = torch.from_numpy(pixels.reshape(-1, 1, 28, 28)[:8192].copy())
    images = images.float() / 127.5 - 1
    if size == 32:
        return F.pad(images, (2, 2, 2, 2), value=-1)
    return F.interpolate(images, (size, size), mode="bilinear")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", default="/usr/share/datasets/fashion-mnist/"
                        "train-images-idx3-ubyte.gz")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--generator_width", type=int, default=64)
    parser.add_argument("--discriminator_width", type=int, default=64)
    parser.add_argument("--noise_dim", type=int, default=100)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--warm_up", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--channels_last", action="store_true")
    parser.add_argument("--fresh", action="store_true",
                        help="further generated images for the D step")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    layout = (torch.channels_last if args.channels_last
              else torch.contiguous_format)

    g = generator(args.size, args.noise_dim, args.generator_width)
    d = discriminator(args.size, args.discriminator_width)
    for net in (g, d):
        net.apply(initialize).to(memory_format=layout)
    g_adam = torch.optim.Adam(g.parameters(), 2e-4, (0.0, 0.999), fused=True)
    d_adam = torch.optim.Adam(d.parameters(), 2e-4, (0.0, 0.999), fused=True)
    average = [p.detach().clone() for p in g.parameters()]
    images = real_images(args.images, args.size)

    def noise():
        return torch.randn(args.batch, args.noise_dim, 1, 1)

    begin = 0.0
    for step in range(args.warm_up + args.rounds):
        if step == args.warm_up:
            begin = time.perf_counter()
        pick = torch.randint(len(images), (args.batch,))
        real = images[pick].contiguous(memory_format=layout)
        made = g(noise())
        if args.fresh:
            with torch.no_grad():
                for_d = g(noise())
        else:
            for_d = made.detach()
        d_adam.zero_grad(set_to_none=True)
        loss = (F.softplus(-d(real)).mean() + F.softplus(d(for_d)).mean())
        loss.backward()
        d_adam.step()
        d.requires_grad_(False)
        g_adam.zero_grad(set_to_none=True)
        F.softplus(-d(made)).mean().backward()
        d.requires_grad_(True)
        g_adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, list(g.parameters()), 0.001)
    seconds = time.perf_counter() - begin
    print(f"{args.rounds * args.batch / seconds:.2f}")


if __name__ == "__main__":
    main()
