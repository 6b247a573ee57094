# SPDX-License-Identifier: Apache-2.0
"""The other side of npz_python_test.cc: npz_peer.py read|write PATH"""
import sys

import numpy as np


def main(command, path):
    if command == "read":
        with np.load(path, allow_pickle=False) as file:
            assert sorted(file.files) == ["arr_0", "flags", "mu", "scalar"]
            assert file["arr_0"].dtype == np.uint8
            assert file["arr_0"].tolist() == [[[1, 2]], [[3, 255]]]
            assert file["mu"].dtype == np.float64
            assert file["mu"].tolist() == [0.1, -2]
            assert file["flags"].tolist() == [True, False]
            assert file["scalar"].shape == () and file["scalar"] == -7
    else:
        arrays = {
            "floats": np.array([[1, 2, 3], [4, 5, 6]], np.float32),
            "columns": np.asfortranarray(
                np.arange(24, dtype=np.int64).reshape(2, 3, 4)),
            "large": np.zeros((300, 300)),
            "empty": np.zeros((0, 3), np.int32),
            "text": np.array(["a"]),
        }
        np.savez(f"{path}/stored.npz", **arrays)
        np.savez_compressed(f"{path}/deflated.npz", **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:])
