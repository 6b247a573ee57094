# SPDX-License-Identifier: Apache-2.0
"""Writes Parquet files with images in the layouts of pyarrow and the Hugging
Face hub: parquet_goldens.py FOLDER

Needs pyarrow==26.0.1 and pillow. Writes into FOLDER:

  hub/data/       a repository of the hub: two splits, one of them in two shards,
                  with the 50 images of tests/integration/data_test.py
  plain.parquet   a binary column, labels without names
  ...             files that gandem refuses, named after the fault
"""
import io
import json
import pathlib
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

SIDE = 32
IMAGES = 50
CLASSES = ["cat", "dog", "fox"]


def png(planes, side):
    """An RGB image from red, green and blue planes."""
    area = side * side
    bands = [Image.frombytes("L", (side, side), planes[c * area:(c + 1) * area])
             for c in range(3)]
    out = io.BytesIO()
    Image.merge("RGB", bands).save(out, "PNG")
    return out.getvalue()


def hub_metadata():
    features = {"image": {"_type": "Image"},
                "label": {"names": CLASSES, "_type": "ClassLabel"}}
    return {"huggingface": json.dumps({"info": {"features": features}})}


def hub_table(images):
    table = pa.table({
        "image": pa.array([{"bytes": image, "path": f"img{i:08}.png"}
                           for i, image in enumerate(images)]),
        "label": pa.array([i % len(CLASSES) for i in range(len(images))],
                          pa.int64())})
    return table.replace_schema_metadata(hub_metadata())


def write_hub(folder):
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    table = hub_table([png(draw.randbytes(3 * SIDE * SIDE), SIDE)
                       for _ in range(IMAGES)])
    half = IMAGES // 2
    pq.write_table(table.slice(0, half),
                   folder / "train-00000-of-00002.parquet",
                   row_group_size=10, compression="snappy",
                   write_statistics=False)  # would contain whole images
    pq.write_table(table.slice(half),
                   folder / "train-00001-of-00002.parquet",
                   row_group_size=7, compression="zstd", use_dictionary=False,
                   write_statistics=False, write_page_index=True)
    pq.write_table(table.slice(0, 1), folder / "test-00000-of-00001.parquet",
                   write_statistics=False)


def write_small(folder):
    images = [png(bytes([10 * i] * 12), 2) for i in range(4)]
    binary = pa.array(images, pa.binary())
    tables = {
        "plain": {"id": pa.array(range(4)), "jpg": binary,
                  "cls": pa.array([3, 1, 0, 2], pa.uint8())},
        "large": {"image": pa.array(images, pa.large_binary())},
        "unlabeled": {"image": binary,
                      "label": pa.array([-1] * 4, pa.int32())},
        "text": {"text": pa.array(["a photo"]), "n": pa.array([1])},
        "list": {"image": pa.array([[images[0]]], pa.list_(pa.binary()))},
        "null_image": {"image": pa.array([images[0], None], pa.binary())},
        "null_label": {"image": binary,
                       "label": pa.array([0, None, 1, 1], pa.int64())},
        "negative_label": {"image": binary, "label": pa.array([0, -1, 1, 1])},
        "text_label": {"image": binary,
                       "label": pa.array(["dog", "cat", "dog", "cat"])},
        "dictionary_label": {
            "image": binary,
            "label": pa.array(["fox", "dog", "ant", "fox"])
                     .dictionary_encode()},
        "float_label": {"image": binary,
                        "label": pa.array([0.0, 1.0, 1.0, 0.0])},
        "empty": {"image": pa.array([], pa.binary())},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet",
                       row_group_size=2)
    names = hub_table(images).set_column(1, "label", pa.array([0, 1, 2, 3]))
    pq.write_table(names.replace_schema_metadata(hub_metadata()),
                   folder / "label_without_name.parquet")
    only_path = pa.array([{"bytes": None, "path": "a.png"}],
                         pa.struct({"bytes": pa.binary(), "path": pa.string()}))
    pq.write_table(pa.table({"image": only_path}), folder / "path_only.parquet")


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    write_hub(target / "hub" / "data")
    write_small(target)
