// SPDX-License-Identifier: Apache-2.0
#include "pipeline/memory/spare_bytes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gandem {
namespace {

// An image as it is decoded, and while it is resized.
constexpr size_t kSpares = 4;
// Of 1,182 pixels squared, RGB.
constexpr size_t kMostSpareBytes = 4 << 20;

// Vectors keep their size, so that one of the same size needs no zeros.
std::array<std::vector<uint8_t>, kSpares>& SparesOfThread() {
  thread_local std::array<std::vector<uint8_t>, kSpares> spares;
  return spares;
}

}  // namespace

std::vector<uint8_t> TakeSpareBytes(size_t size) {
  auto& spares = SparesOfThread();
  // The smallest that has room, else the largest, which grows.
  const auto by_size = [](const auto& a, const auto& b) {
    return a.size() < b.size();
  };
  auto best = spares.end();
  for (auto it = spares.begin(); it != spares.end(); ++it) {
    if (it->size() < size) continue;
    if (best == spares.end() || by_size(*it, *best)) best = it;
  }
  if (best == spares.end()) best = std::ranges::max_element(spares, by_size);
  std::vector<uint8_t> bytes = std::exchange(*best, {});
  bytes.resize(size);
  return bytes;
}

void KeepSpareBytes(std::vector<uint8_t> bytes) {
  if (bytes.capacity() > kMostSpareBytes) return;
  auto& spares = SparesOfThread();
  const auto least = std::ranges::min_element(
      spares, {}, [](const auto& spare) { return spare.size(); });
  if (least->size() < bytes.size()) *least = std::move(bytes);
}

}  // namespace gandem
