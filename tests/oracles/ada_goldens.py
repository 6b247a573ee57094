# SPDX-License-Identifier: Apache-2.0
"""Adaptive discriminator augmentation (Karras et al. 2020, appendix B) in float64,
written from the paper without any code of gandem: filters are dense matrices,
transforms are products of homogeneous matrices, images are read value by value.

    python tests/oracles/ada_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. Writes ada.safetensors:

    <case>.images, .probe, .draws, .p     draws are uniform in [0, 1)
    <case>.seen, .gradient                the augmented images; the gradient of
                                          sum(probe * seen) by images
"""
import math
import sys

import torch
from safetensors.torch import save_file

# Symlet 6 (Daubechies 1992, table 6.3), from the first to the last tap.
SYMLET = torch.tensor([
    0.015404109327027373, 0.0034907120842174702, -0.11799011114819057,
    -0.048311742585633, 0.4910559419267466, 0.787641141030194,
    0.3379294217276218, -0.07263752278646252, -0.021060292512300564,
    0.04472490177066578, 0.0017677118642428036, -0.007800708325034148
], dtype=torch.float64)
LOW_PASS = SYMLET / SYMLET.sum()
TAPS = 12
EDGE = 2 * (TAPS // 4)  # the filters need this margin, in pixels


def check_filter():
    """Checks that it is orthogonal to its even shifts and has 6 vanishing moments."""
    for shift in range(6):
        product = (SYMLET[2 * shift:] * SYMLET[:TAPS - 2 * shift]).sum()
        assert abs(product - (1 if shift == 0 else 0)) < 1e-9
    n = torch.arange(TAPS, dtype=torch.float64)
    for moment in range(6):
        assert abs((SYMLET * (-1)**n * (n - 5.5)**moment).sum()) < 1e-5


# --- Parameters of images ---


def eye(size):
    return torch.eye(size, dtype=torch.float64)


def scale2(x, y):
    return torch.diag(torch.tensor([x, y, 1.0], dtype=torch.float64))


def rotate2(angle):
    m = eye(3)
    m[0, 0] = m[1, 1] = math.cos(angle)
    m[1, 0], m[0, 1] = math.sin(angle), -math.sin(angle)
    return m


def shift2(x, y):
    m = eye(3)
    m[0, 2], m[1, 2] = x, y
    return m


class Stream:

    def __init__(self, draws):
        self.rest = draws.tolist()

    def uniform(self):
        return self.rest.pop(0)

    def normals(self):
        u, v = self.uniform(), self.uniform()
        r = math.sqrt(-2 * math.log1p(-u))
        return r * math.cos(2 * math.pi * v), r * math.sin(2 * math.pi * v)

    def normal(self):
        return self.normals()[0]

    def angle(self):
        return (self.uniform() * 2 - 1) * math.pi


def half_even(x):
    return float(torch.round(torch.tensor(x, dtype=torch.float64)))


def parameters(draws, p, height, width):
    """The transform of the image's places and the 4x4 matrix of its colors, with
    hue and saturation apart."""
    s = Stream(draws)
    place = eye(3)  # forward transform of the image's content

    def maybe(matrix, probability=p):
        # The published program multiplies inverses from the right; this product
        # is the inverse of that.
        nonlocal place
        if s.uniform() < probability:
            place = matrix @ place

    maybe(scale2(1 - 2 * math.floor(s.uniform() * 2), 1))
    maybe(rotate2(-math.pi / 2 * math.floor(s.uniform() * 4)))
    tx = half_even((s.uniform() * 2 - 1) * 0.125 * width)
    ty = half_even((s.uniform() * 2 - 1) * 0.125 * height)
    maybe(shift2(tx, ty))
    factor = 2**(0.2 * s.normal())
    maybe(scale2(factor, factor))
    p_rotate = 1 - math.sqrt(1 - p)
    maybe(rotate2(-s.angle()), p_rotate)
    factor = 2**(0.2 * s.normal())
    maybe(scale2(factor, 1 / factor))
    maybe(rotate2(-s.angle()), p_rotate)
    tx, ty = s.normals()
    maybe(shift2(tx * 0.125 * width, ty * 0.125 * height))

    color = eye(4)
    axis = torch.tensor([1, 1, 1, 0], dtype=torch.float64) / math.sqrt(3)
    gray = torch.outer(axis, axis)

    def maybe_color(matrix):
        nonlocal color
        if s.uniform() < p:
            color = matrix @ color

    b = 0.2 * s.normal()
    brighter = eye(4)
    brighter[:3, 3] = b
    maybe_color(brighter)
    c = 2**(0.5 * s.normal())
    maybe_color(torch.diag(torch.tensor([c, c, c, 1], dtype=torch.float64)))
    maybe_color(eye(4) - 2 * gray * math.floor(s.uniform() * 2))
    luma = color
    angle = s.angle()
    cross = torch.zeros(4, 4, dtype=torch.float64)
    k = 1 / math.sqrt(3)
    cross[0, 1], cross[0, 2], cross[1, 2] = -k, k, -k
    cross = cross - cross.T
    rgb = torch.diag(torch.tensor([1, 1, 1, 0], dtype=torch.float64))
    # Rodrigues' formula around the axis of luma.
    turn = gray + math.cos(angle) * (rgb - gray) + math.sin(angle) * cross
    turn[3, 3] = 1
    maybe_color(turn)
    factor = 2**s.normal()
    saturate = gray + (rgb - gray) * factor
    saturate[3, 3] = 1
    maybe_color(saturate)
    assert not s.rest
    return place, color, luma


# --- One image ---


def reflected(before, size, after):
    """Matrix from a row of pixels to the row with reflections on both sides."""
    rows = []
    for i in range(-before, size + after):
        j = -i if i < 0 else 2 * (size - 1) - i if i >= size else i
        rows.append(eye(size)[j])
    return torch.stack(rows)


def doubling(size):
    """Pixel i spreads over doubled pixels 2 i - 5 ... 2 i + 6."""
    m = torch.zeros(2 * size, size, dtype=torch.float64)
    for i in range(size):
        for tap in range(TAPS):
            row = 2 * i + tap - 5
            if 0 <= row < 2 * size:
                m[row, i] = 2 * LOW_PASS[tap]
    return m


def halving(size):
    """The transpose of doubling, from a row that has 6 more doubled pixels on
    each side."""
    m = torch.zeros(size, 2 * size + 2 * EDGE, dtype=torch.float64)
    for i in range(size):
        for tap in range(TAPS):
            m[i, 2 * i + tap - 5 + EDGE] = LOW_PASS[tap]
    return m


def margins(source, height, width):
    """Left, top, right, bottom."""
    cx, cy = (width - 1) / 2, (height - 1) / 2
    corners = torch.tensor([[-cx, cx, cx, -cx], [-cy, -cy, cy, cy],
                            [1, 1, 1, 1]], dtype=torch.float64)
    x, y, _ = (source @ corners).tolist()
    far = [max(-v for v in x) - cx, max(-v for v in y) - cy, max(x) - cx,
           max(y) - cy]
    sides = [width, height, width, height]
    return [math.ceil(round(min(max(f + EDGE, 0), side - 1), 9))
            for f, side in zip(far, sides)]


def moved(image, place):
    channels, height, width = image.shape
    source = torch.linalg.inv(place)
    left, top, right, bottom = margins(source, height, width)
    rows = doubling(height + top + bottom) @ reflected(top, height, bottom)
    columns = doubling(width + left + right) @ reflected(left, width, right)
    large = rows @ image @ columns.T

    def value(x, y):
        """Bilinear; zero outside. x and y count doubled pixels."""
        x0, y0 = math.floor(x), math.floor(y)
        total = torch.zeros(channels, dtype=torch.float64)
        for yy, wy in ((y0, 1 - (y - y0)), (y0 + 1, y - y0)):
            for xx, wx in ((x0, 1 - (x - x0)), (x0 + 1, x - x0)):
                if 0 <= yy < large.shape[1] and 0 <= xx < large.shape[2]:
                    total = total + wy * wx * large[:, yy, xx]
        return total

    cx, cy = (width - 1) / 2, (height - 1) / 2
    seen = []
    for y in range(-EDGE, 2 * height + EDGE):
        for x in range(-EDGE, 2 * width + EDGE):
            # Doubled pixel 2 i is in the place of pixel i.
            at = source @ torch.tensor([x / 2 - cx, y / 2 - cy, 1],
                                       dtype=torch.float64)
            seen.append(value(float(2 * (at[0] + cx + left)),
                              float(2 * (at[1] + cy + top))))
    seen = torch.stack(seen, 1).view(channels, 2 * (height + EDGE),
                                     2 * (width + EDGE))
    return halving(height) @ seen @ halving(width).T


def augment(images, draws, p):
    out = []
    for image, row in zip(images, draws):
        place, color, luma = parameters(row, p, *image.shape[1:])
        # An image that does not move is not filtered either.
        y = image if place.equal(eye(3)) else moved(image, place)
        if y.shape[0] == 3:
            y = (torch.einsum("ck,khw->chw", color[:3, :3], y)
                 + color[:3, 3, None, None])
        else:
            row = luma[:3].mean(0)
            y = y * row[:3].sum() + row[3]
        out.append(y)
    return torch.stack(out)


# --- Cases ---

GATES = [1, 3, 6, 9, 11, 14, 16, 19, 22, 25, 27, 29, 32]
DRAWS = 33


def main(folder):
    torch.set_num_threads(1)
    check_filter()
    rng = torch.Generator().manual_seed(19)

    def rand(*shape):
        return torch.rand(*shape, generator=rng, dtype=torch.float64)

    # Every augmentation alone, then none.
    alone = rand(len(GATES) + 1, DRAWS)
    alone[:, GATES] = 0.9
    for i, gate in enumerate(GATES):
        alone[i, gate] = 0
    alone[0, 0], alone[10, 26] = 0.7, 0.7  # a flip, a luma flip
    cases = {
        "alone": (3, 9, 12, alone, 0.5),
        "some": (3, 8, 8, rand(6, DRAWS), 0.4),
        "all": (3, 12, 9, rand(4, DRAWS), 1.0),
        "gray": (1, 8, 10, rand(4, DRAWS), 0.9),
    }
    out = {}
    for name, (channels, height, width, draws, p) in cases.items():
        shape = (draws.shape[0], channels, height, width)
        images = (rand(*shape) * 2 - 1).requires_grad_()
        probe = rand(*shape) * 2 - 1
        seen = augment(images, draws, p)
        gradient, = torch.autograd.grad((seen * probe).sum(), images)
        out |= {f"{name}.images": images.detach(), f"{name}.probe": probe,
                f"{name}.draws": draws, f"{name}.p": torch.tensor(p).double(),
                f"{name}.seen": seen.detach(), f"{name}.gradient": gradient}
    save_file({name: value.contiguous() for name, value in out.items()},
              f"{folder}/ada.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
