// SPDX-License-Identifier: Apache-2.0
//
// A small labeled dataset that a classifier learns in a moment.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/files/file.h"
#include "common/philox.h"

namespace gandem::testing {

inline std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(value >> shift));
  }
  return bytes;
}

// Writes an IDX pair NAME-images-idx3-ubyte and NAME-labels-idx1-ubyte to
// `folder`: `count` images of `size` x `size`, noise of gray levels [0, 100).
// One of four quadrants, the label, is brighter by 100.
inline absl::Status WriteQuadrants(const std::string& folder,
                                   absl::string_view name, uint32_t count,
                                   uint32_t size, uint64_t seed) {
  std::string images =
      BigEndian(0x803) + BigEndian(count) + BigEndian(size) + BigEndian(size);
  std::string labels = BigEndian(0x801) + BigEndian(count);
  for (uint32_t i = 0; i < count; ++i) {
    PhiloxStream stream(seed, Purpose::kSample, 0, i);
    const uint32_t label = stream.NextBelow(4);
    labels.push_back(static_cast<char>(label));
    for (uint32_t y = 0; y < size; ++y) {
      for (uint32_t x = 0; x < size; ++x) {
        const uint32_t quadrant = 2 * (2 * y / size) + 2 * x / size;
        images.push_back(static_cast<char>(stream.NextBelow(100) +
                                           (quadrant == label ? 100 : 0)));
      }
    }
  }
  const std::string prefix = folder + "/" + std::string(name);
  absl::Status status = WriteFile(prefix + "-images-idx3-ubyte", images);
  status.Update(WriteFile(prefix + "-labels-idx1-ubyte", labels));
  return status;
}

}  // namespace gandem::testing
