// SPDX-License-Identifier: Apache-2.0
#include "common/files/metric_card.h"

#include <google/protobuf/text_format.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/files/event_writer.h"
#include "common/files/file.h"
#include "common/files/proto_json.h"
#include "common/files/text_proto.h"
#include "common/status.h"

namespace gandem {
namespace {

std::string ImagesText(const ImagesCard& images) {
  std::string text = absl::StrCat(
      images.name(), images.split().empty() ? "" : ", ", images.split(), ", ",
      images.num_images() > 0 ? absl::StrCat(images.num_images(), " images")
                              : "of an unknown number of images");
  if (images.height() > 0) {
    absl::StrAppend(&text, " of ", images.height(), " x ", images.width(),
                    images.channels() == 1 ? " gray" : " RGB");
  }
  if (images.has_generator()) {
    const GeneratorCard& generator = images.generator();
    absl::StrAppend(&text, ", step ", generator.step(), ", seed ",
                    generator.seed());
    if (generator.truncation() > 0) {
      absl::StrAppend(&text, ", truncation ", generator.truncation());
    }
    if (generator.has_noise_scale()) {
      absl::StrAppend(&text, ", noise scale ", generator.noise_scale());
    }
    if (generator.has_truncation_psi()) {
      absl::StrAppend(&text, ", truncation psi ", generator.truncation_psi());
    }
    if (!generator.noise_inputs().empty()) {
      absl::StrAppend(&text, ", noise inputs ", generator.noise_inputs());
    }
  }
  return text;
}

// Two jobs may write the same card at the same time.
absl::Status WriteShared(const std::string& path, const std::string& contents) {
  const std::string temporary = TemporaryName(path);
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(temporary, contents));
  return RenameDurably(temporary, path);
}

}  // namespace

absl::Status WriteMetricCard(const std::string& stem, const MetricCard& card) {
  std::string text;
  GANDEM_CHECK(google::protobuf::TextFormat::PrintToString(card, &text));
  GANDEM_RETURN_IF_ERROR(
      WriteShared(stem + ".json", ProtoJson(card, 2) + "\n"));
  return WriteShared(stem + ".textproto", text);
}

absl::StatusOr<MetricCard> ReadMetricCard(const std::string& path) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  MetricCard card;
  const absl::Status parsed = ParseTextProto(text, path, card);
  if (!parsed.ok()) return absl::DataLossError(parsed.message());
  return card;
}

std::string CardPathOf(absl::string_view text) {
  text = absl::StripSuffix(text, "\n");
  text.remove_prefix(text.rfind('\n') + 1);  // npos + 1 == 0
  return std::string(absl::StripPrefix(text, "card: "));
}

absl::Status AddCardScalars(const std::string& tensorboard_folder,
                            const MetricCard& card) {
  const absl::Time time =
      absl::UnixEpoch() + absl::Seconds(card.unix_seconds());
  // No first step because jobs may end in any order.
  GANDEM_ASSIGN_OR_RETURN(
      const std::unique_ptr<EventWriter> events,
      EventWriter::Open(tensorboard_folder, std::nullopt, time));
  std::vector<EventWriter::Scalar> scalars;
  for (const Metric& metric : card.metrics()) {
    scalars.push_back(
        {absl::StrCat("evaluation/", metric.name()), metric.value()});
  }
  return events->AddScalars(card.images().generator().step(), time, scalars);
}

std::string MetricValueText(const Metric& metric) {
  std::string text = absl::StrFormat("%.4g", metric.value());
  if (metric.has_sd()) absl::StrAppendFormat(&text, " +- %.2g", metric.sd());
  return text;
}

std::string MetricCardText(const MetricCard& card) {
  std::string text = absl::StrCat("images     ", ImagesText(card.images()));
  if (card.has_reference()) {
    absl::StrAppend(&text, "\nreference  ", ImagesText(card.reference()));
  }
  absl::StrAppend(&text, "\nfeatures   ", card.features().network(), ", ",
                  card.features().dim(), " numbers");
  // Statistics files may lack the network's hash.
  if (!card.features().sha256().empty()) {
    absl::StrAppend(&text, ", sha256 ", card.features().sha256().substr(0, 12));
  }
  if (!card.features().compute().empty()) {
    absl::StrAppend(&text, ", ", card.features().compute());
  }
  for (const Metric& metric : card.metrics()) {
    absl::StrAppendFormat(&text, "\n%-28s %s", metric.name(),
                          MetricValueText(metric));
    if (metric.has_predicted_bias()) {
      absl::StrAppendFormat(&text, "  (of which about %.3g is sampling bias)",
                            metric.predicted_bias());
    }
  }
  for (const std::string& warning : card.warnings()) {
    absl::StrAppend(&text, "\nwarning: ", warning);
  }
  return text + "\n";
}

}  // namespace gandem
