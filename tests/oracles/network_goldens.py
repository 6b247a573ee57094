# SPDX-License-Identifier: Apache-2.0
"""Writes forward and backward passes of every network, in float32, or in float64
for StyleGAN2 and the networks in IN_FLOAT64.

    python tests/oracles/network_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. Writes networks/<name>.safetensors,
each with, for role in (generator, discriminator) and x the role's input:

    <role>.input               x
    <role>.labels              for conditional networks
    <role>.image               the input image, for networks that translate
    <role>.probe               p, with the shape of the output
    <role>.state.<tensor>      parameters and buffers before any pass
    <role>.train               output of a training pass
    <role>.input_gradient      d(sum(p * output))/dx of that pass; discriminator
    <role>.gradient.<tensor>   d(sum(p * output))/d(parameter) of that pass
    <role>.after.<tensor>      buffers after that pass
    <role>.frozen              output of a frozen pass after that pass
    <role>.evaluate            output of an evaluating pass after that pass
    <role>.truncated           the same with psi 0.5; StyleGAN2's generator
"""
import sys

import torch
from safetensors.torch import save_file

import conditional_networks as conditional
import keras_networks as keras
import networks as nets
import r3gan_networks as r3gan
import residual_networks as residual
import stylegan2_networks as stylegan2
import translation_networks as translation
import wide_kernel_networks as wide

# name: (channels, size, batch, generator, discriminator)
CASES = {
    "mlp": (1, 32, 3, lambda: nets.MlpGenerator(5, [6, 4], 1, 32),
            lambda: nets.MlpDiscriminator([6, 4], 1, 32)),
    "dcgan_32": (3, 32, 3, lambda: nets.DcganGenerator(6, 4, 3, 32),
                 lambda: nets.DcganDiscriminator(4, 3, 32)),
    "dcgan_64": (1, 64, 2, lambda: nets.DcganGenerator(6, 4, 1, 64),
                 lambda: nets.DcganDiscriminator(4, 1, 64)),
    "sndcgan": (3, 32, 2, lambda: nets.SndcganGenerator(6, 4, 3),
                lambda: nets.SndcganDiscriminator(4, 3)),
    "sndcgan_batch_norm": (1, 32, 3, lambda: nets.SndcganGenerator(6, 4, 1),
                           lambda: nets.SndcganDiscriminator(4, 1, False)),
    "sngan": (3, 32, 2, lambda: nets.SnganGenerator(6, 4, 3),
              lambda: nets.SnganDiscriminator(4, 3)),
    "sngan_48": (1, 48, 2,
                 lambda: residual.SnganGenerator(4, [8, 4, 2, 1], 1, 6,
                                                 "nearest"),
                 lambda: residual.SnganDiscriminator(
                     [1, 2, 4, 8, 16], 1, 4, "batch", False, False, True)),
    "sngan_64": (1, 64, 2,
                 lambda: residual.SnganGenerator(4, [16, 8, 4, 2, 1], 1, 4,
                                                 "bilinear"),
                 lambda: residual.SnganDiscriminator(
                     [1, 2, 4, 8, 16], 1, 5, "spectral", True, True, False)),
    "wgan_gp": (1, 64, 2, lambda: residual.WganGpGenerator(4, 1, 1),
                lambda: residual.WganGpDiscriminator(1, 1)),
    "dcgan5_28": (1, 28, 2, lambda: wide.WganGpGenerator(4, 2, 1, 28),
                  lambda: wide.WganGpDiscriminator(2, 1, 28)),
    "dcgan5_32": (1, 32, 2, lambda: wide.WganGpGenerator(4, 2, 1, 32),
                  lambda: wide.WganGpDiscriminator(2, 1, 32)),
    "dcgan5_28_same": (
        1, 28, 2, lambda: wide.WganGpGenerator(4, 2, 1, 28, same=True),
        lambda: wide.WganGpDiscriminator(2, 1, 28, same=True)),
    "dcgan5_64": (1, 64, 2, lambda: wide.WganGpGenerator(4, 1, 1, 64),
                  lambda: wide.WganGpDiscriminator(1, 1, 64)),
    "dcgan5_radford": (1, 64, 2, lambda: wide.RadfordGenerator(4, 1, 1),
                       lambda: wide.RadfordDiscriminator(1, 1)),
    "keras_dcgan": (1, 64, 1, lambda: keras.KerasGenerator("DCGAN", 5, 2, 1),
                    lambda: keras.KerasDiscriminator("DCGAN", 2, 1)),
    "keras_sngan": (1, 64, 1, lambda: keras.KerasGenerator("SNGAN", 5, 2, 1),
                    lambda: keras.KerasDiscriminator("SNGAN", 2, 1)),
    "keras_wgan_gp": (1, 64, 2,
                      lambda: keras.KerasGenerator("WGAN_GP", 5, 2, 1),
                      lambda: keras.KerasDiscriminator("WGAN_GP", 2, 1)),
    "mlp_batch_norm": (1, 16, 3,
                       lambda: keras.PytorchGanGenerator(5, [6, 4], 1, 16),
                       lambda: nets.MlpDiscriminator([6, 4], 1, 16)),
    "pix2pix": (2, 32, 2, lambda: translation.UnetGenerator(2, 5, 1, 2),
                lambda: translation.PatchDiscriminator(2, 1, 2)),
}
# Channels of the input image of networks that translate.
TRANSLATED = {"pix2pix": 1}
IN_FLOAT64 = {"biggan_deep_mixing", "dcgan5_28_same"}


