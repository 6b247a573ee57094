# SPDX-License-Identifier: Apache-2.0
"""The same images in a folder, a zip, a tar, shards, CIFAR's own files and tensors
give the same run bit for bit, even if it is stopped in the middle of an epoch."""

import io
import random
import struct
import tarfile
import zipfile
import zlib

import harness

SIDE = 32
IMAGES = 50


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))


def png(planes):
    """An RGB image from red, green and blue planes, the layout of CIFAR."""
    area = SIDE * SIDE
    rows = b""
    for y in range(SIDE):
        rows += b"\0"
        for x in range(SIDE):
            at = y * SIDE + x
            rows += bytes(planes[c * area + at] for c in range(3))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


class DataRuns(harness.RunTest):
    """Runs on the same images from several kinds of files."""

    SETS = ["data.horizontal_flip=true", "samples.every_rounds=0"]

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        self.planes = [draw.randbytes(3 * SIDE * SIDE) for _ in range(IMAGES)]
        self.files = [(f"00000/img{i:08}.png", png(planes))
                      for i, planes in enumerate(self.planes)]

    def write_folder(self):
        for name, data in self.files:
            path = self.folder / "images" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return self.folder / "images"

    def write_zip(self):
        path = self.folder / "images.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in self.files:
                archive.writestr(name, data)
        return path

    def write_tar(self):
        path = self.folder / "images.tar"
        with tarfile.open(path, "w") as archive:
            for name, data in reversed(self.files):
                add(archive, name, data)
        return path

    def write_shards(self):
        half = IMAGES // 2
        for shard in range(2):
            with tarfile.open(self.folder / f"s-{shard:06}.tar", "w") as archive:
                for i in range(half):
                    _, data = self.files[shard * half + i]
                    add(archive, f"{i:04}.cls", b"0")
                    add(archive, f"{i:04}.png", data)
        return self.folder / "s-{000000..000001}.tar"

    def write_cifar(self):
        path = self.folder / "cifar-10-binary.tar.gz"
        part = IMAGES // 5
        with tarfile.open(path, "w:gz") as archive:
            for batch in range(5):
                records = b"".join(
                    b"\0" + planes for planes in
                    self.planes[batch * part:(batch + 1) * part])
                add(archive,
                    f"cifar-10-batches-bin/data_batch_{batch + 1}.bin", records)
        return path

    def write_tensors(self):
        """Writes float32 in two shards, in the format of numpy.save()."""
        values = [struct.pack("<f", (2 * b - 255) / 255) for b in range(256)]
        half = IMAGES // 2
        (self.folder / "tensors").mkdir()
        for shard in range(2):
            header = (f"{{'descr': '<f4', 'fortran_order': False, 'shape': "
                      f"({half}, 3, {SIDE}, {SIDE}), }}").ljust(117) + "\n"
            planes = self.planes[shard * half:(shard + 1) * half]
            (self.folder / "tensors" / f"images-{shard}.npy").write_bytes(
                b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) +
                header.encode() + b"".join(values[b] for image in planes
                                           for b in image))
        return self.folder / "tensors"

    def train_on(self, name, path, sets=(), **options):
        return self.train(name, sets=[*self.SETS, *sets],
                          flags=["--data", str(path)], **options)


class DataTest(DataRuns):
    def test_the_same_run_from_everywhere(self):
        first = self.train_on("folder", self.write_folder())
        self.assertIn(f"data: {IMAGES} images, {SIDE} x {SIDE}, RGB",
                      first.text())
        for write in (self.write_zip, self.write_tar, self.write_shards,
                      self.write_cifar):
            name = write.__name__
            with self.subTest(name):
                self.assert_same_state(first, self.train_on(name, write()))

    def test_tensors_are_the_same_run(self):
        # Tensors are not resized.
        sets = [f"data.image_size={SIDE}"]
        self.assert_same_state(
            self.train_on("folder", self.write_folder(), sets=sets),
            self.train_on("tensors", self.write_tensors(), sets=sets))

    def test_resumes_in_the_middle_of_an_epoch(self):
        path = self.write_zip()
        whole = self.train_on("whole", path, sets=["rounds=40"])
        # With 16 images per round, 7 rounds are 2 epochs and 12 images.
        self.train_on("parts", path, sets=["rounds=7"])
        resumed = self.train_on("parts", path, sets=["rounds=40"])
        self.assert_same_state(resumed, whole)

    def dataset(self, *arguments):
        """Output of `gandem dataset`."""
        code, text = harness.dataset(*arguments)
        self.assertEqual(code, 0, text)
        return text

    def test_packed_it_is_the_same_run(self):
        folder = self.write_folder()
        packed = self.folder / "packed"
        text = self.dataset("pack", folder, "-o", packed,
                            "--shard_bytes", 60000)
        self.assertIn(f"packed {IMAGES} images, 3 shards", text)
        first = self.train_on("folder", folder)
        self.assert_same_state(first, self.train_on("packed_run", packed))
        shards = self.folder / "packed" / "shard-{000000..000002}.tar"
        self.assert_same_state(first, self.train_on("shards", shards))
        # The order of shards differs from that of files, but is reproducible.
        sets = ["data.order=SHARDS", "data.shuffle_window=20"]
        whole = self.train_on("whole", shards, sets=[*sets, "rounds=40"])
        self.train_on("parts", shards, sets=[*sets, "rounds=7"])
        resumed = self.train_on("parts", shards, sets=[*sets, "rounds=40"])
        self.assert_same_state(resumed, whole)
        self.assertNotEqual(whole.final_state(), first.final_state())

    def test_resized_once_it_is_the_same_run(self):
        folder = self.write_folder()
        packed = self.folder / "small"
        self.dataset("pack", folder, "-o", packed, "--resize", 16)
        sets = ["data.image_size=16"]
        self.assert_same_state(self.train_on("from_folder", folder, sets=sets),
                               self.train_on("from_pack", packed, sets=sets))

    def test_a_list_leaves_out_what_cannot_be_read(self):
        whole = self.files[:7] + self.files[8:]
        self.files[7] = ("00000/img00000007.png", b"<html>log in</html>")
        path = self.write_zip()
        bad = self.folder / "bad.txt"
        text = self.dataset("verify", path, "--exclude", bad)
        self.assertIn(f"1 of {IMAGES} images cannot be read", text)
        sets = [f"data.exclude={bad}", "data.max_excluded=0.1"]
        run = self.train_on("without", path, sets=sets)
        self.assertIn(f"{IMAGES - 1} images (1 left out)", run.text())
        self.files = whole
        self.assert_same_state(run, self.train_on("whole", self.write_zip()))

    def test_an_image_that_is_none_ends_the_run_and_is_named(self):
        self.files[7] = ("00000/img00000007.png", b"<html>log in</html>")
        path = self.write_zip()
        run = self.start("broken", sets=self.SETS, flags=["--data", str(path)])
        self.assertEqual(run.wait(), 2, run.text())
        self.assertIn("img00000007.png", run.text())
        self.assertIn("a web page", run.text())
        self.assertIn("--set data.exclude=bad.txt", run.text())


if __name__ == "__main__":
    harness.main()
