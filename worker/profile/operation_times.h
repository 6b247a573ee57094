// SPDX-License-Identifier: Apache-2.0
//
// Maps the spans of a round to operations of proto/profile.proto. The roles
// record the spans for timelines anyway (common/trace/trace.h), so that
// measuring adds no work to a round.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "common/trace/trace_buffer.h"
#include "proto/profile.pb.h"

namespace gandem {

using OperationSeconds = std::map<OperationTime::Operation, double>;

// The sums over `events`, which one role's compute thread, or that of both
// roles in turn, recorded in the order in which they ended. A backward pass of
// a discriminator belongs to the forward pass before it, and in FUSED feedback
// so does what judges in between; `feedback` says how else judging counts.
OperationSeconds SumOfSpans(std::span<const TraceEvent> events,
                            ScheduleConfig::FeedbackMode feedback);

// Makes all of them shorter by the same factor where they are longer than
// `seconds` together.
void ShortenTo(double seconds, std::vector<OperationTime>& times);

}  // namespace gandem
