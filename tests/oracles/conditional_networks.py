# SPDX-License-Identifier: Apache-2.0
"""SNGAN with classes, SAGAN, BigGAN and BigGAN-deep in plain PyTorch, by the rules
of networks.py. Written from the papers and from descriptions of the authors'
code; spectral norm is torch's own.

Forward passes take labels. A discriminator with a contrastive head returns
logits, embeddings and proxies, flattened and concatenated.
"""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import spectral_norm


class Style:
    """Makes the layers of a network."""

    def __init__(self, use_spectral_norm, sn_eps, bn_eps=1e-4):
        self.use_spectral_norm = use_spectral_norm
        self.sn_eps = sn_eps
        self.bn_eps = bn_eps

    def wrap(self, layer):
        if not self.use_spectral_norm:
            return layer
        return spectral_norm(layer, eps=self.sn_eps)

    def conv(self, a, b, kernel, bias=True):
        return self.wrap(nn.Conv2d(a, b, kernel, padding=kernel // 2,
                                   bias=bias))

    def linear(self, a, b, bias=True):
        return self.wrap(nn.Linear(a, b, bias=bias))

    def embedding(self, classes, dim):
        return self.wrap(nn.Embedding(classes, dim))


class ConditionalNorm(nn.Module):
    def __init__(self, channels, condition, style):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels, eps=style.bn_eps, affine=False)
        self.gain = style.linear(condition, channels, bias=False)
        self.bias = style.linear(condition, channels, bias=False)

    def forward(self, x, c):
        gain = self.gain(c).reshape(*x.shape[:2], 1, 1)
        bias = self.bias(c).reshape(*x.shape[:2], 1, 1)
        return self.bn(x) * (1 + gain) + bias


