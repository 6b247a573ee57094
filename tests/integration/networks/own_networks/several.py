# SPDX-License-Identifier: Apache-2.0
"""Discriminators that return several outputs."""
import mlp
from torch import nn
from torch.nn import functional


class Twice(mlp.Discriminator):
    """The mean over the outputs equals the output bit for bit."""

    def forward(self, images):
        logits = super().forward(images)
        return [logits, logits]


class Scales(nn.Module):
    """A map of logits at each of three scales, with dropout."""

    def __init__(self, width=4):
        super().__init__()
        self.scales = nn.ModuleList(nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.LeakyReLU(0.2),
            nn.Dropout(0.1), nn.Conv2d(width, 1, 3, padding=1))
            for _ in range(3))

    def forward(self, images):
        return tuple(scale(functional.avg_pool2d(images, 2 ** i))
                     for i, scale in enumerate(self.scales))
