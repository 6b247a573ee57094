# SPDX-License-Identifier: Apache-2.0
"""Inputs of a run for stranger.py: random numbers, initial values and real
images, from docs/reference/numerics.md.
"""
import gzip
import math
import pathlib
import struct
import sys

import numpy as np
import torch
from torch.nn import functional as F

import data_order
import networks as nets

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "common"))
import philox_reference  # noqa: E402

DATA_ORDER, INIT = 4, 7  # purposes
POWER_ITERATIONS = 15


# --- Draws ---


def words(seed, purpose, step, indices, count):
    """Philox4x32-10 on arrays: [index, word]."""
    mask, low32 = np.uint64(0xFFFFFFFF), np.uint64(32)
    indices = np.asarray(indices, dtype=np.uint64)[:, None]
    blocks = np.arange((count + 3) // 4, dtype=np.uint64)[None, :]
    shape = np.broadcast_shapes(indices.shape, blocks.shape)
    last = (np.uint64(purpose | (step >> 32) << 20)
            | (indices >> low32) << np.uint64(8))
    c = [np.broadcast_to(x, shape) for x in
         (blocks, indices & mask, np.uint64(step) & mask, last)]
    k = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> low32) ^ c[1] ^ k[0], p1 & mask,
             (p0 >> low32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + np.uint64(0x9E3779B9)) & mask,
             (k[1] + np.uint64(0xBB67AE85)) & mask]
    return np.stack(c, axis=-1).reshape(shape[0], -1)[:, :count]


def normals(seed, purpose, step, indices, count):
    w = words(seed, purpose, step, indices, count + count % 2).astype(float)
    radius = np.sqrt(-2 * np.log((w[:, 0::2] + 1) * 2.0**-32))
    angle = 2 * math.pi * w[:, 1::2] * 2.0**-32
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(len(w), -1)[:, :count]


def uniforms(seed, purpose, step, indices, count):
    w = words(seed, purpose, step, indices, 2 * count)
    high, low = w[:, 1::2], w[:, 0::2]
    return ((high << np.uint64(32) | low) >> np.uint64(11)).astype(
        float) * 2.0**-53


def check_draws():
    expected = list(philox_reference.words(3 << 40 | 5, 7, 1 << 32, 9, 2))
    assert words(3 << 40 | 5, 7, 1 << 32, [4, 9], 8)[1].tolist() == expected


# --- Initial values ---


def first_value(family_name, draw, shape):
    if family_name == "dcgan":
        return 0.02 * draw(normals)
    if family_name == "mlp":
        return (2 * draw(uniforms) - 1) / math.prod(shape[1:])**0.5
    matrix = draw(normals).flatten(1)  # sndcgan: orthogonal
    wide = matrix.shape[0] < matrix.shape[1]
    q, r = torch.linalg.qr(matrix.t() if wide else matrix)
    q = q * r.diagonal().sign()
    return (q.t() if wide else q).reshape(shape)


@torch.no_grad()
def set_first_values(network, family_name, seed, first_tensor):
    """Sets the parameters of a float32 network."""
    number = first_tensor

    def draw(shape):
        def of(kind):
            rows = kind(seed, INIT, number, range(shape[0]),
                        math.prod(shape[1:]))
            return torch.from_numpy(rows).reshape(shape)
        return of

    for module in network.modules():
        own = {name.replace("weight_orig", "weight"): tensor
               for name, tensor in module.named_parameters(recurse=False)}
        is_norm = nets._is_norm(module)
        for name in sorted(own, reverse=True):  # weight, then bias
            tensor = own[name]
            if name == "weight" and is_norm:
                spread = draw((len(tensor), 1))(normals)[:, 0]
                tensor.copy_(1 + 0.02 * spread if family_name == "dcgan"
                             else torch.ones(len(tensor)))
            elif name == "weight":
                tensor.copy_(first_value(family_name, draw(tensor.shape),
                                         tensor.shape))
            elif family_name == "mlp" and not is_norm:
                bound = own["weight"][0].numel()**-0.5
                tensor.copy_(bound * (2 * draw((len(tensor), 1))(uniforms)[:, 0]
                                      - 1))
            else:
                tensor.zero_()
            number += 1
        if not hasattr(module, "weight_u"):
            continue
        for name in ("weight_u", "weight_v"):
            vector = getattr(module, name)
            value = draw((1, len(vector)))(normals)[0]
            vector.copy_(value / value.norm())
            number += 1
        dim = 1 if isinstance(module, torch.nn.ConvTranspose2d) else 0
        matrix = module.weight_orig.transpose(0, dim).flatten(1)
        u, v = module.weight_u, module.weight_v
        for _ in range(POWER_ITERATIONS):
            v.copy_(F.normalize(matrix.t() @ u, dim=0, eps=1e-6))
            u.copy_(F.normalize(matrix @ v, dim=0, eps=1e-6))


