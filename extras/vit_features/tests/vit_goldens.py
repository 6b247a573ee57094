# SPDX-License-Identifier: Apache-2.0
"""Writes features of small random CLIP and DINOv2 vision transformers.

    python extras/vit_features/tests/vit_goldens.py extras/vit_features/tests/goldens

Needs torch==2.11.0, numpy, pillow==12.0.0 (13 may resize the height first) and
safetensors. The networks are written here with PyTorch's own functions from the
papers and published definitions (Dosovitskiy et al. 2021; Radford et al. 2021;
Oquab et al. 2023), in float64, one head at a time; images are resized by Pillow.
Nothing is downloaded. Writes vits.safetensors:

    images.<case>              uint8 [N, C, H, W]
    <family>.input.<case>      what the network sees, every STRIDE-th row and column
    <file>.features.<case>     [N, D]

and vit_weights.safetensors, state dicts by the names of OpenAI, Meta (half
precision) and Hugging Face (a smaller network, single precision):

    clip.open., dinov2.meta., clip.face., dinov2.face.
"""
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import save_file

HEAD = 64
STRIDE = 17
CASES = {"wide": (2, 3, 40, 56), "gray": (1, 1, 28, 28), "tall": (1, 3, 300, 230)}
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
CLIP = ([0.48145466, 0.4578275, 0.40821073],
        [0.26862954, 0.26130258, 0.27577711])


def normal(rng, *shape, scale=1.0, shift=0.0):
    """Normal float32 numbers that half precision holds exactly."""
    return torch.from_numpy(
        (shift + scale * rng.randn(*shape)).astype(np.float16)).float()


def dinov2_state(rng, width=128, depth=2, hidden=96, patch=8, grid=5):
    """A random state dict with Meta's names."""
    state = {
        "cls_token": normal(rng, 1, 1, width),
        "pos_embed": normal(rng, 1, 1 + grid * grid, width),
        "mask_token": normal(rng, 1, width),
        "patch_embed.proj.weight": normal(rng, width, 3, patch, patch,
                                          scale=0.05),
        "patch_embed.proj.bias": normal(rng, width, scale=0.1),
        "norm.weight": normal(rng, width, scale=0.2, shift=1),
        "norm.bias": normal(rng, width, scale=0.2),
    }
    for i in range(depth):
        block = {
            "norm1.weight": normal(rng, width, scale=0.2, shift=1),
            "norm1.bias": normal(rng, width, scale=0.2),
            "attn.qkv.weight": normal(rng, 3 * width, width, scale=0.1),
            "attn.qkv.bias": normal(rng, 3 * width, scale=0.1),
            "attn.proj.weight": normal(rng, width, width, scale=0.1),
            "attn.proj.bias": normal(rng, width, scale=0.1),
            "ls1.gamma": normal(rng, width, scale=0.5),
            "norm2.weight": normal(rng, width, scale=0.2, shift=1),
            "norm2.bias": normal(rng, width, scale=0.2),
            "mlp.fc1.weight": normal(rng, hidden, width, scale=0.1),
            "mlp.fc1.bias": normal(rng, hidden, scale=0.1),
            "mlp.fc2.weight": normal(rng, width, hidden, scale=0.05),
            "mlp.fc2.bias": normal(rng, width, scale=0.1),
            "ls2.gamma": normal(rng, width, scale=0.5),
        }
        state |= {f"blocks.{i}.{name}": value for name, value in block.items()}
    return state


def clip_state(rng, width=128, depth=2, hidden=96, patch=8, grid=6, out=48):
    """A random state dict with OpenAI's names."""
    state = {
        "visual.class_embedding": normal(rng, width),
        "visual.positional_embedding": normal(rng, 1 + grid * grid, width),
        "visual.conv1.weight": normal(rng, width, 3, patch, patch, scale=0.05),
        "visual.proj": normal(rng, width, out, scale=0.1),
        "logit_scale": normal(rng, 1)[0],
        "ln_final.weight": normal(rng, 7),  # belongs to the text half
    }
    for name in ("ln_pre", "ln_post"):
        state[f"visual.{name}.weight"] = normal(rng, width, scale=0.2, shift=1)
        state[f"visual.{name}.bias"] = normal(rng, width, scale=0.2)
    for i in range(depth):
        block = {
            "ln_1.weight": normal(rng, width, scale=0.2, shift=1),
            "ln_1.bias": normal(rng, width, scale=0.2),
            "attn.in_proj_weight": normal(rng, 3 * width, width, scale=0.1),
            "attn.in_proj_bias": normal(rng, 3 * width, scale=0.1),
            "attn.out_proj.weight": normal(rng, width, width, scale=0.1),
            "attn.out_proj.bias": normal(rng, width, scale=0.1),
            "ln_2.weight": normal(rng, width, scale=0.2, shift=1),
            "ln_2.bias": normal(rng, width, scale=0.2),
            "mlp.c_fc.weight": normal(rng, hidden, width, scale=0.1),
            "mlp.c_fc.bias": normal(rng, hidden, scale=0.1),
            "mlp.c_proj.weight": normal(rng, width, hidden, scale=0.05),
            "mlp.c_proj.bias": normal(rng, width, scale=0.1),
        }
        state |= {f"visual.transformer.resblocks.{i}.{name}": value
                  for name, value in block.items()}
    return state


