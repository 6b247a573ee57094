# SPDX-License-Identifier: Apache-2.0
"""The ResNets of SNGAN in all forms, and of WGAN-GP (see networks.py)."""
from torch import nn, tanh
from torch.nn import functional as F
from torch.nn.utils import spectral_norm

from networks import Generator


def _up(x, mode):
    if mode == "bilinear":
        return F.interpolate(x, scale_factor=2, mode=mode, align_corners=False)
    return F.interpolate(x, scale_factor=2)


class GeneratorBlock(nn.Module):

    def __init__(self, a, b, eps, first_bias=True, up="nearest"):
        super().__init__()
        self.up = up
        self.norm1 = nn.BatchNorm2d(a, eps=eps)
        self.conv1 = nn.Conv2d(a, b, 3, 1, 1, bias=first_bias)
        self.norm2 = nn.BatchNorm2d(b, eps=eps)
        self.conv2 = nn.Conv2d(b, b, 3, 1, 1)
        self.shortcut = nn.Conv2d(a, b, 1)

    def forward(self, x):
        h = self.conv1(_up(F.relu(self.norm1(x)), self.up))
        h = self.conv2(F.relu(self.norm2(h)))
        return h + self.shortcut(_up(x, self.up))


class DiscriminatorBlock(nn.Module):
    """norm is "spectral", "batch", "layer" or None."""

    def __init__(self, a, hidden, b, down, norm, first=False, rectified=False,
                 first_bias=True, average_first=False):
        super().__init__()
        self.first, self.down, self.rectified = first, down, rectified
        self.average_first = first or average_first

        def conv(*args, **kwargs):
            layer = nn.Conv2d(*args, **kwargs)
            return spectral_norm(layer, eps=1e-12) \
                if norm == "spectral" else layer

        def make_norm(c):
            if norm == "batch":
                return nn.BatchNorm2d(c, eps=2e-5)
            return nn.GroupNorm(1, c)  # over channels, height and width

        normed = norm in ("batch", "layer")
        if normed and not first:
            self.norm1 = make_norm(a)
        self.conv1 = conv(a, hidden, 3, 1, 1, bias=first_bias)
        if normed:
            self.norm2 = make_norm(hidden)
        self.conv2 = conv(hidden, b, 3, 1, 1)
        if down or a != b:
            if norm == "batch":
                self.shortcut_norm = make_norm(a)
            self.shortcut = conv(a, b, 1)

    def forward(self, x):
        h = self.norm1(x) if hasattr(self, "norm1") else x
        h = h if self.first else F.relu(h)
        s = F.relu(x) if self.rectified and not self.first else x
        h = self.conv1(h)
        h = self.norm2(h) if hasattr(self, "norm2") else h
        h = self.conv2(F.relu(h))
        h = F.avg_pool2d(h, 2) if self.down else h
        if not hasattr(self, "shortcut"):
            return h + s
        if self.down and self.average_first:
            s = F.avg_pool2d(s, 2)
        s = self.shortcut_norm(s) if hasattr(self, "shortcut_norm") else s
        s = self.shortcut(s)
        if self.down and not self.average_first:
            s = F.avg_pool2d(s, 2)
        return h + s


class SnganGenerator(Generator):

    def __init__(self, noise_dim, widths, channels, smallest, up):
        super().__init__(noise_dim)
        self.smallest = smallest
        self.linear = nn.Linear(noise_dim, widths[0] * smallest**2)
        self.blocks = nn.Sequential(*[
            GeneratorBlock(a, b, 2e-5, up=up)
            for a, b in zip(widths, widths[1:])
        ])
        self.norm = nn.BatchNorm2d(widths[-1], eps=2e-5)
        self.conv = nn.Conv2d(widths[-1], channels, 3, 1, 1)

    def forward(self, z):
        x = self.linear(z).reshape(len(z), -1, self.smallest, self.smallest)
        return tanh(self.conv(F.relu(self.norm(self.blocks(x)))))


class SnganDiscriminator(nn.Module):

    def __init__(self, widths, channels, num_down, norm, thin, rectified, mean):
        super().__init__()
        self.mean = mean
        ins = [channels, *widths]
        self.blocks = nn.Sequential(*[
            DiscriminatorBlock(a, a if thin and i > 0 else b, b, i < num_down,
                               norm, first=i == 0, rectified=rectified)
            for i, (a, b) in enumerate(zip(ins, widths))
        ])
        self.linear = nn.Linear(widths[-1], 1)
        if norm == "spectral":
            self.linear = spectral_norm(self.linear, eps=1e-12)

    def forward(self, x):
        h = F.relu(self.blocks(x))
        h = h.mean(dim=(2, 3)) if self.mean else h.sum(dim=(2, 3))
        return self.linear(h)[:, 0]


class WganGpGenerator(Generator):

    def __init__(self, noise_dim, w, channels):
        super().__init__(noise_dim)
        self.linear = nn.Linear(noise_dim, 8 * w * 16)
        blocks = [
            GeneratorBlock(a * w, b * w, 1e-5, first_bias=False)
            for a, b in [(8, 8), (8, 4), (4, 2), (2, 1)]
        ]
        self.main = nn.Sequential(*blocks, nn.BatchNorm2d(w), nn.ReLU(),
                                  nn.Conv2d(w, channels, 3, 1, 1), nn.Tanh())

    def forward(self, z):
        return self.main(self.linear(z).reshape(len(z), -1, 4, 4))


class WganGpDiscriminator(nn.Module):

    def __init__(self, w, channels):
        super().__init__()
        blocks = [
            DiscriminatorBlock(a * w, a * w, b * w, True, "layer",
                               first_bias=False, average_first=True)
            for a, b in [(1, 2), (2, 4), (4, 8), (8, 8)]
        ]
        self.main = nn.Sequential(nn.Conv2d(channels, w, 3, 1, 1), *blocks)
        self.linear = nn.Linear(8 * w * 16, 1)

    def forward(self, x):
        return self.linear(self.main(x).flatten(1))[:, 0]
