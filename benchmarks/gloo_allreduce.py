# SPDX-License-Identifier: Apache-2.0
"""Measures Gloo's all-reduce through torch.distributed, for collective_benchmark.

    gloo_allreduce.py [--ranks N]

Reads lines "BYTES CALLS" from standard input. For each line, prints the mean
seconds of a float32 all-reduce of BYTES over CALLS calls. Needs a PyTorch with
Gloo. Each rank has one thread.
"""
import argparse
import os
import socket
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def join(rank, ranks, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)


def measure(rank, job):
    """Measures (bytes, calls), which rank 0 passes in `job`; 0 bytes: returns None."""
    dist.broadcast(job, 0)
    size, calls = job.tolist()
    if size == 0:
        return None
    values = torch.zeros(size // 4)
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        dist.all_reduce(values)
    return (time.perf_counter() - begin) / calls


def be_another_rank(rank, ranks, port):
    join(rank, ranks, port)
    while measure(rank, torch.zeros(2, dtype=torch.int64)) is not None:
        pass
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    ranks = parser.parse_args().ranks
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=be_another_rank, args=(rank, ranks, port),
                              daemon=True) for rank in range(1, ranks)]
    for other in others:
        other.start()
    join(0, ranks, port)
    for line in sys.stdin:
        job = torch.tensor([int(number) for number in line.split()])
        print(measure(0, job), flush=True)
    measure(0, torch.zeros(2, dtype=torch.int64))
    for other in others:
        other.join()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
