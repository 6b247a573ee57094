# SPDX-License-Identifier: Apache-2.0
"""Writes LPIPS distances by its authors' package, with small random networks.

    python extras/lpips/tests/lpips_goldens.py extras/lpips/tests/goldens

Needs torch==2.11.0, torchvision==0.26.0, lpips==0.1.4, numpy and safetensors.
The package's own code computes everything, in float64, with convolutions of
fewer channels. Nothing is downloaded. Writes lpips.safetensors:

    pairs.<case>    uint8 [N, 2 C, H, W]
    <trunk>.<case>  float64 [N, 1]: the distances
    paths           float32 [N, 6, H, W] in [-1, 1], nearly equal images
    <trunk>.paths   float64 [N, 1]

and lpips_weights.safetensors, state dicts of lpips.LPIPS in half precision:

    alex.<name>, vgg.<name>
"""
import sys

import lpips
import numpy as np
import torch
from safetensors.torch import save_file

WIDTHS = {"alex": (6, 8, 10, 8, 6), "vgg": (3, 4, 5, 6, 6)}
CASES = {"color": (3, 3, 40, 48), "gray": (2, 1, 36, 36)}
EPSILON = 1e-3


def normal(rng, *shape, scale):
    """Normal float32 numbers that half precision holds exactly."""
    return torch.from_numpy(
        (scale * rng.randn(*shape)).astype(np.float16)).float()


def small_lpips(rng, trunk):
    """The package's network with few channels and random weights."""
    network = lpips.LPIPS(net=trunk, pretrained=False, pnet_rand=True,
                          verbose=False)
    channels = 3
    for width, part, linear in zip(WIDTHS[trunk], range(1, 6), network.lins):
        part = getattr(network.net, f"slice{part}")
        for name, layer in list(part.named_children()):
            if not isinstance(layer, torch.nn.Conv2d):
                continue
            small = torch.nn.Conv2d(channels, width, layer.kernel_size,
                                    layer.stride, layer.padding)
            scale = (channels * layer.kernel_size[0] ** 2) ** -0.5
            small.weight.data = normal(rng, *small.weight.shape, scale=scale)
            small.bias.data = normal(rng, width, scale=0.1)
            setattr(part, name, small)
            channels = width
        linear.model[1].weight = torch.nn.Parameter(
            normal(rng, 1, width, 1, 1, scale=0.5).abs())
    # The file holds them in half precision.
    network.scaling_layer.shift.copy_(network.scaling_layer.shift.half())
    network.scaling_layer.scale.copy_(network.scaling_layer.scale.half())
    return network.eval()


def distances(network, first, second):
    def wide(images):
        return images.double().expand(-1, 3, -1, -1)
    with torch.no_grad():
        return network(wide(first), wide(second)).flatten(1)


def main():
    rng = np.random.RandomState(29)
    goldens, weights = {}, {}
    for case, (count, channels, height, width) in CASES.items():
        goldens[f"pairs.{case}"] = torch.from_numpy(rng.randint(
            0, 256, (count, 2 * channels, height, width)).astype(np.uint8))
    image = torch.from_numpy(rng.uniform(-0.9, 0.9, (2, 3, 40, 40)))
    step = torch.from_numpy(rng.uniform(-1, 1, (2, 3, 40, 40)))
    goldens["paths"] = torch.cat([image, image + EPSILON * step], 1).float()
    for trunk in WIDTHS:
        network = small_lpips(rng, trunk)
        for name, tensor in network.state_dict().items():
            weights[f"{trunk}.{name}"] = tensor.half().clone()
        network = network.double()
        for case in CASES:
            # The package's im2tensor().
            first, second = (goldens[f"pairs.{case}"].double() / 127.5
                             - 1).chunk(2, 1)
            goldens[f"{trunk}.{case}"] = distances(network, first, second)
        goldens[f"{trunk}.paths"] = distances(
            network, *goldens["paths"].chunk(2, 1))
    for file, tensors in (("lpips", goldens), ("lpips_weights", weights)):
        save_file({name: tensor.contiguous()
                   for name, tensor in tensors.items()},
                  f"{sys.argv[1]}/{file}.safetensors")


if __name__ == "__main__":
    main()
