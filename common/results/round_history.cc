// SPDX-License-Identifier: Apache-2.0
#include "common/results/round_history.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
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
  data.set_processor_seconds(json.value("processor_seconds", 0.0));
  data.set_free_cores(json.value("free_cores", 0));
}

// An element that is none is left out.
void ReadNoise(const Json& list, RoundMetrics& metrics) {
  if (!list.is_array()) return;
  for (const Json& json : list) {
    if (!json.is_object()) continue;
    GradientNoise::Part part = GradientNoise::UNKNOWN;
    if (!GradientNoise::Part_Parse(
            absl::AsciiStrToUpper(json.value("part", "")), &part)) {
      continue;
    }
    const auto number = [&json](const char* key) {
      const auto found = json.find(key);
      return found != json.end() && found->is_number() ? found->get<double>()
                                                       : 0.0;
    };
    GradientNoise& noise = *metrics.add_gradient_noise();
    noise.set_part(part);
    noise.set_small_images(number("small_images"));
    noise.set_large_images(number("large_images"));
    noise.set_small_square(number("small_square"));
    noise.set_large_square(number("large_square"));
  }
}

void ReadHealth(const Json& list, RoundMetrics& metrics) {
  if (!list.is_array()) return;
  for (const Json& json : list) {
    if (!json.is_object()) continue;
    metrics.add_health()->set_text(json.value("text", ""));
  }
}

// Null where it was not finite.
double FiniteOrNan(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number()
             ? found->get<double>()
             : std::numeric_limits<double>::quiet_NaN();
}

RoundMetrics MetricsFrom(const Json& json) {
  RoundMetrics metrics;
  metrics.set_role(RoleFrom(json.value("role", "")));
  metrics.set_rank(json.value("rank", 0));
  metrics.set_run_epoch(json.value("run_epoch", int64_t{0}));
  metrics.set_round(json.at("round").get<int64_t>());
  metrics.set_loss(FiniteOrNan(json, "loss"));
  metrics.set_logit_real(FiniteOrNan(json, "logit_real"));
  metrics.set_logit_generated(FiniteOrNan(json, "logit_generated"));
  if (json.contains("ada_p")) metrics.set_ada_p(FiniteOrNan(json, "ada_p"));
  if (json.contains("ada_r_t")) {
    metrics.set_ada_r_t(FiniteOrNan(json, "ada_r_t"));
  }
  metrics.set_cache_images(json.value("cache_images", int64_t{0}));
  metrics.set_cache_capacity(json.value("cache_capacity", int64_t{0}));
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
  const auto health = json.find("health");
  if (health != json.end()) ReadHealth(*health, metrics);
  const auto noise = json.find("gradient_noise");
  if (noise != json.end()) ReadNoise(*noise, metrics);
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
      "rank",   "run_epoch",  "round",        "lag",           "workers",
      "images", "sync_bytes", "cache_images", "cache_capacity"};
  constexpr const char* kOfData[] = {
      "images",  "stored_bytes", "retries",      "waiting_images",
      "fetches", "workers",      "images_ahead", "free_cores"};
  const auto data = json.find("data");
  return HasIntegers(json, kOfRounds) &&
         (data == json.end() ||
          (data->is_object() && HasIntegers(*data, kOfData)));
}

