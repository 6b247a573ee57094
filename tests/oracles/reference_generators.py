# SPDX-License-Identifier: Apache-2.0
"""Generators of published code, rewritten with the same modules, names and
constants.

    python tests/oracles/reference_generators.py tests/goldens

Needs torch==2.11.0 and safetensors. Writes reference_names/<case>.safetensors:

    state.<tensor>   the class's whole state dict
    noise, labels    the inputs; labels only for conditional networks
    images           the outputs in evaluation mode
"""
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import spectral_norm

STUDIOGAN_EPS = 1e-4  # for batch norm; 1e-6 for spectral norm


def _norm(channels, affine=True):
    return nn.BatchNorm2d(channels, eps=STUDIOGAN_EPS, affine=affine)


class ConditionalNorm(nn.Module):
    """PyTorch-StudioGAN, ops.ConditionalBatchNorm2d."""

    def __init__(self, condition, channels, wrap):
        super().__init__()
        self.bn = _norm(channels, affine=False)
        self.gain = wrap(nn.Linear(condition, channels, bias=False))
        self.bias = wrap(nn.Linear(condition, channels, bias=False))

    def forward(self, x, condition):
        gain = 1 + self.gain(condition)[:, :, None, None]
        return self.bn(x) * gain + self.bias(condition)[:, :, None, None]


