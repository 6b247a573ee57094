# SPDX-License-Identifier: Apache-2.0
"""`dcgan` (PyTorch's example) and `sndcgan` (the standard CNN of Miyato et al.
2018, table 3, for 32 pixels) in torch.nn alone, with the tensor names of
models/families."""
from torch import nn
from torch.nn.utils import spectral_norm


def widths(smallest, factor):
    return [(factor >> i) * smallest for i in range(factor.bit_length())]


class Dcgan(nn.Module):
    """Generator."""

    def __init__(self, width=64, channels=1, noise_dim=8, image_size=32):
        super().__init__()
        sizes = widths(width, image_size // 8)
        layers = [nn.ConvTranspose2d(noise_dim, sizes[0], 4, 1, 0, bias=False)]
        for wide, narrow in zip(sizes, sizes[1:] + [channels]):
            layers += [nn.BatchNorm2d(wide), nn.ReLU(),
                       nn.ConvTranspose2d(wide, narrow, 4, 2, 1, bias=False)]
        self.main = nn.Sequential(*layers, nn.Tanh())

    def forward(self, noise):
        return self.main(noise[:, :, None, None])


class DcganJudge(nn.Module):
    def __init__(self, width=64, channels=1, image_size=32):
        super().__init__()
        sizes = widths(width, image_size // 8)[::-1]
        layers = [nn.Conv2d(channels, width, 4, 2, 1, bias=False),
                  nn.LeakyReLU(0.2)]
        for narrow, wide in zip(sizes, sizes[1:]):
            layers += [nn.Conv2d(narrow, wide, 4, 2, 1, bias=False),
                       nn.BatchNorm2d(wide), nn.LeakyReLU(0.2)]
        self.main = nn.Sequential(
            *layers, nn.Conv2d(sizes[-1], 1, 4, 1, 0, bias=False))

    def forward(self, images):
        return self.main(images).flatten()


class Sndcgan(nn.Module):
    """Generator."""

    def __init__(self, width=64, channels=1, noise_dim=8):
        super().__init__()
        sizes = widths(width, 8)
        self.linear = nn.Linear(noise_dim, sizes[0] * 16)
        layers = []
        for wide, narrow in zip(sizes, sizes[1:]):
            layers += [nn.ConvTranspose2d(wide, narrow, 4, 2, 1),
                       nn.BatchNorm2d(narrow, eps=1e-4), nn.ReLU()]
        self.main = nn.Sequential(
            *layers, nn.Conv2d(width, channels, 3, 1, 1), nn.Tanh())

    def forward(self, noise):
        x = self.linear(noise)
        return self.main(x.view(x.shape[0], -1, 4, 4))


class SndcganJudge(nn.Module):
    def __init__(self, width=64, channels=1):
        super().__init__()
        layers = []

        def add(before, after, *shape):
            layers.append(spectral_norm(nn.Conv2d(before, after, *shape),
                                        eps=1e-6))
            layers.append(nn.ReLU())

        before = channels
        for after in (width, 2 * width, 4 * width):
            add(before, after, 3, 1, 1)
            add(after, after, 4, 2, 1)
            before = after
        add(before, 8 * width, 3, 1, 1)
        self.main = nn.Sequential(*layers)
        self.linear = spectral_norm(nn.Linear(8 * width, 1), eps=1e-6)

    def forward(self, images):
        return self.linear(self.main(images).sum((2, 3)))
