// SPDX-License-Identifier: Apache-2.0
#include "common/philox.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "common/check.h"

namespace gandem {

PhiloxCounter Philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product_0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product_1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product_1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product_1),
               static_cast<uint32_t>(product_0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product_0)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

PhiloxStream::PhiloxStream(uint64_t seed, Purpose purpose, uint64_t step,
                           uint64_t index) {
  constexpr uint64_t kLimit = uint64_t{1} << 44;
  GANDEM_CHECK(step < kLimit);
  GANDEM_CHECK(index < kLimit);
  const auto number = static_cast<uint32_t>(purpose);
  GANDEM_CHECK(number < 256);
  key_ = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  counter_ = {0, static_cast<uint32_t>(index), static_cast<uint32_t>(step),
              number | static_cast<uint32_t>(index >> 32) << 8 |
                  static_cast<uint32_t>(step >> 32) << 20};
}

uint32_t PhiloxStream::NextUint32() {
  if (next_word_ == 4) {
    GANDEM_CHECK(!exhausted_);
    block_ = Philox4x32_10(counter_, key_);
    exhausted_ = ++counter_[0] == 0;
    next_word_ = 0;
  }
  return block_[next_word_++];
}

uint64_t PhiloxStream::NextUint64() {
  const uint64_t high = NextUint32();
  return high << 32 | NextUint32();
}

double PhiloxStream::NextUniform() {
  const uint64_t low = NextUint32();
  const uint64_t high = NextUint32();
  return static_cast<double>((high << 32 | low) >> 11) * 0x1p-53;
}

uint32_t PhiloxStream::NextBelow(uint32_t bound) {
  GANDEM_CHECK(bound >= 1);
  // Smaller words in the low half would favor some results.
  const uint32_t threshold = (uint32_t{0} - bound) % bound;
  while (true) {
    const uint64_t product = uint64_t{NextUint32()} * bound;
    if (static_cast<uint32_t>(product) >= threshold) {
      return static_cast<uint32_t>(product >> 32);
    }
  }
}

double PhiloxStream::NextNormal() {
  if (std::exchange(has_spare_, false)) return spare_;
  const double u = (NextUint32() + 1.0) * 0x1p-32;
  const double v = NextUint32() * 0x1p-32;
  const double radius = std::sqrt(-2.0 * std::log(u));
  const double angle = 2.0 * std::numbers::pi * v;
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

void PhiloxStream::FillNormal(std::span<float> out) {
  for (float& value : out) value = static_cast<float>(NextNormal());
}

}  // namespace gandem
