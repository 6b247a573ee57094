// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/views/round_history.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

using Json = nlohmann::json;

Role RoleFrom(const std::string& name) {
  return name == "generator"       ? GENERATOR
         : name == "discriminator" ? DISCRIMINATOR
                                   : ROLE_UNKNOWN;
}

void ReadData(const Json& json, DataMetrics& data) {
  data.set_seconds(json.value("seconds", 0.0));
  data.set_images(json.value("images", int64_t{0}));
  data.set_fetch_stall_seconds(json.value("fetch_stall_seconds", 0.0));
  data.set_decode_stall_seconds(json.value("decode_stall_seconds", 0.0));
  data.set_transform_stall_seconds(json.value("transform_stall_seconds", 0.0));
  data.set_stored_bytes(json.value("stored_bytes", int64_t{0}));
  data.set_retries(json.value("retries", int64_t{0}));
  data.set_waiting_images(json.value("waiting_images", int64_t{0}));
  data.set_fetches(json.value("fetches", 0));
  data.set_workers(json.value("workers", 0));
  data.set_images_ahead(json.value("images_ahead", int64_t{0}));
}

RoundMetrics MetricsFrom(const Json& json) {
  RoundMetrics metrics;
  metrics.set_role(RoleFrom(json.value("role", "")));
  metrics.set_rank(json.value("rank", 0));
  metrics.set_run_epoch(json.value("run_epoch", int64_t{0}));
  metrics.set_round(json.at("round").get<int64_t>());
  const auto loss = json.find("loss");  // null when it was not finite
  metrics.set_loss(loss != json.end() && loss->is_number()
                       ? loss->get<double>()
                       : std::numeric_limits<double>::quiet_NaN());
  metrics.set_lag(json.value("lag", int64_t{0}));
  metrics.set_workers(json.value("workers", 0));
  metrics.set_images(json.value("images", int64_t{0}));
  metrics.set_sync_bytes(json.value("sync_bytes", int64_t{0}));
  metrics.set_unix_seconds(json.value("unix_seconds", 0.0));
  metrics.set_round_seconds(json.value("round_seconds", 0.0));
  metrics.set_wait_images_seconds(json.value("wait_images_seconds", 0.0));
  metrics.set_wait_feedback_seconds(json.value("wait_feedback_seconds", 0.0));
  metrics.set_wait_data_seconds(json.value("wait_data_seconds", 0.0));
  metrics.set_wait_cache_seconds(json.value("wait_cache_seconds", 0.0));
  metrics.set_wait_sync_seconds(json.value("wait_sync_seconds", 0.0));
  metrics.set_hidden_sync_seconds(json.value("hidden_sync_seconds", 0.0));
  const auto data = json.find("data");
  if (data != json.end()) ReadData(*data, *metrics.mutable_data());
  return metrics;
}

// A number that is none of an integer's has no meaning as one.
bool HasIntegers(const Json& json, std::span<const char* const> keys) {
  return std::ranges::all_of(keys, [&json](const char* key) {
    const auto found = json.find(key);
    return found == json.end() || found->is_number_integer();
  });
}

bool HasIntegers(const Json& json) {
  constexpr const char* kOfRounds[] = {
      "rank", "run_epoch", "round", "lag", "workers", "images", "sync_bytes"};
  constexpr const char* kOfData[] = {
      "images",  "stored_bytes", "retries",     "waiting_images",
      "fetches", "workers",      "images_ahead"};
  const auto data = json.find("data");
  return HasIntegers(json, kOfRounds) &&
         (data == json.end() ||
          (data->is_object() && HasIntegers(*data, kOfData)));
}

}  // namespace

std::optional<RoundMetrics> ParseMetrics(absl::string_view line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!json.is_object() || !HasIntegers(json)) return std::nullopt;
  try {
    RoundMetrics metrics = MetricsFrom(json);
    if (metrics.role() != ROLE_UNKNOWN) return metrics;
  } catch (const Json::exception&) {
    // A line of another version.
  }
  return std::nullopt;
}

void RoundHistory::AddLine(absl::string_view line) {
  const std::optional<RoundMetrics> metrics = ParseMetrics(line);
  if (!metrics.has_value()) {
    ++unreadable_lines_;
    return;
  }
  const WorkerKey worker = {metrics->role(), metrics->rank()};
  RoundRecord& kept = rounds_[worker][metrics->round()];
  if (metrics->run_epoch() < kept.run_epoch) return;
  kept = {.run_epoch = metrics->run_epoch(),
          .workers = metrics->workers(),
          .images = metrics->images(),
          .sync_bytes = metrics->sync_bytes(),
          .times = TimesOf(*metrics)};
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
    // The oldest may just have been removed (metrics_writer.h).
    if (!file && errno == ENOENT) continue;
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
