# SPDX-License-Identifier: Apache-2.0
"""Repeats runs from their folders alone, in plain PyTorch and in float64, and
compares the results with the newest checkpoints:

    gandem train recipes/mlp_smoke.textproto --run_dir runs/s \\
        --set generator.precision=FLOAT64 --set discriminator.precision=FLOAT64 \\
        --set exchange.image_encoding=FLOAT64 \\
        --set exchange.feedback_encoding=FLOAT64
    python tests/oracles/stranger.py runs/s [--limit 1e-8]

Needs torch==2.11.0, numpy and safetensors. Written from
docs/reference/numerics.md and the pages that it links, without code of gandem.
Reads config.textproto, draws the initial values, the noise and the order of the
images, and trains one generator and one discriminator in one loop. A run of
several workers per role equals a run of one, up to the order of sums.

Exits with 0 if all parameters and buffers of both networks and of the average
are within the limit, with 1 if not, and with 2 if the run uses anything that is
not supported here. Supported are:

    precision   FLOAT64 in both roles and on the wire
    networks    mlp, dcgan, sndcgan
    losses      all seven; penalties r1 and r2, in every n-th step (JOINED)
    schedule    EXACT: any lag, R, image_source and feedback
    batches     micro_batch, sync.interval; several workers that sum gradients
                (ACCUMULATE, EXACT), with sync.batch_norm where there is batch
                norm, and without micro_batch
    optimizers  adam, adamw, sgd; clip_gradient_norm
    average     decay, start_round, buffers
    data        idx_images, fit PAD or RESIZE with AREA, without labels, mirrored
                images or another order than GLOBAL
"""
import argparse
import math
import pathlib
import re
import sys

import numpy as np
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

import networks as nets
from stranger_inputs import RealImages, check_draws, normals, set_first_values

GENERATOR_NOISE, DISCRIMINATOR_NOISE = 1, 2  # purposes
ROUNDING = 1e-10  # the error of a smaller tensor is absolute


# --- The run folder ---


def parse_text(text):
    """Text-format protobuf as dictionaries; repeated fields become lists."""
    tokens = re.findall(r'"(?:\\.|[^"\\])*"|[{}:]|[^\s{}:"]+',
                        re.sub(r"(?m)^\s*#.*$", "", text))
    place = 0

    def value(token):
        if token[0] == '"':
            return token[1:-1].encode().decode("unicode_escape")
        if token in ("true", "false"):
            return token == "true"
        for kind in (int, float):
            try:
                return kind(token)
            except ValueError:
                pass
        return token

    def message():
        nonlocal place
        fields = {}
        while place < len(tokens) and tokens[place] != "}":
            name = tokens[place]
            place += 1
            if tokens[place] == ":":
                place += 1
            if tokens[place] == "{":
                place += 1
                found = message()
                place += 1
            else:
                found = value(tokens[place])
                place += 1
            if name in fields:
                earlier = fields[name]
                earlier = earlier if isinstance(earlier, list) else [earlier]
                found = [*earlier, found]
            fields[name] = found
        return fields

    return message()


def family(config):
    """The oneof that is set in `config`, and its fields."""
    (name, fields), = [item for item in config.items()
                       if isinstance(item[1], dict)
                       and item[0] not in ("lookahead", "rate_schedule",
                                           "group")]
    return name, fields


def has_batch_norm(config, role):
    name, fields = family(config[role]["network"])
    if name == "dcgan":
        return True
    if name == "sndcgan":
        return role == "generator" or not fields["spectral_norm"]
    return role == "generator" and fields["batch_norm"]


