// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/views/round_history.h"

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

using Json = nlohmann::json;

// A record without a role that is known counts as unreadable.
Role RoleFrom(const Json& json) {
  const std::string role = json.value("role", "");
  return role == "generator"       ? GENERATOR
         : role == "discriminator" ? DISCRIMINATOR
                                   : ROLE_UNKNOWN;
}

RoundRecord RecordFrom(const Json& json) {
  return {.run_epoch = json.value("run_epoch", int64_t{0}),
          .workers = json.value("workers", 0),
          .images = json.value("images", int64_t{0}),
          .sync_bytes = json.value("sync_bytes", int64_t{0}),
          .times = {.round = json.value("round_seconds", 0.0),
                    .images = json.value("wait_images_seconds", 0.0),
                    .feedback = json.value("wait_feedback_seconds", 0.0),
                    .data = json.value("wait_data_seconds", 0.0),
                    .cache = json.value("wait_cache_seconds", 0.0),
                    .sync = json.value("wait_sync_seconds", 0.0),
                    .hidden_sync = json.value("hidden_sync_seconds", 0.0)}};
}

}  // namespace

// A line may be cut short by a crash, or be of another version: it is counted
// and left out.
void RoundHistory::AddLine(absl::string_view line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  try {
    const Role role = json.is_object() ? RoleFrom(json) : ROLE_UNKNOWN;
    if (role == ROLE_UNKNOWN) {
      ++unreadable_lines_;
      return;
    }
    const RoundRecord record = RecordFrom(json);
    const WorkerKey worker = {role, json.value("rank", 0)};
    RoundRecord& kept = rounds_[worker][json.at("round").get<int64_t>()];
    if (record.run_epoch >= kept.run_epoch) kept = record;
  } catch (const Json::exception&) {
    ++unreadable_lines_;
  }
}

absl::StatusOr<RoundHistory> RoundHistory::Read(const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(run_dir));
  RoundHistory history;
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, "metrics") || !absl::EndsWith(name, ".jsonl")) {
      continue;
    }
    const std::string path = absl::StrCat(run_dir, "/", name);
    std::ifstream file(path);
    if (!file) return FileError(errno, "cannot open", path);
    std::string line;
    while (std::getline(file, line)) history.AddLine(line);
    if (file.bad()) return FileError(EIO, "cannot read", path);
  }
  if (history.rounds().empty()) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir, "' has no metrics yet: no round is done. `gandem status ",
        run_dir, "` says what it waits for"));
  }
  return history;
}

}  // namespace gandem
