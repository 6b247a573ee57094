# SPDX-License-Identifier: Apache-2.0
"""Networks with one fault each, and one without faults."""
import torch
from torch import nn

from gandem import _network

SHARED = nn.Parameter(torch.zeros(()))


class Good(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.main = nn.Linear(64, 1)

    def forward(self, images):
        return self.main(images.flatten(1))


class ReturnsNone(Good):
    def forward(self, images):
        self.main(images.flatten(1))


class ReturnsFeatures(Good):
    def forward(self, images):
        return super().forward(images), [images]


class ReturnsADict(Good):
    def forward(self, images):
        return {"logits": super().forward(images)}


class WantsMore(Good):
    def forward(self, images, others, strength=1.0):
        return strength * super().forward(images) - super().forward(others)


class ReturnsNothing(Good):
    def forward(self, images):
        return []


class OneIsDetached(Good):
    def forward(self, images):
        return [super().forward(images), super().forward(images).detach()]


class Detached(Good):
    def forward(self, images):
        return super().forward(images).detach()


class OneForAll(Good):
    def forward(self, images):
        return super().forward(images).mean()


class Infinite(Good):
    def forward(self, images):
        return super().forward(images) / 0


class NeedsAnArgument(Good):
    def __init__(self, depth):
        super().__init__()
        self.depth = depth


class Shares(Good):
    def __init__(self):
        super().__init__()
        self.offset = SHARED

    def forward(self, images):
        return super().forward(images) + self.offset


class LoopsForEver(Good):
    def __init__(self):
        super().__init__()
        _network.FIRST_PASS_SECONDS = 1

    def forward(self, images):
        while True:
            pass


class Empty(nn.Module):
    def forward(self, images):
        return images.sum((1, 2, 3))


class Complex(Good):
    def __init__(self):
        super().__init__()
        self.phase = nn.Parameter(torch.zeros(3, dtype=torch.complex64))


class Raises(Good):
    def forward(self, images):
        return self.looks_wrong(images)

    def looks_wrong(self, images):
        raise ValueError("this network does not like images")


class RaisesLater(Good):
    passes = 0

    def forward(self, images):
        RaisesLater.passes += 1
        if RaisesLater.passes > 20:
            raise ValueError("twenty passes are enough")
        return super().forward(images)


def no_module():
    return 3
