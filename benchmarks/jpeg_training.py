#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of training from JPEG shards and from memory.

    benchmarks/jpeg_training.py --source photos/

Trains a DCGAN at 64x64, alternately from tar shards of the JPEG files and from an
.npz in memory with the cropped and resized images. The JPEG run should reach 0.97
of the images/s of the other run; otherwise prints the output of `gandem report`.
Needs Pillow and numpy.
"""
import io
import json
import pathlib
import shutil
import statistics
import subprocess
import tarfile
import tempfile

import numpy
from PIL import Image

import throughput

SIZE = 64
LEAST = 0.97


def pack(options, folder, *flags):
    subprocess.run([str(options.bin / "gandem"), "dataset", "pack",
                    str(options.source), "-o", str(folder), *flags],
                   check=True, stdout=subprocess.DEVNULL)


def npz_of(folder, path):
    images = []
    for shard in sorted(folder.glob("*.tar")):
        with tarfile.open(shard) as tar:
            for member in tar:
                if member.name.endswith(".png"):
                    data = tar.extractfile(member).read()
                    images.append(numpy.asarray(
                        Image.open(io.BytesIO(data)).convert("RGB")))
    numpy.savez(path, arr_0=numpy.stack(images))


def train(options, source, folder):
    """Returns images/s, the share of time in which the discriminator waits for
    data, and the output of `gandem report`."""
    run = folder / "run"
    command = throughput.train_command(
        options.bin, "dcgan_64", run,
        [*throughput.sets(1), f'data.source="{source}"', "data.channels=3",
         f"rounds={throughput.WARM_UP + options.rounds}"])
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, timeout=3600)
        records = throughput.records_of(run)
        report = subprocess.run([str(options.bin / "gandem"), "report",
                                 str(run)], stdout=subprocess.PIPE, text=True)
    finally:
        shutil.rmtree(run, ignore_errors=True)
    speed, waits = throughput.speed_and_waits(records)
    return (throughput.BATCH * speed,
            waits["discriminator"]["wait_data_seconds"], report.stdout)


def main():
    parser = throughput.arguments(__doc__, "jpeg_training.json", 3)
    parser.add_argument("--source", required=True, type=pathlib.Path,
                        help="folder of JPEG images (make_jpegs.py makes some)")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    speeds, waits, reports = {}, {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pack(options, folder / "jpeg")
        pack(options, folder / "png", "--resize", str(SIZE))
        npz_of(folder / "png", folder / "memory.npz")
        sources = {"memory": folder / "memory.npz", "JPEG": folder / "jpeg"}
        for _ in range(options.repetitions):
            for kind, source in sources.items():
                speed, waited, reports[kind] = train(options, source, folder)
                speeds.setdefault(kind, []).append(speed)
                waits.setdefault(kind, []).append(waited)
    middle = {kind: statistics.median(all_) for kind, all_ in speeds.items()}
    share = middle["JPEG"] / middle["memory"]
    print("| images from | images/s | min | max | waits for data |")
    print("|---|---|---|---|---|")
    for kind, values in speeds.items():
        print(f"| {kind} | {middle[kind]:.1f} | {min(values):.1f} "
              f"| {max(values):.1f} | {statistics.median(waits[kind]):.1%} |")
    print(f"\nfrom JPEG files {share:.3f} of the images/s, at least {LEAST}: "
          + ("holds" if share >= LEAST else "DOES NOT HOLD"))
    if share < LEAST:
        print(reports["JPEG"])
    pathlib.Path(options.json).write_text(json.dumps(
        {"images_per_second": speeds, "waits_for_data": waits,
         "share": share}, indent=1) + "\n")
    print(f"written: {options.json}")


if __name__ == "__main__":
    main()
