// SPDX-License-Identifier: Apache-2.0
#include "control_plane/launch/predicted_checkpoint.h"

#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/monotonic_time.h"
#include "common/process/child_process.h"
#include "common/programs/worker_program.h"
#include "common/random_text.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::Duration kCountLimit = absl::Minutes(2);
constexpr size_t kMaxComplaint = 500;

}  // namespace

absl::StatusOr<int64_t> AskForCheckpointBytes(
    const RunConfig& config, const std::string& binary_folder,
    const std::string& scratch_folder) {
  const std::string recipe =
      absl::StrCat(scratch_folder, "/", RandomText(8), ".textproto");
  GANDEM_RETURN_IF_ERROR(WriteFile(recipe, EffectiveConfigText(config)));
  const absl::Cleanup remove = [&] { RemoveAll(recipe).IgnoreError(); };
  const std::vector<std::string> arguments = {"models", recipe,
                                              "--checkpoint_bytes"};
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> command,
                          EvaluationCommand(binary_folder, arguments));
  command.insert(command.end(), arguments.begin(), arguments.end());
  GANDEM_ASSIGN_OR_RETURN(
      const ProcessOutput said,
      RunToEnd({.arguments = command}, MonotonicNow() + kCountLimit));
  int64_t bytes = 0;
  if (said.end.exit_code == 0 && absl::SimpleAtoi(said.text, &bytes) &&
      bytes > 0) {
    return bytes;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "evaluation_job ", said.end.description, ": ",
      Printable(absl::StripAsciiWhitespace(said.text), kMaxComplaint)));
}

}  // namespace gandem