# --- Real images ---


def area_taps(size_in, size_out):
    """(first pixel, float32 weights) of each pixel; bilinear for enlargement."""
    taps = []
    for i in range(size_out):
        if size_in > size_out:
            begin, end = i * size_in, (i + 1) * size_in
            first = begin // size_out
            weights = []
            s = first
            while s * size_out < end:
                overlap = min(end, (s + 1) * size_out) - max(begin,
                                                             s * size_out)
                weights.append(np.float32(overlap / size_in))
                s += 1
        else:
            center = (i + 0.5) * size_in / size_out - 0.5
            position = min(max(center, 0.0), size_in - 1.0)
            first = int(position)
            part = position - first
            weights = ([np.float32(1)] if part == 0 else
                       [np.float32(1 - part), np.float32(part)])
        taps.append((first, weights))
    return taps


def resize_last_axis(values, size_out):
    """Resizes with float32 sums in ascending order."""
    out = np.zeros((*values.shape[:-1], size_out), np.float32)
    for i, (first, weights) in enumerate(area_taps(values.shape[-1],
                                                   size_out)):
        total = np.zeros(values.shape[:-1], np.float32)
        for k, weight in enumerate(weights):
            total = total + weight * values[..., first + k]
        out[..., i] = np.clip(total, np.float32(-1), np.float32(1))
    return out


class RealImages:
    def __init__(self, config):
        data = config["data"]
        path = pathlib.Path(data["idx_images"])
        raw = path.read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        magic, count, height, width = struct.unpack(">IIII", raw[:16])
        assert magic == 0x803, "not IDX images"
        pixels = np.frombuffer(raw, np.uint8, count * height * width, 16)
        pixels = pixels.reshape(count, height, width)
        if data["max_images"] > 0:
            pixels = pixels[:data["max_images"]]
        size = data["image_size"]
        if data["fit"] == "PAD":
            top, left = (size - height) // 2, (size - width) // 2
            canvas = np.zeros((len(pixels), size, size), np.uint8)
            canvas[:, top:top + height, left:left + width] = pixels
            pixels = canvas
        table = (np.arange(256) / 127.5 - 1).astype(np.float32)
        values = table[pixels]
        if data["fit"] == "RESIZE" and (height, width) != (size, size):
            values = resize_last_axis(values, size)  # width first
            values = resize_last_axis(values.swapaxes(1, 2),
                                      size).swapaxes(1, 2)
        self.images = torch.from_numpy(
            np.ascontiguousarray(values)).double()[:, None]
        self.seed, self.orders = config["seed"], {}

    def numbers(self, first, count):
        """Samples [first, first + count) of the run."""
        size = len(self.images)
        chosen = []
        for n in range(first, first + count):
            epoch, place = divmod(n, size)
            if epoch not in self.orders:
                self.orders[epoch] = data_order.permutation(
                    self.seed, DATA_ORDER, epoch, size)
            chosen.append(self.orders[epoch][place])
        return self.images[chosen]
