# SPDX-License-Identifier: Apache-2.0
"""gandem from Python (docs/python.md), and its workers inside Python
(docs/own_networks.md).

Everything is done by the real programs: this package writes recipes, starts
`gandem` and reads run folders. Only what returns tensors imports torch.
"""
from gandem._errors import ConfigError, GandemError
from gandem._estimator import ScalingManager
from gandem._recipe import Enum, own
from gandem._run import Run
from gandem._training import train

__all__ = ["ConfigError", "Enum", "GandemError", "Run", "ScalingManager", "own",
           "train"]
