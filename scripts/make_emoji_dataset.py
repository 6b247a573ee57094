#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Extracts the pictures of an emoji font: make_emoji_dataset.py [FOLDER]
[--font FONT] [--size N]

Writes an RGB PNG to FOLDER (default: datasets/emoji) for each picture in the table
CBDT of the font, centered on a white square of N x N pixels (default: 136). The
recipe emoji_64.textproto uses these images. The default font is that of Debian's
package fonts-noto-color-emoji. Needs the Python packages fonttools and pillow:

  apt-get install fonts-noto-color-emoji
  python3 -m venv ~/emoji && ~/emoji/bin/pip install fonttools pillow
  ~/emoji/bin/python scripts/make_emoji_dataset.py
"""
import argparse
import io
import pathlib
import sys

FONT = "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf"
FOLDER = "datasets/emoji"
SIZE = 136


def pictures(path):
    """Returns pairs (name of the glyph, bytes of a PNG), sorted by name."""
    from fontTools.ttLib import TTFont
    font = TTFont(path)
    if "CBDT" not in font:
        raise ValueError("it has no table CBDT: color fonts of another kind "
                         "hold no pictures")
    found = {}
    for strike in font["CBDT"].strikeData:
        for name, glyph in strike.items():
            data = getattr(glyph, "imageData", b"")
            if data.startswith(b"\x89PNG"):
                found[name] = data
    return sorted(found.items())


def on_white(png, size):
    from PIL import Image
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    if max(picture.size) > size:
        raise ValueError(f"a picture has {picture.size[0]} x "
                         f"{picture.size[1]} pixels: choose a --size of at "
                         f"least {max(picture.size)}")
    square = Image.new("RGBA", (size, size), "white")
    corner = ((size - picture.size[0]) // 2, (size - picture.size[1]) // 2)
    square.alpha_composite(picture, corner)
    return square.convert("RGB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="?", default=FOLDER, type=pathlib.Path)
    parser.add_argument("--font", default=FONT)
    parser.add_argument("--size", default=SIZE, type=int)
    args = parser.parse_args()
    try:
        glyphs = pictures(args.font)
        args.folder.mkdir(parents=True, exist_ok=True)
        for name, png in glyphs:
            on_white(png, args.size).save(args.folder / f"{name}.png")
    except ImportError as error:
        sys.exit(f"make_emoji_dataset.py: {error.name} is missing: pip install "
                 "fonttools pillow, in a virtual environment")
    except (OSError, ValueError) as error:
        sys.exit(f"make_emoji_dataset.py: {args.font}: {error}; the font is in "
                 "Debian's package fonts-noto-color-emoji")
    print(f"{len(glyphs)} pictures of {args.size} x {args.size} in "
          f"{args.folder}")


if __name__ == "__main__":
    main()
