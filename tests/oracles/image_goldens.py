# SPDX-License-Identifier: Apache-2.0
"""Writes image files with the pixels that Pillow reads, and images that Pillow
resizes: image_goldens.py FOLDER

Needs pillow==11.3.0 (13 may resize the height first), numpy, safetensors. Writes
FOLDER/images.safetensors:

  file.NAME     the bytes of a file
  pixels.NAME   the decoded image, [height, width, 1 or 3]
  plain.NAME    the result of Image.open(file).convert("RGB") alone
  from.NAME     an image before resizing
  to.KERNEL.NAME  the resized image
"""
import io
import struct
import sys
import zlib

import numpy as np
from PIL import Image, ImageOps
from safetensors.numpy import save_file

KERNELS = {"box": Image.Resampling.BOX, "bilinear": Image.Resampling.BILINEAR,
           "bicubic": Image.Resampling.BICUBIC,
           "lanczos": Image.Resampling.LANCZOS}


def picture(height, width, channels, seed=1):
    """Smooth color with some noise and sharp edges."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 90 * np.sin(x / (3 + c) + c) * np.cos(y / (4 - c / 2))
              for c in range(channels)]
    image = np.stack(planes, axis=-1) + rng.normal(0, 12, (height, width,
                                                           channels))
    image[height // 3:height // 2, width // 4:width // 2] = 250
    return np.clip(image, 0, 255).astype(np.uint8)


def to_image(array):
    return Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)


def encode(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def on_black(rgba):
    """Blends stored values onto black: (v * alpha + 127) // 255."""
    values = rgba[..., :-1].astype(np.int64) * rgba[..., -1:]
    return ((values + 127) // 255).astype(np.uint8)


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))


def with_chunk(png, kind, data):
    """Inserts a chunk right after the header."""
    end = 8 + 12 + 13
    return png[:end] + chunk(kind, data) + png[end:]


def raw_png(array, depth, color_type):
    """A PNG of packed rows, for formats that Pillow cannot write."""
    height, width = array.shape[:2]
    rows = b""
    for row in array.reshape(height, -1):
        if depth == 16:
            packed = row.astype(">u2").tobytes()
        elif depth == 8:
            packed = row.astype(np.uint8).tobytes()
        else:
            bits = "".join(format(v, f"0{depth}b") for v in row)
            bits += "0" * (-len(bits) % 8)
            packed = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
        rows += b"\0" + packed
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def exif(orientation):
    """Exif data with only an orientation."""
    tiff = (b"MM\0*" + struct.pack(">I", 8) + struct.pack(">H", 1) +
            struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0) +
            struct.pack(">I", 0))
    return b"Exif\0\0" + tiff


def files():
    """Lists (name, bytes, pixels); None stands for the result of Pillow's convert."""
    rgb = picture(21, 30, 3)
    gray = picture(21, 30, 1)
    color, flat = to_image(rgb), to_image(gray)
    yield "jpeg_444", encode(color, "JPEG", quality=90, subsampling=0), None
    yield "jpeg_420", encode(color, "JPEG", quality=75, subsampling=2), None
    yield "jpeg_422", encode(color, "JPEG", quality=75, subsampling=1), None
    yield "jpeg_progressive", encode(color, "JPEG", progressive=True), None
    yield "jpeg_gray", encode(flat, "JPEG"), None
    cmyk = Image.merge("CMYK", [to_image(picture(21, 30, 1, seed))
                                for seed in range(4)])
    yield "jpeg_cmyk", encode(cmyk, "JPEG", quality=90), None
    for orientation in range(2, 9):
        yield (f"jpeg_exif_{orientation}",
               encode(color, "JPEG", exif=exif(orientation)), None)
    yield "png_rgb", encode(color, "PNG"), rgb
    yield "png_gray", encode(flat, "PNG"), gray
    yield "png_palette", encode(color.quantize(16), "PNG"), None
    palette = color.quantize(4)
    yield ("png_palette_transparent",
           encode(palette, "PNG", transparency=b"\0\x80\xff\x40"), None)
    yield "png_gamma", with_chunk(encode(color, "PNG"), b"gAMA",
                                  struct.pack(">I", 100000)), rgb
    key = struct.pack(">HHH", *map(int, rgb[0, 0]))
    yield "png_color_key", with_chunk(encode(color, "PNG"), b"tRNS", key), rgb
    alpha = picture(21, 30, 4, seed=5)
    yield "png_rgba", encode(Image.fromarray(alpha), "PNG"), on_black(alpha)
    la = picture(21, 30, 2, seed=6)
    yield "png_gray_alpha", raw_png(la, 8, 4), on_black(la)
    for depth in (1, 2, 4):
        values = gray >> (8 - depth)
        yield (f"png_gray_{depth}", raw_png(values, depth, 0),
               (values * (255 // (2**depth - 1))).astype(np.uint8))
    deep = gray.astype(np.uint16) * 256 + 77
    yield "png_gray_16", raw_png(deep, 16, 0), gray
    yield "png_rgb_16", raw_png(rgb.astype(np.uint16) * 256 + 200, 16, 2), rgb
    yield "webp_lossy", encode(color, "WEBP", quality=80), None
    yield "webp_lossless", encode(color, "WEBP", lossless=True), rgb
    wide = Image.fromarray(alpha)
    yield ("webp_alpha", encode(wide, "WEBP", lossless=True, exact=True),
           on_black(alpha))


def adam7(array):
    """An interlaced PNG of 8-bit RGB: seven passes over the image."""
    height, width = array.shape[:2]
    rows = b""
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4),
                           (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
                           (1, 0, 2, 1)):
        part = array[y0::dy, x0::dx]
        for row in part if part.shape[1] else ():
            rows += b"\0" + row.tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def decoded(data):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    array = np.asarray(image.convert("L" if image.mode == "L" else "RGB"))
    return array[..., None] if array.ndim == 2 else array


def plain(data):
    """Reads a file like pytorch-fid, torch-fidelity and clean-fid."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def main(folder):
    out = {}
    cases = [*files(), ("png_interlaced", adam7(picture(21, 30, 3)),
                        picture(21, 30, 3))]
    for name, data, pixels in cases:
        out[f"file.{name}"] = np.frombuffer(data, np.uint8)
        expected = decoded(data) if pixels is None else pixels
        out[f"pixels.{name}"] = np.ascontiguousarray(expected)
        if name != "png_gray_16":  # Pillow clips it at 255; gandem refuses it
            out[f"plain.{name}"] = np.ascontiguousarray(plain(data))
    for name, shape, size in (("down", (37, 53, 3), (16, 16)),
                              ("up", (9, 7, 3), (24, 20)),
                              ("gray", (40, 31, 1), (32, 32)),
                              ("mixed", (50, 6, 3), (7, 19))):
        image = picture(*shape, seed=9)
        out[f"from.{name}"] = image
        for kernel, number in KERNELS.items():
            resized = np.asarray(to_image(image).resize(size[::-1], number))
            out[f"to.{kernel}.{name}"] = np.ascontiguousarray(
                resized[..., None] if resized.ndim == 2 else resized)
    save_file(out, f"{folder}/images.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
