# SPDX-License-Identifier: Apache-2.0
"""Features and resized images of pytorch-fid, torch-fidelity and clean-fid.

    python tests/oracles/feature_goldens.py tests/goldens

Needs torch==2.11.0 with a matching torchvision, numpy, safetensors,
pytorch-fid==0.3.0, torch-fidelity==0.4.0 and clean-fid==0.1.35. Downloads
nothing: weights and images are drawn from Philox streams, and
tests/evaluation/features/inception_testing.cc draws them again, because 24
million numbers are too large for a golden. Writes features.safetensors:

    tf1.<case>             torch-fidelity's resized input, [N, 3, 299, 299] at
                           every ROW_STRIDE-th row and COLUMN_STRIDE-th column
    half_pixel.<case>      the same of pytorch-fid
    clean.<case>           the same of clean-fid's mode "clean"
    fidelity.features.<case>, fidelity.logits.<case>
                           torch-fidelity's 2048 and logits_unbiased
    fid.features.<case>    pytorch-fid's 2048
    fid.<dims>.small       pytorch-fid's earlier layers for the first case
    classes                the weights drawn for fc, summed over the inputs; they
                           distinguish a wrong weight from a wrong network

    Also writes state_dict_zip.pth and state_dict_stream.pth, one small state dict in
    both layouts of torch.save().
"""
import collections
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

SEED = 20151205
INIT = 7  # Purpose::kInit
ROW_STRIDE, COLUMN_STRIDE = 23, 13
# N, C, H, W: smaller, larger and exactly as large as the network's input.
CASES = {"small": (2, 3, 32, 40), "gray": (2, 1, 28, 28),
         "large": (1, 3, 352, 310), "exact": (1, 3, 299, 299)}


def philox_words(seed, purpose, step, index, count):
    """The first `count` words of a stream (common/philox.h), vectorized."""
    blocks = (count + 3) // 4
    c = [np.arange(blocks, dtype=np.uint64)]
    for word in (index & 0xFFFFFFFF, step & 0xFFFFFFFF,
                 purpose | (index >> 32) << 8 | (step >> 32) << 20):
        c.append(np.full(blocks, word, dtype=np.uint64))
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> shift) ^ c[1] ^ np.uint64(k0), p1 & mask,
             (p0 >> shift) ^ c[3] ^ np.uint64(k1), p0 & mask]
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1).reshape(-1)[:count]


def uniform(tensor, low, high, shape):
    """float32 in [low, high), exactly as the C++ side computes it."""
    count = int(np.prod(shape))
    unit = philox_words(SEED, INIT, tensor, 0, count).astype(np.float64) / 2**32
    return torch.from_numpy(
        (low + (high - low) * unit).astype(np.float32).reshape(shape))


def draw(state):
    """Values of every tensor of a FID Inception's state dict, drawn by its place
    among the sorted names. The bounds keep activations of all layers near 1."""
    drawn = collections.OrderedDict()
    for place, name in enumerate(sorted(state)):
        shape = tuple(state[name].shape)
        if name.endswith("num_batches_tracked"):
            drawn[name] = torch.zeros((), dtype=torch.int64)
        elif name.endswith("running_var"):
            drawn[name] = uniform(place, 0.5, 1.5, shape)
        elif name.endswith("bn.weight"):
            drawn[name] = uniform(place, 0.6, 1.25, shape)
        elif len(shape) == 1:
            drawn[name] = uniform(place, -0.25, 0.25, shape)
        else:
            bound = float(np.sqrt(6.0 / np.prod(shape[1:])))  # He et al. 2015
            drawn[name] = uniform(place, -bound, bound, shape)
    return drawn


def make_images(shape, place):
    count = int(np.prod(shape))
    words = philox_words(SEED, INIT, 1000 + place, 0, count)
    noise = torch.from_numpy((words >> np.uint64(25)).astype(np.int64))
    n, c, h, w = shape
    ramp = torch.arange(h).view(h, 1) * 64 // h + torch.arange(w) * 64 // w
    return (noise.view(shape) + ramp).to(torch.uint8)


def draw_weights():
    """Draws all tensors of torch-fidelity's network without a download."""
    from torch_fidelity.feature_extractor_inceptionv3 import (
        FeatureExtractorInceptionV3)
    # The network only gives the names and shapes.
    FeatureExtractorInceptionV3.load_state_dict = lambda *a, **k: None
    with tempfile.NamedTemporaryFile() as empty:
        torch.save({}, empty.name)
        network = FeatureExtractorInceptionV3(
            "inception", ["2048"], feature_extractor_weights_path=empty.name)
    del FeatureExtractorInceptionV3.load_state_dict
    return draw(network.state_dict())


