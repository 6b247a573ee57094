# SPDX-License-Identifier: Apache-2.0
"""Checks a checkpoint's files for equal states of the workers that wrote them."""

import json
import struct


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        yield byte


_TABLE = tuple(_table())


def crc32c(content):
    state = 0xffffffff
    for byte in content:
        state = state >> 8 ^ _TABLE[(state ^ byte) & 0xff]
    return state ^ 0xffffffff


def read(file):
    """Bytes of a safetensors file's tensors by name, and the metadata."""
    content = file.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, end = entry["data_offsets"]
        tensors[name] = content[8 + size + first:8 + size + end]
    return tensors, metadata


def fault_in(folder):
    """Why the workers of a role had different states, by each worker's checksums
    of the whole state, or why the files differ from that state. Empty if both
    are fine."""
    for role in ("generator", "discriminator"):
        shards = [read(file) for file in folder.glob(f"{role}-*.safetensors")]
        checksums = shards[0][1]
        held = {}
        for tensors, metadata in shards:
            if metadata != checksums:
                return f"the {role} workers had different states"
            held.update(tensors)
        if sorted(held) != sorted(checksums):
            return f"the {role} workers have not saved what they compared"
        for name, content in held.items():
            if f"{crc32c(content):08x}" != checksums[name]:
                return f"{role}: {name} is not what was compared"
    return ""
