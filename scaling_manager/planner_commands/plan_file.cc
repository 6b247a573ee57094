// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/plan_file.h"

#include <google/protobuf/text_format.h>

#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/status.h"

namespace gandem {
namespace {

// As many as the config says, each rank once, on hosts that the plan has.
absl::Status CheckPlacement(const Candidate& candidate, const Plan& plan) {
  std::set<std::string> hosts;
  for (const Host& host : plan.machines().hosts()) hosts.insert(host.name());
  std::set<std::pair<Role, int>> workers;
  std::map<Role, int> counts;
  for (const PlacedWorker& worker : candidate.placement().workers()) {
    const int64_t of_role = worker.role() == GENERATOR
                                ? candidate.config().generator().workers()
                            : worker.role() == DISCRIMINATOR
                                ? candidate.config().discriminator().workers()
                            : worker.role() == COLOCATED ? 1
                                                         : 0;
    if (worker.rank() < 0 || worker.rank() >= of_role ||
        !workers.emplace(worker.role(), worker.rank()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("placement has a ", RoleName(worker.role()),
                       " worker of rank ", worker.rank(), ", and the config ",
                       of_role, " workers of this role, each once"));
    }
    if (!hosts.contains(worker.host())) {
      return absl::InvalidArgumentError(
          absl::StrCat("placement names host '", worker.host(),
                       "', which is none of machines.hosts"));
    }
    ++counts[worker.role()];
  }
  const bool is_whole =
      counts.contains(COLOCATED)
          ? counts.size() == 1 &&
                candidate.config().generator().workers() == 1 &&
                candidate.config().discriminator().workers() == 1
          : counts[GENERATOR] == candidate.config().generator().workers() &&
                counts[DISCRIMINATOR] ==
                    candidate.config().discriminator().workers();
  if (is_whole) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "placement does not have the workers of the config: either one COLOCATED "
      "worker, or all of both roles");
}

absl::Status CheckCandidate(const Candidate& candidate, const Plan& plan) {
  GANDEM_RETURN_IF_ERROR(ValidateRunConfig(candidate.config()));
  return CheckPlacement(candidate, plan);
}

}  // namespace

bool LooksLikePlan(absl::string_view text) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "candidates")) return true;
  }
  return false;
}

absl::StatusOr<Plan> ParsePlan(absl::string_view text, absl::string_view file) {
  Plan plan;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, file, plan));
  if (plan.candidates_size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": the plan has no candidates; `gandem plan RECIPE -o ", file,
        "` makes one"));
  }
  for (int i = 0; i < plan.candidates_size(); ++i) {
    GANDEM_RETURN_IF_ERROR(Annotate(CheckCandidate(plan.candidates(i), plan),
                                    absl::StrCat(file, ": candidate ", i + 1)));
  }
  return plan;
}

absl::StatusOr<Plan> ReadPlan(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  return ParsePlan(text, path);
}

absl::Status WritePlan(const Plan& plan, const std::string& path) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  GANDEM_CHECK(printer.PrintToString(plan, &text));
  return WriteFileDurably(path, text);
}

bool IsColocated(const Candidate& candidate) {
  return candidate.placement().workers_size() > 0 &&
         candidate.placement().workers(0).role() == COLOCATED;
}

}  // namespace gandem
