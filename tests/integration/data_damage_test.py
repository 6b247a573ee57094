# SPDX-License-Identifier: Apache-2.0
"""A thousand damaged images and two hundred damaged shards: no process crashes,
and unreadable images are counted and named."""

import collections
import concurrent.futures
import gzip
import io
import json
import os
import random
import struct
import tarfile
import zipfile
import zlib

import harness
from remote_data_test import png, tar_of, zip_of

IMAGES = 1000
FORMS = ("jpeg", "png", "webp")
SHARDS = 200


def golden_files():
    """Names and bytes of the images from tests/oracles/image_goldens.py."""
    data = (harness.SOURCE / "tests/goldens/images.safetensors").read_bytes()
    size, = struct.unpack_from("<Q", data)
    found = {}
    for name, tensor in json.loads(data[8:8 + size]).items():
        if not name.startswith("file."):
            continue
        begin, end = tensor["data_offsets"]
        form = name.removeprefix("file.").split("_")[0]
        found[f"{name.removeprefix('file.')}.{form}"] = \
            data[8 + size + begin:8 + size + end]
    return found


def damage(draw, data, spans=None):
    """Flips bits, truncates or appends bytes within one of `spans`. Returns a
    description and the result."""
    how = draw.choice(("bits", "cut", "more"))
    begin, end = draw.choice(spans or [(0, len(data))])
    at = draw.randrange(begin, end)
    if how == "cut":
        return how, data[:at]
    if how == "more":
        return how, data[:at] + draw.randbytes(draw.randint(1, 16)) + data[at:]
    damaged = bytearray(data)
    for place in {at, *draw.choices(range(at, end), k=draw.randrange(8))}:
        damaged[place] ^= 1 << draw.randrange(8)
    return how, bytes(damaged)


def is_whole_png(data):
    """Whether the checksums of the required chunks are right. The last chunk, IEND,
    may be missing or truncated."""
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return False
    at, kinds = 8, []
    while kinds[-1:] != [b"IEND"]:
        if kinds[-1:] == [b"IDAT"] and len(data) - at < 12:
            break
        size, = struct.unpack(">I", data[at:at + 4].ljust(4, b"\xff"))
        kind, end = data[at + 4:at + 8], at + 8 + size
        is_needed = kind[:1].isupper()
        if end + 4 > len(data) or is_needed and struct.pack(
                ">I", zlib.crc32(data[at + 4:end])) != data[end:end + 4]:
            return False
        kinds.append(kind)
        at = end + 4
    return kinds[0] == b"IHDR" and b"IDAT" in kinds


def tar_spans(data):
    """All bytes of an image, and the bytes that its header's checksum covers."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [span for member in archive for span in (
            (member.offset, member.offset + 148),
            (member.offset_data, member.offset_data + member.size))]


def zip_spans(data):
    """All bytes of a member, and the beginning of the table of contents."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        spans = [(archive.start_dir, archive.start_dir + 4)]
        for member in archive.infolist():
            sizes = struct.unpack_from("<HH", data, member.header_offset + 26)
            begin = member.header_offset + 30 + sum(sizes)
            spans.append((begin, begin + member.compress_size))
    return spans


def npz(draw):
    """A file of numpy.savez_compressed()."""
    header = ("{'descr': '|u1', 'fortran_order': False, "
              "'shape': (9, 16, 16, 3), }").ljust(117) + "\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arr_0.npy", b"\x93NUMPY\1\0" + struct.pack(
            "<H", 118) + header.encode() + draw.randbytes(9 * 16 * 16 * 3))
    return out.getvalue()


def cifar(draw):
    """A CIFAR archive. The checksum of its gzip file covers all bytes after
    the first ten."""
    return gzip.compress(tar_of([
        (f"cifar-10-batches-bin/data_batch_{batch}.bin",
         b"\0" + draw.randbytes(3072)) for batch in range(1, 6)]), mtime=0)


