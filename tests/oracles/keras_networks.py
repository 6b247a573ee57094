# SPDX-License-Identifier: Apache-2.0
"""The reference report's Keras networks, and PyTorch-GAN's MLP, in PyTorch's
own modules (see networks.py), without dropout."""
from torch import nn
from torch.nn.utils import spectral_norm

from networks import Generator


class PixelNorm(nn.LayerNorm):
    """Layer norm over the channels of NCHW, like Keras' on axis -1."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def _batch_norm(c):
    return nn.BatchNorm2d(c, eps=0.8, momentum=0.9)


class KerasGenerator(Generator):

    def __init__(self, form, noise_dim, w, channels):
        super().__init__(noise_dim)
        sn = form == "SNGAN"
        self.linear = nn.Linear(noise_dim, 2 * w)
        widths = [2 * w, 8 * w, 4 * w, 2 * w, w, channels]
        layers = []
        for i, (a, b) in enumerate(zip(widths, widths[1:])):
            conv = nn.ConvTranspose2d(a, b, 4, 4 if i == 0 else 2,
                                      0 if i == 0 else 1)
            layers += [spectral_norm(conv, eps=1e-12) if sn else conv]
            if i == 4:
                break
            if not sn or i == 2:
                layers += [_batch_norm(b)]
            layers += [nn.LeakyReLU(0.2)]
        self.main = nn.Sequential(*layers, nn.Tanh())

    def forward(self, z):
        return self.main(self.linear(z)[:, :, None, None])


class KerasDiscriminator(nn.Module):

    def __init__(self, form, w, channels):
        super().__init__()

        def conv(a, b, sn=False):
            layer = nn.Conv2d(a, b, 4, 2, 1)
            return spectral_norm(layer, eps=1e-12) if sn else layer

        def hidden(a, b):
            layers = [conv(a, b, form == "SNGAN")]
            if form == "DCGAN":
                layers += [_batch_norm(b)]
            if form == "WGAN_GP":
                layers += [PixelNorm(b, eps=1e-3)]
            return [*layers, nn.LeakyReLU(0.2)]

        layers = [conv(channels, w), nn.LeakyReLU(0.2),
                  *hidden(w, 2 * w), *hidden(2 * w, 4 * w)]
        if form == "SNGAN":
            layers += [conv(4 * w, 8 * w), *hidden(8 * w, 4 * w)]
        else:
            layers += hidden(4 * w, 8 * w)
        self.main = nn.Sequential(*layers)
        self.linear = nn.Linear(16 * w if form == "SNGAN" else 128 * w, 1)

    def forward(self, x):
        return self.linear(self.main(x).flatten(1))[:, 0]


class PytorchGanGenerator(Generator):

    def __init__(self, noise_dim, hidden, channels, size):
        super().__init__(noise_dim)
        self.shape = (channels, size, size)
        layers = [nn.Linear(noise_dim, hidden[0]), nn.LeakyReLU(0.2)]
        for a, b in zip(hidden, hidden[1:]):
            layers += [nn.Linear(a, b), nn.BatchNorm1d(b, 0.8),
                       nn.LeakyReLU(0.2)]
        layers += [nn.Linear(hidden[-1], channels * size * size), nn.Tanh()]
        self.main = nn.Sequential(*layers)

    def forward(self, z):
        return self.main(z).reshape(-1, *self.shape)