RoundRecord RecordOf(const RoundMetrics& metrics) {
  constexpr float kNotSaid = std::numeric_limits<float>::quiet_NaN();
  RoundRecord record = {
      .run_epoch = metrics.run_epoch(),
      .first_round = metrics.round(),
      .workers = metrics.workers(),
      .images = metrics.images(),
      .sync_bytes = metrics.sync_bytes(),
      .times = TimesOf(metrics),
      .one_round_seconds = metrics.round_seconds(),
      .noise = {metrics.gradient_noise().begin(),
                metrics.gradient_noise().end()},
      .unix_seconds = metrics.unix_seconds(),
      .loss = static_cast<float>(metrics.loss()),
      .loss_low = static_cast<float>(metrics.loss()),
      .loss_high = static_cast<float>(metrics.loss()),
      .logit_real = static_cast<float>(metrics.logit_real()),
      .logit_generated = static_cast<float>(metrics.logit_generated()),
      .ada_p =
          metrics.has_ada_p() ? static_cast<float>(metrics.ada_p()) : kNotSaid,
      .ada_r_t = metrics.has_ada_r_t() ? static_cast<float>(metrics.ada_r_t())
                                       : kNotSaid,
      .lag = static_cast<float>(metrics.lag()),
      .waiting_images = static_cast<float>(metrics.data().waiting_images())};
  if (metrics.cache_capacity() > 0) {
    record.cache_fill = static_cast<float>(metrics.cache_images()) /
                        static_cast<float>(metrics.cache_capacity());
  }
  return record;
}

constexpr int64_t kMostRounds = int64_t{1} << 40;  // of a record

// 3 of "metrics.3.jsonl" (common/files/rotation.h), 0 of "metrics.jsonl".
int64_t NumberOf(const std::string& name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
  int64_t number = 0;
  return parts.size() == 3 && absl::SimpleAtoi(parts[1], &number) ? number : 0;
}

bool BelongTogether(const RoundRecord& a, const RoundRecord& b) {
  return a.run_epoch == b.run_epoch && a.workers == b.workers;
}

// Adds `more_rounds` rounds to the mean of `rounds`. NaN counts as no rounds.
void AddToMean(float& mean, int64_t rounds, float more, int64_t more_rounds) {
  if (std::isnan(more)) return;
  const double sum =
      static_cast<double>(mean) * static_cast<double>(rounds) +
      static_cast<double>(more) * static_cast<double>(more_rounds);
  mean =
      std::isnan(mean)
          ? more
          : static_cast<float>(sum / static_cast<double>(rounds + more_rounds));
}

// `later` follows it.
void Absorb(const RoundRecord& later, RoundRecord& record) {
  record.images += later.images;
  record.sync_bytes += later.sync_bytes;
  record.times += later.times;
  record.one_round_seconds = later.one_round_seconds;
  if (!later.noise.empty()) record.noise = later.noise;
  record.unix_seconds = later.unix_seconds;
  record.loss_low = std::fmin(record.loss_low, later.loss_low);
  record.loss_high = std::fmax(record.loss_high, later.loss_high);
  for (float RoundRecord::*const mean :
       {&RoundRecord::loss, &RoundRecord::logit_real,
        &RoundRecord::logit_generated, &RoundRecord::ada_p,
        &RoundRecord::ada_r_t, &RoundRecord::cache_fill, &RoundRecord::lag,
        &RoundRecord::waiting_images}) {
    AddToMean(record.*mean, record.rounds, later.*mean, later.rounds);
  }
  record.rounds += later.rounds;
}

// Its rounds up to `last`, from `round` on, were done again or will be. They
// had the same part of all.
void CutOff(int64_t round, int64_t last, RoundRecord& record) {
  const double left = static_cast<double>(round - record.first_round) /
                      static_cast<double>(last + 1 - record.first_round);
  for (int64_t* const sum :
       {&record.images, &record.sync_bytes, &record.rounds}) {
    *sum = std::llround(left * static_cast<double>(*sum));
  }
  record.rounds = std::max<int64_t>(record.rounds, 1);
  record.times *= left;
}

void Widen(const RoundMetrics& metrics, EpochSpan& span) {
  span.first_round = std::min(span.first_round, metrics.round());
  span.last_round = std::max(span.last_round, metrics.round());
  span.first_unix_seconds =
      std::min(span.first_unix_seconds, metrics.unix_seconds());
  span.last_unix_seconds =
      std::max(span.last_unix_seconds, metrics.unix_seconds());
}

}  // namespace

