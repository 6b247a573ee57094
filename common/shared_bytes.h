// SPDX-License-Identifier: Apache-2.0
//
// Immutable shared bytes, passed between tensors, caches and sockets.
//
// Owner: any holder of a copy; the memory lives as long as the last one.
// Thread safety: immutable, so any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gandem {

class SharedBytes {
 public:
  SharedBytes() = default;
  // `owner` keeps the memory of `bytes` alive.
  SharedBytes(std::shared_ptr<const void> owner,
              std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}
  explicit SharedBytes(std::vector<std::byte> bytes) {
    auto held =
        std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    bytes_ = *held;
    owner_ = std::move(held);
  }
  static SharedBytes Copy(std::span<const std::byte> bytes) {
    return SharedBytes(std::vector<std::byte>(bytes.begin(), bytes.end()));
  }

  std::span<const std::byte> span() const { return bytes_; }
  const std::byte* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  // Shares ownership. The range must lie inside the bytes.
  SharedBytes Slice(size_t offset, size_t size) const {
    return SharedBytes(owner_, bytes_.subspan(offset, size));
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

inline int64_t TotalBytes(std::span<const SharedBytes> pieces) {
  int64_t total = 0;
  for (const SharedBytes& piece : pieces) {
    total += static_cast<int64_t>(piece.size());
  }
  return total;
}

}  // namespace gandem
