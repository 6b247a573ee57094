# SPDX-License-Identifier: Apache-2.0
"""DCGANs with kernels of 5x5 in PyTorch's own modules (see networks.py)."""
from torch import nn
from torch.nn import functional as F

from networks import Generator


class Crop(nn.Module):

    def forward(self, x):
        return x[:, :, :7, :7]


class ImageNorm(nn.Module):
    """Layer norm over channels and pixels with an affine pair for each channel:
    a group norm with one group, under the names weight and bias."""

    def __new__(cls, channels):
        return nn.GroupNorm(1, channels, eps=1e-5)


def same_padding(size, kernel=5, stride=2):
    """TensorFlow's SAME: number of zero rows before and after `size` rows."""
    out = -(-size // stride)
    total = max((out - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class SameConv(nn.Conv2d):

    def __init__(self, a, b):
        super().__init__(a, b, 5, 2)

    def forward(self, x):
        top, bottom = same_padding(x.shape[2])
        left, right = same_padding(x.shape[3])
        return super().forward(F.pad(x, (left, right, top, bottom)))


class SameConvTranspose(nn.ConvTranspose2d):
    """The transpose of a SameConv on images of twice the size; cuts off the rows
    that fall on the zeros."""

    def __init__(self, a, b):
        super().__init__(a, b, 5, 2)

    def forward(self, x):
        height, width = 2 * x.shape[2], 2 * x.shape[3]
        top, left = same_padding(height)[0], same_padding(width)[0]
        return super().forward(x)[:, :, top:top + height, left:left + width]


def _up(a, b, bias=True):
    return nn.ConvTranspose2d(a, b, 5, 2, 2, output_padding=1, bias=bias)


def _down(a, b, bias=True):
    return nn.Conv2d(a, b, 5, 2, 2, bias=bias)


class _Generator(Generator):

    def __init__(self, noise_dim, first, main):
        super().__init__(noise_dim)
        self.first = nn.Sequential(*first)
        self.main = nn.Sequential(*main, nn.Tanh())

    def forward(self, z):
        return self.main(self.first(z).reshape(len(z), -1, 4, 4))


class _Discriminator(nn.Module):

    def __init__(self, main, features, bias=True):
        super().__init__()
        self.main = nn.Sequential(*main)
        self.linear = nn.Linear(features, 1, bias=bias)

    def forward(self, x):
        return self.linear(self.main(x).flatten(1))[:, 0]


class WganGpGenerator(_Generator):

    def __init__(self, noise_dim, w, channels, size, same=False):
        up = SameConvTranspose if same else _up
        if size == 64:
            first = [nn.Linear(noise_dim, 8 * w * 16)]
            main = [nn.BatchNorm2d(8 * w), nn.ReLU()]
            for a, b in [(8 * w, 4 * w), (4 * w, 2 * w), (2 * w, w)]:
                main += [up(a, b), nn.BatchNorm2d(b), nn.ReLU()]
        elif size == 32:
            first = [nn.Linear(noise_dim, 4 * w * 16),
                     nn.BatchNorm1d(4 * w * 16), nn.ReLU()]
            main = []
            for a, b in [(4 * w, 2 * w), (2 * w, w)]:
                main += [up(a, b), nn.BatchNorm2d(b), nn.ReLU()]
        else:
            first = [nn.Linear(noise_dim, 4 * w * 16), nn.ReLU()]
            main = [up(4 * w, 2 * w), nn.ReLU(), Crop(), up(2 * w, w),
                    nn.ReLU()]
        super().__init__(noise_dim, first, [*main, up(w, channels)])


class WganGpDiscriminator(_Discriminator):

    def __init__(self, w, channels, size, same=False):
        down = SameConv if same else _down
        widths = [w, 2 * w, 4 * w] + ([8 * w] if size == 64 else [])
        main = [down(channels, w), nn.LeakyReLU(0.2)]
        for a, b in zip(widths, widths[1:]):
            norm = [ImageNorm(b)] if size == 64 else []
            main += [down(a, b), *norm, nn.LeakyReLU(0.2)]
        super().__init__(main, widths[-1] * 16)


class RadfordGenerator(_Generator):

    def __init__(self, noise_dim, w, channels):
        features = 8 * w * 16
        first = [nn.Linear(noise_dim, features, bias=False),
                 nn.BatchNorm1d(features), nn.ReLU()]
        main = []
        for a, b in [(8 * w, 4 * w), (4 * w, 2 * w), (2 * w, w)]:
            main += [_up(a, b, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
        super().__init__(noise_dim, first,
                         [*main, _up(w, channels, bias=False)])


class RadfordDiscriminator(_Discriminator):

    def __init__(self, w, channels):
        main = [_down(channels, w, bias=False), nn.LeakyReLU(0.2)]
        for a, b in [(w, 2 * w), (2 * w, 4 * w), (4 * w, 8 * w)]:
            main += [_down(a, b, bias=False), nn.BatchNorm2d(b),
                     nn.LeakyReLU(0.2)]
        super().__init__(main, 8 * w * 16, bias=False)
