# SPDX-License-Identifier: Apache-2.0
"""Networks with common features: batch norm, dropout, both kinds of spectral norm,
their own noise, a buffer that code replaces, a frozen parameter, an autograd
Function."""
import torch
from torch import nn
from torch.nn.utils import spectral_norm as old_spectral_norm
from torch.nn.utils.parametrizations import spectral_norm


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        s = torch.sigmoid(x)
        return gradient * (s + x * s * (1 - s))


class Generator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first = nn.Linear(8, width)
        self.norm = nn.BatchNorm1d(width)
        self.last = nn.Linear(width, 64)
        self.strength = nn.Parameter(torch.zeros(width))

    def forward(self, noise):
        x = Swish.apply(self.norm(self.first(noise)))
        x = x + self.strength * torch.randn_like(x)
        return torch.tanh(self.last(x)).view(-1, 1, 8, 8)


class Discriminator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.main = nn.Sequential(
            spectral_norm(nn.Linear(64, width)), nn.LeakyReLU(0.2),
            nn.Dropout(0.3), old_spectral_norm(nn.Linear(width, width)),
            nn.LeakyReLU(0.2), nn.Linear(width, 1))
        self.scale = nn.Parameter(torch.full((1,), 2.0), requires_grad=False)
        self.register_buffer("mean", torch.zeros(64))

    def forward(self, images):
        x = images.flatten(1)
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return self.scale * self.main(x - self.mean)
