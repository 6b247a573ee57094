# SPDX-License-Identifier: Apache-2.0
"""Trains a GAN in plain PyTorch, the synchronous baseline of throughput.py.

Uses the usual optimizations: in-place activations, set_to_none, fused Adam, a
frozen discriminator in the generator step, no .item(). Prints images/s over the
rounds after the warm-up.

--fused works like gandem's FUSED feedback: the pass that trains the discriminator
on generated images also gives the generator its gradient.

Needs torch==2.11.0 and numpy.
"""

import argparse
import gzip
import pathlib
import statistics
import sys
import time

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

# For the reference networks of the tests.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent /
                       "tests" / "oracles"))


def dcgan_generator(size, noise_dim, width):
    widest = width * size // 8
    layers = [nn.Unflatten(1, (noise_dim, 1, 1)),
              nn.ConvTranspose2d(noise_dim, widest, 4, 1, 0, bias=False),
              nn.BatchNorm2d(widest), nn.ReLU(True)]
    while widest > width:
        layers += [nn.ConvTranspose2d(widest, widest // 2, 4, 2, 1,
                                      bias=False),
                   nn.BatchNorm2d(widest // 2), nn.ReLU(True)]
        widest //= 2
    return nn.Sequential(
        *layers, nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False), nn.Tanh())


def dcgan_discriminator(size, width):
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


def in_place(network):
    for module in network.modules():
        if isinstance(module, (nn.ReLU, nn.LeakyReLU)):
            module.inplace = True
    return network


def add_network_options(parser):
    parser.add_argument("--images", default="/usr/share/datasets/fashion-mnist/"
                        "train-images-idx3-ubyte.gz")
    parser.add_argument("--network", choices=("dcgan", "sndcgan", "sngan"),
                        default="dcgan")
    parser.add_argument("--loss", choices=LOSSES, default="NON_SATURATING")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--discriminator_width", type=int,
                        help="default: --width")
    parser.add_argument("--thick", action="store_true",
                        help="sngan: blocks as wide inside as their output")
    parser.add_argument("--noise_dim", type=int, default=100)


def make_generator(network, size, width, noise_dim):
    """Returns a network from noise [N, noise_dim] to images. own_networks.py
    passes make_generator and make_discriminator to gandem."""
    if network == "dcgan":
        return dcgan_generator(size, noise_dim, width).apply(initialize)
    if network == "sndcgan":
        from networks import SndcganGenerator
        return in_place(SndcganGenerator(noise_dim, width, 1))
    from residual_networks import SnganGenerator
    return in_place(SnganGenerator(
        noise_dim, [width * i for i in (16, 8, 4, 2, 1)], 1, 4, "nearest"))


def make_discriminator(network, size, width, thick=False):
    if network == "dcgan":
        return dcgan_discriminator(size, width).apply(initialize)
    if network == "sndcgan":
        from networks import SndcganDiscriminator
        return in_place(SndcganDiscriminator(width, 1))
    from residual_networks import SnganDiscriminator
    return in_place(SnganDiscriminator(
        [width * i for i in (1, 2, 4, 8, 16)], 1, 4 if thick else 5, "spectral",
        not thick, False, False))


def networks(args):
    return (make_generator(args.network, args.size, args.width, args.noise_dim),
            make_discriminator(args.network, args.size,
                               args.discriminator_width or args.width,
                               args.thick))


# Losses of the discriminator on real and on generated images, and of the
# generator.
LOSSES = {
    "NON_SATURATING": (lambda s: F.softplus(-s).mean(),
                       lambda s: F.softplus(s).mean(),
                       lambda s: F.softplus(-s).mean()),
    "HINGE": (lambda s: F.relu(1 - s).mean(), lambda s: F.relu(1 + s).mean(),
              lambda s: -s.mean()),
}


