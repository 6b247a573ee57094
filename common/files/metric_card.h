// SPDX-License-Identifier: Apache-2.0
//
// Reads, writes and prints metric cards (proto/evaluation.proto).
//
// Thread safety: any thread. Errors: those of file.h.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// Writes stem.json, then stem.textproto, which marks a complete card.
absl::Status WriteMetricCard(const std::string& stem, const MetricCard& card);

//   NOT_FOUND  no such file
//   DATA_LOSS  not a metric card
absl::StatusOr<MetricCard> ReadMetricCard(const std::string& path);

// Extracts PATH from the last line "card: PATH" of `evaluation_job`.
std::string CardPathOf(absl::string_view text);

// Writes metrics as TensorBoard scalars "evaluation/NAME" at their step.
absl::Status AddCardScalars(const std::string& tensorboard_folder,
                            const MetricCard& card);

// Returns "41.27 +- 0.31", or "41.27" if there is no error estimate.
std::string MetricValueText(const Metric& metric);

// Formats the card as several lines for people.
std::string MetricCardText(const MetricCard& card);

}  // namespace gandem
