#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images/s by what gives workers their memory, in one run.

    benchmarks/allocators.py --bin build/bin

One process of both networks, FUSED: glibc's allocator as it is, with blocks that
it keeps, with huge pages; LibTorch's huge pages; jemalloc, mimalloc and tcmalloc
where they are installed (Debian: libjemalloc2 libmimalloc2.0
libtcmalloc-minimal4). In turns, medians, ratios to glibc as it is, and the time
that the kernel worked for the process. docs/performance.md has the result.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile

import throughput

RECIPES = {"dcgan_64": 12, "fashion_mnist_sngan": 10}  # measured rounds
TUNABLES = "GLIBC_TUNABLES"
KEEPS = ("glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:"
         "glibc.malloc.top_pad=67108864")
WAYS = {
    "glibc": {},
    "glibc that keeps blocks": {TUNABLES: KEEPS},
    "glibc that keeps blocks, huge pages":
        {TUNABLES: f"{KEEPS}:glibc.malloc.hugetlb=1"},
    "glibc, LibTorch's huge pages": {"THP_MEM_ALLOC_ENABLE": "1"},
    "jemalloc": {"LD_PRELOAD": "libjemalloc.so.2"},
    "mimalloc": {"LD_PRELOAD": "libmimalloc.so.2"},
    "tcmalloc": {"LD_PRELOAD": "libtcmalloc_minimal.so.4"},
}


def is_there(environment):
    """The loader complains of a library that is missing, and goes on."""
    done = subprocess.run(["true"], env={**os.environ, **environment},
                          capture_output=True, timeout=60)
    return not done.stderr


def run(binaries, recipe, rounds, environment):
    """Images/s, and seconds of the kernel in the whole run."""
    with tempfile.TemporaryDirectory(prefix="gandem-bench-") as folder:
        run_dir = pathlib.Path(folder, "run")
        command = throughput.train_command(
            binaries, recipe, run_dir,
            [*throughput.RECIPES[recipe]["sets"],
             *throughput.sets(1, feedback="FUSED", threads=2),
             f"rounds={throughput.WARM_UP + rounds}"], ["--colocated"])
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
        subprocess.run(command, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, check=True, timeout=900,
                       env={**os.environ, **environment})
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
        rounds_per_second, _ = throughput.speed_and_waits(
            throughput.records_of(run_dir))
    return throughput.BATCH * rounds_per_second, after - before


def main():
    parser = throughput.arguments(__doc__, "allocators.json", 5)
    parser.add_argument("--recipe", choices=RECIPES, action="append",
                        help="default: all")
    parser.add_argument("--way", default="", help="part of a name; glibc as it "
                        "is always runs; default: all")
    args = parser.parse_args()
    ways = {name: way for name, way in WAYS.items()
            if is_there(way) and (not way or args.way in name)}
    result = {"cores": os.cpu_count()}
    for recipe in args.recipe or RECIPES:
        rounds = RECIPES[recipe]
        runs = {name: [] for name in ways}
        for _ in range(args.repetitions):
            for name, way in ways.items():
                runs[name].append(run(args.bin, recipe, rounds, way))
        base = statistics.median(speed for speed, _ in runs["glibc"])
        print(f"\n### {recipe}\n\n| memory of | images/s | min | max | / glibc "
              "| kernel, s |\n" + "|---" * 6 + "|")
        for name, values in runs.items():
            speeds = [speed for speed, _ in values]
            median = statistics.median(speeds)
            kernel = statistics.median(seconds for _, seconds in values)
            print(f"| {name} | {median:.1f} | {min(speeds):.1f} "
                  f"| {max(speeds):.1f} | {median / base:.2f} | {kernel:.1f} |",
                  flush=True)
        result[recipe] = runs
    pathlib.Path(args.json).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