class Trainer:
    def __init__(self, args):
        self.args = args
        self.layout = (torch.channels_last if args.channels_last
                       else torch.contiguous_format)
        self.g, self.d = networks(args)
        for net in (self.g, self.d):
            net.to(args.device, memory_format=self.layout)
        self.g_adam, self.d_adam = (
            torch.optim.Adam(net.parameters(), 2e-4, (0.0, 0.999), fused=True)
            for net in (self.g, self.d))
        self.average = [p.detach().clone() for p in self.g.parameters()]
        self.images = real_images(args.images, args.size).to(args.device)
        self.losses = LOSSES[args.loss]
        self.make, self.judge = self.g, self.d
        if args.compile:
            self.make, self.judge = torch.compile(self.g), torch.compile(self.d)

    def cast(self):
        return torch.autocast(torch.device(self.args.device).type,
                              torch.bfloat16, enabled=self.args.bf16)

    def noise(self):
        return torch.randn(self.args.batch, self.args.noise_dim,
                           device=self.args.device)

    def real(self):
        pick = torch.randint(len(self.images), (self.args.batch,),
                             device=self.args.device)
        return self.images[pick].contiguous(memory_format=self.layout)

    def step(self):
        of_real, of_generated, of_generator = self.losses
        self.d_adam.zero_grad(set_to_none=True)
        self.g_adam.zero_grad(set_to_none=True)
        with self.cast():
            made = self.make(self.noise())
            if self.args.fresh:
                with torch.no_grad():
                    seen = self.make(self.noise())
            else:
                seen = made.detach()
            of_real(self.judge(self.real()).float()).backward()
            if self.args.fused:
                seen.requires_grad_()
            logits = self.judge(seen).float()
        if self.args.fused:
            gradient, = torch.autograd.grad(of_generator(logits), seen,
                                            retain_graph=True)
            of_generated(logits).backward(inputs=list(self.d.parameters()))
            self.d_adam.step()
            made.backward(gradient)
        else:
            of_generated(logits).backward()
            self.d_adam.step()
            self.d.requires_grad_(False)
            with self.cast():
                logits = self.judge(made).float()
            of_generator(logits).backward()
            self.d.requires_grad_(True)
        self.g_adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.average, list(self.g.parameters()), 0.001)


def wait_for(device):
    if device != "cpu":
        torch.cuda.synchronize(device)


def pass_seconds(args):
    """Returns the median seconds of a forward and backward pass of the generator,
    and of the discriminator on real images."""
    trainer = Trainer(args)
    seconds = {trainer.g: [], trainer.d: []}
    for _ in range(args.warm_up + args.rounds):
        for network, given in ((trainer.g, trainer.noise()),
                               (trainer.d, trainer.real())):
            network.zero_grad(set_to_none=True)
            wait_for(args.device)
            begin = time.perf_counter()
            network(given).mean().backward()
            wait_for(args.device)
            seconds[network].append(time.perf_counter() - begin)
    return [statistics.median(values[args.warm_up:])
            for values in seconds.values()]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_network_options(parser)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--warm_up", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="cpu or cuda:N")
    parser.add_argument("--channels_last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--bf16", action="store_true",
                        help="torch.autocast to bfloat16")
    parser.add_argument("--tf32", action="store_true",
                        help="TF32 matrix products on a GPU")
    parser.add_argument("--cost", action="store_true",
                        help="only print the seconds of a forward and backward "
                        "pass of the generator and of the discriminator")
    samples = parser.add_mutually_exclusive_group()
    samples.add_argument("--fresh", action="store_true",
                         help="train the discriminator on images of a separate "
                         "generator pass")
    samples.add_argument("--fused", action="store_true",
                         help="share one discriminator pass (see above)")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.backends.cudnn.benchmark = True  # tries algorithms
    torch.set_float32_matmul_precision("high" if args.tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = args.tf32
    if args.cost:
        print(*pass_seconds(args))
        return
    trainer = Trainer(args)
    begin = 0.0
    for step in range(args.warm_up + args.rounds):
        if step == args.warm_up:
            wait_for(args.device)
            begin = time.perf_counter()
        trainer.step()
    wait_for(args.device)
    seconds = time.perf_counter() - begin
    print(f"{args.rounds * args.batch / seconds:.2f}")


if __name__ == "__main__":
    main()
