// SPDX-License-Identifier: Apache-2.0
#include "control_plane/views/time_report_text.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/role_name.h"
#include "common/files/printable.h"
#include "control_plane/views/recent_speeds.h"
#include "control_plane/views/role_limit.h"

namespace gandem {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Line = std::vector<std::string>;

// Smallest reported share of a core; other work on a machine takes more.
constexpr double kShownTakenShare = 0.01;

constexpr char kLegend[] =
    "compute, comm (communication that nothing hid) and the waits for images,\n"
    "feedback, data and cache add up to 100%. overlap: the hidden part of all\n"
    "communication. median, p95: of a round. epoch: the real images once.\n";

// Aligns the first column to the left, the others to the right.
std::string Aligned(const std::vector<Line>& lines) {
  std::vector<size_t> widths;
  for (const Line& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      absl::StrAppend(&row, i == 0 ? line[i] : absl::StrCat("  ", space),
                      i == 0 ? space : line[i]);
    }
    absl::StripTrailingAsciiWhitespace(&row);
    absl::StrAppend(&text, row, "\n");
  }
  return text;
}

std::string Seconds(double seconds) {
  if (seconds <= 0) return "-";
  if (seconds < 1) return absl::StrFormat("%.1f ms", 1e3 * seconds);
  return seconds < 600 ? absl::StrFormat("%.1f s", seconds)
                       : absl::StrFormat("%.1f min", seconds / 60);
}

std::string Number(double number) {
  return number == std::floor(number) ? absl::StrFormat("%.0f", number)
                                      : absl::StrFormat("%.1f", number);
}

std::string OrDash(int number) {
  return number > 0 ? absl::StrCat(number) : "-";
}

std::string Share(double part, double whole) {
  return whole > 0 ? absl::StrFormat("%.1f%%", 100 * part / whole) : "-";
}

// Appends the times in the order of the header's columns.
void AppendTimes(const RoundTimes& times, const TimeRow& rounds, Line& line) {
  line.push_back(Share(times.compute(), times.round));
  line.push_back(times.sync + times.hidden_sync > 0
                     ? absl::StrFormat("%.1f%%", 100 * times.overlap())
                     : "-");
  for (const double part :
       {times.sync, times.images, times.feedback, times.data, times.cache}) {
    line.push_back(Share(part, times.round));
  }
  line.push_back(Seconds(rounds.median_round_seconds));
  line.push_back(Seconds(rounds.p95_round_seconds));
}

Line HeaderLine() {
  return {"",         "nodes", "workers", "S/W",     "batch", "per worker",
          "epoch",    "img/s", "compute", "overlap", "comm",  "images",
          "feedback", "data",  "cache",   "median",  "p95"};
}

Line RoleLine(const RoleTimes& role) {
  Line line = {RoleName(role.role),
               OrDash(role.hosts),
               absl::StrCat(role.workers),
               "-",
               absl::StrCat(role.global_batch),
               Number(role.batch_per_worker()),
               Seconds(role.epoch_seconds),
               absl::StrFormat("%.1f", role.row.images_per_second)};
  AppendTimes(role.row.times, role.row, line);
  return line;
}

Line RankLine(const RankTimes& rank) {
  Line line = {absl::StrCat("  rank ", rank.rank)};
  line.resize(7);
  line.push_back(absl::StrFormat("%.1f", rank.row.images_per_second));
  AppendTimes(rank.row.times, rank.row, line);
  return line;
}

// Returns the values of the generator and the discriminator, for example
// "32/48", or one number if they are equal.
std::string OfBoth(const std::string& a, const std::string& b) {
  return a == b ? a : absl::StrCat(a, "/", b);
}

Line RunLine(const TimeReport& report, const TimeReport& first) {
  const RoleTimes& generator = report.roles[0];
  const RoleTimes& discriminator = report.roles[1];
  Line line = {report.run_dir,
               OrDash(report.hosts),
               absl::StrCat(generator.workers, "+", discriminator.workers),
               &report == &first ? "-" : ScalingFrom(first, report),
               OfBoth(absl::StrCat(generator.global_batch),
                      absl::StrCat(discriminator.global_batch)),
               OfBoth(Number(generator.batch_per_worker()),
                      Number(discriminator.batch_per_worker())),
               Seconds(discriminator.epoch_seconds),
               absl::StrFormat("%.1f", discriminator.row.images_per_second)};
  AppendTimes(report.times, discriminator.row, line);
  const double base = first.roles[1].row.images_per_second;
  line.push_back(
      base > 0
          ? absl::StrFormat("%.2f", discriminator.row.images_per_second / base)
          : "-");
  return line;
}