def not_done_here(config, manifest):
    """Messages about settings that this script does not support."""
    faults = []

    def only(path, *accepted):
        found = config
        for part in path.split("."):
            found = found.get(part, {})
        # The effective config has every value; {} is an unset message or list.
        if found not in accepted:
            faults.append(f"{path} is {found!r}, not one of {accepted}")

    for role in ("generator", "discriminator"):
        only(f"{role}.precision", "FLOAT64")
        only(f"{role}.freeze", {})
        only(f"{role}.optimizer.optimism", 0)
        only(f"{role}.optimizer.optimism_rule", "FIXED")
        only(f"{role}.optimizer.lookahead.period", 0)
        only(f"{role}.optimizer.rate_schedule.shape", "CONSTANT")
        only(f"{role}.optimizer.rate_schedule.warmup_rounds", 0)
        only(f"{role}.optimizer.batch_scaling", "BATCH_NONE")
        only(f"{role}.optimizer.group", {})
        only(f"{role}.optimizer.adam.beta2_steps", 0, {})
        name, _ = family(config[role]["network"])
        if name not in ("mlp", "dcgan", "sndcgan"):
            faults.append(f"{role}.network is {name}")
        rule, _ = family(config[role]["optimizer"])
        if rule not in ("adam", "adamw", "sgd"):
            faults.append(f"{role}.optimizer is {rule}")
        if config[role]["workers"] > 1:
            only(f"{role}.sync.mode", "ACCUMULATE")
            only(f"{role}.sync.wire", "EXACT")
    if any(config[role]["workers"] > 1 for role in
           ("generator", "discriminator")):
        for role in ("generator", "discriminator"):
            only(f"{role}.micro_batch", 0)
            if has_batch_norm(config, role):
                only(f"{role}.sync.batch_norm", True)
    only("exchange.image_encoding", "FLOAT64")
    only("exchange.feedback_encoding", "FLOAT64")
    only("schedule.consistency", "EXACT")
    for name in ("gradient_penalty", "dragan", "lecam", "consistency_real",
                 "consistency_generated", "path_length",
                 "gradient_decay_steps"):
        only(f"penalties.{name}", 0)
    only("penalties.lazy_update", "JOINED", {})  # {} in an older run
    only("augmentation.color", False)
    only("augmentation.translation", 0)
    only("augmentation.cutout", 0)
    only("augmentation.ada", {})
    only("class_loss.family", "NONE")
    only("paired_loss.l1", 0)
    only("ema.half_life_images", 0)
    only("ema.half_life_ramp_images", 0)
    only("data.source", "")
    only("data.idx_inputs", "")
    only("data.num_classes", 0)
    only("data.channels", 0, 1)
    only("data.fit", "PAD", "RESIZE")
    if config["data"]["fit"] == "RESIZE":
        only("data.crop", "NONE")
        only("data.resize", "AREA")
    only("data.horizontal_flip", False)
    only("data.order", "GLOBAL")
    if manifest.get("rollbacks", 0) != 0:
        faults.append("the run was rolled back")
    return faults


def newest_checkpoint(run_dir):
    steps = [(int(path.name.split("-")[1]), path)
             for path in (run_dir / "checkpoints").glob("step-*")
             if re.fullmatch(r"step-\d+", path.name)]
    if not steps:
        sys.exit(f"{run_dir} has no checkpoint")
    return max(steps)


def load_state(folder, role):
    state = {}
    for path in sorted(folder.glob(f"{role}-*.safetensors")):
        state.update(load_file(path))
    return state


# --- Networks ---


def maker(config, role):
    name, fields = family(config[role]["network"])
    size = config["data"]["image_size"]
    hidden = fields.get("hidden", [])
    hidden = hidden if isinstance(hidden, list) else [hidden]
    if role == "generator":
        noise_dim = fields["noise_dim"]
        return {
            "mlp": lambda: mlp_generator(noise_dim, hidden, size,
                                         fields["batch_norm"]),
            "dcgan": lambda: nets.DcganGenerator(noise_dim, fields["width"], 1,
                                                 size),
            "sndcgan": lambda: nets.SndcganGenerator(noise_dim,
                                                     fields["width"], 1),
        }[name]
    return {
        "mlp": lambda: nets.MlpDiscriminator(hidden, 1, size),
        "dcgan": lambda: nets.DcganDiscriminator(fields["width"], 1, size),
        "sndcgan": lambda: nets.SndcganDiscriminator(
            fields["width"], 1, fields["spectral_norm"]),
    }[name]


