#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares ways to share two cores between generator and discriminator.

    benchmarks/placement.py --bin build/bin

Runs three pairs of networks with FUSED feedback: in one process; in two processes
with a core each; in two processes that share the cores with 1 or 2 threads each;
with two discriminator workers; with other priorities; and with spinning threads.
The runs alternate. Prints medians, ratios to one process and system time, and
writes a JSON file. docs/performance.md has the result.

--allocators compares memory allocators in one process instead: tcmalloc (the
default), glibc, and jemalloc and mimalloc if they are installed (Debian:
libjemalloc2 libmimalloc2.0).
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import threading

import throughput

PAIRS = {
    # In this order, the discriminator is slower, about as fast, and faster.
    "sn-dcgan, discriminator-heavy": ("fashion_mnist_sngan", 10, []),
    "dcgan 64, balanced": ("dcgan_64", 12, []),
    "dcgan 32, generator-heavy": ("fashion_mnist_dcgan", 80,
                                  ["discriminator.network.dcgan.width=20"]),
}


def placed(generator, discriminator, bound=False, workers=1, nice=None,
           env=None):
    return {"sets": [f"generator.threads={generator}",
                     f"discriminator.threads={discriminator}",
                     f"discriminator.workers={workers}"],
            "flags": [] if bound else ["--bind_cores", "none"], "nice": nice,
            "env": env or {}}


def together(env=None):
    return {**placed(2, 2, env=env), "flags": ["--colocated"]}


PLACEMENTS = {
    "one process, 2 threads": together(),
    "1 + 1 threads, a core each": placed(1, 1, bound=True),
    "1 + 1 threads, any core": placed(1, 1),
    "1 + 2 threads": placed(1, 2),
    "2 + 1 threads": placed(2, 1),
    "2 + 2 threads": placed(2, 2),
    # The behavior of libgomp when no wait policy is set.
    "2 + 2 threads, spinning": placed(2, 2, env={"GOMP_SPINCOUNT": "300000"}),
    "2 + 2 threads, nice generator": placed(2, 2, nice="generator_worker"),
    "2 + 2 threads, nice discriminator":
        placed(2, 2, nice="discriminator_worker"),
    "1 generator + 2 discriminators, 1 thread each": placed(1, 1, workers=2),
}

# Preloading glibc makes its malloc and operator new precede those of tcmalloc.
GLIBC = "libc.so.6 libstdc++.so.6"
ALLOCATORS = {
    "tcmalloc": together(),
    "glibc that keeps blocks": together({"LD_PRELOAD": GLIBC}),
    "the same, LibTorch's huge pages":
        together({"LD_PRELOAD": GLIBC, "THP_MEM_ALLOC_ENABLE": "1"}),
    "jemalloc": together({"LD_PRELOAD": "libjemalloc.so.2"}),
    "jemalloc that keeps blocks": together({
        "LD_PRELOAD": "libjemalloc.so.2",
        "MALLOC_CONF": "narenas:1,oversize_threshold:0,dirty_decay_ms:-1,"
                       "muzzy_decay_ms:-1"}),
    "mimalloc": together({"LD_PRELOAD": "libmimalloc.so.2"}),
}


def is_installed(placement):
    """Returns whether the preloaded libraries exist. The loader only warns of
    missing ones."""
    done = subprocess.run(["true"], env={**os.environ, **placement["env"]},
                          capture_output=True, timeout=60)
    return not done.stderr


def make_nice(process, name, done):
    """Lowers the priority of the worker `name` until `done` is set."""
    while not done.wait(0.1):
        for pid in throughput.children(process.pid):
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if name not in command.decode(errors="replace"):
                continue
            for task in os.listdir(f"/proc/{pid}/task"):
                os.setpriority(os.PRIO_PROCESS, int(task), 5)


def run(binaries, recipe, rounds, sets, place):
    """Returns images/s, waiting shares by role, and system seconds of the run."""
    with tempfile.TemporaryDirectory(prefix="gandem-bench-") as folder:
        run_dir = pathlib.Path(folder, "run")
        command = throughput.train_command(
            binaries, recipe, run_dir,
            [*throughput.RECIPES[recipe]["sets"], *sets, *place["sets"],
             "schedule.lag=1", "schedule.image_source=REUSED",
             "schedule.feedback=FUSED",
             f"rounds={throughput.WARM_UP + rounds}"], place["flags"])
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env={**os.environ, **place["env"]})
        done = threading.Event()
        helper = None
        if place["nice"]:
            helper = threading.Thread(target=make_nice,
                                      args=(process, place["nice"], done))
            helper.start()
        try:
            code = process.wait(timeout=900)
        finally:
            done.set()
            if helper:
                helper.join()
        if code:
            raise RuntimeError(f"{command}: exit code {code}")
        rounds_per_second, waits = throughput.speed_and_waits(
            throughput.records_of(run_dir))
    system = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime - before
    return throughput.BATCH * rounds_per_second, waits, system


def main():
    parser = throughput.arguments(__doc__, "placement.json", 3)
    parser.add_argument("--pair", default="", help="part of the names of "
                        "pairs to run; default: all")
    parser.add_argument("--allocators", action="store_true",
                        help="compare memory allocators instead")
    args = parser.parse_args()
    pairs = {name: pair for name, pair in PAIRS.items() if args.pair in name}
    if not pairs:
        parser.error(f"--pair {args.pair}: there are {', '.join(PAIRS)}")
    placements = {name: place for name, place in
                  (ALLOCATORS if args.allocators else PLACEMENTS).items()
                  if is_installed(place)}
    result = {"cores": os.cpu_count()}
    for pair, (recipe, rounds, sets) in pairs.items():
        speeds, waits, systems = {}, {}, {}
        for _ in range(args.repetitions):
            for name, place in placements.items():
                speed, waits[name], system = run(args.bin, recipe, rounds, sets,
                                                 place)
                speeds.setdefault(name, []).append(speed)
                systems.setdefault(name, []).append(system)
        base = statistics.median(next(iter(speeds.values())))
        print(f"\n### {pair} ({recipe})\n\n| placement | images/s | min | max "
              "| / the first | G waits | D waits | system, s |\n"
              + "|---" * 8 + "|")
        for name, values in speeds.items():
            median = statistics.median(values)
            print(f"| {name} | {median:.1f} | {min(values):.1f} "
                  f"| {max(values):.1f} | {median / base:.2f} | "
                  + " | ".join(f"{sum(waits[name][role].values()):.0%}"
                               for role in ("generator", "discriminator"))
                  + f" | {statistics.median(systems[name]):.1f} |", flush=True)
        result[pair] = speeds
    pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
