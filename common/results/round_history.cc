// SPDX-License-Identifier: Apache-2.0
#include "common/results/round_history.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/files/proto_json.h"
#include "common/status.h"

namespace gandem {
namespace {

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

// Returns 3 for "metrics.3.jsonl" (files/rotation.h), 0 without number.
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

// Merges `later`, the next record, into `record`.
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

// Cuts a record of rounds up to `last` off before `round`, because the rest is
// repeated. Assumes equal shares for all rounds.
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
  constexpr double kNotSaid = std::numeric_limits<double>::quiet_NaN();
  RoundMetrics metrics;
  metrics.set_round(-1);
  metrics.set_loss(kNotSaid);
  metrics.set_logit_real(kNotSaid);
  metrics.set_logit_generated(kNotSaid);
  if (!ParseProtoJson(line, metrics) || metrics.round() < 0 ||
      metrics.role() == ROLE_UNKNOWN) {
    return std::nullopt;
  }
  return metrics;
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
  // Records of different run epochs are never merged.
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
  // Oldest first, so that neighbors merge.
  std::ranges::stable_sort(names, std::greater<>(), NumberOf);
  RoundHistory history;
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(run_dir, "/", name);
    std::string line;  // incomplete line
    const absl::Status read =
        ReadPieces(path, [&](std::span<const std::byte> piece) {
          const absl::string_view text(
              reinterpret_cast<const char*>(piece.data()), piece.size());
          const std::vector<absl::string_view> parts =
              absl::StrSplit(text, '\n');
          for (size_t i = 0; i < parts.size(); ++i) {
            if (i > 0) history.AddLine(std::exchange(line, {}));
            absl::StrAppend(&line, parts[i]);
          }
        });
    // The oldest file may just have been removed (metrics_writer.h).
    if (absl::IsNotFound(read)) continue;
    GANDEM_RETURN_IF_ERROR(read);
    if (!line.empty()) history.AddLine(line);
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
