# SPDX-License-Identifier: Apache-2.0
"""Independent Philox4x32-10, normals included: prints philox_test.cc's values.

Checked against Random123's known-answer vectors (kat_vectors) before use.
"""
import math

MASK = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK,
             (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def words(seed, purpose, step, index, blocks):
    key = [seed & MASK, seed >> 32]
    last = purpose | (index >> 32) << 8 | (step >> 32) << 20
    for block in range(blocks):
        yield from philox([block, index & MASK, step & MASK, last], key)


def main():
    assert philox([0] * 4, [0] * 2) == [
        0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox([MASK] * 4, [MASK] * 2) == [
        0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    for purpose in [*range(1, 25), 32, 33]:
        w = list(words(0x123456789ABCDEF0, purpose, 5, 7, 1))
        print(purpose, ", ".join(f"0x{x:08x}" for x in w))
    step, index = (1 << 40) + 3, (1 << 43) + 11
    print("wide", [hex(x) for x in words(1, 1, step, index, 2)])
    w = list(words(1, 1, 5, 7, 2))
    print("uniform", [((hi << 32 | lo) >> 11) * 2.0**-53
                      for lo, hi in zip(w[0::2], w[1::2])])
    for a, b in zip(w[0::2], w[1::2]):
        radius = math.sqrt(-2 * math.log((a + 1) * 2.0**-32))
        angle = 2 * math.pi * b * 2.0**-32
        print("normal", radius * math.cos(angle), radius * math.sin(angle))


if __name__ == "__main__":
    main()