def split_in_three(names, value):
    return dict(zip(names, (part.clone() for part in value.chunk(3))))


def dinov2_face(state):
    """Renames Meta's tensors to those of Hugging Face's Dinov2Model."""
    plain = {
        "cls_token": "embeddings.cls_token",
        "pos_embed": "embeddings.position_embeddings",
        "mask_token": "embeddings.mask_token",
        "patch_embed.proj.weight":
            "embeddings.patch_embeddings.projection.weight",
        "patch_embed.proj.bias": "embeddings.patch_embeddings.projection.bias",
        "norm.weight": "layernorm.weight",
        "norm.bias": "layernorm.bias",
    }
    renamed = {}
    for name, value in state.items():
        if name in plain:
            renamed[plain[name]] = value
            continue
        name = name.replace("blocks.", "encoder.layer.")
        if ".attn.qkv." in name:
            renamed |= split_in_three(
                [name.replace("attn.qkv", f"attention.attention.{part}")
                 for part in ("query", "key", "value")], value)
            continue
        for old, new in (("attn.proj", "attention.output.dense"),
                         ("ls1.gamma", "layer_scale1.lambda1"),
                         ("ls2.gamma", "layer_scale2.lambda1")):
            name = name.replace(old, new)
        renamed[name] = value
    return renamed


def clip_face(state):
    """Renames OpenAI's tensors to those of Hugging Face's CLIPModel."""
    top = "vision_model."
    plain = {
        "visual.class_embedding": top + "embeddings.class_embedding",
        "visual.positional_embedding":
            top + "embeddings.position_embedding.weight",
        "visual.conv1.weight": top + "embeddings.patch_embedding.weight",
        "visual.ln_pre.weight": top + "pre_layrnorm.weight",
        "visual.ln_pre.bias": top + "pre_layrnorm.bias",
        "visual.ln_post.weight": top + "post_layernorm.weight",
        "visual.ln_post.bias": top + "post_layernorm.bias",
        "logit_scale": "logit_scale",
        "ln_final.weight": "text_model.final_layer_norm.weight",
    }
    renamed = {"visual_projection.weight": state["visual.proj"].t().contiguous()}
    positions = len(state["visual.positional_embedding"])
    renamed[top + "embeddings.position_ids"] = torch.arange(positions)[None]
    for name, value in state.items():
        if name == "visual.proj":
            continue
        if name in plain:
            renamed[plain[name]] = value
            continue
        name = name.replace("visual.transformer.resblocks.",
                            top + "encoder.layers.")
        if ".attn.in_proj_" in name:
            renamed |= split_in_three(
                [name.replace("attn.in_proj_", f"self_attn.{part}_proj.")
                 for part in "qkv"], value)
            continue
        for old, new in (("attn.out_proj", "self_attn.out_proj"),
                         ("ln_1", "layer_norm1"), ("ln_2", "layer_norm2"),
                         ("mlp.c_fc", "mlp.fc1"), ("mlp.c_proj", "mlp.fc2")):
            name = name.replace(old, new)
        renamed[name] = value
    return renamed


def attention(x, weight, bias, out_weight, out_bias):
    q, k, v = F.linear(x, weight, bias).chunk(3, dim=-1)
    heads = []
    for at in range(0, x.shape[-1], HEAD):
        part = slice(at, at + HEAD)
        scores = q[..., part] @ k[..., part].transpose(1, 2) / math.sqrt(HEAD)
        heads.append(scores.softmax(-1) @ v[..., part])
    return F.linear(torch.cat(heads, -1), out_weight, out_bias)


