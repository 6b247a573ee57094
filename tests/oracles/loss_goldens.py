# SPDX-License-Identifier: Apache-2.0
"""Values and gradients of losses, penalties and augmentation in float64, written
from the papers' formulas without any code of gandem.

    python tests/oracles/loss_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. Writes losses.safetensors:

    <shape>.real, <shape>.generated          logits, shape in (flat, patch)
    <shape>.<loss>.discriminator             value
    <shape>.<loss>.discriminator_real, ..._generated      gradients of that value
    <shape>.<loss>.generator, ..._gradient   value, gradient by generated logits

    class.embeddings, class.proxies, class.labels
    class.<case>.losses, ..._embeddings, ..._proxies      gradients of the mean

    critic.kernel, critic.weight             D(x) = weight . tanh(kernel * x)
    penalty.real, .generated, .alpha, .noise, .deviation
    penalty.<name>.value, ..._kernel, ..._weight          gradients

    augment.images, .probe, .draws           draws are uniform in [0, 1)
    augment.<policy>, ..._gradient           output; gradient of
                                             sum(probe * output) by images
    consistency.draws, consistency.copy      the augmented copy of augment.images
"""
import sys

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

# --- Adversarial losses: discriminator(r, g), generator(r, g) ---


def log_sigmoid_loss(x):
    return -torch.log(torch.sigmoid(x))


def non_saturating(r, g):
    return (log_sigmoid_loss(r) + log_sigmoid_loss(-g)).mean()


LOSSES = {
    "non_saturating": (non_saturating,
                       lambda r, g: log_sigmoid_loss(g).mean()),
    "saturating": (non_saturating,
                   lambda r, g: torch.log(1 - torch.sigmoid(g)).mean()),
    "least_squares": (lambda r, g: ((r - 1)**2 + g**2).mean() / 2,
                      lambda r, g: ((g - 1)**2).mean() / 2),
    "hinge": (lambda r, g: ((1 - r).clamp(min=0) + (1 + g).clamp(min=0)).mean(),
              lambda r, g: -g.mean()),
    "wasserstein": (lambda r, g: g.mean() - r.mean(), lambda r, g: -g.mean()),
    "relativistic_paired": (lambda r, g: log_sigmoid_loss(r - g).mean(),
                            lambda r, g: log_sigmoid_loss(g - r).mean()),
    "relativistic_average":
        (lambda r, g: log_sigmoid_loss(r - g.mean()).mean()
         + log_sigmoid_loss(r.mean() - g).mean(),
         lambda r, g: log_sigmoid_loss(g - r.mean()).mean()
         + log_sigmoid_loss(g.mean() - r).mean()),
}


def adversarial(out, rng):
    for shape, size in (("flat", (5,)), ("patch", (3, 2, 4))):
        r = torch.randn(size, generator=rng, dtype=torch.float64) * 2
        g = torch.randn(size, generator=rng, dtype=torch.float64) * 2
        out[f"{shape}.real"], out[f"{shape}.generated"] = r, g
        for name, (discriminator, generator) in LOSSES.items():
            leaf_r, leaf_g = r.clone().requires_grad_(), g.clone().requires_grad_()
            value = discriminator(leaf_r, leaf_g)
            by_r, by_g = torch.autograd.grad(value, (leaf_r, leaf_g))
            key = f"{shape}.{name}"
            out[f"{key}.discriminator"] = value.detach()
            out[f"{key}.discriminator_real"] = by_r
            out[f"{key}.discriminator_generated"] = by_g
            value = generator(r, leaf_g)
            out[f"{key}.generator"] = value.detach()
            out[f"{key}.generator_gradient"], = torch.autograd.grad(value, leaf_g)


# --- Class losses, one image after the other ---


def contrastive(e, proxies, labels, t):
    losses = []
    for i in range(len(e)):
        attract = torch.exp(e[i] @ proxies[labels[i]] / t)
        total = attract
        for j in range(len(e)):
            if j == i:
                continue
            term = torch.exp(e[i] @ e[j] / t)
            total = total + term
            if labels[j] == labels[i]:
                attract = attract + term
        losses.append(-torch.log(attract / total))
    return torch.stack(losses)


