// SPDX-License-Identifier: Apache-2.0
#include "extras/report_page/run_page_data.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config/role_name.h"
#include "common/config/run_config.h"
#include "common/results/judged_curves.h"
#include "common/results/run_folder.h"
#include "common/results/training_clock.h"
#include "common/status.h"
#include "control_plane/views/time_report_text.h"
#include "extras/report_page/sample_pictures.h"

namespace gandem {
namespace {

using Json = nlohmann::ordered_json;

Json FiniteOrNull(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

// Rounds to six digits, more than a chart shows.
Json Shortened(double value) {
  if (!std::isfinite(value)) return {};
  if (value == 0) return 0;
  const double digits =
      std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  const double rounded = std::round(value * digits) / digits;
  return FiniteOrNull(std::isfinite(rounded) ? rounded : value);
}

// Mean and range of the finite values.
class Mean {
 public:
  void Add(double value, int64_t rounds) {
    AddRange(value, rounds, value, value);
  }
  void AddRange(double value, int64_t rounds, double low, double high) {
    if (!std::isfinite(value)) return;
    sum_ += value * static_cast<double>(rounds);
    low_ = std::min(low_, low);
    high_ = std::max(high_, high);
    count_ += rounds;
  }
  Json mean() const {
    return count_ > 0 ? Shortened(sum_ / static_cast<double>(count_)) : Json();
  }
  Json low() const { return count_ > 0 ? Shortened(low_) : Json(); }
  Json high() const { return count_ > 0 ? Shortened(high_) : Json(); }

 private:
  double sum_ = 0;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
  int64_t count_ = 0;
};

// Consecutive rounds that become one point.
struct ColumnBucket {
  int64_t rounds_done = 0;
  int64_t images = 0;
  RoundTimes times = {};
  Mean loss = {};
  Mean lag = {};
  Mean waiting_images = {};
  Mean cache_fill = {};
  Mean logit_real = {};
  Mean logit_generated = {};
  Mean ada_p = {};
  Mean ada_r_t = {};

  void Add(int64_t round, const RoundRecord& record) {
    rounds_done = round + 1;
    images += record.images * std::max(1, record.workers);
    times += record.times;
    loss.AddRange(record.loss, record.rounds, record.loss_low,
                  record.loss_high);
    lag.Add(record.lag, record.rounds);
    waiting_images.Add(record.waiting_images, record.rounds);
    cache_fill.Add(record.cache_fill, record.rounds);
    logit_real.Add(record.logit_real, record.rounds);
    logit_generated.Add(record.logit_generated, record.rounds);
    ada_p.Add(record.ada_p, record.rounds);
    ada_r_t.Add(record.ada_r_t, record.rounds);
  }
};

void AppendColumns(const ColumnBucket& bucket, const TrainingClock& clock,
                   Json& columns) {
  const auto add = [&columns](const char* name, Json value) {
    columns[name].push_back(std::move(value));
  };
  const auto share = [&bucket](double seconds) {
    return bucket.times.round > 0 ? Shortened(seconds / bucket.times.round)
                                  : Json();
  };
  const TrainingClock::Reading reading = clock.At(bucket.rounds_done);
  add("round", bucket.rounds_done);
  add("images", std::round(reading.images));
  add("seconds", Shortened(reading.seconds));
  add("loss", bucket.loss.mean());
  add("loss_low", bucket.loss.low());
  add("loss_high", bucket.loss.high());
  add("lag", bucket.lag.mean());
  add("images_per_second", share(static_cast<double>(bucket.images)));
  add("share_compute", share(bucket.times.compute()));
  add("share_images", share(bucket.times.images));
  add("share_feedback", share(bucket.times.feedback));
  add("share_data", share(bucket.times.data));
  add("share_cache", share(bucket.times.cache));
  add("share_sync", share(bucket.times.sync));
  add("waiting_images", bucket.waiting_images.mean());
  add("cache_fill", bucket.cache_fill.mean());
  add("logit_real", bucket.logit_real.mean());
  add("logit_generated", bucket.logit_generated.mean());
  add("ada_p", bucket.ada_p.mean());
  add("ada_r_t", bucket.ada_r_t.mean());
}

Json EpochsJson(const RoundHistory& history) {
  Json epochs = Json::array();
  const EpochSpan* before = nullptr;
  for (const auto& [epoch, span] : history.epochs()) {
    Json row = {{"run_epoch", epoch}, {"first_round", span.first_round}};
    if (before != nullptr) {
      row["rounds_done_again"] =
          std::max<int64_t>(0, before->last_round + 1 - span.first_round);
      row["gap_seconds"] =
          Shortened(span.first_unix_seconds - before->last_unix_seconds);
    }
    epochs.push_back(std::move(row));
    before = &span;
  }
  return epochs;
}

Json CurveJson(const JudgedCurve& curve, const TrainingClock& clock) {
  Json json = {
      {"metric", curve.metric},
      {"setting", absl::StrCat(std::hash<std::string>()(curve.setting))},
      {"about", curve.about},
      {"lower_is_better", curve.lower_is_better},
      {"best_round", curve.Best().step},
      {"round", Json::array()},
      {"images", Json::array()},
      {"seconds", Json::array()},
      {"value", Json::array()},
      {"sd", Json::array()}};
  for (const JudgedPoint& point : curve.points) {
    const TrainingClock::Reading reading = clock.At(point.step);
    json["round"].push_back(point.step);
    json["images"].push_back(std::round(reading.images));
    json["seconds"].push_back(Shortened(reading.seconds));
    json["value"].push_back(FiniteOrNull(point.value));
    json["sd"].push_back(point.sd.has_value() ? FiniteOrNull(*point.sd)
                                              : Json());
  }
  return json;
}

absl::Status AddCurves(const std::string& run_dir, const TrainingClock& clock,
                       Json& data) {
  GANDEM_ASSIGN_OR_RETURN(const JudgedCurves judged,
                          ReadJudgedCurves(run_dir + "/evaluation"));
  data["curves"] = Json::array();
  for (const JudgedCurve& curve : judged.curves) {
    data["curves"].push_back(CurveJson(curve, clock));
  }
  for (const std::string& reason : judged.unreadable) {
    data["notes"].push_back(absl::StrCat("left out: ", reason));
  }
  return absl::OkStatus();
}

absl::Status AddRecipe(const std::string& run_dir, Json& data) {
  GANDEM_ASSIGN_OR_RETURN(const RunConfig config,
                          RunFolder(run_dir).ReadConfig());
  data["recipe"] = EffectiveConfigText(config);
  data["rounds_wanted"] = config.rounds();
  return absl::OkStatus();
}

absl::Status AddSamples(const std::string& run_dir, const TrainingClock& clock,
                        Json& data) {
  GANDEM_ASSIGN_OR_RETURN(const SamplePictures pictures,
                          ReadSamplePictures(run_dir + "/samples"));
  data["samples"] = Json::array();
  for (const SamplePicture& picture : pictures.pictures) {
    const TrainingClock::Reading reading = clock.At(picture.round);
    data["samples"].push_back({{"round", picture.round},
                               {"images", std::round(reading.images)},
                               {"seconds", Shortened(reading.seconds)},
                               {"picture", picture.data_uri}});
  }
  for (const std::string& note : pictures.notes) data["notes"].push_back(note);
  return absl::OkStatus();
}

}  // namespace

Json RoleColumns(const RoundHistory& history, Role role, int64_t max_columns) {
  Json columns = Json::object();
  const auto worker = history.rounds().lower_bound({role, 0});
  if (worker == history.rounds().end() || worker->first.role != role) {
    return columns;
  }
  const TrainingClock clock(history);
  const auto num_rounds = static_cast<int64_t>(worker->second.size());
  const int64_t per_column = (num_rounds + max_columns - 1) / max_columns;
  ColumnBucket bucket;
  int64_t seen = 0;
  for (const auto& [round, record] : worker->second) {
    bucket.Add(round, record);
    if (++seen % per_column == 0 || seen == num_rounds) {
      AppendColumns(bucket, clock, columns);
      bucket = {};
    }
  }
  return columns;
}

absl::StatusOr<Json> RunPageData(const TimeReport& report,
                                 const RoundHistory& history) {
  const TrainingClock clock(history);
  int64_t rounds_done = 0;
  Json roles = Json::object();
  for (const Role role : {DISCRIMINATOR, GENERATOR}) {
    Json columns = RoleColumns(history, role, kMaxColumns);
    if (columns.empty()) continue;
    rounds_done = std::max(rounds_done, columns["round"].back().get<int64_t>());
    roles[RoleName(role)] = std::move(columns);
  }
  Json data = {{"name", report.name},
               {"run_dir", report.run_dir},
               {"rounds_done", rounds_done},
               {"seconds", Shortened(clock.At(rounds_done).seconds)},
               {"images", std::round(clock.At(rounds_done).images)},
               {"roles", std::move(roles)},
               {"epochs", EpochsJson(history)},
               {"notes", Json::array()}};
  if (history.unreadable_lines() > 0) {
    data["notes"].push_back(absl::StrCat(history.unreadable_lines(),
                                         " lines of the metrics are not "
                                         "records and were left out"));
  }
  for (const std::string& warning : report.warnings) {
    data["notes"].push_back(absl::StrCat("warning: ", warning));
  }
  GANDEM_RETURN_IF_ERROR(AddRecipe(report.run_dir, data));
  GANDEM_RETURN_IF_ERROR(AddCurves(report.run_dir, clock, data));
  GANDEM_RETURN_IF_ERROR(AddSamples(report.run_dir, clock, data));
  data["report"] = Json::parse(TimeReportsJson({&report, 1}))["runs"][0];
  return data;
}

}  // namespace gandem