def dinov2(state, images):
    state = {name: value.double() for name, value in state.items()}
    width = state["cls_token"].shape[-1]
    patch = state["patch_embed.proj.weight"].shape[-1]
    x = F.conv2d(images, state["patch_embed.proj.weight"],
                 state["patch_embed.proj.bias"], stride=patch)
    side = x.shape[-1]
    x = x.flatten(2).transpose(1, 2)
    positions = state["pos_embed"]
    grid = math.isqrt(positions.shape[1] - 1)
    scale = (side + 0.1) / grid  # Meta's interpolate_offset
    resized = F.interpolate(
        positions[:, 1:].float().reshape(1, grid, grid, width)
        .permute(0, 3, 1, 2), scale_factor=(scale, scale), mode="bicubic")
    assert resized.shape[-2:] == (side, side)
    positions = torch.cat(
        [positions[:, :1], resized.double().flatten(2).transpose(1, 2)], 1)
    x = torch.cat([state["cls_token"].expand(len(x), 1, width), x], 1)
    x = x + positions

    def norm(y, name):
        return F.layer_norm(y, (width,), state[name + ".weight"],
                            state[name + ".bias"], 1e-6)

    for i in range(sum(name.endswith("ls1.gamma") for name in state)):
        block = {name.removeprefix(f"blocks.{i}."): value
                 for name, value in state.items()}
        y = attention(norm(x, f"blocks.{i}.norm1"), block["attn.qkv.weight"],
                      block["attn.qkv.bias"], block["attn.proj.weight"],
                      block["attn.proj.bias"])
        x = x + block["ls1.gamma"] * y
        y = F.linear(norm(x, f"blocks.{i}.norm2"), block["mlp.fc1.weight"],
                     block["mlp.fc1.bias"])
        y = F.linear(F.gelu(y), block["mlp.fc2.weight"], block["mlp.fc2.bias"])
        x = x + block["ls2.gamma"] * y
    return norm(x, "norm")[:, 0]


def clip(state, images):
    state = {name.removeprefix("visual."): value.double()
             for name, value in state.items()}
    width = len(state["class_embedding"])
    x = F.conv2d(images, state["conv1.weight"],
                 stride=state["conv1.weight"].shape[-1])
    x = x.flatten(2).transpose(1, 2)
    x = torch.cat([state["class_embedding"].expand(len(x), 1, width), x], 1)
    x = x + state["positional_embedding"]

    def norm(y, name):
        return F.layer_norm(y, (width,), state[name + ".weight"],
                            state[name + ".bias"], 1e-5)

    x = norm(x, "ln_pre")
    for i in range(sum(name.endswith("in_proj_bias") for name in state)):
        prefix = f"transformer.resblocks.{i}."
        x = x + attention(norm(x, prefix + "ln_1"),
                          state[prefix + "attn.in_proj_weight"],
                          state[prefix + "attn.in_proj_bias"],
                          state[prefix + "attn.out_proj.weight"],
                          state[prefix + "attn.out_proj.bias"])
        y = F.linear(norm(x, prefix + "ln_2"), state[prefix + "mlp.c_fc.weight"],
                     state[prefix + "mlp.c_fc.bias"])
        y = y * torch.sigmoid(1.702 * y)  # QuickGELU
        x = x + F.linear(y, state[prefix + "mlp.c_proj.weight"],
                         state[prefix + "mlp.c_proj.bias"])
    return norm(x[:, 0], "ln_post") @ state["proj"]


def prepared(images, size, square, statistics):
    """Resizes by Pillow like dgm-eval (both sides) or CMMD's code (`square`)."""
    mean, sd = (torch.tensor(numbers, dtype=torch.float64).view(3, 1, 1)
                for numbers in statistics)
    out = []
    for image in images.expand(-1, 3, -1, -1):
        image = Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())
        if square:
            w, h = image.size
            side = min(w, h)
            left, top = (w - side) // 2, (h - side) // 2
            image = image.crop((left, top, left + side, top + side))
        image = image.resize((size, size), resample=Image.BICUBIC)
        pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).double()
        out.append((pixels / 255 - mean) / sd)
    return torch.stack(out)


def main(folder):
    rng = np.random.RandomState(5)
    small = {"width": 64, "depth": 1, "hidden": 32}
    meta, small_meta = dinov2_state(rng), dinov2_state(rng, **small)
    openai, small_openai = clip_state(rng), clip_state(rng, **small)
    weights = {}
    for prefix, state in (("dinov2.meta.", {n: t.half() for n, t in meta.items()}),
                          ("dinov2.face.", dinov2_face(small_meta)),
                          ("clip.open.", {n: t.half() for n, t in openai.items()}),
                          ("clip.face.", clip_face(small_openai))):
        weights |= {prefix + name: value.contiguous().clone()
                    for name, value in state.items()}
    save_file(weights, f"{folder}/vit_weights.safetensors")
    out = {}
    for case, shape in CASES.items():
        images = torch.from_numpy(rng.randint(0, 256, shape).astype(np.uint8))
        out[f"images.{case}"] = images
        for family, network, states, size, square, statistics in (
                ("dinov2", dinov2, {"meta": meta, "face": small_meta}, 224,
                 False, IMAGENET),
                ("clip", clip, {"open": openai, "face": small_openai}, 48, True,
                 CLIP)):
            seen = prepared(images, size, square, statistics)
            out[f"{family}.input.{case}"] = seen[
                :, :, ::STRIDE, ::STRIDE].contiguous()
            for file, state in states.items():
                features = network(state, seen).contiguous()
                out[f"{family}.{file}.features.{case}"] = features
                print(family, file, case, "largest",
                      features.abs().max().item())
    save_file(out, f"{folder}/vits.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
