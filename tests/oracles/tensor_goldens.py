# SPDX-License-Identifier: Apache-2.0
"""Writes shards of tensors with other programs, and the expected values.

    python3 tests/oracles/tensor_goldens.py tests/goldens/tensors

    halves.safetensors  `latents` F16 [4, 4, 16, 16] with all exponents and both
                        signs, including subnormal numbers; `labels` I64 [4];
                        `expected` F32 [4096], the same numbers by numpy
    images-0.npy        float32 [3, 3, 2, 2], 0, 1/64, 2/64 ... from numpy.save
    labels-0.npy        int64 [3]: 2, 0, 1

The committed files are from numpy 2.4 and safetensors 0.8.
"""
import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file


def halves():
    """4,096 finite halves: each exponent with 64 mantissas and both signs."""
    exponents = np.arange(31, dtype=np.uint16)[:, None] << 10
    mantissas = (np.arange(64, dtype=np.uint16) * 16 + 9)[None, :]
    positive = (exponents | mantissas).reshape(-1)
    bits = np.concatenate([positive, positive | 0x8000, [0x0000, 0x8000, 0x0001,
                                                         0x03ff, 0x7bff]])
    return np.resize(bits.astype(np.uint16), 4096).view(np.float16)


def main():
    folder = pathlib.Path(sys.argv[1])
    values = halves()
    save_file({"latents": values.reshape(4, 4, 16, 16),
               "labels": np.array([3, 1, 0, 2]),
               "expected": values.astype(np.float32)},
              folder / "halves.safetensors")
    np.save(folder / "images-0.npy",
            (np.arange(36, dtype=np.float32) / 64).reshape(3, 3, 2, 2))
    np.save(folder / "labels-0.npy", np.array([2, 0, 1]))


main()
