#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder of JPEG files for benchmarks: make_jpegs.py FOLDER

Converts the PNG files of the folder --of, on gray, resized to --side. Without
--of, draws waves of color with noise, in files as large as those of photographs.
Equal arguments make equal files. Needs Pillow and numpy.
"""
import argparse
import pathlib

import numpy
from PIL import Image


def waves(number, side):
    draw = numpy.random.default_rng(number)
    x = numpy.arange(side)[None, :, None] / 17 + number
    y = numpy.arange(side)[:, None, None] / 23
    color = numpy.arange(3)[None, None, :]
    values = 112 + 60 * numpy.sin(x + color) * numpy.cos(y)
    values = values + draw.integers(0, 8, (side, side, 3))
    return Image.fromarray(values.astype(numpy.uint8))


def of_png(path, side):
    image = Image.open(path).convert("RGBA")
    ground = Image.new("RGBA", image.size, (128, 128, 128, 255))
    ground.alpha_composite(image)
    return ground.convert("RGB").resize((side, side), Image.BICUBIC)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--side", type=int, default=256,
                        help="height and width in pixels")
    parser.add_argument("--of", type=pathlib.Path, help="folder of PNG files")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(options.of.rglob("*.png")) if options.of else []
    for number in range(options.count):
        image = (of_png(paths[number % len(paths)], options.side) if paths
                 else waves(number, options.side))
        image.save(options.folder / f"{number:06}.jpg", quality=90)
    print(f"{options.count} JPEG files in {options.folder}")


if __name__ == "__main__":
    main()