def mlp_generator(noise_dim, hidden, size, batch_norm):
    network = nets.MlpGenerator(noise_dim, hidden, 1, size)
    if batch_norm:
        layers, linear = [], 0
        for layer in network.main:
            layers.append(layer)
            if isinstance(layer, torch.nn.Linear):
                linear += 1
                if 1 < linear <= len(hidden):
                    layers.append(torch.nn.BatchNorm1d(layer.out_features,
                                                       eps=0.8))
        network.main = torch.nn.Sequential(*layers)
    return network


# --- Losses ---

SEPARABLE = {  # losses of real and generated images, and of the generator
    "NON_SATURATING": (lambda r: F.softplus(-r), F.softplus,
                       lambda g: F.softplus(-g)),
    "SATURATING": (lambda r: F.softplus(-r), F.softplus,
                   lambda g: -F.softplus(g)),
    "LEAST_SQUARES": (lambda r: (r - 1)**2 / 2, lambda g: g**2 / 2,
                      lambda g: (g - 1)**2 / 2),
    "HINGE": (lambda r: F.relu(1 - r), lambda g: F.relu(1 + g), lambda g: -g),
    "WASSERSTEIN": (lambda r: -r, lambda g: g, lambda g: -g),
}
RELATIVE = {  # the first logits should be above the second
    "RELATIVISTIC_PAIRED": lambda a, b: F.softplus(b - a),
    "RELATIVISTIC_AVERAGE":
        lambda a, b: F.softplus(b.mean() - a) + F.softplus(b - a.mean()),
}


def slope_square(logits, x):
    """Sum over images of |dD/dx|^2 / 2, differentiable."""
    slope, = torch.autograd.grad(logits.sum(), x, create_graph=True)
    return (slope**2).sum() / 2


# --- A run ---


def pieces_of(step_batch, batches, micro):
    """Slices of the passes of a step: the micro-batches of each batch."""
    batch = step_batch // batches
    return [slice(first, min(first + (micro or batch), begin + batch))
            for begin in range(0, step_batch, batch)
            for first in range(begin, begin + batch, micro or batch)]


class Role:
    def __init__(self, config, role, first_tensor):
        self.config = config[role]
        self.make = maker(config, role)
        self.network = self.make()
        name, _ = family(self.config["network"])
        set_first_values(self.network, name, config["seed"], first_tensor)
        self.network.double()
        sync = self.config["sync"]
        self.batches = sync["interval"] if sync["mode"] == "ACCUMULATE" else 1
        self.batch = self.config["batch_size"] * self.batches  # per step
        self.pieces = self.cut(self.batch, self.batches)
        self.optimizer = self.make_optimizer()

    def cut(self, step_batch, batches):
        return pieces_of(step_batch, batches, self.config["micro_batch"])

    def make_optimizer(self):
        rule, o = family(self.config["optimizer"])
        parameters = list(self.network.parameters())
        if rule == "sgd":
            return torch.optim.SGD(
                parameters, lr=o["learning_rate"], momentum=o["momentum"],
                dampening=o["dampening"], nesterov=o["nesterov"],
                weight_decay=o["weight_decay"], foreach=False)
        kind = torch.optim.Adam if rule == "adam" else torch.optim.AdamW
        return kind(parameters, lr=o["learning_rate"],
                    betas=(float(o["beta1"]), float(o["beta2"])), eps=o["eps"],
                    weight_decay=o["weight_decay"], foreach=False)

    def update(self):
        limit = self.config["clip_gradient_norm"]
        if limit > 0:
            norm = torch.sqrt(sum((p.grad**2).sum()
                                  for p in self.network.parameters()))
            factor = min(1.0, limit / (norm.item() + 1e-6))
            for p in self.network.parameters():
                p.grad *= factor
        self.optimizer.step()
        self.optimizer.zero_grad()


