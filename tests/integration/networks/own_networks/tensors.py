# SPDX-License-Identifier: Apache-2.0
"""Networks that share tensors, use tensors that they do not own, or add and remove
tensors; each with a valid counterpart."""
import random

import torch
from torch import nn
from torch.nn import functional

BASE = nn.Linear(64, 64)
FROZEN = nn.Sequential(nn.Linear(64, 64), nn.ReLU()).requires_grad_(False)
NORM = nn.BatchNorm1d(64, affine=False)
SCALE = nn.Parameter(torch.ones(64))
BLUR = torch.full((64,), 0.5)
RELU = nn.ReLU()


class Good(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Flatten(), nn.Linear(64, 1))

    def forward(self, images):
        return self.main(images)


# --- tensors of the file


class SharedBase(Good):
    def __init__(self):
        super().__init__()
        self.base = BASE

    def forward(self, images):
        return super().forward(self.base(images.flatten(1)))


class SharedNorm(SharedBase):
    def __init__(self):
        super().__init__()
        self.base = NORM


class SharedFrozen(SharedBase):
    def __init__(self):
        super().__init__()
        self.base = FROZEN


class SharedConstant(Good):
    def __init__(self):
        super().__init__()
        self.register_buffer("blur", BLUR)
        self.relu = RELU

    def forward(self, images):
        return super().forward(self.relu(images.flatten(1) * self.blur))


# --- tensors that a network uses but does not own


class HiddenList(Good):
    def __init__(self):
        super().__init__()
        self.hidden = [nn.Linear(64, 64)]

    def forward(self, images):
        return super().forward(self.hidden[0](images.flatten(1)))  # HiddenList


class HiddenParameter(Good):
    def forward(self, images):
        return super().forward(images.flatten(1) * SCALE)  # HiddenParameter


class MadeInForward(Good):
    def forward(self, images):
        return super().forward(nn.Linear(64, 64)(images.flatten(1)))


class HiddenNorm(Good):
    def forward(self, images):
        return super().forward(NORM(images.flatten(1)))  # HiddenNorm


class HiddenFrozen(Good):  # constant, so it need not be saved
    def forward(self, images):
        return super().forward(RELU(FROZEN(images.flatten(1))))


class InnerGradient(Good):  # a leaf that is not a weight
    def forward(self, images):
        x = images.flatten(1).detach().requires_grad_(True)
        slope, = torch.autograd.grad(functional.softplus(x).sum(), x,
                                     create_graph=True)
        return super().forward(images.flatten(1) * slope)


class KeepsState(Good):
    last = 0

    def forward(self, images):
        now = super().forward(images)
        self.last, before = now.detach(), self.last
        return now + before


class DrawsElsewhere(Good):
    def forward(self, images):
        return super().forward(images + random.random())


# --- tensors that appear or vanish in pass 9


class Changing(Good):
    passes = 0

    def forward(self, images):
        self.passes += 1
        if self.passes == 9:
            self.change(images)
        return super().forward(images)


class AddsALayer(Changing):
    def change(self, images):
        self.extra = nn.Linear(1, 1)


class AddsABuffer(Changing):
    def change(self, images):
        self.register_buffer("mean", images.mean().detach())


class AddsAnActivation(Changing):
    def change(self, images):
        self.extra = nn.ReLU()


class Removes(Changing):
    def change(self, images):
        self.main[1].bias = None


class Replaces(Changing):
    def change(self, images):
        self.main[1].weight = nn.Parameter(self.main[1].weight.detach().clone())


class Clamps(Changing):
    def change(self, images):
        with torch.no_grad():
            self.main[1].weight.clamp_(-0.05, 0.05)


class ChangesItsInput(Changing):
    def change(self, images):
        images.detach().mul_(2)


class Freezes(Changing):
    def change(self, images):
        self.main[1].weight.requires_grad_(False)


class SwapsData(Changing):  # the same parameter
    def change(self, images):
        self.main[1].weight.data = self.main[1].weight.data.clone()


class GrowsAtOnce(Good):
    def forward(self, images):
        if not hasattr(self, "extra"):
            self.extra = nn.Parameter(torch.zeros(1))
        return super().forward(images) + self.extra


# --- layers


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(),
            nn.Dropout(0.3), nn.LazyLinear(1))

    def forward(self, images):
        return self.main(images)


class LazyUnused(Lazy):
    def __init__(self):
        super().__init__()
        self.extra = nn.LazyLinear(1)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Flatten(), nn.Linear(64, 8),
                                  nn.BatchNorm1d(8), nn.Linear(8, 1))

    def forward(self, images):
        return self.main(images)


class Unused(Good):
    def __init__(self):
        super().__init__()
        self.forgotten = nn.Linear(3, 3)