def fidelity_network(weights):
    from torch_fidelity.feature_extractor_inceptionv3 import (
        FeatureExtractorInceptionV3)
    with tempfile.NamedTemporaryFile() as file:
        torch.save(weights, file.name)
        return FeatureExtractorInceptionV3(
            "inception", ["2048", "logits_unbiased"],
            feature_extractor_weights_path=file.name)


def fid_network(weights, blocks=(3,)):
    """pytorch-fid's network without the download of its weights."""
    from pytorch_fid import inception
    inception.load_state_dict_from_url = lambda *args, **kwargs: weights
    return inception.InceptionV3(list(blocks)).eval()


def thin(resized):
    return resized[:, :, ::ROW_STRIDE, ::COLUMN_STRIDE].contiguous()


def clean_resize(rgb):
    """Resizes uint8 NCHW like clean-fid does for its network."""
    from cleanfid.resize import build_resizer
    resize = build_resizer("clean")
    resized = np.stack([resize(image.permute(1, 2, 0).numpy()) for image in rgb])
    return (torch.from_numpy(resized).permute(0, 3, 1, 2) - 128) / 128


def small_state():
    rng = torch.Generator().manual_seed(3)
    base = torch.randn(4, 6, generator=rng)
    state = collections.OrderedDict()
    state["plain.weight"] = torch.randn(3, 2, 1, 2, generator=rng)
    state["transposed"] = base.t()      # not row-major
    state["part"] = base[1:3, 2:5]      # an offset into the same storage
    state["double"] = torch.randn(5, generator=rng, dtype=torch.float64)
    state["half"] = torch.randn(3, generator=rng).half()
    state["bfloat"] = torch.randn(3, generator=rng).bfloat16()
    state["long"] = torch.tensor(1 << 40)
    state["int"] = torch.tensor([-7, 7], dtype=torch.int32)
    state["byte"] = torch.tensor([0, 255], dtype=torch.uint8)
    state["bool"] = torch.tensor([True, False])
    state["empty"] = torch.zeros(0, 4)
    state["parameter"] = torch.nn.Parameter(torch.randn(2, generator=rng))
    state._metadata = {"": {"version": 1}}  # as Module.state_dict() adds
    return state


def main(folder):
    from torch_fidelity.interpolate_compat_tensorflow import (
        interpolate_bilinear_2d_like_tensorflow1x as tf1_resize)
    torch.set_num_threads(2)
    weights = draw_weights()
    fidelity = fidelity_network(weights)
    fid = fid_network(weights)
    out = {"classes": weights["fc.weight"].double().sum(1)}
    with torch.no_grad():
        for place, (case, shape) in enumerate(CASES.items()):
            images = make_images(shape, place)
            rgb = images.expand(-1, 3, -1, -1).contiguous()
            out[f"tf1.{case}"] = thin(
                (tf1_resize(rgb.float(), (299, 299), align_corners=False) - 128)
                / 128)
            out[f"half_pixel.{case}"] = thin(
                2 * F.interpolate(rgb.float() / 255, size=(299, 299),
                                  mode="bilinear", align_corners=False) - 1)
            out[f"clean.{case}"] = thin(clean_resize(rgb))
            features, logits = fidelity(rgb)
            out[f"fidelity.features.{case}"] = features
            out[f"fidelity.logits.{case}"] = logits
            out[f"fid.features.{case}"] = fid(rgb.float() / 255)[0].flatten(1)
            if case == "small":
                for layer in fid_network(weights, (0, 1, 2))(rgb.float() / 255):
                    # Same as in pytorch-fid's get_activations().
                    mean = F.adaptive_avg_pool2d(layer, (1, 1)).flatten(1)
                    out[f"fid.{mean.shape[1]}.small"] = mean
            print(case, "features: mean", features.mean().item(), "largest",
                  features.abs().max().item(), "logits: largest",
                  logits.abs().max().item())
    save_file(out, f"{folder}/features.safetensors")
    state = small_state()
    save_file({n: t.detach().contiguous().clone() for n, t in state.items()},
              f"{folder}/state_dict.safetensors")
    torch.save(state, f"{folder}/state_dict_zip.pth")
    torch.save(state, f"{folder}/state_dict_stream.pth",
               _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main(sys.argv[1])
