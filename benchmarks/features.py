#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the seconds per image of `gandem evaluate` and of torch-fidelity.

    benchmarks/features.py --bin build/bin --python VENV/bin/python

Both programs read the same two folders of PNG files, extract 2048 features per
image with the same Inception network (random weights) and compute the Frechet
distance. The time is that of the whole process, with loading the network. Runs
of both programs alternate. On a busy machine, compare the CPU seconds, which sum
over all processes. VENV needs the packages of tests/oracles/feature_goldens.py.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent

PREPARE = """
import sys, numpy, torch
from PIL import Image
sys.path.insert(0, sys.argv[1])
import feature_goldens
folder, images, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.save(feature_goldens.draw_weights(), f"{folder}/weights.pth")
for name, seed in (("a", 1), ("b", 2)):
    rng = numpy.random.default_rng(seed)
    for i in range(images):
        coarse = rng.integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
        Image.fromarray(coarse).resize((size, size), Image.BILINEAR).save(
            f"{folder}/{name}/{i:06}.png")
"""

FIDELITY = """
import sys, torch, torch_fidelity
torch.set_num_threads(int(sys.argv[2]))
folder = sys.argv[1]
print(torch_fidelity.calculate_metrics(
    input1=f"{folder}/a", input2=f"{folder}/b", fid=True, cuda=False,
    cache=False, verbose=False, samples_find_deep=False,
    feature_extractor_weights_path=f"{folder}/weights.pth")
    ["frechet_inception_distance"])
"""


def run(command, environment):
    """Returns wall seconds, CPU seconds and the standard output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True,
                          env=environment)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {done.returncode}:\n"
                         f"{done.stdout}{done.stderr}")
    cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return wall, cpu, done.stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--images", type=int, default=1000,
                        help="images per folder")
    parser.add_argument("--size", type=int, default=32,
                        help="height and width of images in pixels")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()

    folder = tempfile.mkdtemp(prefix="gandem-features-")
    try:
        measure(options, folder)
    finally:
        shutil.rmtree(folder)


def measure(options, folder):
    for name in ("a", "b"):
        os.mkdir(f"{folder}/{name}")
    run([options.python, "-c", PREPARE, SOURCE / "tests/oracles", folder,
         str(options.images), str(options.size)], os.environ)
    seconds = {"gandem": [], "torch-fidelity": []}
    for repetition in range(options.repetitions):
        # gandem caches features of the reference, so each run gets a new cache.
        environment = os.environ | {
            "XDG_CACHE_HOME": f"{folder}/cache-{repetition}"}
        commands = {
            "gandem": [options.bin / "gandem", "evaluate", f"{folder}/a",
                       "--reference", f"{folder}/b",
                       "--features", f"{folder}/weights.pth",
                       "--output", f"{folder}/cards-{repetition}",
                       "--bootstrap", "0", "--quiet",
                       "--workers", str(options.cores)],
            "torch-fidelity": [options.python, "-c", FIDELITY, folder,
                               str(options.cores)],
        }
        for name, command in commands.items():
            wall, cpu, output = run(command, environment)
            seconds[name].append((wall, cpu))
            print(f"{name}: {wall:.1f} s, {cpu:.1f} CPU s\n{output}",
                  flush=True)
    images = 2 * options.images
    medians = {name: [statistics.median(x) / images for x in zip(*values)]
               for name, values in seconds.items()}
    for name, (wall, cpu) in medians.items():
        print(f"{name:16} {1e3 * wall:8.1f} ms/image {1e3 * cpu:8.1f} CPU "
              "ms/image")
    ratios = [b / a for a, b in zip(medians["gandem"],
                                    medians["torch-fidelity"])]
    print(f"gandem is {ratios[0]:.2f} times as fast, {ratios[1]:.2f} by CPU "
          "time")
    if options.json:
        options.json.write_text(json.dumps(
            {"seconds": seconds, "images": images, "cores": options.cores}))


if __name__ == "__main__":
    main()
