# SPDX-License-Identifier: Apache-2.0
"""Compares exported generators of every family with `gandem sample`:

    python tests/oracles/onnx_agreement.py BIN [CASE...]

BIN is the folder of gandem's programs. Each case trains narrow networks for 40
rounds, writes generator.pt and generator.onnx (gandem.Run.export), and compares
16 images of the same noise. Values from plain `torch.jit.load` must round to the
bytes of `gandem sample`, with a tolerance of 1e-5; images from onnxruntime must
equal those of the .pt within 1e-4. docs/reference/numerics.md describes the
noise. Prints a row of a table per case and exits with 1 if a case differs more.
Needs torch==2.11.0, onnx, onnxruntime, numpy, and Fashion-MNIST at the place of
recipes/mlp_smoke.textproto.
"""
import gzip
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
import torch

from stranger_inputs import normals

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NUM_IMAGES = 16
NOISE_DIM = 16
CLASS = 3
INPUT = 90  # value of all pixels of input images
SAMPLE = 8  # Purpose::kSample of common/philox.h
TOLERANCE = {"sample": 1e-5, "onnx": 1e-4}
# Case: pixels, network, classes.
CASES = {
    "mlp": (8, "mlp {{ hidden: [16, 16] {z} }}", 0),
    "mlp, batch norm": (8, "mlp {{ hidden: 16 batch_norm: true {z} }}", 0),
    "mlp, 10 classes": (8, "mlp {{ hidden: 16 {z} }}", 10),
    "dcgan, 32 pixels": (32, "dcgan {{ width: 4 {z} }}", 0),
    "dcgan, 64 pixels": (64, "dcgan {{ width: 4 {z} }}", 0),
    "dcgan5, 28 pixels": (28, "dcgan5 {{ width: 4 {z} }}", 0),
    "dcgan5, 64 pixels": (64, "dcgan5 {{ width: 4 {z} }}", 0),
    "keras_dcgan": (64, "keras_dcgan {{ width: 4 {z} }}", 0),
    "sndcgan": (32, "sndcgan {{ width: 4 {z} }}", 0),
    "sngan": (32, "sngan {{ width: 4 {z} }}", 0),
    "sngan, bilinear": (64, "sngan {{ width: 4 upsampling: BILINEAR {z} }}", 0),
    "sngan, 10 classes": (32, "sngan {{ width: 4 {z} }}", 10),
    "wgan_gp": (64, "wgan_gp {{ width: 4 {z} }}", 0),
    "sagan": (32, "sagan {{ width: 8 {z} }}", 0),
    "sagan, 10 classes": (32, "sagan {{ width: 8 {z} }}", 10),
    "biggan, 10 classes": (32, "biggan {{ width: 8 {z} }}", 10),
    "biggan, DEEP, 10 classes": (
        32, "biggan {{ width: 8 form: DEEP {z} }}", 10),
    "r3gan": (32, "r3gan {{ width: 16 groups: 4 {z} }}", 0),
    "r3gan, 10 classes": (32, "r3gan {{ width: 16 groups: 4 {z} }}", 10),
    "stylegan2": (16, "stylegan2 {{ channel_base: 128 max_channels: 16 "
                  "style_dim: 16 mapping_layers: 2 {z} }}", 0),
    "stylegan2, 10 classes": (
        16, "stylegan2 {{ channel_base: 128 max_channels: 16 style_dim: 16 "
        "mapping_layers: 2 {z} }}", 10),
    "pix2pix": (32, "pix2pix {{ width: 4 }}", 0),
}


def run_program(*arguments):
    done = subprocess.run([str(one) for one in arguments], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}:\n"
                 f"{done.stdout[-3000:]}{done.stderr[-3000:]}")


def write_inputs(path):
    """Writes as many uniformly gray images as Fashion-MNIST has, in its format."""
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(struct.pack(">IIII", 0x803, 60000, 28, 28))
        for _ in range(60000):
            out.write(bytes([INPUT]) * 784)


