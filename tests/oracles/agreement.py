# SPDX-License-Identifier: Apache-2.0
"""Compares the metrics of `gandem evaluate` with those of other programs, on the
same files and the same network of random weights:

    python tests/oracles/agreement.py BIN [FOLDER [NUM]]

BIN is the folder of gandem's programs, NUM the number of images per side (40).
FOLDER, if given, keeps the results of the other programs for the next time.
Needs torch==2.11.0 with a matching torchvision, torch-fidelity==0.4.0,
pytorch-fid==0.3.0, clean-fid==0.1.35, prdc==0.2, numpy, scipy, pillow and
safetensors. Downloads nothing. The images are PNG, JPEG, WebP, PNG with gAMA,
tRNS, a palette, alpha, 16 bits, gray among RGB. In the second comparison they
have several sizes, which those programs read with a batch of one. Prints a line
per metric. Exits with 1 if one differs by more than its relative limit: 1e-5 for
features, 1e-4 for distances.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file

import feature_goldens

NUM = int(sys.argv[3]) if len(sys.argv) > 3 else 40
DISTANCE = 1e-4
FEATURES = 1e-5
warnings.filterwarnings("ignore")


def picture(rng, height, width, channels, tint):
    y, x = np.mgrid[0:height, 0:width]
    phase, speed = rng.uniform(0, 6, channels), rng.uniform(0.1, 0.6, channels)
    planes = [120 + tint + 80 * np.sin(x * speed[c] + phase[c])
              * np.cos(y * speed[-1 - c]) for c in range(channels)]
    noise = rng.normal(0, 12, (height, width, channels))
    return np.clip(np.stack(planes, axis=-1) + noise, 0, 255).astype(np.uint8)


def with_chunk(path, kind, data):
    """Inserts a chunk right after the header of a PNG."""
    png = path.read_bytes()
    chunk = (struct.pack(">I", len(data)) + kind + data +
             struct.pack(">I", zlib.crc32(kind + data)))
    path.write_bytes(png[:33] + chunk + png[33:])


def deep_png(path, rgb):
    """A color PNG of 16 bits, which Pillow cannot write."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    height, width, _ = rgb.shape
    values = rgb.astype(np.uint16) * 256 + 200
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" +
        chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 2, 0, 0, 0)) +
        chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_images(folder, seed, tint, several_sizes):
    """Writes NUM files of ten kinds."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for i in range(NUM):
        size = (48, 64)
        if several_sizes:
            size = (int(rng.integers(20, 400)), int(rng.integers(20, 400)))
        kind = i % 10
        rgb = picture(rng, *size, 3, tint)
        stem = folder / f"{i:04}"
        png, jpeg = stem.with_suffix(".png"), stem.with_suffix(".jpg")
        if kind == 0:
            Image.fromarray(rgb).save(jpeg, quality=90)
        elif kind == 1:
            exif = Image.Exif()
            exif[0x0112] = 6  # rotated; these programs ignore it
            Image.fromarray(rgb).save(jpeg, quality=80, exif=exif)
        elif kind == 2:
            Image.fromarray(rgb).save(stem.with_suffix(".webp"), lossless=True)
        elif kind == 3:
            rgba = np.concatenate([rgb, picture(rng, *size, 1, 0)], axis=2)
            Image.fromarray(rgba).save(png)
        elif kind == 4:
            Image.fromarray(rgb).quantize(64).save(png)
        elif kind == 5:
            Image.fromarray(rgb[..., 0]).save(png)
        elif kind == 6:
            deep_png(png, rgb)
        else:
            Image.fromarray(rgb).save(png)
            if kind == 7:
                with_chunk(png, b"gAMA", struct.pack(">I", 100000))
            if kind == 8:
                key = struct.pack(">HHH", *map(int, rgb[0, 0]))
                with_chunk(png, b"tRNS", key)


class Gandem:
    def __init__(self, binaries, work, weights):
        self.binary = pathlib.Path(binaries) / "gandem"
        self.work, self.weights = work, weights
        self.env = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}

    def run(self, *arguments):
        """The metrics of a card by name, or None if gandem refused."""
        # Reads the card's file, because older versions have no --json.
        output = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        done = subprocess.run(
            [str(part) for part in
             [self.binary, "evaluate", *arguments, "--features", self.weights,
              "--bootstrap", 0, "--output", output, "--workers", 1]],
            env=self.env, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=3600)
        if done.returncode != 0:
            print("  refused:", done.stderr.strip().splitlines()[-1][:160])
            return None
        card = json.loads(next(output.glob("*.json")).read_text())
        return {metric["name"].split("(")[0]: metric["value"]
                for metric in card["metrics"]}


class Table:
    def __init__(self):
        self.wrong = 0

    def row(self, what, expected, actual, limit, scale=None):
        """`limit` is relative to `scale` (None: the expected value)."""
        if actual is None:
            self.wrong += 1
            print(f"  {what:44} {expected:14.8g} {'-':>14}  no figure")
            return
        scale = abs(expected) if scale is None else scale
        error = abs(actual - expected) / max(scale, 1e-12)
        fits = error <= limit
        self.wrong += not fits
        print(f"  {what:44} {expected:14.8g} {actual:14.8g}  {error:.1e}"
              f"{'' if fits else '   TOO FAR'}")


def fidelity(network, first, second, batch):
    """Metrics by torch-fidelity's own functions."""
    from torch_fidelity.datasets import ImagesPathDataset
    from torch_fidelity.metric_fid import (fid_features_to_statistics,
                                           fid_statistics_to_metric)
    from torch_fidelity.metric_isc import isc_features_to_metric
    from torch_fidelity.metric_kid import kid_features_to_metric
    features, logits = {}, {}
    for folder in (first, second):
        files = sorted(str(path) for path in folder.iterdir())
        images = ImagesPathDataset(files)
        parts = [network(torch.stack([images[i] for i in range(
            at, min(at + batch, len(files)))])) for at in range(
                0, len(files), batch)]
        features[folder] = torch.cat([part[0] for part in parts])
        logits[folder] = torch.cat([part[1] for part in parts])
    statistics = [fid_features_to_statistics(features[folder])
                  for folder in (first, second)]
    figures = fid_statistics_to_metric(*statistics, verbose=False)
    # In single precision the small difference of large sums loses four digits.
    figures.update(kid_features_to_metric(
        features[first].double(), features[second].double(), kid_subsets=1,
        kid_subset_size=NUM, verbose=False))
    figures.update(isc_features_to_metric(logits[first], splits=1))
    return features, figures


