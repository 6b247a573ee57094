// SPDX-License-Identifier: Apache-2.0
#include "common/checkpoint/tensor_snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/crc32c.h"
#include "common/status.h"

namespace gandem {

TensorSnapshot::TensorSnapshot(std::vector<NamedTensor> tensors,
                               std::vector<bool> is_live)
    : tensors_(std::move(tensors)),
      is_live_(std::move(is_live)),
      is_written_(tensors_.size()),
      copies_(tensors_.size()) {
  GANDEM_CHECK(is_live_.size() == tensors_.size());
}

void TensorSnapshot::Detach() {
  absl::MutexLock lock(&mu_);
  if (is_detached_) return;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!is_live_[i] || is_written_[i]) continue;
    copies_[i] = SharedBytes::Copy(tensors_[i].bytes.span());
  }
  is_detached_ = true;
}

// Writes without holding the lock, so Detach() never waits for the disk.
absl::StatusOr<uint32_t> TensorSnapshot::AppendTo(FileWriter& writer,
                                                  size_t index) {
  constexpr size_t kPiece = size_t{1} << 20;
  const NamedTensor& tensor = tensors_[index];
  std::vector<std::byte> piece;
  uint32_t crc = 0;
  for (size_t at = 0; at < tensor.bytes.size(); at += piece.size()) {
    piece.resize(std::min(kPiece, tensor.bytes.size() - at));
    {
      absl::MutexLock lock(&mu_);
      const SharedBytes& from =
          is_detached_ && is_live_[index] ? copies_[index] : tensor.bytes;
      if (from.empty()) {
        return absl::FailedPreconditionError(absl::StrCat(
            "'", tensor.name, "' has changed since it was first written"));
      }
      std::memcpy(piece.data(), from.data() + at, piece.size());
    }
    crc = Crc32c(piece, crc);
    GANDEM_RETURN_IF_ERROR(writer.Append(piece));
  }
  absl::MutexLock lock(&mu_);
  is_written_[index] = true;
  return crc;
}

}  // namespace gandem
