# SPDX-License-Identifier: Apache-2.0
"""Prefetching from a server respects data.memory_bytes at any prefetch depth."""

import json
import os
import random
import struct
import subprocess
import zlib

import file_server
import harness
from remote_data_test import chunk, tar_of

MEMORY_BYTES = 64 << 20
SHARDS = 4
SIDE = 128


def noise_png(draw):
    """A PNG file of 48 KiB, the size of a typical photograph."""
    rows = b"".join(b"\0" + draw.randbytes(3 * SIDE) for _ in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))


class DataMemoryTest(harness.RunTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        images = [noise_png(draw) for _ in range(20)]
        shard = tar_of((f"{i:06}.png", images[i % len(images)])
                       for i in range(600))
        self.server = file_server.FileServer(
            {f"s-{i:03}.tar": shard for i in range(SHARDS)})
        self.addCleanup(self.server.close)

    def most_bytes(self, memory_bytes, *flags):
        """Peak memory of stall_benchmark above its memory at the start."""
        source = self.server.url(f"s-{{000..{SHARDS - 1:03}}}.tar")
        result = self.folder / "result.json"
        done = subprocess.run(
            [harness.BIN / "stall_benchmark", "--source", source,
             "--memory_bytes", str(memory_bytes), "--size", "64",
             "--batch", "32", "--batch_seconds", "0.02", "--warm_up", "0",
             "--workers", "2", "--seconds", "4", "--json", result, *flags],
            capture_output=True, text=True, timeout=harness.DEADLINE,
            env={**os.environ, "HOME": str(self.folder), "no_proxy": "*"})
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(result.read_text())
        self.assertGreater(found["batches"], 0)
        return found["most_memory_bytes"]

    def test_keeps_to_its_memory(self):
        # The largest depth, instead of the controller's choice.
        for flags in ((), ("--hold", "64,2,100000")):
            with self.subTest(flags):
                self.assertLess(self.most_bytes(MEMORY_BYTES, *flags),
                                1.1 * MEMORY_BYTES)

    def test_it_would_take_more(self):
        # There are enough images to exceed the limit of the other test.
        self.assertGreater(
            self.most_bytes(8 * MEMORY_BYTES, "--hold", "64,2,100000"),
            1.5 * MEMORY_BYTES)


if __name__ == "__main__":
    harness.main()
