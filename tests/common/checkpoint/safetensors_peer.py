# SPDX-License-Identifier: Apache-2.0
"""The Python side of safetensors_python_test.cc: read FILE or write FILE."""
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def read(path):
    expected = {
        "flags": np.array([True, False, True]),
        "bytes": np.array([[7, 255]], np.uint8),
        "half": np.array([1], np.float16),
        "weight \u00e9": np.array([[1, -2], [3.5, 4]], np.float32),
        "scalar": np.array(0.1, np.float64),
        "steps": np.array([-1, 2**63 - 1], np.int64),
        "ints": np.array([-2**31], np.int32),
        "empty": np.zeros([0, 5], np.float32),
    }
    tensors = load_file(path)
    assert sorted(tensors) == sorted(expected), sorted(tensors)
    for name, value in expected.items():
        assert tensors[name].dtype == value.dtype, name
        assert tensors[name].shape == value.shape, name
        assert (tensors[name] == value).all(), name
    with safe_open(path, "numpy") as opened:
        assert opened.metadata() == {"step": "7"}, opened.metadata()


def write(path):
    save_file({
        "a": np.array([[1, 2], [3, 4]], np.float32),
        "b": np.array(-5, np.int64),
        "c": np.array([True, False, True]),
        "d": np.zeros([0], np.float64),
    }, path, metadata={"made by": "Python"})


if __name__ == "__main__":
    {"read": read, "write": write}[sys.argv[1]](sys.argv[2])