def pytorch_fid(network, first, second, batch):
    from pytorch_fid import fid_score
    m1, s1 = fid_score.compute_statistics_of_path(
        str(first), network, batch, 2048, "cpu", num_workers=1)
    m2, s2 = fid_score.compute_statistics_of_path(
        str(second), network, batch, 2048, "cpu", num_workers=1)
    return fid_score.calculate_frechet_distance(m1, s1, m2, s2)


def clean_fid(network, first, second):
    """Metrics by clean-fid: its own reading and resizing, and the same network."""
    from cleanfid import fid

    def features(images):  # 299 x 299 pixels in [0, 255]
        return network.forward_resized((images - 128) / 128)

    parts = [fid.get_folder_features(
        str(folder), model=features, num_workers=0, batch_size=8,
        device=torch.device("cpu"), mode="clean", verbose=False)
        for folder in (first, second)]
    return fid.fid_from_feats(*parts)


class Resized(torch.nn.Module):
    """torch-fidelity's network without its own resize."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward_resized(self, x):
        n = self.network
        for name in ("Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_2b_3x3",
                     "MaxPool_1", "Conv2d_3b_1x1", "Conv2d_4a_3x3",
                     "MaxPool_2", "Mixed_5b", "Mixed_5c", "Mixed_5d",
                     "Mixed_6a", "Mixed_6b", "Mixed_6c", "Mixed_6d",
                     "Mixed_6e", "Mixed_7a", "Mixed_7b", "Mixed_7c",
                     "AvgPool"):
            x = getattr(n, name)(x)
        return torch.flatten(x, 1)


def theirs(networks, first, second, batch):
    """The metrics of all other programs by name, and their features."""
    features, figures = fidelity(networks["fidelity"], first, second, batch)
    from prdc import compute_prdc
    figures.update(compute_prdc(
        features[second].numpy(), features[first].numpy(), nearest_k=5))
    figures["pytorch-fid"] = pytorch_fid(networks["fid"], first, second, batch)
    figures["clean-fid"] = clean_fid(Resized(networks["fidelity"]), first,
                                     second)
    return {"figures": {name: float(value) for name, value in figures.items()},
            "features": features[second].double()}


def gandem_features(gandem):
    """The cached features of each set of images so far."""
    folders = pathlib.Path(gandem.env["XDG_CACHE_HOME"]).glob(
        "gandem/features/images/*")
    return [torch.cat([load_file(path)["features"].double()
                       for path in sorted(folder.glob("features-*"))])
            for folder in folders]


def compare(table, gandem, make_networks, folder, several):
    first, second = folder / "a", folder / "b"
    kept = folder / "theirs.pt"
    if not kept.exists():
        write_images(first, 1, 0, several)
        write_images(second, 2, 25, several)
        torch.save(theirs(make_networks(), first, second, 1 if several else 8),
                   kept)
    expected = torch.load(kept)
    figures = expected["figures"]
    pair = [first, "--reference", second]
    print("torch-fidelity")
    actual = gandem.run(*pair, "--metric", "fid,is,kid,prdc", "--kid_subsets",
                        1, "--kid_subset", NUM, "--splits", 1, "--prdc_k",
                        5) or {}
    table.row("FID", figures["frechet_inception_distance"], actual.get("FD"),
              DISTANCE)
    table.row("KID", figures["kernel_inception_distance_mean"],
              actual.get("KID"), DISTANCE)
    table.row("IS", figures["inception_score_mean"], actual.get("IS"), DISTANCE)
    scale = expected["features"].abs().max().item()
    # The features of the other set differ by far more.
    table.row("features, largest difference", 0.0,
              min((of_set - expected["features"]).abs().max().item() / scale
                  for of_set in gandem_features(gandem)), FEATURES, 1.0)
    print("prdc")
    for name in ("precision", "recall", "density", "coverage"):
        table.row(name, figures[name], actual.get(name), DISTANCE, 1.0)
    for name, resize in (("pytorch-fid", "pytorch_fid"),
                         ("clean-fid", "clean")):
        print(name)
        actual = gandem.run(*pair, "--input_resize", resize) or {}
        table.row("FID", figures[name], actual.get("FD"), DISTANCE)


def main(binaries, folder):
    torch.set_num_threads(2)
    work = pathlib.Path(folder)
    weights = feature_goldens.draw_weights()
    file = work / "weights.pth"
    torch.save(weights, file)

    def make_networks():
        return {"fidelity": feature_goldens.fidelity_network(weights),
                "fid": feature_goldens.fid_network(weights)}

    table = Table()
    with torch.no_grad():
        for several in (False, True):
            print("# several sizes" if several else "# one size", flush=True)
            part = work / ("several" if several else "one")
            part.mkdir(exist_ok=True)
            shutil.rmtree(part / "cache", ignore_errors=True)
            compare(table, Gandem(binaries, part, file), make_networks, part,
                    several)
    print(f"{table.wrong} metrics differ too much" if table.wrong else "ok")
    return 1 if table.wrong else 0


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(main(sys.argv[1], sys.argv[2]))
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], scratch))