class Attention(nn.Module):
    def __init__(self, channels, style):
        super().__init__()
        self.theta = style.conv(channels, channels // 8, 1, bias=False)
        self.phi = style.conv(channels, channels // 8, 1, bias=False)
        self.g = style.conv(channels, channels // 2, 1, bias=False)
        self.o = style.conv(channels // 2, channels, 1, bias=False)
        self.sigma = nn.Parameter(torch.zeros(1))

    def forward(self, x, c=None):
        n, _, h, w = x.shape
        query = self.theta(x).reshape(n, -1, h * w)
        key = F.max_pool2d(self.phi(x), 2).reshape(n, -1, h * w // 4)
        value = F.max_pool2d(self.g(x), 2).reshape(n, -1, h * w // 4)
        weight = torch.einsum("ndp,ndk->npk", query, key).softmax(2)
        out = torch.einsum("nvk,npk->nvp", value, weight)
        return x + self.sigma * self.o(out.reshape(n, -1, h, w))


def up(x):
    return F.interpolate(x, scale_factor=2)


def down(x):
    return F.avg_pool2d(x, 2)


class GeneratorBlock(nn.Module):
    def __init__(self, a, b, condition, style):
        super().__init__()
        self.norm1 = ConditionalNorm(a, condition, style)
        self.conv1 = style.conv(a, b, 3)
        self.norm2 = ConditionalNorm(b, condition, style)
        self.conv2 = style.conv(b, b, 3)
        self.shortcut = style.conv(a, b, 1)

    def forward(self, x, c):
        h = self.conv1(up(F.relu(self.norm1(x, c))))
        h = self.conv2(F.relu(self.norm2(h, c)))
        return h + self.shortcut(up(x))


class DeepGeneratorBlock(nn.Module):
    def __init__(self, a, b, upsample, condition, mixing, style):
        super().__init__()
        self.b, self.upsample = b, upsample
        h = a // 4
        self.norm1 = ConditionalNorm(a, condition, style)
        self.conv1 = style.conv(a, h, 1)
        self.norm2 = ConditionalNorm(h, condition, style)
        self.conv2 = style.conv(h, h, 3)
        self.norm3 = ConditionalNorm(h, condition, style)
        self.conv3 = style.conv(h, h, 3)
        self.norm4 = ConditionalNorm(h, condition, style)
        self.conv4 = style.conv(h, b, 1)
        if mixing:
            self.shortcut = style.conv(a, b, 1)

    def forward(self, x, c):
        resize = up if self.upsample else (lambda y: y)
        h = self.conv1(F.relu(self.norm1(x, c)))
        h = self.conv2(resize(F.relu(self.norm2(h, c))))
        h = self.conv3(F.relu(self.norm3(h, c)))
        h = self.conv4(F.relu(self.norm4(h, c)))
        if hasattr(self, "shortcut"):
            return h + self.shortcut(resize(x))
        return h + resize(x[:, :self.b])


class Generator(nn.Module):
    """noise_use is "linear", "chunks" or "everywhere"."""

    def __init__(self, channels, noise_dim, image_channels, style, classes=0,
                 class_dim=0, noise_use="chunks", attention_size=0, deep=False,
                 mixing=False):
        super().__init__()
        self.noise_dim, self.classes = noise_dim, classes
        self.noise_use, self.parts = noise_use, len(channels)
        chunk = {"linear": 0, "chunks": noise_dim // len(channels),
                 "everywhere": noise_dim}[noise_use]
        told = class_dim or classes
        entry = {"linear": noise_dim, "chunks": chunk,
                 "everywhere": told + noise_dim}[noise_use]
        self.linear = style.linear(entry, channels[0] * 16)
        if class_dim:
            self.shared = nn.Embedding(classes, class_dim)
        condition = told + chunk
        blocks, self.stage_of = [], []
        size = 4
        for stage, (a, b) in enumerate(zip(channels, channels[1:])):
            if deep:
                new = [DeepGeneratorBlock(a, a, False, condition, mixing,
                                          style),
                       DeepGeneratorBlock(a, b, True, condition, mixing,
                                          style)]
            else:
                new = [GeneratorBlock(a, b, condition, style)]
            size *= 2
            if size == attention_size:
                new.append(Attention(b, style))
            blocks += new
            self.stage_of += [stage] * len(new)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.BatchNorm2d(channels[-1], eps=style.bn_eps)
        self.conv = style.conv(channels[-1], image_channels, 3)

    def forward(self, z, labels=None):
        if not self.classes:
            told = z[:, :0]
        elif hasattr(self, "shared"):
            told = self.shared(labels)
        else:
            told = F.one_hot(labels, self.classes).to(z.dtype)
        if self.noise_use == "linear":
            pieces = [z] + [z[:, :0]] * (self.parts - 1)
        elif self.noise_use == "chunks":
            pieces = torch.chunk(z, self.parts, dim=1)
        else:
            pieces = [torch.cat([told, z], 1)] + [z] * (self.parts - 1)
        x = self.linear(pieces[0]).reshape(z.shape[0], -1, 4, 4)
        for stage, block in zip(self.stage_of, self.blocks):
            x = block(x, torch.cat([told, pieces[stage + 1]], 1))
        return torch.tanh(self.conv(F.relu(self.norm(x))))


class DiscriminatorBlock(nn.Module):
    def __init__(self, a, b, halve, first, rectified, style):
        super().__init__()
        self.halve, self.first, self.rectified = halve, first, rectified
        self.conv1 = style.conv(a, b, 3)
        self.conv2 = style.conv(b, b, 3)
        if halve or a != b:
            self.shortcut = style.conv(a, b, 1)

    def forward(self, x):
        h = x if self.first else F.relu(x)
        s = h if self.rectified else x
        h = self.conv2(F.relu(self.conv1(h)))
        if hasattr(self, "shortcut"):
            s = self.shortcut(s)
        return down(h) + down(s) if self.halve else h + s


class DeepDiscriminatorBlock(nn.Module):
    def __init__(self, a, b, halve, mixing, rectified, style):
        super().__init__()
        self.halve, self.mixing, self.rectified = halve, mixing, rectified
        h = b // 4
        self.conv1 = style.conv(a, h, 1)
        self.conv2 = style.conv(h, h, 3)
        self.conv3 = style.conv(h, h, 3)
        self.conv4 = style.conv(h, b, 1)
        if mixing and (halve or a != b):
            self.shortcut = style.conv(a, b, 1)
        elif not mixing and a != b:
            self.shortcut = style.conv(a, b - a, 1)

    def forward(self, x):
        h = F.relu(x)
        s = h if self.rectified else x
        h = self.conv3(F.relu(self.conv2(F.relu(self.conv1(h)))))
        if not self.halve:
            h = F.relu(h)
        else:  # StudioGAN's own form pools first
            h = F.relu(down(h)) if self.mixing else down(F.relu(h))
            s = down(s)
        if hasattr(self, "shortcut"):
            mixed = self.shortcut(s)
            s = mixed if self.mixing else torch.cat([s, mixed], 1)
        return self.conv4(h) + s


class Discriminator(nn.Module):
    """channels: after each block, and if deep also after the first convolution.
    embedding_dim: dimension of a contrastive head, or 0 for projection."""

    def __init__(self, channels, halvings, size, image_channels, style,
                 classes=0, embedding_dim=0, rectified=False,
                 attention_size=0, deep=False, mixing=False):
        super().__init__()
        blocks, a = [], image_channels
        if deep:
            blocks.append(style.conv(image_channels, channels[0], 3))
            a, channels = channels[0], channels[1:]
        for i, b in enumerate(channels):
            halve = i < halvings
            if deep:
                blocks += [
                    DeepDiscriminatorBlock(a, b, halve, mixing, rectified,
                                           style),
                    DeepDiscriminatorBlock(b, b, False, mixing, rectified,
                                           style)]
            else:
                blocks.append(DiscriminatorBlock(a, b, halve, i == 0,
                                                 rectified, style))
            if halve:
                size //= 2
                if size == attention_size:
                    blocks.append(Attention(b, style))
            a = b
        self.blocks = nn.Sequential(*blocks)
        self.linear = style.linear(a, 1)
        if embedding_dim:
            self.linear2 = style.linear(a, embedding_dim)
            self.embedding = style.embedding(classes, embedding_dim)
        elif classes:
            self.embedding = style.embedding(classes, a)

    def forward(self, x, labels=None):
        h = F.relu(self.blocks(x)).sum(dim=(2, 3))
        logits = self.linear(h)[:, 0]
        if hasattr(self, "linear2"):
            embeddings = F.normalize(self.linear2(h), dim=1)
            table = self.embedding(torch.arange(self.embedding.num_embeddings))
            return torch.cat([logits, embeddings.flatten(),
                              F.normalize(table, dim=1).flatten()])
        if hasattr(self, "embedding"):
            logits = logits + (self.embedding(labels) * h).sum(1)
        return logits


# name: (classes, size, generator, discriminator); one image channel, batches
# of 3.
def _sn(bn_eps=1e-4):
    return Style(True, 1e-6, bn_eps)


CASES = {
    "sngan_classes": (
        3, 32,
        lambda: Generator([8] * 4, 6, 1, Style(False, 0, 2e-5), 3,
                          noise_use="linear"),
        lambda: Discriminator([4] * 4, 2, 32, 1, Style(True, 1e-12), 3)),
    "sagan": (
        3, 32,
        lambda: Generator([16] * 4, 6, 1, _sn(), 3, noise_use="linear",
                          attention_size=16),
        lambda: Discriminator([8] * 4, 2, 32, 1, _sn(), 3,
                              attention_size=16)),
    "biggan": (
        3, 32,
        lambda: Generator([16] * 4, 8, 1, _sn(), 3, 5, attention_size=16),
        lambda: Discriminator([8] * 4, 2, 32, 1, _sn(), 3,
                              attention_size=16)),
    "biggan_plain": (
        0, 32,
        lambda: Generator([4] * 4, 8, 1, _sn()),
        lambda: Discriminator([4] * 4, 2, 32, 1, _sn())),
    "contragan": (
        3, 32,
        lambda: Generator([8] * 4, 8, 1, _sn(), 3, 5),
        lambda: Discriminator([4] * 4, 2, 32, 1, _sn(), 3, embedding_dim=6,
                              rectified=True)),
    "biggan_deep": (
        3, 32,
        lambda: Generator([8] * 4, 6, 1, _sn(), 3, 5, noise_use="everywhere",
                          attention_size=16, deep=True),
        lambda: Discriminator([8] * 4, 2, 32, 1, _sn(), 3, attention_size=16,
                              deep=True)),
    "biggan_deep_mixing": (
        3, 32,
        lambda: Generator([8] * 4, 6, 1, _sn(), 3, 5, noise_use="everywhere",
                          attention_size=16, deep=True, mixing=True),
        lambda: Discriminator([2, 8, 8, 8], 2, 32, 1, _sn(), 3,
                              embedding_dim=6, rectified=True,
                              attention_size=16, deep=True, mixing=True)),
}
