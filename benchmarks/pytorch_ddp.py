# SPDX-License-Identifier: Apache-2.0
"""Trains both networks with DistributedDataParallel over Gloo.

This is the data-parallel baseline of fleet.py and links.py, with the networks and
images of pytorch_gan.py. It uses the usual optimizations: channels_last, fused
Adam, gradients as views of the buckets, no broadcast of buffers. The
discriminator's two backward passes share one reduction (no_sync), and the
generator's step uses the unwrapped discriminator, which reduces nothing. Each
rank has one thread and its share of the batch. --interval k reduces every k-th
batch only. Prints images/s over the rounds after the warm-up.

Needs torch==2.11.0 and numpy.
"""

import argparse
import contextlib
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.nn.parallel import DistributedDataParallel

import pytorch_gan


def wrapped(network):
    return DistributedDataParallel(network, broadcast_buffers=False,
                                   gradient_as_bucket_view=True)


def run(rank, args, master, speed):
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks,
                            init_method=f"tcp://{master}")
    torch.set_num_threads(1)
    batch = args.batch // args.ranks
    g, d = pytorch_gan.networks(args)
    for net in (g, d):
        net.to(memory_format=torch.channels_last)
    of_real, of_generated, of_generator = pytorch_gan.LOSSES[args.loss]
    noise = (batch, args.noise_dim)
    g_ranks, d_ranks = wrapped(g), wrapped(d)
    g_adam = torch.optim.Adam(g.parameters(), 2e-4, (0.0, 0.999), fused=True)
    d_adam = torch.optim.Adam(d.parameters(), 2e-4, (0.0, 0.999), fused=True)
    average = [p.detach().clone() for p in g.parameters()]
    images = pytorch_gan.real_images(args.images, args.size)

    def unless(reduces, net):
        return contextlib.nullcontext() if reduces else net.no_sync()

    def local_batch(is_last):
        """Adds a batch to the gradients of both networks. The last batch of a
        step reduces them and updates the discriminator before the generator."""
        pick = torch.randint(len(images), (batch,))
        real = images[pick].contiguous(memory_format=torch.channels_last)
        with unless(is_last, g_ranks):
            made = g_ranks(torch.randn(*noise))
        with d_ranks.no_sync():
            of_real(d_ranks(real)).backward()
        with unless(is_last, d_ranks):
            of_generated(d_ranks(made.detach())).backward()
        if is_last:
            d_adam.step()
        d.requires_grad_(False)
        of_generator(d(made)).backward()
        d.requires_grad_(True)

    begin = 0.0
    for step in range(args.warm_up + args.rounds):
        if step == args.warm_up:
            dist.barrier()
            begin = time.perf_counter()
        d_adam.zero_grad(set_to_none=True)
        g_adam.zero_grad(set_to_none=True)
        for i in range(args.interval):
            local_batch(i == args.interval - 1)
        g_adam.step()
        if rank == 0:
            with torch.no_grad():
                torch._foreach_lerp_(average, list(g.parameters()), 0.001)
    dist.barrier()
    speed.value = (args.rounds * args.interval * args.batch
                   / (time.perf_counter() - begin))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    pytorch_gan.add_network_options(parser)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rank", type=int, help="run only this rank")
    parser.add_argument("--master", help="HOST:PORT at which rank 0 listens")
    parser.add_argument("--batch", type=int, default=64,
                        help="batch size of all ranks together")
    parser.add_argument("--interval", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--warm_up", type=int, default=5)
    args = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    speed = context.Value("d", 0.0)
    if args.rank is not None:
        run(args.rank, args, args.master, speed)
    else:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            master = "127.0.0.1:%d" % free.getsockname()[1]
        multiprocessing.spawn(run, (args, master, speed), nprocs=args.ranks)
    print(f"{speed.value:.2f}")


if __name__ == "__main__":
    main()