// Returns notes on excluded rounds and lines, and on how to read the numbers.
std::string Notes(const TimeReport& report) {
  std::string text;
  if (report.warm_up_rounds > 0) {
    absl::StrAppend(&text, "; without the first ", report.warm_up_rounds,
                    " rounds of each run epoch (warm-up)");
  }
  if (report.has_other_shapes) {
    absl::StrAppend(&text, "; without rounds of other numbers of workers");
  }
  if (report.unreadable_lines > 0) {
    absl::StrAppend(&text, "; without lines of metrics that are no records: ",
                    report.unreadable_lines);
  }
  if (!report.fused_backward.empty()) {
    absl::StrAppend(&text, "; FUSED feedback, ", report.fused_backward);
  }
  if (report.is_colocated) {
    absl::StrAppend(&text,
                    "; one process: what a role computes includes the other");
  }
  return text;
}

std::string Stragglers(const TimeReport& report) {
  std::string text;
  for (const RoleTimes& role : report.roles) {
    for (const RankTimes& rank : role.ranks) {
      if (!rank.is_straggler) continue;
      absl::StrAppendFormat(
          &text,
          "straggler: %s %d computes %.0f%% longer than its fleet's "
          "median\n",
          RoleName(role.role), rank.rank, 100 * rank.over_median);
    }
  }
  return text;
}

double ShareOf(const TimeRow& row, double part) {
  return row.times.round > 0 ? part / row.times.round : 0;
}

// Returns the speed in images/s if the time `share` were not needed.
double SpeedWithout(const TimeRow& row, double share) {
  return row.images_per_second / (1 - std::min(share, 0.999));
}

// Names the stage of data loading that the run waits for, and the possible
// gain. Returns "" if the run does not wait for data.
std::string DataBottleneck(const TimeReport& report) {
  const TimeRow& row = report.roles[1].row;
  const double share = ShareOf(row, row.times.data);
  if (share <= kShownDataWait) return "";
  const std::string stage = row.times.data_stage();
  const std::string most =
      stage == "fetch"    ? ", most of it for disks and networks (fetch)"
      : stage == "decode" ? ", most of it for images to be decoded (decode)"
      : stage == "transform"
          ? ", most of it for images to be cropped and resized (transform)"
          : "";
  return absl::StrFormat(
      "data: the discriminator waits for real images in %.1f%% of its time%s; "
      "if they\nwere there it would train on up to %.1f images/s instead of "
      "%.1f\n",
      100 * share, most, SpeedWithout(row, share), row.images_per_second);
}

// Returns a warning if preparing images slows the discriminator, or "".
std::string ShortCores(const TimeReport& report) {
  const TimeRow& row = report.roles[1].row;
  const double share = ShareOf(row, row.times.data_taken);
  if (share <= kShownTakenShare) return "";
  return absl::StrFormat(
      "cores: all cores of the discriminator train, and making real images "
      "ready takes %.1f%% of\none of them; with another core it would train on "
      "up to %.1f images/s instead of %.1f.\n"
      "Less is to be done for images that are stored at their size (gandem "
      "dataset pack --resize)\n",
      100 * share, SpeedWithout(row, share), row.images_per_second);
}

std::string LimitLine(const TimeReport& report) {
  if (report.is_colocated) return "";
  const auto load = [](const RoleTimes& role) {
    return LoadOf(role.workers, static_cast<double>(role.row.rounds),
                  role.row.times);
  };
  return LimitText(load(report.roles[0]), load(report.roles[1]));
}

std::string HealthLines(const TimeReport& report) {
  std::string text;
  for (const std::string& warning : report.warnings) {
    absl::StrAppend(&text, "warning: ", PrintableText(warning), "\n");
  }
  return text;
}

OrderedJson OrNull(double value) {
  return value > 0 ? OrderedJson(value) : OrderedJson();
}

OrderedJson ToJson(const TimeRow& row) {
  const RoundTimes& times = row.times;
  const auto percent = [&times](double part) {
    return times.round > 0 ? OrderedJson(100 * part / times.round)
                           : OrderedJson();
  };
  const bool has_communication = times.sync + times.hidden_sync > 0;
  return {
      {"rounds", row.rounds},
      {"images_per_second", row.images_per_second},
      {"compute_percent", percent(times.compute())},
      {"overlap_percent",
       has_communication ? OrderedJson(100 * times.overlap()) : OrderedJson()},
      {"communication_percent", percent(times.sync)},
      {"wait_images_percent", percent(times.images)},
      {"wait_feedback_percent", percent(times.feedback)},
      {"wait_data_percent", percent(times.data)},
      {"wait_cache_percent", percent(times.cache)},
      {"wait_data_parts_percent",
       {{"fetch", percent(times.data_fetch)},
        {"decode", percent(times.data_decode)},
        {"transform", percent(times.data_transform)}}},
      {"data_on_training_cores_percent", percent(times.data_taken)},
      {"median_round_seconds", row.median_round_seconds},
      {"p95_round_seconds", row.p95_round_seconds},
      {"sync_bytes_per_round", row.sync_bytes_per_round}};
}

