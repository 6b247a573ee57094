// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are saved in the background. Some are read from where they live,
// which costs neither time nor memory, until their owner is about to change
// them: what is not written by then is copied.
//
// Owner: shared by who trains and who writes. Thread safety: any thread; the
// memory that is read changes only after Detach().
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
  // `is_live` says by index whose bytes belong to somebody who may change them
  // after Detach(); those of the others never change.
  TensorSnapshot(std::vector<NamedTensor> tensors, std::vector<bool> is_live);

  // After Detach() only names, types, shapes and sizes are those of the state.
  std::span<const NamedTensor> tensors() const { return tensors_; }

  // Copies what lives elsewhere and is not written yet.
  void Detach();

  // Appends the bytes of tensors()[index] to the file and returns their CRC32C.
  //   FAILED_PRECONDITION  they were written before, and have changed since.
  //   FileWriter's errors.
  absl::StatusOr<uint32_t> AppendTo(FileWriter& writer, size_t index);

 private:
  const std::vector<NamedTensor> tensors_;
  const std::vector<bool> is_live_;

  absl::Mutex mu_;
  bool is_detached_ ABSL_GUARDED_BY(mu_) = false;
  // By index.
  std::vector<bool> is_written_ ABSL_GUARDED_BY(mu_);
  std::vector<SharedBytes> copies_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