class Run:
    def __init__(self, config):
        self.config, self.seed = config, config["seed"]
        schedule = config["schedule"]
        self.lag = schedule["lag"]
        self.steps = schedule["discriminator_steps_per_round"]
        self.fresh = schedule["image_source"] == "FRESH"
        self.fused = schedule["feedback"] == "FUSED"
        self.loss = config["loss"]
        self.relative = RELATIVE.get(self.loss)
        self.penalties = config["penalties"]
        self.real = RealImages(config)
        self.G = Role(config, "generator", 0)
        self.D = Role(config, "discriminator", 1 << 32)
        self.average = self.G.make().double()
        nets.load(self.average, nets.state(self.G.network))
        # phi at the boundaries whose critics are still needed
        self.critics = {0: nets.frozen(self.D.make, self.D.network)}

    def noise(self, purpose, step, piece):
        z = normals(self.seed, purpose, step, range(piece.start, piece.stop),
                    self.G.network.noise_dim)
        return torch.from_numpy(z.astype(np.float32)).double()

    def fresh_images(self, t):
        G = nets.frozen(self.G.make, self.G.network)
        with torch.no_grad():
            return torch.cat([
                G(self.noise(DISCRIMINATOR_NOISE, t * self.steps + u, piece))
                for u in range(self.steps)
                for piece in self.G.cut(self.D.batch, self.D.batches)])

    def generator_loss(self, logits, real_logits, images):
        """The part of these images; real_logits are those of a whole batch."""
        if self.relative:
            return self.relative(logits, real_logits).mean()
        return SEPARABLE[self.loss][2](logits).sum() / images

    def round(self, t):
        fresh = self.fresh_images(t) if self.fresh else None
        graphs = [self.G.network(self.noise(GENERATOR_NOISE, t, piece))
                  for piece in self.G.pieces]
        own = torch.cat([x.detach() for x in graphs])
        slopes = torch.zeros_like(own)
        trained = fresh if self.fresh else own
        for u in range(self.steps):
            step = slice(u * self.D.batch, (u + 1) * self.D.batch)
            slope = self.discriminator_step(t * self.steps + u, trained[step])
            if self.fused:
                slopes[step] = slope
        self.critics[t + 1] = nets.frozen(self.D.make, self.D.network)
        if not self.fused:
            slopes = self.judge(t, own)
        for x, piece in zip(graphs, self.G.pieces):
            x.backward(slopes[piece])
        self.G.update()
        self.update_average(t)

    def judge(self, t, images):
        boundary = max(0, t + 1 - self.lag)
        critic = self.critics[boundary]
        for older in [b for b in self.critics if b < boundary]:
            del self.critics[older]
        slopes = torch.zeros_like(images)
        for piece in self.G.pieces:
            leaf = images[piece].clone().requires_grad_()
            real_logits = None
            if self.relative:
                real_logits = critic(self.real.numbers(
                    t * self.G.batch + piece.start,
                    piece.stop - piece.start)).detach()
            loss = self.generator_loss(critic(leaf), real_logits, self.G.batch)
            slopes[piece], = torch.autograd.grad(loss, leaf)
        return slopes

    def discriminator_step(self, step, images):
        """Returns the gradients with respect to the images if FUSED."""
        D, n = self.D.network, self.D.batch
        real = self.real.numbers(step * n, n)
        slopes = torch.zeros_like(images)
        lazy = self.penalties["gradient_every_steps"]
        due = lazy if step % lazy == 0 else 0
        r1, r2 = due * self.penalties["r1"], due * self.penalties["r2"]
        kept = {}  # for relativistic losses: real logits and their penalty

        def on_real(piece):
            x = real[piece].clone().requires_grad_(r1 > 0)
            logits = D(x)
            more = r1 * slope_square(logits, x) / n if r1 > 0 else 0
            if self.relative:
                kept[piece.start] = logits, more
                return
            (SEPARABLE[self.loss][0](logits).sum() / n + more).backward()

        def on_generated(piece):
            x = images[piece].clone().requires_grad_(self.fused or r2 > 0)
            logits = D(x)
            real_logits, loss = kept.pop(piece.start, (None, 0))
            if self.fused:
                mine = self.generator_loss(
                    logits, real_logits.detach() if self.relative else None,
                    self.G.batch)
                slopes[piece], = torch.autograd.grad(mine, x,
                                                     retain_graph=True)
            if self.relative:
                loss = loss + self.relative(real_logits, logits).mean()
            else:
                loss = SEPARABLE[self.loss][1](logits).sum() / n
            if r2 > 0:
                loss = loss + r2 * slope_square(logits, x) / n
            loss.backward()

        order = [on_real, on_generated]
        if self.fused and not self.relative:
            order.reverse()
        for train in order:
            for piece in self.D.pieces:
                train(piece)
        self.D.update()
        return slopes

    @torch.no_grad()
    def update_average(self, t):
        ema = self.config["ema"]
        decay = ema["decay"] if t >= ema["start_round"] else 0
        parameters = dict(self.average.named_parameters())
        source = self.G.network.state_dict()
        for name, target in self.average.state_dict().items():
            copied = (not target.is_floating_point()
                      or name not in parameters and ema["buffers"] == "COPIED")
            if copied or decay == 0:
                target.copy_(source[name])
            else:
                target.mul_(decay).add_(source[name], alpha=1 - decay)


