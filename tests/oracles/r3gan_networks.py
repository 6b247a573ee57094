# SPDX-License-Identifier: Apache-2.0
"""R3GAN's networks (Huang et al. 2024, Config E) in plain PyTorch, by the rules of
networks.py. Written from the description of the authors' code: resampling is a
(transposed) convolution with a 4x4 kernel, and labels are one-hot vectors.

Widths and groups are listed for the stages from 4x4 up.
"""
import torch
from torch import nn
from torch.nn import functional as F

KERNEL = torch.tensor([1., 3., 3., 1.], dtype=torch.float64)


def _kernel(x):
    kernel = torch.outer(KERNEL, KERNEL)
    return (kernel / kernel.sum()).to(x)[None, None]


class Up(nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        y = F.conv_transpose2d(x.reshape(n * c, 1, h, w), 4 * _kernel(x),
                               stride=2, padding=1)
        return y.reshape(n, c, 2 * h, 2 * w)


class Down(nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        y = F.conv2d(x.reshape(n * c, 1, h, w), _kernel(x), stride=2, padding=1)
        return y.reshape(n, c, h // 2, w // 2)


class Block(nn.Module):
    def __init__(self, width, groups):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(width, 2 * width, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1, groups=groups),
            nn.LeakyReLU(0.2), nn.Conv2d(2 * width, width, 1, bias=False))

    def forward(self, x):
        return x + self.main(x)


class Basis(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, 4, 4))
        self.linear = nn.Linear(features, width, bias=False)

    def forward(self, x):
        return torch.einsum("nc,chw->nchw", self.linear(x), self.weight)


def _pointwise(a, b):
    return nn.Conv2d(a, b, 1, bias=False)


class _Conditional(nn.Module):
    def set_classes(self, classes, dim):
        self.classes = classes
        if classes:
            self.embedding = nn.Linear(classes, dim, bias=False)

    def embed(self, labels):
        labels = F.one_hot(labels, self.classes)
        return self.embedding(labels.to(self.embedding.weight))


class R3ganGenerator(_Conditional):
    def __init__(self, noise_dim, widths, groups, blocks, channels, classes=0):
        super().__init__()
        self.noise_dim = noise_dim
        self.set_classes(classes, noise_dim)
        self.basis = Basis(noise_dim * (2 if classes else 1), widths[0])
        layers = []
        for i, (width, k) in enumerate(zip(widths, groups)):
            if i and width != widths[i - 1]:
                layers.append(_pointwise(widths[i - 1], width))
            if i:
                layers.append(Up())
            layers += [Block(width, k) for _ in range(blocks)]
        self.main = nn.Sequential(*layers, _pointwise(widths[-1], channels))

    def forward(self, z, labels=None):
        if self.classes:
            z = torch.cat([z, self.embed(labels)], dim=1)
        return self.main(self.basis(z))


class R3ganDiscriminator(_Conditional):
    def __init__(self, widths, groups, blocks, channels, classes=0):
        super().__init__()
        layers = [_pointwise(channels, widths[-1])]
        for i in reversed(range(len(widths))):
            layers += [Block(widths[i], groups[i]) for _ in range(blocks)]
            if i:
                layers.append(Down())
            if i and widths[i] != widths[i - 1]:
                layers.append(_pointwise(widths[i], widths[i - 1]))
        width = widths[0]
        self.main = nn.Sequential(
            *layers, nn.Conv2d(width, width, 4, groups=width, bias=False))
        self.linear = nn.Linear(width, width if classes else 1, bias=False)
        self.set_classes(classes, width)

    def forward(self, x, labels=None):
        said = self.linear(self.main(x).flatten(1))
        if self.classes:
            return (said * self.embed(labels)).sum(1)
        return said[:, 0]


# In the format of conditional_networks.CASES.
CASES = {
    "r3gan": (
        0, 32,
        lambda: R3ganGenerator(6, [4] * 4, [2] * 4, 1, 1),
        lambda: R3ganDiscriminator([4] * 4, [2] * 4, 1, 1)),
    "r3gan_64_classes": (
        3, 64,
        lambda: R3ganGenerator(5, [8] * 3 + [4, 2], [4] * 3 + [2, 1], 2, 1, 3),
        lambda: R3ganDiscriminator([8] * 3 + [4, 2], [4] * 3 + [2, 1], 2, 1,
                                   3)),
}
