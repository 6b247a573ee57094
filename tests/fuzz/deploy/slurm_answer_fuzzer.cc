// SPDX-License-Identifier: Apache-2.0
//
// What scontrol and sbatch may print, and a user as a time: refused, or within
// what callers rely on.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "deploy/slurm/job_state.h"
#include "deploy/slurm/slurm_job.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto state = gandem::ParseSlurmJobState(text);
  if (state.ok()) {
    GANDEM_CHECK(!state->state.empty());
    GANDEM_CHECK(state->exit_code >= 0 && state->exit_code <= 255);
  }
  const auto job = gandem::ParseSlurmJobId(text);
  if (job.ok()) GANDEM_CHECK(*job > 0);
  const auto found = gandem::FindSlurmJob(text, "a");
  if (found.has_value()) GANDEM_CHECK(*found > 0);
  const auto time = gandem::ParseSlurmTime(text);
  if (time.ok()) GANDEM_CHECK(*time > absl::ZeroDuration());
  return 0;
}
