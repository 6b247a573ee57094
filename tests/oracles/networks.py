# SPDX-License-Identifier: Apache-2.0
"""The networks of models/ in plain PyTorch, for the scripts beside this file.

Written from the papers with PyTorch's own modules (torch.nn for all layers,
torch.nn.utils' spectral_norm), so that a mistake in models/ is not repeated here.
More families are in *_networks.py.

state() and load() use gandem's tensor names: the names of the modules below,
except that the raw weight under spectral norm is "weight", not "weight_orig".
"""
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import spectral_norm


class Generator(nn.Module):
    def __init__(self, noise_dim):
        super().__init__()
        self.noise_dim = noise_dim


# --- fully connected -------------------------------------------------------


def _mlp(sizes):
    layers = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        layers += [nn.Linear(fan_in, fan_out), nn.LeakyReLU(0.2)]
    return layers[:-1]


class MlpGenerator(Generator):
    def __init__(self, noise_dim, hidden, channels, size):
        super().__init__(noise_dim)
        self.shape = (channels, size, size)
        sizes = [noise_dim, *hidden, channels * size * size]
        self.main = nn.Sequential(*_mlp(sizes), nn.Tanh())

    def forward(self, z):
        return self.main(z).reshape(-1, *self.shape)


class MlpDiscriminator(nn.Module):
    def __init__(self, hidden, channels, size):
        super().__init__()
        self.main = nn.Sequential(*_mlp([channels * size * size, *hidden, 1]))

    def forward(self, x):
        return self.main(x.flatten(1))[:, 0]


# --- DCGAN, as in pytorch/examples ------------------------------------------


class DcganGenerator(Generator):
    def __init__(self, noise_dim, width, channels, size):
        super().__init__(noise_dim)
        multiples = {64: [8, 4, 2, 1], 32: [4, 2, 1]}[size]
        widths = [m * width for m in multiples]
        layers = [
            nn.ConvTranspose2d(noise_dim, widths[0], 4, 1, 0, bias=False),
            nn.BatchNorm2d(widths[0]),
            nn.ReLU(),
        ]
        for a, b in zip(widths, widths[1:]):
            layers += [
                nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False),
                nn.BatchNorm2d(b),
                nn.ReLU(),
            ]
        layers += [
            nn.ConvTranspose2d(widths[-1], channels, 4, 2, 1, bias=False),
            nn.Tanh(),
        ]
        self.main = nn.Sequential(*layers)

    def forward(self, z):
        return self.main(z[:, :, None, None])


class DcganDiscriminator(nn.Module):
    def __init__(self, width, channels, size):
        super().__init__()
        multiples = {64: [1, 2, 4, 8], 32: [1, 2, 4]}[size]
        widths = [m * width for m in multiples]
        layers = [
            nn.Conv2d(channels, widths[0], 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2),
        ]
        for a, b in zip(widths, widths[1:]):
            layers += [
                nn.Conv2d(a, b, 4, 2, 1, bias=False),
                nn.BatchNorm2d(b),
                nn.LeakyReLU(0.2),
            ]
        layers += [nn.Conv2d(widths[-1], 1, 4, 1, 0, bias=False)]
        self.main = nn.Sequential(*layers)

    def forward(self, x):
        return self.main(x).reshape(-1)


# --- standard CNN of the SNGAN paper ----------------------------------------


class SndcganGenerator(Generator):
    def __init__(self, noise_dim, width, channels):
        super().__init__(noise_dim)
        w = width
        self.linear = nn.Linear(noise_dim, 8 * w * 4 * 4)
        layers = []
        for a, b in [(8 * w, 4 * w), (4 * w, 2 * w), (2 * w, w)]:
            layers += [
                nn.ConvTranspose2d(a, b, 4, 2, 1),
                nn.BatchNorm2d(b, eps=1e-4),
                nn.ReLU(),
            ]
        layers += [nn.Conv2d(w, channels, 3, 1, 1), nn.Tanh()]
        self.main = nn.Sequential(*layers)

    def forward(self, z):
        x = self.linear(z)
        return self.main(x.reshape(z.shape[0], -1, 4, 4))


class SndcganDiscriminator(nn.Module):
    def __init__(self, width, channels, use_spectral_norm=True):
        super().__init__()
        w = width

        def norm(layer):
            if not use_spectral_norm:
                return layer
            return spectral_norm(layer, eps=1e-6)

        def conv(a, b, kernel, stride):
            layers = [norm(nn.Conv2d(a, b, kernel, stride, 1))]
            if not use_spectral_norm:
                layers += [nn.BatchNorm2d(b, eps=1e-4)]
            return [*layers, nn.ReLU()]

        self.main = nn.Sequential(
            *conv(channels, w, 3, 1), *conv(w, w, 4, 2),
            *conv(w, 2 * w, 3, 1), *conv(2 * w, 2 * w, 4, 2),
            *conv(2 * w, 4 * w, 3, 1), *conv(4 * w, 4 * w, 4, 2),
            *conv(4 * w, 8 * w, 3, 1))
        self.linear = norm(nn.Linear(8 * w, 1))

    def forward(self, x):
        return self.linear(self.main(x).sum(dim=(2, 3)))[:, 0]


# --- ResNet of the SNGAN paper ----------------------------------------------


class SnganGeneratorBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(c, eps=2e-5)
        self.conv1 = nn.Conv2d(c, c, 3, 1, 1)
        self.norm2 = nn.BatchNorm2d(c, eps=2e-5)
        self.conv2 = nn.Conv2d(c, c, 3, 1, 1)
        self.shortcut = nn.Conv2d(c, c, 1)

    def forward(self, x):
        h = F.interpolate(F.relu(self.norm1(x)), scale_factor=2)
        h = self.conv2(F.relu(self.norm2(self.conv1(h))))
        return h + self.shortcut(F.interpolate(x, scale_factor=2))


