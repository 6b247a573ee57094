// SPDX-License-Identifier: Apache-2.0
//
// Collective between GPUs over NCCL, with buffers on this rank's device. An
// operation starts after all queued work of the compute stream.
//
// There is no fallback: CreateNccl reports why NCCL is unusable. A failure
// aborts the communicator and the worker starts a new membership.
//
// Owner: the worker, for one membership.
// Thread safety: any thread, and collective.h.
// Errors: those of collective.h, and
//   INTERNAL  an error of NCCL or CUDA
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collective/collective.h"

namespace gandem {

struct NcclOptions {
  int device = 0;  // CUDA's number
  // cudaStream_t that fills and reads the buffers; null: the default stream.
  void* compute_stream = nullptr;
  // Called during the wait for the other ranks. An error ends the start.
  std::function<absl::Status()> interrupted = {};
};

//   FAILED_PRECONDITION  gandem was built without NCCL, or this host has no GPU
absl::Status CheckNccl();

// Connects the ranks of `bootstrap`, which only sends rank 0's id.
//   FAILED_PRECONDITION  gandem was built without NCCL, the device does not
//                        exist, or two ranks share a device
//   DEADLINE_EXCEEDED    some ranks have not joined; frees everything
absl::StatusOr<std::unique_ptr<Collective>> CreateNccl(
    const NcclOptions& options, Collective* bootstrap, absl::Time deadline);

}  // namespace gandem