class Attention(nn.Module):
    """PyTorch-StudioGAN, ops.SelfAttention."""

    def __init__(self, channels, wrap):
        super().__init__()

        def conv(a, b):
            return wrap(nn.Conv2d(a, b, 1, bias=False))

        self.conv1x1_theta = conv(channels, channels // 8)
        self.conv1x1_phi = conv(channels, channels // 8)
        self.conv1x1_g = conv(channels, channels // 2)
        self.conv1x1_attn = conv(channels // 2, channels)
        self.sigma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        n, _, height, width = x.shape
        theta = self.conv1x1_theta(x).flatten(2)
        phi = F.max_pool2d(self.conv1x1_phi(x), 2).flatten(2)
        g = F.max_pool2d(self.conv1x1_g(x), 2).flatten(2)
        attention = torch.softmax(theta.transpose(1, 2) @ phi, dim=-1)
        mixed = (g @ attention.transpose(1, 2)).view(n, -1, height, width)
        return x + self.sigma * self.conv1x1_attn(mixed)


class StudioganBlock(nn.Module):

    def __init__(self, a, b, condition, wrap):
        super().__init__()
        self.conditional = condition > 0
        for name, channels in (("bn1", a), ("bn2", b)):
            self.add_module(name, ConditionalNorm(condition, channels, wrap)
                            if self.conditional else _norm(channels))
        self.conv2d0 = wrap(nn.Conv2d(a, b, 1))
        self.conv2d1 = wrap(nn.Conv2d(a, b, 3, padding=1))
        self.conv2d2 = wrap(nn.Conv2d(b, b, 3, padding=1))

    def forward(self, x, condition):
        told = (condition,) if self.conditional else ()
        h = F.interpolate(F.relu(self.bn1(x, *told)), scale_factor=2)
        h = self.conv2d2(F.relu(self.bn2(self.conv2d1(h), *told)))
        return h + self.conv2d0(F.interpolate(x, scale_factor=2))


class StudioganResnet(nn.Module):
    """PyTorch-StudioGAN, resnet.Generator, or big_resnet.Generator if `shared` is
    above 0. `channels` are those of the first layer and of each block."""

    def __init__(self, z, channels, classes=0, shared=0, spectral=False,
                 attention_after=0):
        super().__init__()

        def wrap(layer):
            return spectral_norm(layer, eps=1e-6) if spectral else layer

        self.classes, self.first = classes, channels[0]
        blocks = len(channels) - 1
        self.chunk = z // (blocks + 1) if shared else z
        self.linear0 = wrap(nn.Linear(self.chunk, channels[0] * 16))
        if shared:
            self.shared = nn.Embedding(classes, shared)
        condition = shared + self.chunk if shared else classes
        self.blocks = nn.ModuleList()
        for i in range(blocks):
            self.blocks.append(nn.ModuleList([StudioganBlock(
                channels[i], channels[i + 1], condition, wrap)]))
            if i + 1 == attention_after:
                self.blocks.append(nn.ModuleList(
                    [Attention(channels[i + 1], wrap)]))
        self.bn4 = _norm(channels[-1])
        self.conv2d5 = wrap(nn.Conv2d(channels[-1], 3, 3, padding=1))

    def forward(self, z, labels=None):
        parts = torch.split(z, self.chunk, 1)
        conditions = []
        if hasattr(self, "shared"):
            embedded = self.shared(labels)
            conditions = [torch.cat([embedded, p], 1) for p in parts[1:]]
        elif self.classes:
            conditions = [F.one_hot(labels, self.classes).float()] * 9
        x = self.linear0(parts[0]).view(-1, self.first, 4, 4)
        used = 0
        for (block,) in self.blocks:
            if isinstance(block, Attention):
                x = block(x)
            else:
                x = block(x, conditions[used] if conditions else None)
                used += 1
        return torch.tanh(self.conv2d5(F.relu(self.bn4(x))))


class StudioganDeepConv(nn.Module):
    """PyTorch-StudioGAN, deep_conv.Generator."""

    class Block(nn.Module):

        def __init__(self, a, b):
            super().__init__()
            self.deconv0 = nn.ConvTranspose2d(a, b, 4, 2, 1)
            self.bn0 = _norm(b)

        def forward(self, x):
            return F.relu(self.bn0(self.deconv0(x)))

    def __init__(self, z):
        super().__init__()
        self.linear0 = nn.Linear(z, 512 * 16)
        self.blocks = nn.ModuleList(
            nn.ModuleList([self.Block(512 >> i, 256 >> i)]) for i in range(3))
        self.conv4 = nn.Conv2d(64, 3, 3, padding=1)

    def forward(self, z):
        x = self.linear0(z).view(-1, 512, 4, 4)
        for (block,) in self.blocks:
            x = block(x)
        return torch.tanh(self.conv4(x))


class MimicrySngan(nn.Module):
    """mimicry, nets.sngan: ResNetGenerator32, 48, 64 and 128."""

    class Block(nn.Module):

        def __init__(self, a, b):
            super().__init__()
            self.c1 = nn.Conv2d(a, b, 3, 1, 1)
            self.c2 = nn.Conv2d(b, b, 3, 1, 1)
            self.b1 = nn.BatchNorm2d(a)
            self.b2 = nn.BatchNorm2d(b)
            self.c_sc = nn.Conv2d(a, b, 1)

        def forward(self, x):
            def up(y):
                return F.interpolate(y, scale_factor=2, mode="bilinear",
                                     align_corners=False)

            h = self.c1(up(F.relu(self.b1(x))))
            return self.c2(F.relu(self.b2(h))) + self.c_sc(up(x))

    def __init__(self, z, channels, bottom=4):
        super().__init__()
        self.bottom, self.last = bottom, len(channels) + 1
        self.l1 = nn.Linear(z, channels[0] * bottom**2)
        for i in range(len(channels) - 1):
            self.add_module(f"block{i + 2}",
                            self.Block(channels[i], channels[i + 1]))
        self.add_module(f"b{self.last}", nn.BatchNorm2d(channels[-1]))
        self.add_module(f"c{self.last}", nn.Conv2d(channels[-1], 3, 3, 1, 1))

    def forward(self, z):
        x = self.l1(z).view(z.shape[0], -1, self.bottom, self.bottom)
        for i in range(2, self.last):
            x = getattr(self, f"block{i}")(x)
        x = F.relu(getattr(self, f"b{self.last}")(x))
        return torch.tanh(getattr(self, f"c{self.last}")(x))


class ExamplesDcgan(nn.Module):
    """pytorch/examples, dcgan."""

    def __init__(self, z, width, channels):
        super().__init__()
        layers, last = [], z
        for i, factor in enumerate((8, 4, 2, 1)):
            layers += [nn.ConvTranspose2d(last, width * factor, 4,
                                          2 if i else 1, 1 if i else 0,
                                          bias=False),
                       nn.BatchNorm2d(width * factor), nn.ReLU(True)]
            last = width * factor
        self.main = nn.Sequential(
            *layers, nn.ConvTranspose2d(width, channels, 4, 2, 1, bias=False),
            nn.Tanh())

    def forward(self, z):
        return self.main(z[:, :, None, None])


class PytorchGan(nn.Module):
    """PyTorch-GAN, implementations/gan."""

    def __init__(self, z, channels, size):
        super().__init__()
        self.shape = (channels, size, size)
        layers, last = [], z
        for width in (128, 256, 512, 1024):
            layers.append(nn.Linear(last, width))
            if last != z:
                layers.append(nn.BatchNorm1d(width, 0.8))
            layers.append(nn.LeakyReLU(0.2, inplace=True))
            last = width
        self.model = nn.Sequential(
            *layers, nn.Linear(last, channels * size * size), nn.Tanh())

    def forward(self, z):
        return self.model(z).view(-1, *self.shape)


# name: (noise, classes, network)
CASES = {
    "studiogan_sngan":
        (5, 0, lambda: StudioganResnet(5, [4, 4, 4, 4])),
    "studiogan_sngan_classes":
        (5, 3, lambda: StudioganResnet(5, [4, 4, 4, 4], classes=3)),
    "studiogan_sagan":
        (5, 3, lambda: StudioganResnet(5, [16, 16, 16, 16], classes=3,
                                       spectral=True, attention_after=2)),
    "studiogan_biggan":
        (8, 3, lambda: StudioganResnet(8, [16, 16, 16, 16], classes=3,
                                       shared=5, spectral=True,
                                       attention_after=2)),
    "mimicry_sngan": (5, 0, lambda: MimicrySngan(5, [16, 8, 4, 2, 1])),
    "mimicry_sngan_48": (5, 0, lambda: MimicrySngan(5, [8, 4, 2, 1], 6)),
    "examples_dcgan": (5, 0, lambda: ExamplesDcgan(5, 2, 3)),
}


def _randomize(network, generator):
    """Replaces all default values of 0 and 1, and lets the vectors of spectral
    norm converge."""
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 2, generator=generator)
            elif tensor.is_floating_point():
                tensor.normal_(0, 0.1, generator=generator)
                if tensor.dim() > 1:  # the noise must reach the images
                    tensor.mul_(10 / tensor[0].numel()**0.5)
                elif name.endswith("weight") or name.endswith("sigma"):
                    tensor.add_(1)
        for module in network.modules():
            if not hasattr(module, "weight_u"):
                continue
            matrix = module.weight_orig.flatten(1)
            u, _, v = torch.linalg.svd(matrix.double(), full_matrices=False)
            module.weight_u.copy_(u[:, 0])
            module.weight_v.copy_(v[0])


def write(folder):
    for name, (z, classes, make) in CASES.items():
        generator = torch.Generator().manual_seed(len(name))
        network = make().eval()
        _randomize(network, generator)
        noise = torch.randn(3, z, generator=generator)
        given = {"noise": noise}
        if classes:
            given["labels"] = torch.arange(3) % classes
        with torch.no_grad():
            images = network(*given.values())
        save_file({**given, "images": images,
                   **{f"state.{k}": v.clone()
                      for k, v in network.state_dict().items()}},
                  f"{folder}/reference_names/{name}.safetensors")


if __name__ == "__main__":
    write(sys.argv[1])
