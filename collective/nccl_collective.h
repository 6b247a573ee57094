// SPDX-License-Identifier: Apache-2.0
//
// A Collective between GPUs, over NCCL. Buffers are in the memory of this
// rank's device. An operation starts when what the compute stream has been
// given so far is done, and what it is given after Wait sees the result.
//
// Nothing stands in for NCCL: where it cannot be used, CreateNccl says why.
// NCCL can be told to give up but not with whom: after a failure the
// communicator is aborted, and the worker starts a new membership.
//
// Owner: the worker, for one membership.
// Thread safety: any thread, and collective.h.
// Errors: collective.h, and
//   INTERNAL  what NCCL or CUDA reported.
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
  // The cudaStream_t on which buffers are filled and read; null: the default.
  void* compute_stream = nullptr;
  // Asked while the other ranks are waited for. Not OK: the start ends with it.
  std::function<absl::Status()> interrupted = {};
};

//   FAILED_PRECONDITION  gandem was built without NCCL, or this host has no
//                        GPU.
absl::Status CheckNccl();

// Joins the ranks of `bootstrap`, a Collective on the host over which rank 0
// sends the communicator's id; it is not used after that.
//   FAILED_PRECONDITION  gandem was built without NCCL, there is no such
//                        device, or two ranks have the same one.
//   DEADLINE_EXCEEDED    not all ranks have joined; nothing is left of it.
absl::StatusOr<std::unique_ptr<Collective>> CreateNccl(
    const NcclOptions& options, Collective* bootstrap, absl::Time deadline);

}  // namespace gandem