# --- Comparison ---


def idle_biases(network):
    """Biases that batch norm cancels, and the running means that include them.
    Their gradients are only rounding errors, which an Adam of small eps
    amplifies."""
    layers = list(network.main)
    return {name for i, (layer, after) in enumerate(zip(layers, layers[1:]))
            if nets._is_norm(after) and layer.bias is not None
            for name in (f"main.{i}.bias", f"main.{i + 1}.running_mean")}


def distance(mine, theirs, is_idle):
    if not mine.is_floating_point():
        return 0.0 if torch.equal(mine, theirs) else math.inf
    size = 0 if is_idle else theirs.norm().item()
    result = (mine - theirs).norm().item() / (size if size > ROUNDING else 1)
    return math.inf if math.isnan(result) else result


def compare(what, network, saved, prefix):
    """Prints and returns the largest difference of a tensor."""
    mine, idle = nets.state(network), idle_biases(network)
    theirs = {name[len(prefix):]: value for name, value in saved.items()
              if name.startswith(prefix)}
    if theirs.keys() != mine.keys():
        print(f"{what}: tensor names differ: "
              f"{sorted(theirs.keys() ^ mine.keys())}")
        return math.inf
    worst, name = max((distance(mine[name], theirs[name], name in idle), name)
                      for name in mine)
    print(f"{what:15} {len(mine):3} tensors, largest difference {worst:.1e} "
          f"({name})")
    return worst


def check_run(run_dir, limit):
    config = parse_text((run_dir / "config.textproto").read_text())
    rounds, folder = newest_checkpoint(run_dir)
    manifest = parse_text((folder / "manifest.textproto").read_text())
    print(f"{run_dir}, {rounds} rounds", flush=True)
    faults = not_done_here(config, manifest)
    if faults:
        print("not supported here:", *faults, sep="\n  ")
        return 2
    run = Run(config)
    for t in range(rounds):
        run.round(t)
    generator = load_state(folder, "generator")
    worst = max(
        compare("generator", run.G.network, generator, "model."),
        compare("average", run.average, generator, "ema."),
        compare("discriminator", run.D.network,
                load_state(folder, "discriminator"), "model."))
    if worst > limit:
        print(f"TOO FAR: {worst:.1e} is above {limit}")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run_dir", type=pathlib.Path, nargs="+")
    parser.add_argument("--limit", type=float, default=1e-8)
    options = parser.parse_args()
    torch.set_num_threads(1)
    check_draws()
    return max(check_run(run_dir, options.limit)
               for run_dir in options.run_dir)


if __name__ == "__main__":
    sys.exit(main())
