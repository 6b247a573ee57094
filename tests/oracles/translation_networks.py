# SPDX-License-Identifier: Apache-2.0
"""pix2pix's networks without dropout (see networks.py). The U-Net is recursive,
like the paper's figure. forward() takes the input image as its second argument."""
import torch
from torch import nn
from torch.nn import functional as F

from networks import Generator


class UnetGenerator(Generator):

    def __init__(self, w, levels, in_channels, out_channels):
        super().__init__(1)
        self.levels = levels
        channels = [w * min(8, 2**i) for i in range(levels)]
        for i, c in enumerate(channels):
            last = i == levels - 1
            a = channels[i - 1] if i else in_channels
            down = [nn.Conv2d(a, c, 4, 2, 1, bias=False)]
            if 0 < i and not last:
                down += [nn.BatchNorm2d(c)]
            setattr(self, f"down{i}", nn.Sequential(*down))
            b = channels[i - 1] if i else out_channels
            up = [nn.ConvTranspose2d(c if last else 2 * c, b, 4, 2, 1,
                                     bias=i == 0)]
            if i > 0:
                up += [nn.BatchNorm2d(b)]
            setattr(self, f"up{i}", nn.Sequential(*up))

    def _level(self, i, x):
        """Maps the features above level i through this level and all below."""
        below = getattr(self, f"down{i}")(x)
        if i < self.levels - 1:
            deeper = self._level(i + 1, F.leaky_relu(below, 0.2))
            below = torch.cat([below, deeper], dim=1)
        return getattr(self, f"up{i}")(F.relu(below))

    def forward(self, z, image):
        return torch.tanh(self._level(0, image))


class PatchDiscriminator(nn.Module):

    def __init__(self, w, in_channels, out_channels):
        super().__init__()
        layers = [nn.Conv2d(in_channels + out_channels, w, 4, 2, 1),
                  nn.LeakyReLU(0.2)]
        for a, stride in [(w, 2), (2 * w, 2), (4 * w, 1)]:
            layers += [nn.Conv2d(a, 2 * a, 4, stride, 1, bias=False),
                       nn.BatchNorm2d(2 * a), nn.LeakyReLU(0.2)]
        self.main = nn.Sequential(*layers, nn.Conv2d(8 * w, 1, 4, 1, 1))

    def forward(self, x, image):
        return self.main(torch.cat([image, x], dim=1))
