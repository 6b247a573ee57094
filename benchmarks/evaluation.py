#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the time of `gandem evaluate` and of torch-fidelity.

    VENV/bin/python benchmarks/evaluation.py --bin build/bin

Both programs compute FID and the Inception Score of the same two folders of PNG
files with the same Inception network (random weights, which do not change the
time) and without a cache. gandem also runs with one worker, and in each of the
--precisions. The runs alternate. Prints the median and range of the wall times,
the median CPU times, ratios and the FIDs, which must agree, and writes a JSON
file. VENV needs torch==2.11.0, numpy, scipy, pillow, safetensors,
torch-fidelity==0.4.0 and a matching torchvision.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent

ONE_WORKER = "gandem, 1 worker"
THEIRS = """
import json, sys, torch, torch_fidelity
one, two, weights, threads = sys.argv[1:]
torch.set_num_threads(int(threads))
figures = torch_fidelity.calculate_metrics(
    input1=one, input2=two, fid=True, isc=True, cuda=False, cache=False,
    feature_extractor_weights_path=weights, verbose=False)
print(json.dumps({"fid": figures["frechet_inception_distance"]}))
"""


def make_weights(path):
    """Writes random weights in the layout that both programs read."""
    import torch
    sys.path.insert(0, str(SOURCE / "tests/oracles"))
    import feature_goldens
    from torch_fidelity.feature_extractor_inceptionv3 import (
        FeatureExtractorInceptionV3)
    FeatureExtractorInceptionV3.load_state_dict = lambda *a, **k: None
    torch.save({}, path)
    layout = FeatureExtractorInceptionV3(
        "inception", ["2048"], feature_extractor_weights_path=path).state_dict()
    torch.save(feature_goldens.draw(layout), path)


def make_images(folder, count, size, seed, grid):
    import numpy as np
    from PIL import Image
    folder.mkdir()
    rng = np.random.RandomState(seed)
    for i in range(count):
        # Smooth random images, whose features differ as those of photos do.
        coarse = rng.randint(0, 256, (grid, grid, 3), dtype=np.uint8)
        image = Image.fromarray(coarse).resize((size, size), Image.BICUBIC)
        image.save(folder / f"{i:06d}.png")


def run(command, environment):
    """Returns (wall seconds, CPU seconds) and the standard output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True,
                          env=environment, timeout=7200)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(f"{command[0]} ended with {done.returncode}:\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(getattr(after, kind) - getattr(before, kind)
              for kind in ("ru_utime", "ru_stime"))
    return (seconds, cpu), done.stdout


def distance_in(card):
    """Returns the first figure of a metric card in JSON."""
    return json.loads(card)["metrics"][0]["value"]


def measure(options, folder):
    def ours(workers, environment, output, *flags):
        return run(
            [f"{options.bin}/gandem", "evaluate", str(images[0]),
             "--reference", str(images[1]), "--features", weights, "--metric",
             "fid,is", "--workers", str(workers), "--halvings", "0", "--quiet",
             "--feature_cache_gib", "0", "--output", str(output), "--json",
             "-", *flags], environment)

    weights = str(folder / "weights.pth")
    make_weights(weights)
    images = [folder / "judged", folder / "reference"]
    for seed, path in enumerate(images):
        make_images(path, options.images, options.size, seed, 4 + 2 * seed)
    in_precision = {f"gandem, {name}": name for name in options.precisions}
    seconds = {"gandem": [], ONE_WORKER: [], "torch-fidelity": [],
               **{name: [] for name in in_precision}}
    figures = {}
    for repetition in range(options.repetitions):
        # gandem caches features of the reference, so each run gets a new cache.
        environment = os.environ | {
            "XDG_CACHE_HOME": str(folder / f"cache-{repetition}"),
            "OMP_NUM_THREADS": str(options.threads)}
        cards = folder / f"cards-{repetition}"
        taken, text = ours(options.threads, environment, cards)
        seconds["gandem"].append(taken)
        figures["gandem"] = distance_in(text)
        environment["XDG_CACHE_HOME"] += "-one"
        taken, text = ours(1, environment, f"{cards}-one")
        seconds[ONE_WORKER].append(taken)
        for name, precision in in_precision.items():
            environment["XDG_CACHE_HOME"] += "-next"
            taken, text = ours(options.threads, environment,
                               f"{cards}-{precision}", "--precision", precision)
            seconds[name].append(taken)
            figures[name] = distance_in(text)
        environment["XDG_CACHE_HOME"] += "-theirs"
        taken, text = run([sys.executable, "-c", THEIRS, *map(str, images),
                           weights, str(options.threads)], environment)
        seconds["torch-fidelity"].append(taken)
        figures["torch-fidelity"] = json.loads(text)["fid"]
    return seconds, figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="folder of the gandem program")
    parser.add_argument("--images", type=int, default=1000,
                        help="images per folder")
    parser.add_argument("--size", type=int, default=32,
                        help="height and width of images in pixels")
    parser.add_argument("--threads", type=int, default=2,
                        help="threads of torch-fidelity, workers of gandem")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--precisions", nargs="*", default=[],
                        metavar="bfloat16",
                        help="further precisions of gandem's features")
    parser.add_argument("--json", help="file for the result")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seconds, figures = measure(options, pathlib.Path(folder))
    medians = {}
    for name, taken in seconds.items():
        wall, cpu = zip(*taken)
        medians[name] = statistics.median(wall), statistics.median(cpu)
        each = 1000 * medians[name][0] / (2 * options.images)
        print(f"{name:17} {medians[name][0]:8.1f} s ({min(wall):.1f} to "
              f"{max(wall):.1f}), {each:.1f} ms an image, CPU "
              f"{medians[name][1]:.1f} s")
    ratios = [theirs / ours for theirs, ours in
              zip(medians["torch-fidelity"], medians["gandem"])]
    print("torch-fidelity / gandem: {:.2f}, CPU {:.2f}".format(*ratios))
    wall = medians["gandem"][0] / medians[ONE_WORKER][0]
    print(f"gandem with {options.threads} workers / with one: {wall:.2f}")
    for name, distance in figures.items():
        print(f"distance by {name}: {distance:.6g}, change "
              f"{distance / figures['gandem'] - 1:+.1e}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(
            {"images": options.images, "size": options.size,
             "threads": options.threads, "seconds": seconds, "ratios": ratios,
             "of_one_worker": wall, "distances": figures},
            indent=2) + "\n")


if __name__ == "__main__":
    main()