def train(program, folder, case):
    pixels, network, classes = CASES[case]
    both = network.format(z=f"noise_dim: {NOISE_DIM}")
    # With fewer rounds, batch norm's averages are far off, and images of narrow
    # networks hardly depend on the noise. The options of the generator do not
    # affect the discriminator.
    sets = ["rounds=40", "checkpoint.every_rounds=40",
            "samples.every_rounds=0", "ema.decay=0",
            "generator.optimizer.adam.learning_rate=0.005",
            f"data.image_size={pixels}", "data.max_images=64",
            f"generator.network={{{both}}}",
            f"discriminator.network={{{both}}}",
            "generator.batch_size=8", "discriminator.batch_size=8"]
    if classes:
        sets.append(f"data.num_classes={classes}")
    if case == "pix2pix":
        inputs = folder / "inputs-idx3-ubyte.gz"
        write_inputs(inputs)
        sets += [f'data.idx_inputs="{inputs}"', "paired_loss.l1=100"]
    flags = [flag for one in sets for flag in ("--set", one)]
    run_program(program, "train", SOURCE / "recipes" / "mlp_smoke.textproto",
                "--run_dir", folder / "run", "--colocated", *flags)


def outside(values, stored):
    """Distance of values from the interval that rounds to the stored bytes."""
    low = (stored - 0.5) / 127.5 - 1
    high = (stored + 0.5) / 127.5 - 1
    low[stored == 0], high[stored == 255] = -np.inf, np.inf
    return max((low - values).max(), (values - high).max(), 0.0)


def compare(program, case):
    import gandem
    _, _, classes = CASES[case]
    with tempfile.TemporaryDirectory(prefix="gandem-") as name:
        folder = pathlib.Path(name)
        train(program, folder, case)
        run = gandem.Run(folder / "run")
        module = torch.jit.load(str(run.export(folder / "generator.pt")))
        session = onnxruntime.InferenceSession(
            str(run.export(folder / "generator.onnx")),
            providers=["CPUExecutionProvider"])
        run_program(program, "sample", run.dir, "-n", NUM_IMAGES, "-o",
                    folder / "samples.npz",
                    *(["--class", CLASS] if classes else []))
        stored = np.load(folder / "samples.npz")["arr_0"].astype(np.float64)
    size = stored.shape[1]
    inputs = {
        "noise": torch.from_numpy(normals(
            1, SAMPLE, 0, range(NUM_IMAGES), NOISE_DIM)).float(),
        "labels": torch.full((NUM_IMAGES,), CLASS),
        "images": torch.full((NUM_IMAGES, 1, size, size), INPUT / 127.5 - 1)}
    names = [one.name for one in session.get_inputs()]
    with torch.no_grad():
        images = module(*(inputs[one] for one in names)).numpy()
    assert images.std(0).mean() > 0.01 or case == "pix2pix", "all are the same"
    (others,) = session.run(None, {one: inputs[one].numpy() for one in names})
    (one,) = session.run(None, {one: inputs[one][:1].numpy() for one in names})
    off = {"sample": outside(images.transpose(0, 2, 3, 1).astype(np.float64),
                             stored),
           "onnx": max(np.abs(others - images).max(),
                       np.abs(one - images[:1]).max())}
    print(f"| {case} | {', '.join(names)} | {off['sample']:.0e} | "
          f"{off['onnx']:.0e} |", flush=True)
    return all(off[what] <= most for what, most in TOLERANCE.items())


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve() / "gandem"
    os.environ["GANDEM_BIN"] = str(program)
    sys.path.insert(0, str(SOURCE / "python"))
    print("| generator | inputs | `.pt` outside of `gandem sample`'s bytes "
          "| ONNX from `.pt` |\n|---|---|---|---|")
    agree = [compare(program, case) for case in sys.argv[2:] or CASES]
    sys.exit(0 if all(agree) else 1)


if __name__ == "__main__":
    main()
