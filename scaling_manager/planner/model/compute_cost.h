// SPDX-License-Identifier: Apache-2.0
//
// Seconds of computing, of which there are two kinds: with the machine to
// itself, and with the rest of the machine's cores busy too (memory bandwidth,
// caches, clock). What lies between is SimulatedHost's.
//
// Owner: values; copy freely. Thread safety: pure functions.
#pragma once

namespace gandem {

struct ComputeCost {
  double alone = 0;
  double beside = 0;  // >= alone

  ComputeCost& operator+=(const ComputeCost& other) {
    alone += other.alone;
    beside += other.beside;
    return *this;
  }
  friend ComputeCost operator+(ComputeCost a, const ComputeCost& b) {
    return a += b;
  }
  friend ComputeCost operator*(double factor, const ComputeCost& cost) {
    return {.alone = factor * cost.alone, .beside = factor * cost.beside};
  }
  bool operator==(const ComputeCost&) const = default;
};

}  // namespace gandem
