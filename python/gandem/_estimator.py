# SPDX-License-Identifier: Apache-2.0
"""ParaGAN's estimator (Liu et al., "ParaGAN: A Scalable Distributed Training
Framework for Generative Adversarial Networks", 2024, section 3) on top of
gandem.train."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Optional

from gandem._errors import ConfigError
from gandem._recipe import Recipe, own
from gandem._run import Run
from gandem._training import train


class ScalingManager:
    """`batch_size` is that of each role, `num_workers` the workers of each role,
    which share it; None leaves what the recipe says. The run is in `run_dir`."""

    def __init__(self, config: Recipe, batch_size: Optional[int] = None,
                 num_workers: Optional[int] = None,
                 run_dir: str | os.PathLike[str] = "runs/scaling_manager",
                 **set: Any) -> None:
        self.config = config
        self.run_dir = run_dir
        self.fields: dict[str, Any] = dict(set)
        for name, value in (("batch_size", batch_size),
                            ("workers", num_workers)):
            if value is not None:
                for role in ("generator", "discriminator"):
                    self.fields[f"{role}.{name}"] = value

    def train(self, gan: Any = None, *, flags: Sequence[str] = (),
              progress: bool = True) -> Run:
        """`gan` replaces the recipe's networks: a pair of a generator and a
        discriminator, or an object with these names, each what gandem.own
        makes or a class without arguments."""
        fields = dict(self.fields)
        if gan is not None:
            for role, network in networks_of(gan):
                fields[f"{role}.network"] = network
        return train(self.config, self.run_dir, flags=flags, progress=progress,
                     **fields)

    def evaluate(self, metric: str = "fid", **options: Any) -> Any:
        """One figure for one metric, else figures by name."""
        figures = Run(self.run_dir).evaluate(metric, **options)
        return next(iter(figures.values())) if len(figures) == 1 else figures


def networks_of(gan: Any) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(gan, (tuple, list)) and len(gan) == 2:
        pair = list(gan)
    elif hasattr(gan, "generator") and hasattr(gan, "discriminator"):
        pair = [gan.generator, gan.discriminator]
    else:
        raise ConfigError("gan: give (generator, discriminator), or an object "
                          "with these names")
    return [(role, one if isinstance(one, dict) else own(one))
            for role, one in zip(("generator", "discriminator"), pair)]