def d2d_cross_entropy(e, proxies, labels, t, m, shift):
    losses = []
    for i in range(len(e)):
        positive = ((m - e[i] @ proxies[labels[i]]) / t).clamp(min=0)
        others = [j for j in range(len(e)) if j != i]
        offset = 0.0
        if shift:
            offset = max((e[i] @ e[j] + m - 1).item() / t for j in others)
        total = torch.exp(-positive)
        for j in others:
            if labels[j] != labels[i]:
                negative = ((e[i] @ e[j] + m - 1) / t).clamp(min=0)
                total = total + torch.exp(negative - offset)
        losses.append(positive + torch.log(total))
    return torch.stack(losses)


CLASS_CASES = {
    "contrastive_1": lambda *x: contrastive(*x, 1.0),
    "contrastive_half": lambda *x: contrastive(*x, 0.5),
    "d2d_shifted": lambda *x: d2d_cross_entropy(*x, 0.5, 0.98, True),
    "d2d_plain": lambda *x: d2d_cross_entropy(*x, 0.5, 0.98, False),
    "d2d_negative_margin": lambda *x: d2d_cross_entropy(*x, 0.25, -0.2, False),
}


def class_losses(out, rng):
    e = F.normalize(torch.randn(7, 4, generator=rng, dtype=torch.float64))
    proxies = F.normalize(torch.randn(3, 4, generator=rng, dtype=torch.float64))
    labels = torch.tensor([0, 1, 0, 2, 1, 0, 2])
    out |= {"class.embeddings": e, "class.proxies": proxies,
            "class.labels": labels}
    for name, losses in CLASS_CASES.items():
        leaf_e, leaf_p = e.clone().requires_grad_(), proxies.clone(
        ).requires_grad_()
        values = losses(leaf_e, leaf_p, labels.tolist())
        by_e, by_p = torch.autograd.grad(values.mean(), (leaf_e, leaf_p))
        out[f"class.{name}.losses"] = values.detach()
        out[f"class.{name}.losses_embeddings"] = by_e
        out[f"class.{name}.losses_proxies"] = by_p


# --- Penalties ---


def penalties(out, rng):
    def randn(*size):
        return torch.randn(size, generator=rng, dtype=torch.float64)

    def rand(*size):
        return torch.rand(size, generator=rng, dtype=torch.float64)

    n, shape = 4, (2, 5, 5)
    kernel = (randn(3, 2, 3, 3) * 0.5).requires_grad_()
    weight = (randn(3 * 3 * 3) * 0.5).requires_grad_()

    def critic(x):
        return torch.tanh(F.conv2d(x, kernel)).flatten(1) @ weight

    def slopes(x):
        """|dD/dx| of each image, by one backward pass for each."""
        norms = []
        for i in range(len(x)):
            leaf = x[i:i + 1].detach().requires_grad_()
            slope, = torch.autograd.grad(critic(leaf)[0], leaf,
                                         create_graph=True)
            norms.append(torch.sqrt((slope**2).sum()))
        return torch.stack(norms)

    real, generated = randn(n, *shape), randn(n, *shape)
    alpha, noise = rand(n), rand(n, *shape)
    a = alpha.view(-1, 1, 1, 1)
    deviation = torch.sqrt(
        ((real - real.mean())**2).sum() / (real.numel() - 1))
    out |= {"critic.kernel": kernel.detach(), "critic.weight": weight.detach(),
            "penalty.real": real, "penalty.generated": generated,
            "penalty.alpha": alpha, "penalty.noise": noise,
            "penalty.deviation": deviation}
    between = a * real + (1 - a) * generated
    near = real + a * 0.5 * deviation * noise
    r, g = critic(real), critic(generated)
    values = {
        "gradient_penalty": ((slopes(between) - 1)**2).mean(),
        "dragan": ((slopes(near) - 1)**2).mean(),
        "r1": (slopes(real)**2).mean() / 2,
        "r2": (slopes(generated)**2).mean() / 2,
        # Anchors 0.25 (real) and -0.5 (generated).
        "lecam": (F.relu(r + 0.5)**2).mean() + (F.relu(0.25 - g)**2).mean(),
        "consistency": ((r - critic(near))**2).mean(),
    }
    for name, value in values.items():
        by_kernel, by_weight = torch.autograd.grad(value, (kernel, weight),
                                                   retain_graph=True)
        out[f"penalty.{name}.value"] = value.detach()
        out[f"penalty.{name}.value_kernel"] = by_kernel
        out[f"penalty.{name}.value_weight"] = by_weight


