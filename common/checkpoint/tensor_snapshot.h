// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are saved in the background. Live tensors are read in place
// until their owner is about to change them; then the rest is copied.
//
// Owner: shared by the training thread and the writer. Thread safety: any
// thread; live memory changes only after Detach().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/checkpoint/safetensors.h"
#include "common/files/file_writer.h"
#include "common/shared_bytes.h"

namespace gandem {

class TensorSnapshot {
 public:
  // `is_live` tells by index which tensors may change after Detach(). The
  // others must never change.
  TensorSnapshot(std::vector<NamedTensor> tensors, std::vector<bool> is_live);

  // After Detach(), these tensors may no longer have the saved state.
  std::span<const NamedTensor> tensors() const { return tensors_; }

  // Copies live tensors that are not written yet.
  void Detach();

  // Appends the bytes of tensors()[index] and returns their CRC32C. Also
  // returns FileWriter's errors.
  //   FAILED_PRECONDITION  already written, and changed since
  absl::StatusOr<uint32_t> AppendTo(FileWriter& writer, size_t index);

 private:
  const std::vector<NamedTensor> tensors_;
  const std::vector<bool> is_live_;

  absl::Mutex mu_;
  bool is_detached_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<bool> is_written_ ABSL_GUARDED_BY(mu_);
  std::vector<SharedBytes> copies_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
