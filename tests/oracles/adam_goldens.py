# SPDX-License-Identifier: Apache-2.0
"""100 steps of torch.optim.Adam in float64.

    python tests/oracles/adam_goldens.py tests/goldens

Needs torch==2.11.0, numpy and safetensors. Writes adam.safetensors:

    initial.<parameter>         parameters kernel [3, 2, 2, 2] and scale [5]
    gradients.<parameter>       [100, ...], the gradient of each step
    <case>.options              learning rate, beta1, beta2, eps, weight decay
    <case>.<parameter>          after the last step
    <case>.exp_avg.<parameter>, <case>.exp_avg_sq.<parameter>
"""
import sys

import torch
from safetensors.torch import save_file

SHAPES = {"kernel": (3, 2, 2, 2), "scale": (5,)}
STEPS = 100
CASES = {
    "classic": (2e-3, 0.9, 0.999, 1e-8, 0.0),
    "half": (2e-4, 0.5, 0.999, 1e-8, 0.0),
    "no_momentum": (1e-3, 0.0, 0.9, 1e-6, 0.0),
    "decayed": (1e-2, 0.5, 0.99, 1e-3, 0.1),
}


def main(folder):
    torch.set_num_threads(1)
    rng = torch.Generator().manual_seed(5)
    out = {}
    for name, shape in SHAPES.items():
        out[f"initial.{name}"] = torch.randn(
            shape, generator=rng, dtype=torch.float64)
        # Of very different sizes, so that eps matters for some elements.
        scale = 10.0**torch.randint(-6, 2, shape, generator=rng)
        out[f"gradients.{name}"] = scale * torch.randn(
            (STEPS, *shape), generator=rng, dtype=torch.float64)
    for case, options in CASES.items():
        rate, beta1, beta2, eps, decay = options
        parameters = {
            name: out[f"initial.{name}"].clone().requires_grad_()
            for name in SHAPES
        }
        adam = torch.optim.Adam(
            parameters.values(), lr=rate, betas=(beta1, beta2), eps=eps,
            weight_decay=decay, foreach=False)
        for step in range(STEPS):
            for name, parameter in parameters.items():
                parameter.grad = out[f"gradients.{name}"][step].clone()
            adam.step()
        out[f"{case}.options"] = torch.tensor(options, dtype=torch.float64)
        for name, parameter in parameters.items():
            moments = adam.state[parameter]
            out[f"{case}.{name}"] = parameter.detach()
            out[f"{case}.exp_avg.{name}"] = moments["exp_avg"]
            out[f"{case}.exp_avg_sq.{name}"] = moments["exp_avg_sq"]
    save_file(out, f"{folder}/adam.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