# --- Augmentation (Zhao et al. 2020), pixel by pixel where pixels move ---


def integer(u, count):
    """Maps a uniform number to an integer in [0, count)."""
    return min(int(u * count), count - 1)


def color(x, u):
    out = []
    for image, (brightness, saturation, contrast) in zip(x, u[:, :3].tolist()):
        image = image + (brightness - 0.5)
        gray = image.mean(0)
        image = gray + 2 * saturation * (image - gray)
        mean = image.mean()
        out.append(mean + (0.5 + contrast) * (image - mean))
    return torch.stack(out)


def translation(x, u, ratio=0.125):
    n, _, height, width = x.shape
    rows, columns = int(height * ratio + 0.5), int(width * ratio + 0.5)
    out = torch.zeros_like(x)
    for i in range(n):
        dy = integer(u[i, 3].item(), 2 * rows + 1) - rows
        dx = integer(u[i, 4].item(), 2 * columns + 1) - columns
        for y in range(height):
            for c in range(width):
                if 0 <= y + dy < height and 0 <= c + dx < width:
                    out[i, :, y, c] = x[i, :, y + dy, c + dx]
    return out


def cutout(x, u, ratio=0.5):
    n, _, height, width = x.shape
    rows, columns = int(height * ratio + 0.5), int(width * ratio + 0.5)
    mask = torch.ones(n, 1, height, width, dtype=x.dtype)
    for i in range(n):
        center_y = integer(u[i, 5].item(), height + 1 - rows % 2)
        center_x = integer(u[i, 6].item(), width + 1 - columns % 2)
        for dy in range(rows):
            for dx in range(columns):
                y = min(max(center_y - rows // 2 + dy, 0), height - 1)
                c = min(max(center_x - columns // 2 + dx, 0), width - 1)
                mask[i, 0, y, c] = 0
    return x * mask


POLICIES = {"color": (color,), "translation": (translation,),
            "cutout": (cutout,), "all": (color, translation, cutout)}


def mirror(i, side):
    return -i if i < 0 else 2 * (side - 1) - i if i >= side else i


def augmentation(out, rng):
    x = torch.randn(5, 3, 8, 10, generator=rng, dtype=torch.float64)
    probe = torch.randn(x.shape, generator=rng, dtype=torch.float64)
    draws = torch.rand(5, 7, generator=rng, dtype=torch.float64)
    out |= {"augment.images": x, "augment.probe": probe, "augment.draws": draws}
    for name, steps in POLICIES.items():
        leaf = x.clone().requires_grad_()
        y = leaf
        for step in steps:
            y = step(y, draws)
        out[f"augment.{name}"] = y.detach()
        out[f"augment.{name}_gradient"], = torch.autograd.grad(
            (probe * y).sum(), leaf)

    draws = torch.rand(5, 3, generator=rng, dtype=torch.float64)
    copy = torch.zeros_like(x)
    for i in range(5):
        flip, u, v = draws[i].tolist()
        dy, dx = integer(u, 3) - 1, integer(v, 3) - 1
        image = x[i].flip(2) if flip < 0.5 else x[i]
        for row in range(8):
            for c in range(10):
                copy[i, :, row, c] = image[:, mirror(row - dy, 8),
                                           mirror(c - dx, 10)]
    out |= {"consistency.draws": draws, "consistency.copy": copy}


def main(folder):
    torch.set_num_threads(1)
    out = {}
    rng = torch.Generator().manual_seed(11)
    for part in (adversarial, class_losses, penalties, augmentation):
        part(out, rng)
    save_file({name: value.contiguous() for name, value in out.items()},
              f"{folder}/losses.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
