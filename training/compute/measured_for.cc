// SPDX-License-Identifier: Apache-2.0
#include "training/compute/measured_for.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/sha256.h"
#include "common/process/machine.h"

namespace gandem {

std::string MeasuredFor(const NetworkPlan& plan) {
  Sha256 digest;
  digest.Update(plan.network.SerializeAsString());
  digest.Update(absl::StrCat(
      "|", plan.role, "|", plan.data.image.channels, "|",
      plan.data.image.height, "|", plan.data.image.width, "|",
      plan.data.num_classes, "|", plan.batch_size, "|", plan.micro_batch, "|",
      plan.device, "|", plan.threads, "|", plan.precision, "|", plan.layout,
      "|", plan.may_be_float16, "|", plan.recompute_blocks));
  for (const std::string& line :
       MachineKind(absl::StartsWith(plan.device, "cuda"))) {
    digest.Update(absl::StrCat("|", line));
  }
  return digest.Finish();
}

}  // namespace gandem
