// SPDX-License-Identifier: Apache-2.0
//
// Maps the spans of a round to operations of proto/profile.proto. Roles record
// spans anyway (common/trace/trace.h), so measuring adds no work.
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

// Sums `events`, which the compute thread of one role, or of both alternating
// roles, recorded in the order of their ends. A discriminator's backward pass
// counts as its forward pass, and with FUSED feedback so does judging between
// both. `feedback` selects the operation of other judging.
OperationSeconds SumOfSpans(std::span<const TraceEvent> events,
                            ScheduleConfig::FeedbackMode feedback);

// Scales all times down by one factor if their sum exceeds `seconds`.
void ShortenTo(double seconds, std::vector<OperationTime>& times);

}  // namespace gandem
