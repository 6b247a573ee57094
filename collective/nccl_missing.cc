// SPDX-License-Identifier: Apache-2.0
#include "collective/nccl_collective.h"

namespace gandem {

absl::StatusOr<std::unique_ptr<Collective>> CreateNccl(const NcclOptions&,
                                                       Collective*,
                                                       absl::Time) {
  return CheckNccl();
}

absl::Status CheckNccl() {
  return absl::FailedPreconditionError(
      "collective: NCCL: this gandem was built without NCCL; build it where a "
      "CUDA toolkit and nccl.h are installed (GANDEM_CUDA=ON says what is "
      "missing), or choose another collective (sync.collective=RING)");
}

}  // namespace gandem
