# SPDX-License-Identifier: Apache-2.0
"""The networks of recipes/mlp_smoke.textproto in PyTorch's own modules, with the
initial values of models/registry/initialize.h, drawn by an independent Philox
(Salmon et al. 2011, table 2)."""
import math

import torch
from torch import nn

INIT = 7  # Purpose::kInit of common/philox.h
DISCRIMINATOR = 1 << 32


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 1 << 32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % (1 << 32), (k[1] + 0xBB67AE85) % (1 << 32)]
    return c


def row(seed, tensor, index, size):
    """`size` numbers in [0, 1) of the stream (seed, INIT, tensor, index)."""
    words = []
    for block in range((2 * size + 3) // 4):
        words += philox([block, index, tensor % (1 << 32),
                         INIT | (tensor >> 32) << 20],
                        [seed % (1 << 32), seed >> 32])
    return [((words[2 * i + 1] << 32 | words[2 * i]) >> 11) * 2.0 ** -53
            for i in range(size)]


def draw(network, seed, first_tensor):
    layers = [m for m in network.modules() if isinstance(m, nn.Linear)]
    tensor = first_tensor
    with torch.no_grad():
        for layer in layers:
            bound = 1 / math.sqrt(layer.in_features)
            for values in (layer.weight, layer.bias):
                size = values.numel() // values.shape[0]
                drawn = [row(seed, tensor, i, size)
                         for i in range(values.shape[0])]
                drawn = torch.tensor(drawn, dtype=torch.float64)
                values.copy_((bound * (2 * drawn - 1)).reshape(values.shape))
                tensor += 1


def stack(widths):
    layers = []
    for i in range(len(widths) - 1):
        layers.append(nn.Linear(widths[i], widths[i + 1]))
        if i + 2 < len(widths):
            layers.append(nn.LeakyReLU(0.2))
    return layers


class Generator(nn.Module):
    def __init__(self, hidden=(32, 32), seed=1):
        super().__init__()
        self.main = nn.Sequential(*stack([8, *hidden, 64]), nn.Tanh())
        draw(self, seed, 0)

    def forward(self, noise):
        return self.main(noise).view(-1, 1, 8, 8)


class Discriminator(nn.Module):
    def __init__(self, hidden=(32, 32), seed=1):
        super().__init__()
        self.main = nn.Sequential(*stack([64, *hidden, 1]))
        draw(self, seed, DISCRIMINATOR)

    def forward(self, images):
        return self.main(images.flatten(1))