std::optional<RoundMetrics> ParseRoundMetrics(absl::string_view line) {
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
  const std::optional<RoundMetrics> metrics = ParseRoundMetrics(line);
  if (!metrics.has_value()) {
    ++unreadable_lines_;
    return;
  }
  const EpochSpan fresh = {.first_round = metrics->round(),
                           .last_round = metrics->round(),
                           .first_unix_seconds = metrics->unix_seconds(),
                           .last_unix_seconds = metrics->unix_seconds()};
  Widen(*metrics,
        epochs_.try_emplace(metrics->run_epoch(), fresh).first->second);
  for (const HealthWarning& warning : metrics->health()) {
    warnings_.emplace(metrics->round(), warning.text());
  }
  Add({metrics->role(), metrics->rank()}, metrics->round(), RecordOf(*metrics));
}

void RoundHistory::Add(const WorkerKey& worker, int64_t round,
                       RoundRecord record) {
  std::map<int64_t, RoundRecord>& records = rounds_[worker];
  auto after = records.lower_bound(round);
  if (after != records.end() && after->second.first_round <= round) {
    const RoundRecord& known = after->second;
    if (record.run_epoch < known.run_epoch ||
        (record.run_epoch == known.run_epoch && known.rounds > 1)) {
      return;
    }
    auto node = records.extract(after++);
    if (node.mapped().first_round < round) {
      CutOff(round, node.key(), node.mapped());
      node.key() = round - 1;
      records.insert(after, std::move(node));
    }
  }
  int64_t& per_record =
      per_record_.try_emplace(worker, int64_t{1}).first->second;
  if (after != records.begin()) {
    const auto before = std::prev(after);
    if (before->second.rounds < per_record &&
        BelongTogether(before->second, record)) {
      auto node = records.extract(before);
      Absorb(record, node.mapped());
      node.key() = round;
      records.insert(after, std::move(node));
      return;
    }
  }
  records.emplace_hint(after, round, std::move(record));
  // Run epochs do not become one, however many there are.
  if (records.size() <= max_records_ || per_record >= kMostRounds) return;
  per_record *= 2;
  for (auto it = std::next(records.begin()); it != records.end();) {
    const auto before = std::prev(it);
    if (before->second.rounds + it->second.rounds > per_record ||
        !BelongTogether(before->second, it->second)) {
      ++it;
      continue;
    }
    Absorb(it->second, before->second);
    it->second = std::move(before->second);
    records.erase(before);
    ++it;
  }
}

std::vector<std::string> RoundHistory::warnings() const {
  std::vector<std::string> texts;
  for (const auto& [round, text] : warnings_) texts.push_back(text);
  return texts;
}

absl::StatusOr<RoundHistory> RoundHistory::Read(const std::string& run_dir) {
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          ListDirectory(run_dir));
  std::erase_if(names, [](const std::string& name) {
    return !absl::StartsWith(name, "metrics") ||
           !absl::EndsWith(name, ".jsonl");
  });
  // The oldest first: neighbors become one record.
  std::ranges::stable_sort(names, std::greater<>(), NumberOf);
  RoundHistory history;
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(run_dir, "/", name);
    GANDEM_RETURN_IF_ERROR(CheckIsNoPipe(path));
    std::ifstream file;
    std::string line;
    const auto read_line = [&] {
      const FileWait wait(path);
      return static_cast<bool>(std::getline(file, line));
    };
    {
      const FileWait wait(path);
      file.open(path);
    }
    // The oldest may just have been removed (metrics_writer.h).
    if (!file && errno == ENOENT) continue;
    if (!file) return FileError(errno, "cannot open", path);
    while (read_line()) history.AddLine(line);
    if (file.bad()) return FileError(EIO, "cannot read", path);
  }
  if (history.rounds().empty() && history.unreadable_lines() > 0) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir,
        "' has no metrics that can be read: ", history.unreadable_lines(),
        " lines of its metrics*.jsonl, and none is "
        "the record of a round"));
  }
  if (history.rounds().empty()) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir, "' has no metrics yet: no round is done. `gandem status ",
        run_dir, "` says what it waits for"));
  }
  return history;
}

}  // namespace gandem
