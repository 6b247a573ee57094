// SPDX-License-Identifier: Apache-2.0
#include "common/results/judged_curves.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/status.h"

namespace gandem {
namespace {

// Returns the properties shared by a curve: all except the quality.
std::string SettingOf(const MetricCard& card, const Metric& metric) {
  MetricCard rest = card;
  rest.clear_metrics();
  rest.clear_warnings();
  rest.clear_version();
  rest.clear_unix_seconds();
  rest.clear_seconds();
  rest.mutable_images()->clear_name();
  rest.mutable_images()->clear_sha256();
  rest.mutable_images()->mutable_generator()->clear_step();
  rest.mutable_images()->mutable_generator()->clear_seed();
  // Cards of earlier versions lack noise_inputs.
  if (rest.images().generator().noise_inputs() == "const") {
    rest.mutable_images()->mutable_generator()->clear_noise_inputs();
  }
  // A moved dataset is identified by its hash.
  rest.mutable_reference()->clear_name();
  Metric& kind = *rest.add_metrics();
  kind.set_name(metric.name());
  kind.set_sd_of(metric.sd_of());
  kind.set_num_images(metric.num_images());
  kind.set_num_reference_images(metric.num_reference_images());
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  rest.SerializeToCodedStream(&coded);
  coded.Trim();
  return text;
}

std::string AboutOf(const MetricCard& card, const Metric& metric) {
  std::string text = absl::StrCat(metric.num_images(), " images");
  if (card.has_reference()) {
    absl::StrAppend(&text, " against ", metric.num_reference_images(), " of ",
                    card.reference().name(),
                    card.reference().split().empty() ? "" : ", ",
                    card.reference().split());
  }
  const FeaturesCard& features = card.features();
  return absl::StrCat(text, ", network ", features.network(),
                      features.resize().empty() ? "" : ", resize ",
                      features.resize(), features.compute().empty() ? "" : ", ",
                      features.compute());
}

// Keeps the newest card of a step.
void AddPoint(JudgedPoint point, JudgedCurve& curve) {
  const auto there =
      std::ranges::find(curve.points, point.step, &JudgedPoint::step);
  if (there == curve.points.end()) {
    curve.points.push_back(std::move(point));
  } else if (point.unix_seconds > there->unix_seconds) {
    *there = std::move(point);
  }
}

using CurvesBySetting = std::map<std::string, JudgedCurve>;

void AddCard(const MetricCard& card, const std::string& name,
             CurvesBySetting& curves) {
  for (const Metric& metric : card.metrics()) {
    if (!std::isfinite(metric.value())) continue;
    const std::string setting = SettingOf(card, metric);
    JudgedCurve& curve = curves[setting];
    curve.metric = metric.name();
    curve.setting = setting;
    curve.about = AboutOf(card, metric);
    curve.lower_is_better = LowerIsBetter(metric.name());
    JudgedPoint point = {
        .step = card.images().generator().step(),
        .value = metric.value(),
        .unix_seconds = card.unix_seconds(),
        .card = name,
        .images_sha256 = card.images().sha256(),
        .warnings = {card.warnings().begin(), card.warnings().end()}};
    if (metric.has_sd()) point.sd = metric.sd();
    AddPoint(std::move(point), curve);
  }
}

bool IsFrechet(const JudgedCurve& curve) {
  return absl::StartsWith(curve.metric, "FID") ||
         absl::StartsWith(curve.metric, "FD");
}

bool ComesBefore(const JudgedCurve& a, const JudgedCurve& b) {
  const auto rank = [](const JudgedCurve& curve) {
    return std::tuple(!IsFrechet(curve), curve.metric,
                      -static_cast<int64_t>(curve.points.size()),
                      curve.setting);
  };
  return rank(a) < rank(b);
}

}  // namespace

const JudgedPoint& JudgedCurve::Best() const {
  return *std::ranges::min_element(
      points, [this](const JudgedPoint& a, const JudgedPoint& b) {
        return lower_is_better ? a.value < b.value : a.value > b.value;
      });
}

bool LowerIsBetter(absl::string_view metric) {
  constexpr std::array<absl::string_view, 5> kHigher = {
      "IS", "precision", "recall", "density", "coverage"};
  return std::ranges::find(kHigher, metric.substr(0, metric.find('('))) ==
         kHigher.end();
}

absl::StatusOr<JudgedCurves> ReadJudgedCurves(const std::string& folder) {
  JudgedCurves result;
  if (!PathExists(folder)) return result;
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          ListDirectory(folder));
  std::ranges::sort(names);
  CurvesBySetting curves;
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, ".textproto")) continue;
    const absl::StatusOr<MetricCard> card =
        ReadMetricCard(absl::StrCat(folder, "/", name));
    if (!card.ok()) {
      result.unreadable.push_back(
          absl::StrCat(name, ": ", card.status().message()));
    } else if (card->images().has_generator()) {
      AddCard(*card, name, curves);
    }
  }
  for (auto& [setting, curve] : curves) {
    std::ranges::sort(curve.points, {}, &JudgedPoint::step);
    result.curves.push_back(std::move(curve));
  }
  std::ranges::sort(result.curves, ComesBefore);
  return result;
}

}  // namespace gandem
