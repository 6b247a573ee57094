// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the readers of plans and host files, which users write by hand or
// exchange.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "scaling_manager/planner_commands/machines.h"
#include "scaling_manager/planner_commands/plan_file.h"

namespace {

void CheckRefused(const absl::Status& status) {
  GANDEM_CHECK(absl::IsInvalidArgument(status));
  GANDEM_CHECK(!status.message().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto machines = gandem::ParseMachines(input, "input");
  if (!machines.ok()) CheckRefused(machines.status());
  const auto plan = gandem::ParsePlan(input, "input");
  if (!plan.ok()) {
    CheckRefused(plan.status());
    return 0;
  }
  GANDEM_CHECK(!gandem::PlanTable(*plan).empty());
  GANDEM_CHECK(!gandem::PlanLines(*plan).empty());
  for (int i = 0; i < plan->candidates_size(); ++i) {
    gandem::IsColocated(plan->candidates(i));
  }
  return 0;
}
