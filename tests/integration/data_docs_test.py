# SPDX-License-Identifier: Apache-2.0
"""Runs the examples at the start of docs/data.md for one round, unchanged except
for the server's name."""

import io
import json
import os
import random
import struct
import subprocess
import tarfile
import zipfile

import file_server
import harness
from remote_data_test import png, tar_of

IMAGES = 40
SHARDS = 10


# Flags that shorten a round of the large recipes.
SMALL = "".join(f" --set {field}" for field in (
    "rounds=1", "samples.every_rounds=0", "generator.batch_size=4",
    "discriminator.batch_size=4",
    "schedule.discriminator_steps_per_round=1")) + " --colocated"


def batch_of_cifar(pixels, labels):
    """A batch file in the format of Python 2's pickle and numpy."""
    def text(data):
        return b"U" + bytes([len(data)]) + data

    def number(value):
        return b"J" + struct.pack("<i", value)

    return b"".join([
        b"\x80\x02}(", text(b"labels"), b"](", *map(number, labels), b"e",
        text(b"data"), b"cnumpy.core.multiarray\n_reconstruct\n",
        b"cnumpy\nndarray\n", number(0), b"\x85", text(b"b"), b"\x87R(",
        number(1), number(len(labels)), number(3072), b"\x86",
        b"cnumpy\ndtype\n", text(b"u1"), number(0), number(1), b"\x87R(",
        number(3), text(b"|"), b"NNN", number(-1), number(-1), number(0),
        b"tb\x89T", struct.pack("<i", len(pixels)), pixels, b"tbu."])


def cifar(draw):
    """cifar-10-python.tar.gz with few images in each file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for batch in range(1, 6):
            data = batch_of_cifar(draw.randbytes(8 * 3072), range(8))
            info = tarfile.TarInfo(f"cifar-10-batches-py/data_batch_{batch}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Examples(harness.RunTest):
    """Tests of the commands in the first block of each page."""

    def examples(self, page):
        text = (harness.SOURCE / page).read_text()
        return text.split("```")[1].strip().splitlines()

    def run_example(self, line, server):
        done = subprocess.run(
            ["bash", "-c",
             line.replace("https://example.org/", server.url("")) + SMALL],
            cwd=self.folder, capture_output=True, text=True,
            timeout=harness.DEADLINE, env={
                **os.environ,
                "PATH": f"{harness.BIN}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "AWS_ENDPOINT_URL_S3": server.url("").rstrip("/"),
                "AWS_REGION": file_server.REGION,
                "AWS_ACCESS_KEY_ID": file_server.KEY,
                "AWS_SECRET_ACCESS_KEY": file_server.SECRET,
                "no_proxy": "*"})
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, 0, said)
        self.assertRegex(said, r"data: \d+ images, ")
        self.assertIn("round 1/1", said)


class DataDocsTest(Examples):
    def test_the_examples_run(self):
        draw = random.Random(1)
        images = [(f"i{i:04}.png", png(draw)) for i in range(IMAGES)]
        (self.folder / "recipes").symlink_to(harness.SOURCE / "recipes")
        (self.folder / "photos").mkdir()
        for name, data in images:
            (self.folder / "photos" / name).write_bytes(data)
        (self.folder / "cifar-10-python.tar.gz").write_bytes(cifar(draw))
        with zipfile.ZipFile(self.folder / "ffhq64.zip", "w") as archive:
            for name, data in images:
                archive.writestr(f"00000/{name}", data)
            archive.writestr("dataset.json", json.dumps({"labels": None}))
        part = IMAGES // SHARDS
        files = {f"shards/train-{i:06}.tar":
                 tar_of(images[i * part:(i + 1) * part])
                 for i in range(SHARDS)}
        server = file_server.FileServer(files)
        self.addCleanup(server.close)
        examples = self.examples("docs/data.md")
        self.assertEqual(len(examples), 4)
        for line in examples:
            with self.subTest(line):
                self.run_example(line, server)


if __name__ == "__main__":
    harness.main()
