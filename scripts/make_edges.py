#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the edges of images: make_edges.py [IMAGES [EDGES]] [--threshold T]

Both files have the IDX format of MNIST; EDGES is gzip-compressed. A pixel of EDGES
is white if the differences of its gray value in IMAGES from the pixel on the right
and from the pixel below sum to T or more; otherwise it is black. Use the files as
`data.idx_images` and `data.idx_inputs` of a recipe for pix2pix.
"""
import argparse
import gzip
import os
import pathlib
import struct
import sys
import zlib

IMAGES = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
EDGES = "datasets/fashion_mnist_edges-idx3-ubyte.gz"
MAGIC = 0x803  # unsigned bytes, three dimensions


def read_images(path):
    """Returns the height, the width and the bytes of each image."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if len(data) < 16 or struct.unpack(">I", data[:4])[0] != MAGIC:
        raise ValueError("not a file of images in IDX format")
    count, height, width = struct.unpack(">III", data[4:16])
    size = height * width
    if len(data) != 16 + count * size:
        raise ValueError(f"expected {count} images of {height} x {width}, "
                         f"found {len(data) - 16} bytes")
    return height, width, [data[16 + i * size:16 + (i + 1) * size]
                           for i in range(count)]


def edges_of(image, width, threshold):
    # Pixels of the last column and row are their own neighbors.
    rows = [image[i:i + width] for i in range(0, len(image), width)]
    below = image[width:] + rows[-1]
    right = b"".join(row[1:] + row[-1:] for row in rows)
    return bytes(255 if abs(a - b) + abs(a - c) >= threshold else 0
                 for a, b, c in zip(image, right, below))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", nargs="?", type=pathlib.Path, default=IMAGES)
    parser.add_argument("edges", nargs="?", type=pathlib.Path, default=EDGES)
    parser.add_argument("--threshold", type=int, default=64, metavar="T",
                        help="1 to 510 gray values (default %(default)s)")
    args = parser.parse_args()
    if not 1 <= args.threshold <= 510:
        parser.error(f"--threshold {args.threshold} is not in [1, 510]")
    try:
        height, width, images = read_images(args.images)
        args.edges.parent.mkdir(parents=True, exist_ok=True)
        # Renames the complete file, so that readers never see a partial one.
        temporary = args.edges.with_name(f"{args.edges.name}.{os.getpid()}.tmp")
        # Omits name and time, so that equal images give equal bytes.
        with open(temporary, "wb") as raw, gzip.GzipFile(
                filename="", mode="wb", fileobj=raw, mtime=0) as out:
            out.write(struct.pack(">IIII", MAGIC, len(images), height, width))
            for image in images:
                out.write(edges_of(image, width, args.threshold))
        temporary.replace(args.edges)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        sys.exit(f"make_edges.py: {args.images}: {error}")
    print(f"{args.edges}: edges of {len(images)} images of {height} x {width}")


if __name__ == "__main__":
    main()
