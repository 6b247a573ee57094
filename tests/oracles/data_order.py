# SPDX-License-Identifier: Apache-2.0
"""Prints the order of real images for the frozen values of
tests/pipeline/data_order_test.cc: python3 tests/oracles/data_order.py

Written with lists, from the descriptions in pipeline/data_order.h and
pipeline/keyed_permutation.h."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "common"))
import philox_reference  # noqa: E402

DATA_ORDER, UNIT_ORDER, WINDOW_ORDER = 4, 23, 24


def permutation(seed, purpose, turn, size):
    bits = (size - 1).bit_length()
    left_bits = bits // 2
    right_bits = bits - left_bits

    def word(index):
        return next(philox_reference.words(seed, purpose, turn, index, 1))

    def scramble(value):
        left, right = value >> right_bits, value & ((1 << right_bits) - 1)
        for step in range(8):
            if step % 2 == 0:
                right ^= word(step << 32 | left) & ((1 << right_bits) - 1)
            else:
                left ^= word(step << 32 | right) & ((1 << left_bits) - 1)
        return left << right_bits | right

    result = []
    for place in range(size):
        value = scramble(place)
        while value >= size:
            value = scramble(value)
        result.append(value)
    return result


def shards(seed, epoch, firsts, size, window):
    units = [list(range(first, end))
             for first, end in zip(firsts, firsts[1:] + [size])]
    row = [image for k in permutation(seed, UNIT_ORDER, epoch, len(units))
           for image in units[k]]
    cut = [row[i:i + window] for i in range(0, size, window)]
    return [part[i] for number, part in enumerate(cut)
            for i in permutation(seed, WINDOW_ORDER, epoch * len(cut) + number,
                                 len(part))]


def main():
    print("global", permutation(1, DATA_ORDER, 0, 10))
    for epoch in (0, 5):
        print("shards", shards(1, epoch, [0, 4, 5, 12], 15, 6))


if __name__ == "__main__":
    main()