OrderedJson ToJson(const RoleTimes& role) {
  OrderedJson json = {{"role", RoleName(role.role)},
                      {"nodes", OrNull(role.hosts)},
                      {"workers", role.workers},
                      {"global_batch", role.global_batch},
                      {"batch_per_worker", role.batch_per_worker()},
                      {"epoch_seconds", OrNull(role.epoch_seconds)}};
  json.update(ToJson(role.row));
  json["ranks"] = OrderedJson::array();
  for (const RankTimes& rank : role.ranks) {
    OrderedJson line = {{"rank", rank.rank},
                        {"is_straggler", rank.is_straggler}};
    line.update(ToJson(rank.row));
    json["ranks"].push_back(std::move(line));
  }
  return json;
}

// Writes infinity as null.
OrderedJson ToJson(const NoiseRow& row) {
  const auto finite = [](double images) {
    return std::isfinite(images) ? OrderedJson(images) : OrderedJson();
  };
  OrderedJson json = {
      {"role", RoleName(row.role)},
      {"part", absl::AsciiStrToLower(GradientNoise::Part_Name(row.part))},
      {"rounds", row.rounds}};
  if (!row.scale.has_value()) return json;
  json["images"] = finite(row.scale->images);
  json["low"] = finite(row.scale->low);
  json["high"] = finite(row.scale->high);
  return json;
}

OrderedJson ToJson(const TimeReport& report, const TimeReport& first) {
  OrderedJson json = {
      {"name", report.name},
      {"run_dir", report.run_dir},
      {"scaling", ScalingFrom(first, report)},
      {"nodes", OrNull(report.hosts)},
      {"is_colocated", report.is_colocated},
      {"first_round", report.first_round},
      {"last_round", report.last_round},
      {"warm_up_rounds", report.warm_up_rounds},
      {"has_other_shapes", report.has_other_shapes},
      {"unreadable_lines", report.unreadable_lines},
      {"fused_backward", report.fused_backward.empty()
                             ? OrderedJson()
                             : OrderedJson(report.fused_backward)},
      {"limit", LimitLine(report)},
      {"warnings", report.warnings},
      {"roles", OrderedJson::array()}};
  for (const RoleTimes& role : report.roles) {
    json["roles"].push_back(ToJson(role));
  }
  json["gradient_noise_scale"] = OrderedJson::array();
  for (const NoiseRow& row : report.noise) {
    json["gradient_noise_scale"].push_back(ToJson(row));
  }
  return json;
}

}  // namespace

std::string TimeReportText(const TimeReport& report) {
  std::vector<Line> lines = {HeaderLine()};
  for (const RoleTimes& role : report.roles) {
    lines.push_back(RoleLine(role));
    if (role.ranks.size() == 1) continue;
    for (const RankTimes& rank : role.ranks) lines.push_back(RankLine(rank));
  }
  const std::string limit = LimitLine(report);
  return absl::StrCat(
      report.name, " in ", report.run_dir, ": rounds ", report.first_round,
      " to ", report.last_round, Notes(report), "\n\n", Aligned(lines), "\n",
      limit.empty() ? "" : absl::StrCat("limit: ", limit, "\n"),
      Stragglers(report), DataBottleneck(report), ShortCores(report),
      HealthLines(report), NoiseText(report.noise), kLegend);
}

std::string ScalingText(std::span<const TimeReport> reports) {
  std::vector<Line> lines = {HeaderLine()};
  lines.front().push_back("speedup");
  std::string notes;
  for (const TimeReport& report : reports) {
    lines.push_back(RunLine(report, reports.front()));
    absl::StrAppend(&notes, report.run_dir, ": rounds ", report.first_round,
                    " to ", report.last_round, Notes(report), "\n",
                    HealthLines(report));
  }
  return absl::StrCat(
      Aligned(lines), "\n", notes, kLegend,
      "Images and rounds are the discriminator's, shares those of all "
      "workers.\n");
}

std::string TimeReportsJson(std::span<const TimeReport> reports) {
  OrderedJson json = {{"runs", OrderedJson::array()}};
  for (const TimeReport& report : reports) {
    json["runs"].push_back(ToJson(report, reports.front()));
  }
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace gandem