class DataDamageTest(harness.RunTest):
    def unreadable(self, source, separator, total):
        """Names of the images that `verify` reports; it must also count them."""
        code, text = harness.dataset("verify", source)
        self.assertEqual(code, 2, text[-2000:])
        *lines, last = text.splitlines()
        start = f"{source}{separator}"
        for line in lines:
            self.assertTrue(line.startswith(start), line)
        names = [line.removeprefix(start).split(": ")[0] for line in lines]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(last,
                         f"{len(names)} of {total} images cannot be read")
        return set(names)

    def write_images(self):
        """Writes whole images and many more damaged ones. Returns the names that
        must be reported, and all names."""
        draw = random.Random(14)
        whole = golden_files()
        images, sure = dict(whole), set()
        forms = [sorted(base for base in whole if base.endswith(form))
                 for form in FORMS]
        for number in range(IMAGES):
            base = draw.choice(forms[number % len(forms)])
            data = whole[base]
            how, damaged = damage(draw, data)
            name = f"{number:04}_{how}_{base}"
            images[name] = damaged
            if 2 * len(damaged) <= len(data) or \
                    base.endswith(".png") and not is_whole_png(damaged):
                sure.add(name)
        folder = self.folder / "images"
        folder.mkdir()
        for name, data in images.items():
            (folder / name).write_bytes(data)
        return folder, images, sure

    def test_a_thousand_damaged_images(self):
        folder, images, sure = self.write_images()
        named = self.unreadable(folder, "/", len(images))
        self.assertEqual(sorted(sure - named), [])
        self.assertEqual(sorted(named & golden_files().keys()), [])
        # All kinds of damage to all kinds of files must occur.
        kinds = collections.Counter(
            (name.split("_")[1], name.rsplit(".")[-1]) for name in named)
        for how in ("bits", "cut", "more"):
            for form in FORMS:
                self.assertGreater(kinds[how, form], 3, kinds)
        # An archive gives the same result.
        archive = self.folder / "images.tar"
        archive.write_bytes(tar_of(images.items()))
        self.assertEqual(named, self.unreadable(archive, ":", len(images)))
        # The other images are readable.
        bad, packed = self.folder / "bad.txt", self.folder / "packed"
        self.assertEqual(
            harness.dataset("verify", folder, "--exclude", bad)[0], 0)
        self.assertEqual(harness.dataset("pack", folder, "--exclude", bad,
                                      "-o", packed)[0], 0)
        self.assertEqual(
            harness.dataset("verify", packed),
            (0, f"all {len(images) - len(named)} images can be read\n"))

    def shards(self):
        """Names and bytes of whole shards, and the spans in which damage is always
        detected."""
        draw = random.Random(15)
        images = [(f"{i}.png", png(draw)) for i in range(4)]
        found = []
        for name, data, spans_of in (
                ("images.tar", tar_of(images), tar_spans),
                ("images.zip", zip_of(images), zip_spans),
                ("images.npz", npz(draw), zip_spans),
                ("cifar-10-binary.tar.gz", cifar(draw),
                 lambda data: [(10, len(data))])):
            found.append((name, data, spans_of(data)))
        return found

    def test_two_hundred_damaged_shards(self):
        draw = random.Random(16)
        shards = self.shards()
        sources = []
        for number in range(SHARDS):
            name, data, spans = shards[number % len(shards)]
            how, damaged = damage(draw, data, spans)
            sources.append(self.folder / f"{number:03}_{how}_{name}")
            sources[-1].write_bytes(damaged)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = list(pool.map(
                lambda source: harness.dataset("verify", source), sources))
        for source, (code, text) in zip(sources, answers):
            with self.subTest(source.name):
                self.assertEqual(code, 2, text)
                self.assertIn(source.name, text)
                self.assertLess(len(text.splitlines()), 8, text)

    def test_whole_shards(self):
        for name, data, _ in self.shards():
            with self.subTest(name):
                (self.folder / name).write_bytes(data)
                code, text = harness.dataset("verify", self.folder / name)
                self.assertEqual(code, 0, text)
                self.assertRegex(text, r"all \d images can be read")


if __name__ == "__main__":
    harness.main()
