# SPDX-License-Identifier: Apache-2.0
"""The networks of mlp.py with labels, which are appended to each row as numbers."""
import mlp
import torch
from torch import nn
from torch.nn import functional


def with_labels(rows, labels):
    return torch.cat([rows, functional.one_hot(labels, 10).to(rows.dtype)], 1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(*mlp.stack([18, 32, 32, 64]), nn.Tanh())
        mlp.draw(self, 1, 0)

    def forward(self, noise, labels):
        return self.main(with_labels(noise, labels)).view(-1, 1, 8, 8)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(*mlp.stack([74, 32, 32, 1]))
        mlp.draw(self, 1, mlp.DISCRIMINATOR)

    def forward(self, images, labels):
        return self.main(with_labels(images.flatten(1), labels))
