# SPDX-License-Identifier: Apache-2.0
"""A generator that translates images. It starts as the identity, so that a pair of
an image with itself has distance 0."""
import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        self.main = nn.Conv2d(1, 1, 3, padding=1)
        with torch.no_grad():
            self.main.weight.zero_()
            self.main.weight[0, 0, 1, 1] = scale
            self.main.bias.zero_()

    def forward(self, inputs):
        return self.main(inputs)


class Half(Generator):
    def __init__(self):
        super().__init__(scale=0.5)
