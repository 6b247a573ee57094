#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images/s of reading a folder of JPEG files: gandem beside a PyTorch DataLoader
with Pillow (and torchvision, where it is there), with as many workers, in turns.

  benchmarks/pipeline.py --source photos/ --workers 2 --python venv/bin/python

The Python needs torch and Pillow.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Runs in --python; the same crop and kernel, values in [-1, 1], channels first.
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


def theirs(options, size):
    done = subprocess.run(
        [options.python, "-c", LOADER, options.source, str(size),
         str(options.batch), str(options.workers), str(options.seconds)],
        check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--source", required=True, help="folder of JPEG files")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--benchmark",
                        default=str(ROOT / "build/bin/pipeline_benchmark"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", default="pipeline.json")
    options = parser.parse_args()
    result = {"workers": options.workers, "sizes": {}}
    for size in (64, 256):
        rates = {"gandem": [], "DataLoader": []}
        for _ in range(options.repetitions):
            rates["gandem"].append(ours(options, size))
            rates["DataLoader"].append(theirs(options, size))
        middle = {name: statistics.median(values)
                  for name, values in rates.items()}
        result["sizes"][size] = rates
        print(f"{size:4} px, {options.workers} workers: "
              + ", ".join(f"{name} {rate:.0f} images/s"
                          for name, rate in middle.items())
              + f": {middle['gandem'] / middle['DataLoader']:.2f} times as many", flush=True)
    pathlib.Path(options.json).write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: {options.json}")


if __name__ == "__main__":
    main()