class SnganGenerator(Generator):
    def __init__(self, noise_dim, width, channels):
        super().__init__(noise_dim)
        c = 4 * width
        self.linear = nn.Linear(noise_dim, c * 4 * 4)
        self.blocks = nn.Sequential(*[SnganGeneratorBlock(c) for _ in range(3)])
        self.norm = nn.BatchNorm2d(c, eps=2e-5)
        self.conv = nn.Conv2d(c, channels, 3, 1, 1)

    def forward(self, z):
        x = self.blocks(self.linear(z).reshape(z.shape[0], -1, 4, 4))
        return torch.tanh(self.conv(F.relu(self.norm(x))))


class SnganDiscriminatorBlock(nn.Module):
    def __init__(self, a, b, down, first=False):
        super().__init__()
        self.first, self.down = first, down
        self.conv1 = spectral_norm(nn.Conv2d(a, b, 3, 1, 1))
        self.conv2 = spectral_norm(nn.Conv2d(b, b, 3, 1, 1))
        if down or a != b:
            self.shortcut = spectral_norm(nn.Conv2d(a, b, 1))

    def forward(self, x):
        h = x if self.first else F.relu(x)
        h = self.conv2(F.relu(self.conv1(h)))
        h = F.avg_pool2d(h, 2) if self.down else h
        if not hasattr(self, "shortcut"):
            return h + x
        if self.first:
            return h + self.shortcut(F.avg_pool2d(x, 2))
        s = self.shortcut(x)
        return h + (F.avg_pool2d(s, 2) if self.down else s)


class SnganDiscriminator(nn.Module):
    def __init__(self, width, channels):
        super().__init__()
        c = 2 * width
        self.blocks = nn.Sequential(
            SnganDiscriminatorBlock(channels, c, down=True, first=True),
            SnganDiscriminatorBlock(c, c, down=True),
            SnganDiscriminatorBlock(c, c, down=False),
            SnganDiscriminatorBlock(c, c, down=False))
        self.linear = spectral_norm(nn.Linear(c, 1))

    def forward(self, x):
        h = F.relu(self.blocks(x)).sum(dim=(2, 3))
        return self.linear(h)[:, 0]


# --- state and forward modes --------------------------------------------------


def _is_norm(module):
    return isinstance(module, nn.modules.batchnorm._BatchNorm)


def state(network):
    """Copies of parameters and buffers by gandem's names."""
    return {
        name.replace("weight_orig", "weight"): tensor.detach().clone()
        for name, tensor in network.state_dict().items()
    }


def gradients(network):
    return {
        name.replace("weight_orig", "weight"): p.grad.clone()
        for name, p in network.named_parameters()
    }


def load(network, tensors):
    """Sets a network to a result of state(); keeps the network's dtype."""
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            tensor.copy_(tensors[name.replace("weight_orig", "weight")])


def dtype_of(network):
    return next(network.parameters()).dtype


def _twin(make, network):
    twin = make().to(dtype_of(network))
    load(twin, state(network))
    return twin.requires_grad_(False)


def frozen(make, network):
    """A twin that uses batch statistics and the stored u and v, and changes no
    state: batch norm without running statistics uses the batch even in
    evaluation mode, and spectral norm iterates only in training mode."""
    twin = _twin(make, network).eval()
    for module in twin.modules():
        if _is_norm(module):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
    return twin


def evaluated(make, network):
    """A twin that uses running statistics and iterates u and v once (on its
    own copies) in its next forward pass."""
    twin = _twin(make, network).train()
    for module in twin.modules():
        if _is_norm(module):
            module.eval()
        if hasattr(module, "evaluating"):  # noise inputs
            module.evaluating = True
    return twin


def _iterate(network):
    """Three power iterations, so that u and v are good but not converged, as in
    a run. Random ones would make sigma tiny and the outputs of a frozen pass
    huge."""
    with torch.no_grad():
        for module in network.modules():
            if not hasattr(module, "weight_orig"):
                continue
            dim = 1 if isinstance(module, nn.ConvTranspose2d) else 0
            matrix = module.weight_orig.transpose(0, dim).flatten(1)
            for _ in range(3):
                v = F.normalize(matrix.t() @ module.weight_u, dim=0)
                module.weight_v.copy_(v)
                u = F.normalize(matrix @ module.weight_v, dim=0)
                module.weight_u.copy_(u)


def randomize(network, seed):
    """Draws weights at a scale that keeps signals alive in every layer."""
    rng = torch.Generator().manual_seed(seed)

    def normal(shape):
        return torch.randn(shape, generator=rng, dtype=torch.float64)

    values = state(network)
    for name, tensor in values.items():
        if name.endswith(("weight_u", "weight_v")):
            value = F.normalize(normal(tensor.shape), dim=0)
        elif name.endswith("running_mean"):
            value = torch.zeros(tensor.shape)
        elif name.endswith("running_var"):
            value = torch.ones(tensor.shape)
        elif name.endswith("num_batches_tracked"):
            continue
        elif name.endswith("bias"):
            value = 0.1 * normal(tensor.shape)
        elif tensor.dim() <= 1:  # batch norm, and strengths of noise
            value = 1 + 0.1 * normal(tensor.shape)
        else:
            value = normal(tensor.shape) / tensor[0].numel()**0.5
        values[name] = value.to(tensor.dtype)
    load(network, values)
    with torch.no_grad():
        for module in network.modules():
            # A float gain is that of equalized learning rates; the gain of a
            # conditional norm is a layer.
            if isinstance(getattr(module, "gain", None), float):
                module.weight /= module.gain
    _iterate(network)
