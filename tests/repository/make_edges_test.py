# SPDX-License-Identifier: Apache-2.0
"""Tests the output of scripts/make_edges.py: make_edges_test.py SCRIPT."""
import gzip
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop()


def idx(images, height, width):
    return struct.pack(">IIII", 0x803, len(images), height, width) + b"".join(
        bytes(image) for image in images)


class MakeEdgesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.images = pathlib.Path(folder.name, "images")
        self.edges = pathlib.Path(folder.name, "new", "edges.gz")

    def run_script(self, *arguments):
        return subprocess.run(
            [sys.executable, SCRIPT, self.images, self.edges, *arguments],
            capture_output=True, text=True, timeout=60)

    def edges_of(self, image, height, width, *arguments):
        self.images.write_bytes(idx([image], height, width))
        done = self.run_script(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        data = gzip.decompress(self.edges.read_bytes())
        self.assertEqual(data[:16], idx([], height, width)[:4] +
                         struct.pack(">III", 1, height, width))
        return [list(data[16 + y * width:16 + (y + 1) * width])
                for y in range(height)]

    def test_steps_to_the_right_and_below_are_white(self):
        image = [0, 0, 200,
                 0, 0, 200]
        self.assertEqual(self.edges_of(image, 2, 3),
                         [[0, 255, 0], [0, 255, 0]])
        image = [9, 9,
                 9, 9,
                 99, 99]
        self.assertEqual(self.edges_of(image, 3, 2),
                         [[0, 0], [255, 255], [0, 0]])

    def test_both_steps_count_up_to_the_threshold(self):
        corner = [100, 60,
                  70, 70]  # 40 to the right, 30 below
        for threshold, white in [("70", 255), ("71", 0)]:
            edges = self.edges_of(corner, 2, 2, "--threshold", threshold)
            self.assertEqual(edges[0][0], white)

    def test_images_do_not_touch(self):
        self.images.write_bytes(idx([[0] * 4, [255] * 4], 2, 2))
        self.assertEqual(self.run_script().returncode, 0)
        data = gzip.decompress(self.edges.read_bytes())
        self.assertEqual(data[16:], bytes(8))

    def test_reads_gzip_and_repeats_itself_to_the_byte(self):
        image = [0, 255, 7, 90]
        self.images.write_bytes(idx([image], 2, 2))
        self.assertEqual(self.run_script().returncode, 0)
        plain = self.edges.read_bytes()
        self.images.write_bytes(gzip.compress(self.images.read_bytes()))
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.edges.read_bytes(), plain)
        self.assertEqual([p.name for p in self.edges.parent.iterdir()],
                         ["edges.gz"])

    def test_says_what_is_wrong(self):
        for content, fault in [
                (None, "No such file"),
                (b"text", "not a file of images in IDX format"),
                (idx([[0] * 4], 2, 2)[:-1], "expected 1 images of 2 x 2"),
                (gzip.compress(idx([[0] * 4], 2, 2))[:-9], "make_edges.py"),
        ]:
            if content is not None:
                self.images.write_bytes(content)
            done = self.run_script()
            self.assertEqual(done.returncode, 1)
            self.assertIn(fault, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertFalse(self.edges.exists())
        done = self.run_script("--threshold", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--threshold 0 is not in [1, 510]", done.stderr)


if __name__ == "__main__":
    unittest.main()
