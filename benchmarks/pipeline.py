#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gandem with other readers of a folder of JPEG files, in images/s.

All readers have an equal number of workers, and their runs alternate. The default
peer is a PyTorch DataLoader with Pillow, or with torchvision if it is installed.

  benchmarks/pipeline.py --source photos/ --workers 2 --python venv/bin/python
  benchmarks/pipeline.py --source squares/ --peer dali,spdl --python ...

The Python interpreter needs the packages of the peers: torch and Pillow;
nvidia-dali-cuda120, which also works without a GPU; spdl-io, with FFmpeg's
libraries in LD_LIBRARY_PATH.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Each program below runs in --python and makes float32 squares in [-1, 1],
# channels first. This one crops and resizes as gandem does.
LOADER = r"""
import json, pathlib, sys, time
import numpy, torch
from PIL import Image
source, size, batch, workers, seconds = sys.argv[1], *map(float, sys.argv[2:])
size, batch, workers = int(size), int(batch), int(workers)
paths = sorted(p for p in pathlib.Path(source).rglob("*")
               if p.suffix.lower() in (".jpg", ".jpeg"))
try:
    from torchvision import transforms
    transform = transforms.Compose([
        transforms.Lambda(lambda i: transforms.functional.center_crop(i, min(i.size))),
        transforms.Resize(size, transforms.InterpolationMode.BICUBIC),
        transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)])
except ImportError:
    def transform(image):
        side = min(image.size)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        image = image.resize((size, size), Image.BICUBIC,
                             (left, top, left + side, top + side))
        values = torch.from_numpy(numpy.array(image)).permute(2, 0, 1)
        return values.float().div_(127.5).sub_(1).contiguous()
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 30
    def __getitem__(self, i):
        return transform(Image.open(paths[i * 7919 % len(paths)]).convert("RGB"))
torch.set_num_threads(1)
loader = iter(torch.utils.data.DataLoader(Images(), batch, num_workers=workers))
for _ in range(2 * workers):
    next(loader)
begin, batches = time.monotonic(), 0
while time.monotonic() < begin + seconds:
    next(loader)
    batches += 1
print(json.dumps(batches * batch / (time.monotonic() - begin)), flush=True)
import os
os._exit(0)
"""

# Uses threads of DALI and the full decoding that libjpeg-turbo has by default.
DALI = r"""
import json, pathlib, sys, time
from nvidia.dali import fn, pipeline_def, types
source, size, batch, workers, seconds = sys.argv[1], *map(float, sys.argv[2:])
size, batch, workers = int(size), int(batch), int(workers)
paths = sorted(str(p) for p in pathlib.Path(source).rglob("*")
               if p.suffix.lower() in (".jpg", ".jpeg"))
@pipeline_def
def images():
    files, _ = fn.readers.file(files=paths, random_shuffle=True)
    images = fn.decoders.image(files, device="cpu", output_type=types.RGB,
                               jpeg_fancy_upsampling=True)
    images = fn.resize(images, size=[size, size], mode="not_smaller",
                       interp_type=types.INTERP_CUBIC, antialias=True)
    return fn.crop_mirror_normalize(
        images, crop=(size, size), dtype=types.FLOAT, output_layout="CHW",
        mean=[127.5] * 3, std=[127.5] * 3)
pipe = images(batch_size=batch, num_threads=workers, device_id=None)
for _ in range(2 * workers):
    pipe.run()
begin, batches = time.monotonic(), 0
while time.monotonic() < begin + seconds:
    pipe.run()
    batches += 1
print(json.dumps(batches * batch / (time.monotonic() - begin)), flush=True)
"""

# Each thread makes a whole batch with FFmpeg's decoder and bicubic kernel. Does
# not crop, so the files must be square.
SPDL = r"""
import collections, concurrent.futures, json, pathlib, sys, time
import numpy, spdl.io
source, size, batch, workers, seconds = sys.argv[1], *map(float, sys.argv[2:])
size, batch, workers = int(size), int(batch), int(workers)
paths = sorted(str(p) for p in pathlib.Path(source).rglob("*")
               if p.suffix.lower() in (".jpg", ".jpeg"))
def load(first):
    some = [paths[i * 7919 % len(paths)] for i in range(first, first + batch)]
    pixels = spdl.io.to_numpy(spdl.io.load_image_batch(
        some, width=size, height=size, pix_fmt="rgb24"))
    values = numpy.empty((batch, 3, size, size), numpy.float32)
    numpy.multiply(pixels.transpose(0, 3, 1, 2), numpy.float32(1 / 127.5), values)
    values -= 1
    return values
pool = concurrent.futures.ThreadPoolExecutor(workers)
ahead = collections.deque(pool.submit(load, i * batch) for i in range(2 * workers))
taken = len(ahead)
def take():
    global taken
    ahead.popleft().result()
    ahead.append(pool.submit(load, taken * batch))
    taken += 1
for _ in range(2 * workers):
    take()
begin, batches = time.monotonic(), 0
while time.monotonic() < begin + seconds:
    take()
    batches += 1
print(json.dumps(batches * batch / (time.monotonic() - begin)), flush=True)
import os
os._exit(0)
"""

PEERS = {"dataloader": ("DataLoader", LOADER), "dali": ("DALI", DALI),
         "spdl": ("SPDL", SPDL)}


def ours(options, size):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "result.json")
        subprocess.run(
            [options.benchmark, "--source", options.source, "--batch",
             str(options.batch), "--seconds", str(options.seconds),
             "--repetitions", "1", "--json", str(path)],
            check=True, stdout=subprocess.DEVNULL)
        for result in json.loads(path.read_text())["sizes"]:
            if result["size"] == size:
                return result["threads"][options.workers - 1]["images_per_second"]
    raise SystemExit(f"pipeline_benchmark has no figures of {size} pixels")


def theirs(options, size, program):
    done = subprocess.run(
        [options.python, "-c", program, options.source, str(size),
         str(options.batch), str(options.workers), str(options.seconds)],
        check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--source", required=True, help="folder of JPEG files")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--peer", default="dataloader",
                        type=lambda text: text.split(","),
                        help="readers to compare with, comma-separated: "
                        + ", ".join(PEERS))
    parser.add_argument("--benchmark",
                        default=str(ROOT / "build/bin/pipeline_benchmark"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", default="pipeline.json")
    options = parser.parse_args()
    peers = dict(PEERS[peer] for peer in options.peer)
    result = {"workers": options.workers, "sizes": {}}
    for size in (64, 256):
        rates = {"gandem": [], **{name: [] for name in peers}}
        for _ in range(options.repetitions):
            rates["gandem"].append(ours(options, size))
            for name, program in peers.items():
                rates[name].append(theirs(options, size, program))
        middle = {name: statistics.median(values)
                  for name, values in rates.items()}
        result["sizes"][size] = rates
        print(f"{size:4} px, {options.workers} workers: gandem "
              f"{middle['gandem']:.0f} images/s" + "".join(
                  f", {name} {middle[name]:.0f} images/s: "
                  f"{middle['gandem'] / middle[name]:.2f} times as many"
                  for name in peers), flush=True)
    pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {options.json}")


if __name__ == "__main__":
    main()
