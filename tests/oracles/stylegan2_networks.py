# SPDX-License-Identifier: Apache-2.0
"""StyleGAN2's networks (Karras et al. 2020, config F) in plain PyTorch, by the
rules of networks.py. Written from the paper: weights are modulated for each image
(grouped convolutions), resampling inserts zeros and applies a 4x4 kernel.

The noise of a training pass, the second styles of images and their first layers
come from images 0, 1, ... of a stream with key 0 (common/philox.h) at `place`.
Evaluation has constant noise. Training passes update the mean style.
"""
import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "common"))
import philox_reference  # noqa: E402

DROPOUT = 6  # the purpose of networks' own draws
place = [DROPOUT, 0]  # purpose and step of the pass
TAPS = torch.tensor([1., 3., 3., 1.], dtype=torch.float64) / 8


def normals_of(words):
    values = []
    for a, b in zip(words[::2], words[1::2]):
        radius = math.sqrt(-2 * math.log((a + 1) / 2**32))
        angle = 2 * math.pi * b / 2**32
        values += [radius * math.cos(angle), radius * math.sin(angle)]
    return torch.tensor(values, dtype=torch.float64)


def normals(index, count):
    return normals_of(list(philox_reference.words(0, *place, index,
                                                  count // 4)))


def mixing(index, probability, layers, noise_dim):
    """The first layer of the second style (`layers` if there is none), and its
    noise."""
    words = list(philox_reference.words(0, *place, index, noise_dim + 2))
    mixed = ((words[1] << 32 | words[0]) >> 11) / 2**53 < probability
    choices, next_word = layers - 1, 2
    while words[next_word] * choices % 2**32 < 2**32 % choices:
        next_word += 1
    begin = 1 + (words[next_word] * choices >> 32)
    rest = words[next_word + 1:]
    noise = normals_of(rest[:2 * ((noise_dim + 1) // 2)])[:noise_dim]
    return begin if mixed else layers, noise


def filtered(x, before, after, gain=1):
    n, c, h, w = x.shape
    kernel = gain * torch.outer(TAPS, TAPS).to(x)[None, None]
    x = F.pad(x, (before, after, before, after)).reshape(n * c, 1, h + before
                                                         + after, -1)
    x = F.conv2d(x, kernel)
    return x.reshape(n, c, *x.shape[2:])


def with_zeros(x):
    n, c, h, w = x.shape
    out = x.new_zeros(n, c, 2 * h, 2 * w)
    out[:, :, ::2, ::2] = x
    return out


def upsampled(x):
    return filtered(with_zeros(x), 2, 1, gain=4)


def activated(x):
    return F.leaky_relu(x, 0.2) * math.sqrt(2)


class Linear(nn.Module):
    def __init__(self, a, b, rate=1.):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(b, a))
        self.bias = nn.Parameter(torch.zeros(b))
        self.rate, self.gain = rate, rate / math.sqrt(a)

    def forward(self, x):
        return x @ (self.weight * self.gain).t() + self.bias * self.rate


class Conv(nn.Module):
    def __init__(self, a, b, kernel, down=False, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(b, a, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(b)) if bias else None
        self.gain = 1 / math.sqrt(a * kernel * kernel)
        self.kernel, self.down = kernel, down

    def forward(self, x):
        weight = self.weight * self.gain
        if not self.down:
            return F.conv2d(x, weight, self.bias, padding=self.kernel // 2)
        pad = self.kernel // 2
        x = filtered(x, pad + 1, pad + 1)
        return F.conv2d(x, weight, self.bias, stride=2)


class Modulated(nn.Module):
    def __init__(self, a, b, style, kernel=3, up=False, demodulate=True):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(b, a, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(b))
        self.affine = Linear(style, a)
        self.up, self.demodulate = up, demodulate

    def forward(self, x, style):
        b, a, k, _ = self.weight.shape
        n = style.shape[0]
        scale = self.affine(style)
        if not self.demodulate:
            scale = scale / math.sqrt(a * k * k)
        weight = self.weight[None] * scale[:, None, :, None, None]
        if self.demodulate:
            square = (weight**2).sum((2, 3, 4), keepdim=True)
            weight = weight / (square + 1e-8).sqrt()
        if self.up:  # transposed convolution through inserted zeros
            x = F.pad(with_zeros(x), (2, 1, 2, 1))
            weight = weight.flip(3, 4)
        x = F.conv2d(x.reshape(1, n * a, *x.shape[2:]),
                     weight.reshape(n * b, a, k, k), groups=n,
                     padding=0 if self.up else k // 2)
        x = x.reshape(n, b, *x.shape[2:])
        if self.up:
            x = filtered(x, 1, 1, gain=4)
        return x + self.bias[None, :, None, None]


class Noise(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.strength = nn.Parameter(torch.zeros([]))
        self.register_buffer("noise_const", torch.zeros(size, size))
        self.evaluating = False

    def forward(self, x):
        size = self.noise_const.shape[0]
        noise = self.noise_const
        if not self.evaluating:
            noise = torch.stack([
                normals(i, size * size).reshape(1, size, size)
                for i in range(x.shape[0])]).to(x)
        return x + noise * self.strength


class Styled(nn.Module):
    def __init__(self, a, b, style, size, up=False):
        super().__init__()
        self.conv = Modulated(a, b, style, up=up)
        self.noise = Noise(size)

    def forward(self, x, style):
        return activated(self.noise(self.conv(x, style)))


class Mapping(nn.Module):
    def __init__(self, noise, classes, style, layers):
        super().__init__()
        self.noise, self.classes = noise, classes
        if classes:
            self.embed = Linear(classes, style)
        widths = [noise + (style if classes else 0)] + [style] * layers
        for i in range(layers):
            setattr(self, f"fc{i}", Linear(widths[i], widths[i + 1], 0.01))
        self.layers = layers
        if noise:
            self.register_buffer("w_avg", torch.zeros(style))

    def forward(self, z, labels):
        parts = [z] if self.noise else []
        if self.classes:
            one_hot = F.one_hot(labels, self.classes)
            parts.append(self.embed(one_hot.to(self.embed.weight)))
        x = torch.cat([p / ((p**2).mean(1, keepdim=True) + 1e-8).sqrt()
                       for p in parts], dim=1)
        for i in range(self.layers):
            x = activated(getattr(self, f"fc{i}")(x))
        return x


class Basis(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width, 4, 4))


class Block(nn.Module):
    def __init__(self, before, width, style, size, channels):
        super().__init__()
        if size > 4:
            self.conv0 = Styled(before, width, style, size, up=True)
        self.conv1 = Styled(width, width, style, size)
        self.torgb = Modulated(width, channels, style, 1, demodulate=False)


class Stylegan2Generator(nn.Module):
    def __init__(self, noise_dim, style, widths, layers, channels, classes=0,
                 mixing=0.9):
        super().__init__()
        self.mixing = mixing
        self.evaluating = False
        self.psi = 1  # truncation of an evaluating pass
        self.noise_dim = noise_dim
        self.mapping = Mapping(noise_dim, classes, style, layers)
        self.basis = Basis(widths[0])
        self.sizes = [4 << i for i in range(len(widths))]
        for i, size in enumerate(self.sizes):
            setattr(self, f"b{size}", Block(widths[i - 1], widths[i], style,
                                            size, channels))

    def styles(self, z, labels, layers):
        style = self.mapping(z, labels)
        mean = self.mapping.w_avg
        if self.evaluating:
            return [mean + self.psi * (style - mean)] * layers
        if self.training:
            mean.mul_(0.995).add_(style.detach().mean(0), alpha=0.005)
        drawn = [mixing(i, self.mixing, layers, self.noise_dim)
                 for i in range(z.shape[0])]
        other = self.mapping(torch.stack([noise for _, noise in drawn]),
                             labels)
        return [torch.stack([other[i] if layer >= begin else style[i]
                             for i, (begin, _) in enumerate(drawn)])
                for layer in range(layers)]

    def forward(self, z, labels=None):
        return self.images(self.styles(z, labels, 2 * len(self.sizes)))

    def images(self, styles):
        x = self.basis.weight.expand(styles[0].shape[0], -1, -1, -1)
        image, layer = None, 0
        for size in self.sizes:
            block = getattr(self, f"b{size}")
            if size > 4:
                x = block.conv0(x, styles[layer])
                layer += 1
                image = upsampled(image)
            x = block.conv1(x, styles[layer])
            layer += 1
            y = block.torgb(x, styles[layer])
            image = y if image is None else image + y
        return image


class Judging(nn.Module):
    def __init__(self, a, b, residual):
        super().__init__()
        self.conv0 = Conv(a, a, 3)
        self.conv1 = Conv(a, b, 3, down=True)
        if residual:
            self.skip = Conv(a, b, 1, down=True, bias=False)

    def forward(self, x):
        y = activated(self.conv1(activated(self.conv0(x))))
        if hasattr(self, "skip"):
            y = (y + self.skip(x)) / math.sqrt(2)
        return y


class Stylegan2Discriminator(nn.Module):
    def __init__(self, widths, channels, group, residual=True, classes=0,
                 layers=0):
        super().__init__()
        self.group, self.classes = group, classes
        self.fromrgb = Conv(channels, widths[-1], 1)
        self.sizes = [4 << i for i in reversed(range(1, len(widths)))]
        for i, size in zip(reversed(range(1, len(widths))), self.sizes):
            setattr(self, f"b{size}",
                    Judging(widths[i], widths[i - 1], residual))
        width = widths[0]
        self.conv = Conv(width + 1, width, 3)
        self.fc = Linear(16 * width, width)
        self.out = Linear(width, width if classes else 1)
        if classes:
            self.mapping = Mapping(0, classes, width, layers)

    def deviation(self, x):
        groups = x.shape[0] // self.group
        feature = x.new_zeros(x.shape[0], 1, *x.shape[2:])
        for k in range(groups):
            members = x[k::groups]
            variance = members.var(0, unbiased=False)
            feature[k::groups] = (variance + 1e-8).sqrt().mean()
        return torch.cat([x, feature], dim=1)

    def forward(self, x, labels=None):
        x = activated(self.fromrgb(x))
        for size in self.sizes:
            x = getattr(self, f"b{size}")(x)
        x = activated(self.conv(self.deviation(x)))
        x = self.out(activated(self.fc(x.flatten(1))))
        if self.classes:
            vector = self.mapping(None, labels)
            return (x * vector).sum(1) / math.sqrt(vector.shape[1])
        return x[:, 0]


# In the format of conditional_networks.CASES, with the number of images.
CASES = {
    "stylegan2": (
        0, 16, 4,
        lambda: Stylegan2Generator(5, 6, [4, 4, 2], 2, 1),
        lambda: Stylegan2Discriminator([4, 4, 2], 1, 2)),
    "stylegan2_classes": (
        3, 32, 3,
        lambda: Stylegan2Generator(6, 4, [6, 6, 4, 2], 3, 1, 3, 0.5),
        lambda: Stylegan2Discriminator([6, 6, 4, 2], 1, 3, False, 3, 2)),
}