def passes(role, make, x, seed, given):
    network = make()
    nets.randomize(network, seed)
    out = {f"{role}.input": x}
    for name, tensor in given.items():
        out[f"{role}.{name}"] = tensor.clone()
    for name, tensor in nets.state(network).items():
        out[f"{role}.state.{name}"] = tensor
    leaf = x.clone().requires_grad_()
    y = network.train()(leaf, *given.values())
    probe = torch.randn(y.shape, generator=torch.Generator().manual_seed(seed),
                        dtype=x.dtype)
    (y * probe).sum().backward()
    out[f"{role}.probe"] = probe
    out[f"{role}.train"] = y.detach()
    if role == "discriminator":
        out[f"{role}.input_gradient"] = leaf.grad
    for name, tensor in nets.gradients(network).items():
        out[f"{role}.gradient.{name}"] = tensor
    parameters = nets.gradients(network)
    for name, tensor in nets.state(network).items():
        if name not in parameters:
            out[f"{role}.after.{name}"] = tensor
    out[f"{role}.frozen"] = nets.frozen(make, network)(x, *given.values())
    evaluated = nets.evaluated(make, network)
    out[f"{role}.evaluate"] = evaluated(x, *given.values())
    if hasattr(evaluated, "psi"):
        evaluated.psi = 0.5
        out[f"{role}.truncated"] = evaluated(x, *given.values())
    return out


def write(folder, name, channels, size, batch, make, translated=0, classes=0):
    in_float64 = name in stylegan2.CASES or name in IN_FLOAT64
    dtype = torch.float64 if in_float64 else torch.float32
    torch.set_default_dtype(dtype)
    rng = torch.Generator().manual_seed(3)
    # Drawn as float32, so that both types get the same numbers.
    noise = torch.randn(batch, make[0]().noise_dim, generator=rng,
                        dtype=torch.float32).to(dtype)
    images = torch.rand(batch, channels, size, size, generator=rng,
                        dtype=torch.float32) * 2 - 1
    images = images.to(dtype)
    given = {}
    if translated:
        given["image"] = torch.rand(batch, translated, size, size,
                                    generator=rng) * 2 - 1
    if classes:
        given["labels"] = torch.arange(batch) * 2 % classes
    tensors = passes("generator", make[0], noise, 1, given)
    tensors |= passes("discriminator", make[1], images, 2, given)
    save_file({k: v.contiguous() for k, v in tensors.items()},
              f"{folder}/networks/{name}.safetensors")


def main(folder):
    torch.set_num_threads(1)
    for name, (channels, size, batch, *make) in CASES.items():
        write(folder, name, channels, size, batch, make,
              translated=TRANSLATED.get(name, 0))
    for name, (classes, size, *make) in (conditional.CASES
                                         | r3gan.CASES).items():
        write(folder, name, 1, size, 3, make, classes=classes)
    for name, (classes, size, batch, *make) in stylegan2.CASES.items():
        write(folder, name, 1, size, batch, make, classes=classes)


if __name__ == "__main__":
    main(sys.argv[1])
