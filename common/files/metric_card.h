// SPDX-License-Identifier: Apache-2.0
//
// Metric cards (proto/evaluation.proto) on disk and on the screen.
//
// Thread safety: any thread. Errors: those of file.h.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/evaluation.pb.h"

namespace gandem {

// Writes stem.json, then stem.textproto: the card is there when the latter is,
// whole and for good.
absl::Status WriteMetricCard(const std::string& stem, const MetricCard& card);

//   NOT_FOUND  there is none.
//   DATA_LOSS  the file is no metric card.
absl::StatusOr<MetricCard> ReadMetricCard(const std::string& path);

// The path in the last line of what `evaluation_job evaluate` has written,
// "card: PATH".
std::string CardPathOf(absl::string_view text);

// The scalar "evaluation/NAME" of each metric at the step of the generator,
// for TensorBoard.
absl::Status AddCardScalars(const std::string& tensorboard_folder,
                            const MetricCard& card);

// "41.27 +- 0.31", without the second half where there is none.
std::string MetricValueText(const Metric& metric);

// The card as a person reads it, several lines.
std::string MetricCardText(const MetricCard& card);

}  // namespace gandem
