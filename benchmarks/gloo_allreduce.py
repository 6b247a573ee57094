# SPDX-License-Identifier: Apache-2.0
"""All-reduce of Gloo through torch.distributed, measured as
collective_benchmark measures ours:

    gloo_allreduce.py [--ranks N] [--bytes N,N...] [--repetitions N]

Needs a PyTorch with Gloo. One thread per rank.
"""
import argparse
import os
import socket
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def run(rank, options, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=options.ranks)
    sizes = [int(size) for size in options.bytes.split(",")]
    times = {size: [] for size in sizes}
    for repetition in range(options.repetitions + 1):
        for size in sizes:
            values = torch.zeros(size // 4)
            calls = min(max((64 << 20) // size, 2), 200)
            dist.barrier()
            begin = time.perf_counter()
            for _ in range(calls):
                dist.all_reduce(values)
            if repetition > 0:
                times[size].append((time.perf_counter() - begin) / calls)
    if rank == 0:
        for size in sizes:
            seconds = statistics.median(times[size])
            bus = 2 * (options.ranks - 1) / options.ranks * size / seconds / 1e9
            print(f"{size:10d} bytes  gloo   {seconds * 1e3:9.3f} ms "
                  f"({min(times[size]) * 1e3:.3f} to "
                  f"{max(times[size]) * 1e3:.3f})  {bus:6.3f} GB/s")
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--bytes", default="4096,65536,1048576,16777216,67108864")
    parser.add_argument("--repetitions", type=int, default=5)
    parsed = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        free_port = free.getsockname()[1]
    multiprocessing.spawn(run, (parsed, free_port), nprocs=parsed.ranks)
